"""The payer's view of a refund, and the words for each of its states."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from config.coins import coin_name
from config.pages import wording as payment_wording
from payments.chains.profiles import Family
from payments.checkout.payer import State
from payments.suspense.destinations import family_of
from refunds import wording
from refunds.destination_links import DestinationLink
from refunds.models import Refund
from refunds.states import ENDED, NamedBy, RefundStatus


@dataclass(frozen=True, slots=True)
class RefundView:
    """All that the destination page may show: payers see no other field of a refund."""

    sandbox: bool
    payee: str
    state: State
    amount: str
    coin: str
    coin_name: str
    network: str
    price: str
    reference: str
    family: Family
    is_open: bool
    is_over: bool
    destination: tuple[str, ...]
    memo: str
    transaction_hash: str
    claimable_balance: str
    has_receipt: bool

    @property
    def takes_memo(self) -> bool:
        return self.family in wording.MEMOS


def view_of(refund: Refund, link: DestinationLink) -> RefundView:
    """The refund as anybody with the link sees it now."""
    is_open = link.is_open(refund)
    return RefundView(
        sandbox=refund.environment == "sandbox",
        payee=refund.merchant.payee,
        state=_state(refund, link),
        amount=payment_wording.coins_held(refund.amount, refund.decimals),
        coin=refund.cryptocurrency,
        coin_name=coin_name(refund.cryptocurrency),
        network=wording.network(refund),
        price=wording.price(refund),
        reference=refund.public_id,
        family=family_of(refund.environment, refund.network),
        is_open=is_open,
        is_over=not is_open and (refund.status in ENDED or refund.status == RefundStatus.REQUIRES_ACTION),
        destination=tuple(wording.in_fours(refund.destination)),
        memo=refund.memo,
        transaction_hash=refund.transaction_hash,
        claimable_balance=refund.claimable_balance,
        has_receipt=refund.status == RefundStatus.COMPLETED,
    )


def _state(refund: Refund, link: DestinationLink) -> State:
    payee = refund.merchant.payee
    match RefundStatus(refund.status):
        case RefundStatus.REQUIRES_ACTION if link.is_open(refund):
            detail = _("%(payee)s is sending money back to you. Enter the address it should go to.") % {"payee": payee}
            if family_of(refund.environment, refund.network) in wording.MEMOS:
                why = _("It cannot be returned automatically: many people may share the account it came from.")
                detail = f"{detail} {why}"
            return State(_("Where should we send your refund?"), detail, "accent", "wallet")
        case RefundStatus.REQUIRES_ACTION:
            detail = _("The money is safe. Ask %(payee)s for a new link.") % {"payee": payee}
            return State(_("This link has expired"), detail, "calm", "clock")
        case RefundStatus.PENDING:
            detail = _(
                "The money will be sent soon. You do not need to wait: this page shows it whenever you come back."
            )
            return State(_taken(refund), detail, "accent", "clock", waiting=True)
        case RefundStatus.PROCESSING:
            detail = _("The network is confirming the transfer. You do not need to wait.")
            return State(_("Your money is on its way"), detail, "accent", "blocks", waiting=True)
        case RefundStatus.COMPLETED if refund.claimable_balance:
            detail = _(
                "Your account did not accept %(coin)s, so the money is reserved for it on the network, where "
                "nobody else can take it. In your wallet, add %(asset)s, then claim the claimable balance below."
            ) % {"coin": refund.cryptocurrency, "asset": wording.asset(refund)}
            return State(_("Your money is ready to claim"), detail, "accent", "wallet")
        case RefundStatus.COMPLETED:
            detail = _("It is final on the network. You can close this page.")
            return State(_("Your money has been sent"), detail, "good", "check")
        case RefundStatus.FAILED:
            what, _then = wording.failure(refund)
            ask = _("The money is safe. Ask %(payee)s for a new link.") % {"payee": payee}
            return State(_("It could not be sent"), f"{what} {ask}", "warn", "warning")
        case RefundStatus.CANCELLED:
            detail = _("%(payee)s cancelled this refund. Contact them if you did not expect that.") % {"payee": payee}
            return State(_("This refund was cancelled"), detail, "calm", "cross")


def _taken(refund: Refund) -> str:
    if refund.named_by == NamedBy.PAYER:
        return _("We already have your address")
    return _("This link is no longer needed")
