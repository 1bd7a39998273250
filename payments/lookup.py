"""Finding a merchant's payment by whatever somebody has in hand. Every way in is an index: none reads a whole list."""

from __future__ import annotations

from config import ids
from merchants.models import Merchant
from payments.chains import registry
from payments.chains.errors import InvalidAddress
from payments.models import Deposit, Payment


def find_payment(merchant: Merchant, environment: str, text: str) -> Payment | None:
    """The payment of this id, deposit address, memo or on-chain transaction; the newest when several fit."""
    own = Payment.objects.of(merchant, environment).order_by("-id")
    text = text.strip()
    if (key := ids.PAYMENT.decode(text)) is not None:
        return own.filter(id=key).first()
    places = _places(environment, text)
    if found := next((found for place in places if (found := own.filter(**place).first())), None):
        return found
    by_hash = Deposit.objects.filter(
        environment=environment, network__in=registry.networks(environment), transaction_hash=text
    )
    return own.filter(id__in=by_hash.values("payment_id")).first()


def _places(environment: str, text: str) -> list[dict[str, str]]:
    """What the text could mean as the place where a payment is paid: an address of its own, or a memo."""
    places = []
    for network in registry.networks(environment):
        chain = registry.chain(environment, network)
        shared = chain.deposit_address(0)
        if shared.memo is not None:
            places.append({"deposit_address": shared.address, "memo": text})
            continue
        try:
            places.append({"deposit_address": chain.parse_address(text), "memo": ""})
        except InvalidAddress:
            continue
    return places
