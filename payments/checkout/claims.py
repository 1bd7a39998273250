"""What a payer is shown of a claimed transaction: what became of it, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.pages import wording
from payments.chains import registry
from payments.checkout.payer import State, Tone
from payments.claims.explanation import WHY_FAILED, ClaimCode, ClaimExplanation, ExplainedTransfer
from payments.deposits.addresses import sibling_networks
from payments.models import Payment
from payments.states import DiscrepancyStatus, PaymentStatus


@dataclass(frozen=True, slots=True)
class Beside:
    """Another transfer of the same transaction that came to the payment's address."""

    amount: str
    words: str


@dataclass(frozen=True, slots=True)
class ClaimAnswer:
    """All that the page may show of a transaction; not whom strangers paid with it, nor how much."""

    state: State
    beside: tuple[Beside, ...]
    strangers: int
    changes_soon: bool


def answer_payer(payment: Payment, explanation: ClaimExplanation) -> ClaimAnswer:
    chosen = explanation.chosen
    beside = [each for each in explanation.transfers if each.arrived_here and each is not chosen]
    elsewhere = sum(not each.arrived_here for each in explanation.transfers)
    return ClaimAnswer(
        state=_state(payment, explanation),
        beside=tuple(Beside(_amount(each), str(IN_SHORT[each.code])) for each in beside),
        strangers=elsewhere if chosen is not None and chosen.arrived_here else 0,
        changes_soon=explanation.code in _CHANGES_SOON,
    )


def _state(payment: Payment, explanation: ClaimExplanation) -> State:
    chosen, code = explanation.chosen, _code_for(payment, explanation)
    title, *sentences = ANSWERS[code]
    detail = " ".join(map(str, sentences))
    if code == ClaimCode.FAILED and explanation.network and (why := WHY_FAILED.get(explanation.network.family)):
        detail = f"{detail} {why}"
    if code == ClaimCode.CREDITED and payment.status != PaymentStatus.COMPLETED:
        detail = gettext("The page of the payment says how things stand with it.")
    if chosen is not None and chosen.decision is not None and (decided := _DECIDED.get(chosen.decision)):
        detail = str(decided)
    words = {
        "payee": payment.merchant.payee,
        "amount": _amount(chosen) if chosen else "",
        "network": explanation.network.name if explanation.network else "",
        "networks": _names(payment),
        "asked": gettext("%(coin)s on %(network)s")
        % {"coin": payment.cryptocurrency, "network": _name(payment.environment, payment.network)},
        "confirmations": str(chosen.confirmations if chosen else 0),
        "required": str(payment.required_confirmations),
        "missing": wording.coins(max(0, payment.due - payment.received), payment.decimals, payment.cryptocurrency),
        "surplus": wording.coins(payment.surplus, payment.decimals, payment.cryptocurrency),
    }
    is_confirming = code in _CONFIRMING
    tone, icon = _look(code)
    return State(
        str(title).format(**words),
        detail.format(**words),
        tone,
        icon,
        confirmations=chosen.confirmations if is_confirming and chosen else None,
        required=payment.required_confirmations if is_confirming else 0,
    )


def _code_for(payment: Payment, explanation: ClaimExplanation) -> ClaimCode:
    """The code that the payer may see: other payments are only their merchant's business."""
    chosen = explanation.chosen
    if chosen is None or explanation.code != ClaimCode.OTHER_PAYMENT:
        return explanation.code
    return ClaimCode.OTHER_MEMO if chosen.recipient == payment.deposit_address else ClaimCode.OTHER_ADDRESS


def _look(code: ClaimCode) -> tuple[Tone, str]:
    if code in _GOOD:
        return "good", "check"
    if code in _CONFIRMING:
        return "accent", "blocks"
    return ("accent", "clock") if code in _WAITING else ("warn", "warning")


def _amount(transfer: ExplainedTransfer) -> str:
    if transfer.asset is None:
        return gettext("A coin that is not accepted here")
    return f"{wording.coins_held(transfer.amount, transfer.asset.decimals)} {transfer.asset.code}"


def _name(environment: str, network: str) -> str:
    return registry.known_profile(environment, network).name


