"""Texts about refunds on pages: amounts, and why one failed with what to do."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from config.pages import wording
from merchants.wording import exact
from payments.chains import registry
from payments.chains.profiles import Family
from payments.chains.stellar import addresses as stellar_addresses
from payments.models import Discrepancy, Payment
from payments.states import DiscrepancyKind
from payments.transfers.states import HoldReason, MemoType, PayoutStatus
from refunds.models import Refund

ELSEWHERE = gettext_lazy("Refund the payment again, to another address.")
ADDRESSES: dict[Family, Promise] = {
    "evm": gettext_lazy("It starts with 0x, followed by 40 letters and digits."),
    "stellar": gettext_lazy(
        "It starts with G, or with M if your wallet or exchange shows the address and memo in one field."
    ),
}
"""By network family: how an address looks."""

MEMOS: dict[Family, Promise] = {
    "stellar": gettext_lazy(
        "If the address belongs to an exchange, enter the memo (or tag) it shows too, or the money cannot be "
        "credited. Your own wallet needs none, and an address that starts with M already includes it."
    ),
}
"""By the network families that have memos: who needs one."""

NEEDED_BECAUSE: dict[Family, Promise] = {
    "evm": gettext_lazy("The money did not come from a single ordinary account that can be paid back."),
    "stellar": gettext_lazy(
        "The money came with a memo, from several accounts, or from an account that many people share, such as an "
        "exchange’s. Sent back there without the right memo, it would not reach the payer."
    ),
}
"""By network family: the reason a destination has to be named."""

FAILURES: dict[str, Promise] = {
    "destination_invalid": gettext_lazy("Nobody can be paid at this address."),
    "no_trustline": gettext_lazy("The account at this address does not take this coin."),
    "memo_required": gettext_lazy("This account belongs to many people, as those of exchanges do, and needs a memo."),
    "destination_refused": gettext_lazy("The issuer of the coin does not let this account have it."),
    "transfer_failed": gettext_lazy("The network refused the transfer again and again."),
    "rejected": gettext_lazy("The operator of this service did not let it go."),
    "over_limit": gettext_lazy("It is more than this service sends at once."),
}
"""By failure code: what happened, as merchant and payer read it. The money is back where it was in every case."""

AFTER_FAILURES: dict[str, Promise] = {
    "no_trustline": gettext_lazy(
        "Ask the payer to add the coin to the account, then refund the payment again. Or refund it to another address."
    ),
    "memo_required": gettext_lazy(
        "Ask the payer for the memo, then refund the payment again with address and memo, or with an M address."
    ),
    "rejected": gettext_lazy("Ask the operator before you try again."),
    "over_limit": gettext_lazy("Refund the payment again in smaller parts."),
}
"""By failure code: what its merchant does next; ELSEWHERE after any other."""


_BY_ITSELF = gettext_lazy("You do not need to do anything: it continues automatically.")
_OPERATORS = gettext_lazy("The operator of this service reviews amounts of this size before they are sent.")
_OPERATORS_ARE_TOLD = gettext_lazy("It is not sent yet. The operator of this service has been told.")
HELD: dict[str, tuple[Promise, Promise]] = {
    HoldReason.APPROVAL: (_OPERATORS, _BY_ITSELF),
    HoldReason.OVER_LIMIT: (_OPERATORS, _BY_ITSELF),
    HoldReason.DAILY_LIMIT: (_OPERATORS, _BY_ITSELF),
    HoldReason.MERCHANT_LIMIT: (_OPERATORS, _BY_ITSELF),
    HoldReason.LIQUIDITY: (gettext_lazy("The wallet that pays is being filled."), _BY_ITSELF),
    HoldReason.REFILL: (
        gettext_lazy("The wallet that pays is being filled; the operator of this service does it."),
        _BY_ITSELF,
    ),
    HoldReason.COIN_PAUSED: (
        gettext_lazy("The issuer of the coin has stopped all transfers of it for now."),
        _BY_ITSELF,
    ),
    HoldReason.WALLET_BLOCKED: (gettext_lazy("The issuer of the coin has blocked the wallet that pays."), _BY_ITSELF),
    HoldReason.NO_TRUSTLINE: (
        gettext_lazy("The account at this address does not take this coin yet."),
        gettext_lazy(
            "Ask the payer to add a trustline for the coin; the refund then continues automatically. Or cancel it "
            "and refund to another address."
        ),
    ),
    HoldReason.NETWORK: (gettext_lazy("The network cannot be reached at the moment."), _BY_ITSELF),
    HoldReason.SIGNER: (_OPERATORS_ARE_TOLD, _BY_ITSELF),
    HoldReason.REVIEW: (_OPERATORS_ARE_TOLD, _BY_ITSELF),
    HoldReason.STOPPED: (gettext_lazy("The operator of this service has stopped payouts for now."), _BY_ITSELF),
    HoldReason.FEES: (gettext_lazy("The network is more expensive than usual at the moment."), _BY_ITSELF),
}
"""By hold reason: why a refund has not left yet, and what to do."""


QUOTED = gettext_lazy(
    "The payer gets the number of coins from the payment’s original quote, whatever they are worth now. A change "
    "in their value is the payer’s gain or loss."
)
FEE_RETURNED = gettext_lazy("The fee on the refunded amount is returned to you with your next settlement.")
FEE_KEPT = gettext_lazy("The fee on the payment is not returned when you refund it.")
NO_FEE = gettext_lazy("No fee is taken on money that waits for a decision, so there is none to return.")


def terms(*, returns_fee: bool) -> list[str]:
    """Terms of a refund of a payment's own money, shown before it is made: the rate and the fee."""
    return [str(QUOTED), str(FEE_RETURNED if returns_fee else FEE_KEPT)]


