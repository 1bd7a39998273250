"""Changes of payment links, and the payments that payers make of them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, TypedDict

from django.db import transaction
from django.utils import timezone

from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from config.money import FIAT_DIGITS, from_units
from config.pages import wording
from merchants.access import idempotency
from merchants.models import Merchant
from merchants.wallets import WalletRules
from payments.choices import choices_among
from payments.links.models import PaymentLink
from payments.links.states import LinkState
from payments.links.uses import holding_a_use
from payments.merchant_wallets.checking import checked_wallet
from payments.models import Payment
from payments.rates.amounts import LARGEST_WORTH, fiat_units, largest_amount, require_worth
from payments.rates.quoting import RateUnavailable
from payments.services import DEFAULT_EXPIRES_IN, NewPayment, cancel_payment, create_payment, wallet_param

MAX_USES: Final = 100_000


class LinkNotActive(DomainError):
    """No payment can be made of the link now; `state` has the reason."""

    code = "payment_link_not_active"
    message = "This payment link takes no payments."

    def __init__(self, state: LinkState) -> None:
        self.state = state
        super().__init__()


@dataclass(frozen=True, slots=True)
class NewLink:
    """The request of a payment link. Without an `amount` the payer enters one, from `min_amount` to `max_amount`.

    `wallets` are the networks a payer may choose, with where the money of each is settled to; without `coins` the payer
    chooses among all. `expires_in` is in seconds, for each payment of the link.
    """

    description: str
    currency: str
    wallets: Mapping[str, str]
    amount: Decimal | None = None
    min_amount: Decimal | None = None
    max_amount: Decimal | None = None
    coins: Sequence[str] = ()
    max_uses: int | None = None
    expires_at: datetime | None = None
    expires_in: int = DEFAULT_EXPIRES_IN
    redirect_url: str = ""
    note: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


class LinkChanges(TypedDict, total=False):
    """Changes of a link. Prices, coins and wallets stay: they may hang on a wall already."""

    enabled: bool
    description: str
    note: str
    max_uses: int | None
    expires_at: datetime | None
    expires_in: int
    redirect_url: str
    metadata: dict[str, Any]


def create_link(*, merchant: Merchant, environment: str, request: NewLink) -> PaymentLink:
    """Store a new payment link. Its wallets are checked as those of a payment are, and again with each payment."""
    amount, least, most = _prices(request, environment)
    _require_future(request.expires_at)
    wallets = _checked_wallets(merchant, environment, request.wallets)
    if not choices_among(environment, wallets, request.coins):
        raise InvalidParameter("None of these coins is accepted on these networks.", param="cryptocurrencies")
    return PaymentLink.objects.create(
        merchant=merchant,
        environment=environment,
        description=request.description,
        note=request.note,
        currency=request.currency,
        amount=amount,
        least=least,
        most=most,
        coins=list(dict.fromkeys(request.coins)),
        wallets=wallets,
        max_uses=request.max_uses,
        expires_at=request.expires_at,
        expires_in=request.expires_in,
        redirect_url=request.redirect_url,
        metadata=request.metadata,
    )


def update_link(link: PaymentLink, changes: LinkChanges) -> PaymentLink:
    """Change a link. Payments that were made of it stay as they are."""
    with transaction.atomic():
        link = _locked(link)
        if (expires_at := changes.get("expires_at")) != link.expires_at:
            _require_future(expires_at)
        for name, value in changes.items():
            setattr(link, name, value)
        link.save(update_fields=[*changes])
        return link


def begin_payment(
    link: PaymentLink,
    *,
    network: str,
    coin: str,
    amount: Decimal | None = None,
    form_id: str,
    instead_of: Payment | None = None,
) -> Payment:
    """Make a payment of a link with what the payer has chosen; `amount` is needed where the link leaves it open.

    The same form with the same choice makes one payment, however often it is sent. `instead_of` is an unpaid payment of
    the link that is cancelled for it. Raises LinkNotActive, InvalidParameter for a choice that the link does not offer,
    PaymentNotCancellable, and what `create_payment` raises.
    """
    with transaction.atomic():
        # The lock is what keeps the stock: whoever counts the uses holds it until its own use can be counted.
        link = _locked(link)
        environment = Environment(link.environment)
        key = _form_key(link, form_id, f"{network} {coin} {amount}")
        acquired = idempotency.acquire(merchant=link.merchant, environment=environment, key=key, digest=b"")
        if isinstance(acquired, idempotency.StoredReply):
            return link.payments.get(pk=uuid.UUID(acquired.body.decode()))
        if instead_of is not None:
            cancel_payment(instead_of)
        taken = holding_a_use(link) if link.max_uses is not None else 0
        if (state := link.state(taken=taken, now=timezone.now())) is not LinkState.ACTIVE:
            raise LinkNotActive(state)
        offered = {(choice.network, choice.coin) for choice in choices_among(environment, link.wallets, link.coins)}
        if (network, coin) not in offered:
            raise InvalidParameter("Choose one of the coins that are offered.", param="choice")
        payment, _ = create_payment(
            merchant=link.merchant,
            environment=environment,
            request=NewPayment(
                amount=_price_of(link, amount),
                currency=link.currency,
                cryptocurrency=coin,
                network=network,
                merchant_wallet=link.wallets[network],
                redirect_url=link.redirect_url,
                expires_in=link.seconds_to_pay,
                metadata=link.metadata,
                payment_link_id=link.pk,
                # When a payment has expired, its use may be somebody else's already.
                takes_late_money=link.max_uses is None,
            ),
        )
        idempotency.store(acquired, status=303, body=str(payment.pk).encode())
        return payment


def _locked(link: PaymentLink) -> PaymentLink:
    return PaymentLink.objects.select_for_update(of=("self",)).select_related("merchant").get(pk=link.pk)


def _form_key(link: PaymentLink, form_id: str, choice: str) -> str:
    """Begins with a space, as no `Idempotency-Key` of a merchant can."""
    return f" link {hashlib.sha256(f'{link.pk} {form_id} {choice}'.encode()).hexdigest()}"


def _price_of(link: PaymentLink, amount: Decimal | None) -> Decimal:
    """The price in the link's currency: its own, or what the payer entered, if the link takes that."""
    digits = FIAT_DIGITS[link.currency]
    if link.least is None or link.most is None:
        return from_units(link.amount or 0, digits)
    if amount is None or not link.least <= fiat_units(amount, link.currency) <= link.most:
        least, most = wording.fiat(link.least, link.currency), wording.fiat(link.most, link.currency)
        raise InvalidParameter(f"Enter an amount from {least} to {most}.", param="amount")
    return amount