def _names(payment: Payment) -> str:
    if payment.network not in registry.networks(payment.environment):
        return _name(payment.environment, payment.network)
    siblings = sibling_networks(payment.environment, payment.network)
    return gettext(" or ").join(_name(payment.environment, network) for network in siblings)


_GOOD = {ClaimCode.CREDITED, ClaimCode.OVERPAID}
_CONFIRMING = {ClaimCode.CONFIRMING, ClaimCode.AWAITING_FINALITY}
_WAITING = {ClaimCode.MISSED, ClaimCode.NOT_READ_YET, ClaimCode.PENDING} | _CONFIRMING
_CHANGES_SOON = _WAITING | {ClaimCode.NO_LONGER_WATCHED, ClaimCode.UNDONE, ClaimCode.NOT_FOUND}
"""Codes that may change within a minute."""

_DECIDED: Mapping[str, Promise] = {
    DiscrepancyStatus.ACCEPTED: _("{payee} has accepted it. You need not do anything."),
    DiscrepancyStatus.REFUNDED: _("{payee} has sent {amount} back to you, or it is on its way."),
}

_ASK_BACK = _("It is kept safe; ask {payee} to send it back, and name the reference below.")
_ASK_FOR_HELP = _("Ask {payee} for help, and name the reference below.")
_SHOW_HASH = _("Show {payee} the hash of this transaction, and name the reference below: both are needed to find it.")
_ELSEWHERE = _(
    "Compare the address in your wallet with the one of this payment. We cannot bring back what went elsewhere; if you "
    "think that it should have come here, ask {payee}, and name the reference below."
)

IN_SHORT: Mapping[ClaimCode, Promise] = {
    ClaimCode.MISSED: _("being counted"),
    ClaimCode.NO_LONGER_WATCHED: _("after the payment's end"),
    ClaimCode.TOO_EARLY: _("older than the payment"),
    ClaimCode.NETWORK_HALTED: _("not counted yet"),
    ClaimCode.NOT_READ_YET: _("not counted yet"),
    ClaimCode.CONFIRMING: _("being confirmed"),
    ClaimCode.AWAITING_FINALITY: _("being confirmed"),
    ClaimCode.LATE: _("late"),
    ClaimCode.UNDERPAID: _("counted"),
    ClaimCode.OVERPAID: _("counted"),
    ClaimCode.CREDITED: _("counted"),
    ClaimCode.WRONG_NETWORK: _("on another network"),
    ClaimCode.WRONG_TOKEN: _("not the coin asked for"),
    ClaimCode.UNKNOWN_TOKEN: _("not the coin asked for"),
    ClaimCode.NO_MEMO: _("without its memo"),
    ClaimCode.CLAIMABLE_BALANCE: _("set aside, not paid"),
    ClaimCode.CLAWBACK: _("no payment"),
    ClaimCode.ACCOUNT_MERGE: _("not the coin asked for"),
    ClaimCode.NATIVE_COIN: _("not the coin asked for"),
    ClaimCode.ZERO_AMOUNT: _("no money moved"),
}
"""Short texts for another transfer of the same transaction to the payment's address."""