NAME_ONE = gettext_lazy("Let the payer enter an address, or enter one yourself. The money is reserved until then.")


def destination_needed(family: Family) -> str:
    """The reason a destination has to be named, and who can name it."""
    return f"{NEEDED_BECAUSE[family]} {NAME_ONE}"


def held(refund: Refund) -> tuple[str, str] | None:
    """The reason it is held and the remedy; None when it is not held."""
    payout = refund.payout
    if payout is None or payout.status != PayoutStatus.HELD:
        return None
    why, then = HELD.get(payout.hold_reason, (payout.hold_reason, ""))  # a later version's worker has more reasons
    if payout.hold_reason == HoldReason.NO_TRUSTLINE and payout.set_aside_at is not None:
        otherwise = gettext(
            "If the account does not take the coin by %(moment)s, the money is set aside, and the payer has to "
            "claim it."
        )
        return str(why), f"{then} {otherwise}" % {"moment": exact(payout.set_aside_at)}
    return str(why), str(then)


def to_claim(refund: Refund) -> tuple[str, str] | None:
    """Instructions for claiming the claimable balance; None without one."""
    if not refund.claimable_balance:
        return None
    return gettext("Set aside for the payer to claim"), gettext(
        "The account did not take %(coin)s for days, so the money was set aside for it on the network, where "
        "nobody else can take it. Tell the payer to add %(asset)s to the account and then claim the claimable "
        "balance below."
    ) % {"coin": refund.cryptocurrency, "asset": asset(refund)}


def asset(refund: Refund) -> str:
    """The asset to add in a wallet: the coin, and on stellar its issuer."""
    known = registry.known_profile(refund.environment, refund.network).assets.get(refund.cryptocurrency)
    code, _colon, issuer = known.contract.partition(":") if known else (refund.cryptocurrency, "", "")
    if not issuer:
        return code
    return gettext("the asset %(code)s of the issuer %(issuer)s") % {"code": code, "issuer": issuer}


def failure(refund: Refund) -> tuple[str, str]:
    """The failure, and the merchant's next step."""
    what = FAILURES.get(refund.failure_code, gettext("It could not be sent."))
    then = AFTER_FAILURES.get(refund.failure_code, ELSEWHERE)
    return str(what), f"{gettext('The money is back where it was.')} {then}"


def coins(refund: Refund) -> str:
    return coins_of(refund, refund.amount)


def coins_of(refund: Refund, units: int) -> str:
    """An amount of the coin that a refund is paid in."""
    return wording.coins(units, refund.decimals, refund.cryptocurrency)


def price(refund: Refund) -> str:
    """Its value in the payment's currency; empty for a coin that was not quoted."""
    return "" if refund.fiat_amount is None else wording.fiat(refund.fiat_amount, refund.payment.currency)


def network(refund: Refund) -> str:
    return registry.known_profile(refund.environment, refund.network).name


def suspense(discrepancy: Discrepancy) -> str:
    amount = wording.coins(discrepancy.amount, discrepancy.decimals, discrepancy.asset)
    kind = DiscrepancyKind(discrepancy.kind).label
    where = registry.known_profile(discrepancy.environment, discrepancy.network).name
    words = gettext("%(amount)s on %(network)s, waiting for a decision: %(kind)s")
    return words % {"amount": amount, "network": where, "kind": kind[0].lower() + kind[1:]}


def own_money(payment: Payment, *, fiat_left: int, units_left: int) -> str:
    held = wording.coins(units_left, payment.decimals, payment.cryptocurrency)
    price = wording.fiat(fiat_left, payment.currency)
    return gettext("%(price)s of the payment itself (%(held)s)") % {"price": price, "held": held}


MEMO_TYPES: dict[str, str | Promise] = {
    "": "",
    MemoType.ID: gettext_lazy("as a number"),
    MemoType.TEXT: gettext_lazy("as text"),
}


def memo_type(refund: Refund) -> str:
    """The memo's type; empty without a memo. Older refunds lack it: there digits are a number."""
    if not refund.memo or refund.memo_type:
        return refund.memo_type
    return MemoType.ID if stellar_addresses.is_id(refund.memo) else MemoType.TEXT


def in_fours(text: str) -> list[str]:
    """An address in groups of four characters, for comparing."""
    return [text[start : start + 4] for start in range(0, len(text), 4)]