def _prices(request: NewLink, environment: str) -> tuple[int | None, int | None, int | None]:
    """The fixed price, or the least and the most a payer may enter, in minor units.

    Without a rate nothing is compared with the largest worth of a payment: each payment of the link is.
    """
    try:
        largest = largest_amount(request.currency, environment=environment)
        for name, amount in (
            ("amount", request.amount),
            ("minAmount", request.min_amount),
            ("maxAmount", request.max_amount),
        ):
            if amount is not None:
                require_worth(amount, request.currency, environment=environment, param=name)
    except RateUnavailable:
        largest = LARGEST_WORTH
    if request.amount is not None:
        for name, limit in (("minAmount", request.min_amount), ("maxAmount", request.max_amount)):
            if limit is not None:
                raise InvalidParameter("Give either an amount or its limits, not both.", param=name)
        return fiat_units(request.amount, request.currency), None, None
    least = 1 if request.min_amount is None else fiat_units(request.min_amount, request.currency, param="minAmount")
    most = fiat_units(request.max_amount or largest, request.currency, param="maxAmount")
    if least > most:
        raise InvalidParameter("Must not be less than the smallest amount.", param="maxAmount")
    return None, least, most


def _require_future(expires_at: datetime | None) -> None:
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidParameter("Must be in the future.", param="expiresAt")


def _checked_wallets(merchant: Merchant, environment: str, wallets: Mapping[str, str]) -> dict[str, str]:
    """The wallets as payments will name them; the first that cannot be paid is refused."""
    if not wallets:
        raise InvalidParameter("Name a wallet on at least one network.", param="merchantWallets")
    allowed = merchant.settings.get(environment=environment).wallet_allow_list
    return {
        network: checked_wallet(environment, network, text, WalletRules.of(allowed, {}), param=wallet_param(network))
        for network, text in wallets.items()
    }
