"""The payer's view of a claimed transaction: its explanation, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

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
        detail = gettext("The payment page shows its current state.")
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
    return wording.coins(transfer.amount, transfer.asset.decimals, transfer.asset.code)


def _name(environment: str, network: str) -> str:
    return registry.known_profile(environment, network).name


def _names(payment: Payment) -> str:
    if payment.network not in registry.networks(payment.environment):
        return _name(payment.environment, payment.network)
    siblings = sibling_networks(payment.environment, payment.network)
    names = (_name(payment.environment, network) for network in siblings)
    return reduce(lambda first, second: gettext("{first} or {second}").format(first=first, second=second), names)


_GOOD = {ClaimCode.CREDITED, ClaimCode.OVERPAID}
_CONFIRMING = {ClaimCode.CONFIRMING, ClaimCode.AWAITING_FINALITY}
_WAITING = {ClaimCode.MISSED, ClaimCode.NOT_READ_YET, ClaimCode.PENDING} | _CONFIRMING
_CHANGES_SOON = _WAITING | {ClaimCode.NO_LONGER_WATCHED, ClaimCode.UNDONE, ClaimCode.NOT_FOUND}
"""Codes that may change within a minute."""

_DECIDED: Mapping[str, Promise] = {
    DiscrepancyStatus.ACCEPTED: _("{payee} has accepted it. There is nothing you need to do."),
    DiscrepancyStatus.REFUNDED: _("{payee} has sent {amount} back to you, or it is on its way."),
}

_GET_IT_BACK = _("It is safe. To get it back, contact {payee} and give the reference below.")
_GET_HELP = _("Contact {payee} for help and give the reference below.")
_SHOW_HASH = _("Send {payee} the hash of this transaction and the reference below: both are needed to find it.")
_ELSEWHERE = _(
    "Compare the address in your wallet with the address of this payment. We cannot recover money sent to another "
    "address. If you think it should have arrived here, contact {payee} and give the reference below."
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
    ClaimCode.WRONG_NETWORK: _("wrong network"),
    ClaimCode.WRONG_TOKEN: _("wrong coin"),
    ClaimCode.UNKNOWN_TOKEN: _("wrong coin"),
    ClaimCode.NO_MEMO: _("without its memo"),
    ClaimCode.CLAIMABLE_BALANCE: _("set aside, not paid"),
    ClaimCode.CLAWBACK: _("no payment"),
    ClaimCode.ACCOUNT_MERGE: _("wrong coin"),
    ClaimCode.NATIVE_COIN: _("wrong coin"),
    ClaimCode.ZERO_AMOUNT: _("no money moved"),
}
"""Short texts for another transfer of the same transaction to the payment's address."""

ANSWERS: Mapping[ClaimCode, tuple[Promise, ...]] = {
    ClaimCode.MISSED: (
        _("We have found your money"),
        _("It was not counted yet and is being counted now. There is nothing you need to do. Do not pay twice."),
    ),
    ClaimCode.NO_LONGER_WATCHED: (
        _("It arrived long after this payment had ended"),
        _("It is safe and is being recorded now."),
        _GET_HELP,
    ),
    ClaimCode.TOO_EARLY: (
        _("It was sent before this payment was created"),
        _("It does not count towards this payment. It is safe."),
        _GET_HELP,
    ),
    ClaimCode.NETWORK_HALTED: (
        _("{network} is being checked"),
        _("Payments on this network are paused while we check it. Your money is not lost. Do not pay twice."),
    ),
    ClaimCode.NOT_READ_YET: (
        _("Your transfer has arrived"),
        _("It will appear on the payment page in a moment. There is nothing you need to do."),
    ),
    ClaimCode.CONFIRMING: (
        _("Your transfer is being confirmed"),
        _(
            "It has {confirmations} of {required} confirmations and counts once it has all of them. There is nothing "
            "you need to do."
        ),
    ),
    ClaimCode.AWAITING_FINALITY: (
        _("Your transfer is being confirmed"),
        _("It counts once it is final on {network}. There is nothing you need to do."),
    ),
    ClaimCode.LATE: (_("{amount} arrived late"), _("It arrived after the time to pay had ended."), _GET_IT_BACK),
    ClaimCode.UNDERPAID: (
        _("{missing} is still missing"),
        _("{amount} has arrived. The payment page shows whether there is still time to send the rest."),
    ),
    ClaimCode.OVERPAID: (
        _("Your payment arrived"),
        _("You sent {surplus} too much. {payee} can send it back to you."),
    ),
    ClaimCode.CREDITED: (_("Your payment arrived"), _("The payment is complete, and {payee} has been notified.")),
    ClaimCode.WRONG_NETWORK: (
        _("{amount} arrived on the wrong network"),
        _("You sent it on {network}, but this payment takes {asked}. It does not count."),
        _GET_IT_BACK,
    ),
    ClaimCode.WRONG_TOKEN: (
        _("{amount} arrived, but it is the wrong coin"),
        _("This payment takes {asked}. It does not count."),
        _GET_IT_BACK,
    ),
    ClaimCode.UNKNOWN_TOKEN: (
        _("You sent a coin that is not accepted here"),
        _("This payment takes {asked}. What you sent may carry the same name, but it is another coin."),
        _GET_HELP,
    ),
    ClaimCode.NO_MEMO: (
        _("{amount} arrived without its memo"),
        _("Without a memo we cannot match it to your payment. It is safe."),
        _SHOW_HASH,
    ),
    ClaimCode.CLAIMABLE_BALANCE: (
        _("{amount} was set aside, not paid"),
        _(
            "Your wallet created a claimable balance, which does not arrive by itself. Take it back in your "
            "wallet, then pay with the address and memo of this payment."
        ),
        _GET_HELP,
    ),
    ClaimCode.CLAWBACK: (
        _("This is not a payment"),
        _("In this transaction the issuer of the coin took money back. Look in your wallet for the transfer you sent."),
    ),
    ClaimCode.ACCOUNT_MERGE: (
        _("Your account was merged into this one"),
        _("Only its native coins arrived. This payment takes {asked}, so they do not count."),
        _GET_HELP,
    ),
    ClaimCode.NATIVE_COIN: (
        _("{amount} arrived, but it is the wrong coin"),
        _("This payment takes {asked}. It does not count."),
        _GET_HELP,
    ),
    ClaimCode.ZERO_AMOUNT: (
        _("This transfer moved no money"),
        _(
            "It went to the right address, but its amount is zero. Look in your wallet for another transfer, or "
            "send the money if there is still time to pay."
        ),
    ),
    ClaimCode.OTHER_MEMO: (
        _("It has a different memo"),
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
            "Nothing was sent: the money is still in your wallet, minus the network fee. If there is still time to "
            "pay, you can send it again."
        ),
    ),
    ClaimCode.PENDING: (
        _("Your transfer is waiting"),
        _(
            "{network} has it but has not processed it yet. This can take some minutes. Many wallets can speed it "
            "up for a higher fee. Do not pay twice."
        ),
    ),
    ClaimCode.UNDONE: (
        _("The network has undone this transfer"),
        _(
            "It may be repeated automatically. Check in your wallet whether the money is still there before you "
            "send anything."
        ),
    ),
    ClaimCode.NOT_FOUND: (
        _("We cannot find this transaction"),
        _(
            "Check that you copied the whole hash and that you sent on {networks}. If you have only just sent it, "
            "wait a minute and look again. An exchange may first show its own number and the hash later."
        ),
    ),
}
