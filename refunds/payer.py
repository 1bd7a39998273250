"""What a payer may see of a refund, and how each of its states is told in plain language. Nothing else leaves here."""

from __future__ import annotations

from dataclasses import dataclass

from payments import wording as payment_wording
from payments.checkout.payer import State
from refunds import wording
from refunds.claims import Claim
from refunds.destinations import takes_memos
from refunds.models import Refund
from refunds.states import ENDED, NamedBy, RefundStatus


@dataclass(frozen=True, slots=True)
class ClaimView:
    """All that the claim page may show: no field of a refund reaches a payer but through here."""

    sandbox: bool
    payee: str
    state: State
    amount: str
    coin: str
    coin_name: str
    network: str
    price: str
    reference: str
    takes_memo: bool
    is_open: bool
    is_over: bool
    destination: tuple[str, ...]
    memo: str
    transaction_hash: str


def look_at(refund: Refund, claim: Claim) -> ClaimView:
    """The refund as whoever has the link sees it now."""
    is_open = claim.is_open(refund)
    return ClaimView(
        sandbox=refund.environment == "sandbox",
        payee=refund.merchant.name,
        state=_state(refund, claim),
        amount=payment_wording.coins_held(refund.amount, refund.decimals),
        coin=refund.cryptocurrency,
        coin_name=payment_wording.COIN_NAMES.get(refund.cryptocurrency, refund.cryptocurrency),
        network=wording.network(refund),
        price=wording.price(refund),
        reference=refund.public_id,
        takes_memo=takes_memos(refund.environment, refund.network),
        is_open=is_open,
        is_over=not is_open and (refund.status in ENDED or refund.status == RefundStatus.REQUIRES_ACTION),
        destination=tuple(wording.in_fours(refund.destination)),
        memo=refund.memo,
        transaction_hash=refund.transaction_hash,
    )


def _state(refund: Refund, claim: Claim) -> State:
    payee = refund.merchant.name
    match RefundStatus(refund.status):
        case RefundStatus.REQUIRES_ACTION if claim.is_open(refund):
            detail = f"{payee} is sending money back to you. Say where it should go."
            return State("Where shall it go?", detail, "accent", "wallet")
        case RefundStatus.REQUIRES_ACTION:
            return State(
                "This link has expired", f"The money is kept safe. Ask {payee} for a new link.", "calm", "clock"
            )
        case RefundStatus.PENDING:
            detail = "The money is about to be sent. You need not wait here: the page shows it whenever you come back."
            return State(_taken(refund), detail, "accent", "clock", waiting=True)
        case RefundStatus.PROCESSING:
            detail = "The network is confirming the transfer. You need not wait here."
            return State("Your money is on its way", detail, "accent", "blocks", waiting=True)
        case RefundStatus.COMPLETED:
            return State(
                "Your money has been sent", "It is final on the network. You can close this page.", "good", "check"
            )
        case RefundStatus.FAILED:
            what, _ = wording.failure(refund)
            return State(
                "It could not be sent", f"{what} The money is kept safe. Ask {payee} for a new link.", "warn", "warning"
            )
        case RefundStatus.CANCELLED:
            detail = f"{payee} called this refund off. Ask them if you did not expect that."
            return State("This refund was cancelled", detail, "calm", "cross")


def _taken(refund: Refund) -> str:
    if refund.named_by == NamedBy.PAYER:
        return "This link has been used: we have your address"
    return "This link is not needed any more"
