"""A merchant with a payment in every state, reached as real ones are: by services and the simulated chain."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.test import override_settings
from django.utils import timezone

from config.environments import Environment
from merchants.members import add_member
from merchants.models import ApiKey, Merchant, User
from merchants.roles import Role
from merchants.services import issue_api_key, open_merchant
from payments import tasks
from payments.chains.simulated import control
from payments.checkout.simulator import simulate_payment
from payments.deposits.turnover.models import Span, Turnover
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.proving import simulate_proof
from payments.merchant_wallets.services import set_wallet
from payments.models import Payment
from payments.services import Item, NewPayment, cancel_payment, create_payment, end_window
from settlements.models import Settlement
from tests.browser.refund_scenes import RefundScenes, add_refunds
from tests.browser.settlement_scenes import add_settlements
from tests.browser.webhook_scenes import WebhookScenes, add_webhooks, deliver_everything
from tests.factories import PASSWORD, make_user

WALLETS = {
    "polygon": "0x52908400098527886E0F7030069857D2E4169EE7",
    "ethereum": "0x52908400098527886E0F7030069857D2E4169EE7",
    "stellar": "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN",
}
ENOUGH_BLOCKS = 8
REDIRECT_URL = "https://harbourcoffee.example/orders/4711"
ITEMS = (
    Item(name="Huila, 500 g, ground for filter", quantity=2, amount=None),
    Item(name="Shipping", quantity=1, amount=None),
)
METADATA = {"orderId": "4711", "note": "Two bags of Huila, ground for filter"}


@dataclass(frozen=True)
class Scenes:
    """Who to log in as, and payments by the name of their state.

    The owner has been here for months, the newcomer has nothing and does nothing, the beginner makes a first key pair.
    """

    merchant: Merchant
    owner: User
    newcomer: User
    beginner: User
    payments: dict[str, Payment]
    webhooks: WebhookScenes
    refunds: RefundScenes
    settlements: dict[str, Settlement]
    wallet: MerchantWallet

    password = PASSWORD


def make_payment(
    merchant: Merchant,
    *,
    amount: str = "48.50",
    currency: str = "EUR",
    coin: str = "USDC",
    network: str = "polygon",
    redirect_url: str = REDIRECT_URL,
) -> Payment:
    request = NewPayment(
        amount=Decimal(amount),
        currency=currency,
        cryptocurrency=coin,
        network=network,
        merchant_wallet=WALLETS[network],
        redirect_url=redirect_url,
        metadata=METADATA,
        description="Order 4711",
        items=ITEMS,
        note="Asked for a paper bag",
    )
    payment, _ = create_payment(merchant=merchant, environment=Environment.SANDBOX, request=request)
    return payment


def let_time_pass(*networks: str, blocks: int = ENOUGH_BLOCKS) -> None:
    """New blocks on these networks, read and assessed as the watcher does."""
    for network in networks:
        control.mine(network, blocks)
    tasks.watch_networks()
    tasks.expire_due()


@override_settings(SIMULATED_BLOCK_SECONDS=0)  # blocks appear only when asked for, however slow this machine is
def make_scenes() -> Scenes:
    """Every state that a payer or a merchant can meet, and a newcomer who has nothing yet."""
    owner = make_user("jo@harbourcoffee.example", name="Jo Berger")
    merchant = open_merchant(name="Harbour Coffee", email="accounts@harbourcoffee.example", owner=owner)
    newcomer = make_user("new@fernsupply.example", name="Sam Okafor")
    fern = open_merchant(name="Fern Supply", email="hello@fernsupply.example", owner=newcomer)
    beginner = make_user("kim@northlight.example", name="Kim Aalto")
    open_merchant(name="Northlight Books", email="orders@northlight.example", owner=beginner)
    add_member(merchant=fern, user=beginner, role=Role.SUPPORT)
    add_member(merchant=merchant, user=make_user("ola@harbourcoffee.example", name="Ola Lindqvist"))
    add_member(merchant=merchant, user=make_user("lin@harbourcoffee.example"), role=Role.SUPPORT)
    _issue_keys(merchant)
    _remember_earlier_days(merchant)
    endpoints = add_webhooks(merchant)
    tasks.watch_networks()

    payments = {
        "completed": make_payment(merchant),
        "overpaid": make_payment(merchant, amount="120.00", currency="GBP", coin="DAI", network="ethereum"),
        "expired": make_payment(merchant, amount="9.99", currency="USD"),
        "late": make_payment(merchant, amount="310.00", coin="USDT"),
        "too_little": make_payment(merchant, amount="75.00"),
        "cancelled": make_payment(merchant, amount="18.00", network="stellar"),
        "wrong_token": make_payment(merchant, amount="64.20", network="ethereum"),
        "underpaid": make_payment(merchant, amount="1250.00", coin="DAI"),
        "pending": make_payment(merchant, amount="239.00", network="ethereum"),
        "created": make_payment(merchant, amount="86.40"),
        "created_with_memo": make_payment(merchant, amount="5400", currency="JPY", network="stellar"),
    }
    for state, scenario in {
        "completed": "exact",
        "overpaid": "overpaid",
        "late": "late",
        "too_little": "underpaid",
        "wrong_token": "wrong_token",
        "underpaid": "underpaid",
    }.items():
        simulate_payment(payments[state], scenario)
    cancel_payment(payments["cancelled"])
    let_time_pass("polygon", "ethereum", "stellar")
    end_window(payments["expired"])
    end_window(payments["too_little"])
    let_time_pass("polygon")
    simulate_payment(payments["pending"], "exact")
    let_time_pass("ethereum", blocks=1)
    return Scenes(
        merchant,
        owner,
        newcomer,
        beginner,
        {state: _reread(payment) for state, payment in payments.items()},
        deliver_everything(endpoints),
        add_refunds(merchant),
        add_settlements(merchant, WALLETS),
        _name_wallets(merchant),
    )


def _name_wallets(merchant: Merchant) -> MerchantWallet:
    """A proven wallet on polygon, and on ethereum one that waits, which is returned."""
    owner, environment = merchant.members.earliest("id"), Environment.SANDBOX

    def named(network: str, address: str, label: str) -> MerchantWallet:
        return set_wallet(
            merchant=merchant, environment=environment, network=network, address=address, label=label, by=owner
        )

    simulate_proof(named("polygon", WALLETS["polygon"], "Treasury, hardware wallet"))
    named("ethereum", WALLETS["ethereum"], "")
    with override_settings(SANDBOX_WALLET_CHANGE_WAIT_HOURS=24):
        return named("ethereum", "0x8617E340B3D01FA5F11F306F4090FD50E238070D", "New hardware wallet")


def _issue_keys(merchant: Merchant) -> None:
    environment = Environment.SANDBOX
    web_shop = issue_api_key(merchant=merchant, environment=environment, name="Web shop").key
    ApiKey.objects.filter(pk=web_shop.pk).update(
        created_at=timezone.now() - timedelta(days=112), last_used_at=timezone.now() - timedelta(minutes=4)
    )
    issue_api_key(
        merchant=merchant,
        environment=environment,
        name="Reporting",
        scopes=("payments:read", "settlements:read"),
        allowed_networks=("203.0.113.0/24",),
        require_signature=True,
        expires_at=timezone.now() + timedelta(days=90),
    )


def _remember_earlier_days(merchant: Merchant) -> None:
    """What payments of the two months before came to, as the counters hold it: more at weekends, and growing."""
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    days = [today - timedelta(days=number) for number in range(1, 61)]
    Turnover.objects.bulk_create(
        Turnover(
            merchant_id=merchant.pk,
            environment=Environment.SANDBOX,
            span=Span.DAY,
            starts_at=day,
            network=network,
            cryptocurrency=coin,
            currency="EUR",
            paid=(paid := share * (90 - number) // 30 + (2 * share if day.weekday() >= 5 else day.day % 3)),
            unpaid=paid // 6,
            volume=paid * (2_300 + 37 * (number * share % 11)),
            seconds=paid * (40 + number % 25),
        )
        for number, day in enumerate(days)
        for network, coin, share in (("polygon", "USDC", 5), ("stellar", "USDC", 3), ("ethereum", "DAI", 1))
    )


def _reread(payment: Payment) -> Payment:
    return Payment.objects.select_related("merchant").get(pk=payment.pk)
