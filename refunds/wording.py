"""How refunds read on pages: their amounts, and why one failed with what can be done about it."""

from __future__ import annotations

from config.money import FIAT_DIGITS, from_units
from payments import wording
from payments.chains import registry
from payments.models import Discrepancy, Payment
from payments.states import DiscrepancyKind
from payments.transfers.states import HoldReason, PayoutStatus
from refunds.models import Refund

ELSEWHERE = "Refund the payment again and name another address."
FAILURES: dict[str, tuple[str, str]] = {
    "destination_invalid": ("Nobody can be paid at this address.", ELSEWHERE),
    "no_trustline": (
        "The account at this address does not take this coin.",
        "Ask the payer to add the coin to the account, then refund the payment again; or name another address.",
    ),
    "memo_required": (
        "This account belongs to many people, as those of exchanges do, and needs a memo.",
        "Ask the payer for the memo, then refund the payment again with address and memo.",
    ),
    "destination_refused": ("The issuer of the coin does not let this account have it.", ELSEWHERE),
    "transfer_failed": ("The network refused the transfer again and again.", ELSEWHERE),
    "rejected": ("The operator of this service did not let it go.", "Ask the operator before you try again."),
    "over_limit": ("It is more than this service sends at once.", "Refund the payment again in smaller parts."),
}
"""By failure code: what happened, and what to do next. The money is back where it was in every case."""


_BY_ITSELF = "There is nothing for you to do: it goes on by itself."
_OPERATORS = "Amounts like this are looked at by the operator of this service before they leave."
HELD: dict[str, tuple[str, str]] = {
    HoldReason.APPROVAL: (_OPERATORS, _BY_ITSELF),
    HoldReason.OVER_LIMIT: (_OPERATORS, _BY_ITSELF),
    HoldReason.DAILY_LIMIT: (_OPERATORS, _BY_ITSELF),
    HoldReason.MERCHANT_LIMIT: (_OPERATORS, _BY_ITSELF),
    HoldReason.LIQUIDITY: ("The wallet that pays is being filled.", _BY_ITSELF),
    HoldReason.COIN_PAUSED: ("The issuer of the coin lets nobody send it at the moment.", _BY_ITSELF),
    HoldReason.WALLET_BLOCKED: ("The issuer of the coin has blocked the wallet that pays.", _BY_ITSELF),
    HoldReason.NETWORK: ("The network cannot be reached at the moment.", _BY_ITSELF),
    HoldReason.FEES: ("The network is more expensive than usual at the moment.", _BY_ITSELF),
}
"""By hold reason: why a refund has not left yet, and what to do."""


def held(refund: Refund) -> tuple[str, str] | None:
    """Why it waits to be sent; None when nothing holds it."""
    payout = refund.payout
    return HELD[payout.hold_reason] if payout is not None and payout.status == PayoutStatus.HELD else None


def failure(refund: Refund) -> tuple[str, str]:
    what, then = FAILURES.get(refund.failure_code, ("It could not be sent.", ELSEWHERE))
    return what, f"The money is back where it was. {then}"


def coins(refund: Refund) -> str:
    return coins_of(refund, refund.amount)


def coins_of(refund: Refund, units: int) -> str:
    """So much of the coin that a refund is paid in."""
    return f"{wording.coins_held(units, refund.decimals)} {refund.cryptocurrency}"


def fiat(units: int, currency: str) -> str:
    digits = FIAT_DIGITS[currency]
    return f"{from_units(units, digits):,.{digits}f} {currency}"


def price(refund: Refund) -> str:
    """What it stands for in the payment's currency; nothing for a coin that was never quoted."""
    return "" if refund.fiat_amount is None else fiat(refund.fiat_amount, refund.payment.currency)


def network(refund: Refund) -> str:
    return registry.known_profile(refund.environment, refund.network).name


def suspense(discrepancy: Discrepancy) -> str:
    amount = f"{wording.coins_held(discrepancy.amount, discrepancy.decimals)} {discrepancy.asset}"
    kind = DiscrepancyKind(discrepancy.kind).label
    where = registry.known_profile(discrepancy.environment, discrepancy.network).name
    return f"{amount} on {where}, in suspense: {kind[0].lower()}{kind[1:]}"


def own_money(payment: Payment, *, fiat_left: int, units_left: int) -> str:
    held = f"{wording.coins_held(units_left, payment.decimals)} {payment.cryptocurrency}"
    return f"{fiat(fiat_left, payment.currency)} of the payment itself ({held})"


def in_fours(text: str) -> list[str]:
    """An address as people compare it."""
    return [text[start : start + 4] for start in range(0, len(text), 4)]