ANSWERS: Mapping[ClaimCode, tuple[Promise, ...]] = {
    ClaimCode.MISSED: (
        _("We have found your money"),
        _("It had not been counted yet, and is being counted now. You need not do anything, and do not send it twice."),
    ),
    ClaimCode.NO_LONGER_WATCHED: (
        _("It came long after this payment had ended"),
        _("It is kept safe, and is being recorded now."),
        _ASK_FOR_HELP,
    ),
    ClaimCode.TOO_EARLY: (
        _("It was sent before this payment existed"),
        _("It cannot have been meant for this payment, and does not count for it. It is kept safe."),
        _ASK_FOR_HELP,
    ),
    ClaimCode.NETWORK_HALTED: (
        _("{network} is being checked"),
        _("Nothing that comes over it is counted just now. Your money is not lost. Do not send it twice."),
    ),
    ClaimCode.NOT_READ_YET: (
        _("Your transfer is there"),
        _("It shows up on the page of the payment in a moment. You need not do anything."),
    ),
    ClaimCode.CONFIRMING: (
        _("Your transfer is being confirmed"),
        _("It has {confirmations} of {required} confirmations, and counts once it has all. You need not do anything."),
    ),
    ClaimCode.AWAITING_FINALITY: (
        _("Your transfer is being confirmed"),
        _("It counts once {network} has made it final. You need not do anything."),
    ),
    ClaimCode.LATE: (_("{amount} arrived late"), _("It came after the time to pay was over."), _ASK_BACK),
    ClaimCode.UNDERPAID: (
        _("{missing} is still missing"),
        _("{amount} has arrived and is counted. The page of the payment says whether there is time to send the rest."),
    ),
    ClaimCode.OVERPAID: (
        _("It arrived and is counted"),
        _("{surplus} more than was due has come. {payee} can send that back to you."),
    ),
    ClaimCode.CREDITED: (_("It arrived and is counted"), _("The payment is complete, and {payee} has been told.")),
    ClaimCode.WRONG_NETWORK: (
        _("{amount} arrived on another network"),
        _("You sent it on {network}, and this payment takes {asked}. It does not count."),
        _ASK_BACK,
    ),
    ClaimCode.WRONG_TOKEN: (
        _("{amount} arrived, which is not the coin asked for"),
        _("This payment takes {asked}. It does not count."),
        _ASK_BACK,
    ),
    ClaimCode.UNKNOWN_TOKEN: (
        _("You sent a coin that is not accepted here"),
        _("This payment takes {asked}. What you sent may carry the same name, but it is another coin."),
        _ASK_FOR_HELP,
    ),
    ClaimCode.NO_MEMO: (
        _("{amount} arrived without its memo"),
        _("Nobody can tell by it whose money it is. It is kept safe."),
        _SHOW_HASH,
    ),
    ClaimCode.CLAIMABLE_BALANCE: (
        _("{amount} was set aside, not paid"),
        _(
            "Your wallet made a claimable balance of it, which does not arrive by itself. Take it back in your wallet, "
            "then pay with the address and memo of this payment."
        ),
        _ASK_FOR_HELP,
    ),
    ClaimCode.CLAWBACK: (
        _("This is no payment of yours"),
        _("By it the issuer of the coin took money back. Look in your wallet for the transfer that you sent."),
    ),
    ClaimCode.ACCOUNT_MERGE: (
        _("Your account was closed into this one"),
        _("Its native coins arrived. This payment takes {asked}; they do not count."),
        _ASK_FOR_HELP,
    ),
    ClaimCode.NATIVE_COIN: (
        _("{amount} arrived, which is not the coin asked for"),
        _("This payment takes {asked}. It does not count."),
        _ASK_FOR_HELP,
    ),
    ClaimCode.ZERO_AMOUNT: (
        _("This transfer moved no money"),
        _(
            "It went to the right address, but its amount is zero. Look in your wallet for another transfer, or send "
            "the money if the time to pay is not over."
        ),
    ),
    ClaimCode.OTHER_MEMO: (
        _("It carries another memo"),
        _("It went to the right address, but its memo is not the one of this payment."),
        _SHOW_HASH,
    ),
    ClaimCode.OTHER_ADDRESS: (_("It went to another address"), _ELSEWHERE),
    ClaimCode.NO_TRANSFERS: (
        _("This transaction moved no coins"),
        _(
            "Wallets often need a step before the transfer itself, such as an approval. Look in your wallet for the "
            "transfer, and enter its hash."
        ),
    ),
    ClaimCode.FAILED: (
        _("This transaction failed"),
        _(
            "Nothing was sent: the money is still in your wallet, less the fee of the network. If the time to pay is "
            "not over, you can send it again."
        ),
    ),
    ClaimCode.PENDING: (
        _("Your transfer is waiting"),
        _(
            "{network} knows it, but has not carried it out yet. That can take some minutes; many wallets can speed it "
            "up for a higher fee. Do not send it twice."
        ),
    ),
    ClaimCode.UNDONE: (
        _("The network has taken this transfer back"),
        _(
            "It may come again by itself. "
            "Look in your wallet whether the money is still there before you send anything."
        ),
    ),
    ClaimCode.NOT_FOUND: (
        _("We cannot find this transaction"),
        _(
            "Check that you copied the whole hash, and that you sent on {networks}. If you have only just sent it, "
            "wait a minute and look again. An exchange may show a number of its own first, and the hash later."
        ),
    ),
}
