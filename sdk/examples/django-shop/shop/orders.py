"""Orders and their payments: each payment made once, and read again whenever something may have changed.

No database transaction is open while the API is asked. What two threads find out at the same time ends the same: a
record with a lower version never replaces one with a higher, and only one of them can hand the goods out.
"""

import logging
from decimal import Decimal

from ballast import AppInfo, Ballast
from ballast.models import Payment
from django.conf import settings

from shop.models import Attempt, Order
from shop.products import CURRENCY, PRODUCTS, total
from shop.states import Verdict, judge

logger = logging.getLogger(__name__)

# Pages wait for Ballast: better a message after a few seconds than a page that never comes.
ballast = Ballast(timeout=5, max_retries=2, app_info=AppInfo("django-shop"))


def place(number: str, cart: dict[str, int]) -> Order:
    """The order of this number with its payment. The number comes from the form: a form sent twice is one order."""
    order, _ = Order.objects.get_or_create(number=number, defaults={"cart": cart, "cents": total(cart)})
    return refresh(order)


def pay_again(order: Order) -> Order:
    """Begins another attempt for an order whose last one is over."""
    refresh(order)
    payments = [attempt.payment for attempt in order.attempt_set.all()]
    if judge(payments, is_delivered=order.delivered > 0).may_pay_again:
        # Of two presses at once, the one that judged fewer payments than there are by now begins nothing.
        Order.objects.filter(pk=order.pk, attempts=len(payments)).update(attempts=len(payments) + 1)
    return refresh(order)


def refresh(order: Order) -> Order:
    """Reads every payment from the API, and makes the one that a program which died has left unmade."""
    order.refresh_from_db()
    for attempt in order.attempt_set.all():
        _keep(order, attempt.number, ballast.payments.get(attempt.record["id"]))
    if order.attempt_set.count() < order.attempts:
        _keep(order, order.attempts, _pay(order))
    if verdict(order).state == "paid" and Order.objects.filter(pk=order.pk, delivered=0).update(delivered=1):
        logger.info("%s: goods are handed out", order.number)
    order.refresh_from_db()
    return order


def verdict(order: Order) -> Verdict:
    return judge([attempt.payment for attempt in order.attempt_set.all()], is_delivered=order.delivered > 0)


def _pay(order: Order) -> Payment:
    page = f"{settings.SHOP_URL}/orders/{order.number}"
    return ballast.payments.create(
        amount=Decimal(order.cents) / 100,
        currency=CURRENCY,
        description=f"Order {order.number}",
        items=[
            {"name": PRODUCTS[name][0], "quantity": count, "amount": Decimal(PRODUCTS[name][1] * count) / 100}
            for name, count in order.cart.items()
        ],
        redirect_url=page,
        cancel_url=page,
        webhook_url=f"{settings.SHOP_URL}/webhooks/ballast",
        metadata={"order": order.number},
        idempotency_key=f"{order.number}-{order.attempts}",
    )


def _keep(order: Order, number: int, payment: Payment) -> None:
    now = {"version": payment.version, "record": payment.raw}
    attempt, is_new = Attempt.objects.get_or_create(order=order, number=number, defaults=now)
    if not is_new:
        Attempt.objects.filter(pk=attempt.pk, version__lte=payment.version).update(**now)
