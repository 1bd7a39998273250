"""Explains why each transfer of an on-chain transaction counts for a payment, or does not: facts in, sentences out.
Pure."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from config.money import Asset
from config.pages import wording
from merchants.ledger.chart import suspense
from payments.chains.profiles import CreditRule, Family, NetworkProfile
from payments.chains.protocol.transfers import FoundTransaction, IncomingTransfer, NonDeposit
from payments.deposits.addresses import WATCHED_AFTER_END, is_older
from payments.deposits.models import ScanCursor
from payments.models import Deposit, Payment
from payments.states import DepositStatus, DiscrepancyKind, DiscrepancyStatus, PaymentStatus

READ_SEVERAL_TIMES = timedelta(minutes=1)
"""A block is read more than once at first: what one provider left out, another one may report."""


class ClaimCode(StrEnum):
    """Codes for a transfer or, the last five, only for a whole transaction. The most important comes first."""

    MISSED = "missed"
    NO_LONGER_WATCHED = "no_longer_watched"
    TOO_EARLY = "too_early"
    NETWORK_HALTED = "network_halted"
    NOT_READ_YET = "not_read_yet"
    CONFIRMING = "confirming"
    AWAITING_FINALITY = "awaiting_finality"
    LATE = "late"
    UNDERPAID = "underpaid"
    OVERPAID = "overpaid"
    CREDITED = "credited"
    WRONG_NETWORK = "wrong_network"
    WRONG_TOKEN = "wrong_token"  # noqa: S105  a code, no secret
    UNKNOWN_TOKEN = "unknown_token"  # noqa: S105
    NO_MEMO = "no_memo"
    CLAIMABLE_BALANCE = "claimable_balance"
    CLAWBACK = "clawback"
    ACCOUNT_MERGE = "account_merge"
    NATIVE_COIN = "native_coin"
    ZERO_AMOUNT = "zero_amount"
    OTHER_PAYMENT = "other_payment"
    OTHER_MEMO = "other_memo"
    OTHER_ADDRESS = "other_address"
    NO_TRANSFERS = "no_transfers"
    FAILED = "failed"
    PENDING = "pending"
    UNDONE = "undone"
    NOT_FOUND = "not_found"


WHOLE_ONLY = frozenset(
    {ClaimCode.NO_TRANSFERS, ClaimCode.FAILED, ClaimCode.PENDING, ClaimCode.UNDONE, ClaimCode.NOT_FOUND}
)
"""Codes that never stand for a single transfer."""

READ_AGAIN = frozenset({ClaimCode.MISSED, ClaimCode.NO_LONGER_WATCHED, ClaimCode.TOO_EARLY})
"""Money of ours that no scan will find any more: somebody has to look at its transaction once more."""

_IN_SUSPENSE = frozenset(
    {ClaimCode.LATE, ClaimCode.WRONG_NETWORK, ClaimCode.WRONG_TOKEN, ClaimCode.NO_MEMO, ClaimCode.TOO_EARLY}
)


@dataclass(frozen=True, slots=True)
class NetworkReply:
    """One network's reply about the on-chain transaction, and how far the network has been read."""

    profile: NetworkProfile
    found: FoundTransaction | None
    cursor: ScanCursor | None
    is_halted: bool


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """All that decides. `replies` begin with that of the payment's network, if it replied; `network_name` is its name.

    `deposits` of the transaction are by network and ordinal, `decisions` by deposit; `own_payments` are other payments
    of the same merchant, their public ids by address and memo. Rows are read after `replies`, cursors before deposits.
    """

    payment: Payment
    network_name: str
    replies: tuple[NetworkReply, ...]
    deposits: Mapping[tuple[str, int], Deposit]
    decisions: Mapping[uuid.UUID, str]
    own_payments: Mapping[tuple[str, str], str]
    offered: Mapping[str, tuple[str, str]]
    """Address and memo of the payment by family of networks, where its payer chooses among several."""

    def place_on(self, profile: NetworkProfile) -> tuple[str, str]:
        """Address and memo at which money for the payment comes on a network."""
        return self.offered.get(profile.family, (self.payment.deposit_address, self.payment.memo))

    @property
    def known_before(self) -> bool:
        """True if the payment has money of this transaction, or had."""
        return any(deposit.payment_id == self.payment.id for deposit in self.deposits.values())


@dataclass(frozen=True, slots=True)
class ExplainedTransfer:
    """One transfer, and its explanation.

    `matched`: it is the transfer that the payment requested, in its coin, on its network, to its address.
    `arrived_here`: it came to the payment's address, perhaps without its memo. `payment_id` is the merchant's payment
    it is for.
    """

    network: str
    asset: Asset | None
    contract: str
    amount: int
    sender: str
    recipient: str
    memo: str | None
    code: ClaimCode
    message: str
    matched: bool
    arrived_here: bool
    payment_id: str | None
    height: int | None
    confirmations: int
    decision: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimExplanation:
    """The explanation of a whole on-chain transaction: that of its most important transfer, if it has any."""

    code: ClaimCode
    message: str
    network: NetworkProfile | None
    height: int | None
    transfers: tuple[ExplainedTransfer, ...]
    chosen: ExplainedTransfer | None = None

    @property
    def to_be_read_again(self) -> tuple[str, ...]:
        """The networks on which it has money of ours that was never seen."""
        return tuple(dict.fromkeys(each.network for each in self.transfers if each.code in READ_AGAIN))


def explain(facts: ClaimFacts) -> ClaimExplanation:
    known = [(reply, reply.found) for reply in facts.replies if reply.found is not None]
    included = [(reply, found) for reply, found in known if found.state == "included"]
    transfers = tuple(each for reply, found in included for each in _transfers(facts, reply, found))
    if transfers:
        chosen = min(transfers, key=lambda each: (not each.matched, _RANK[each.code]))
        profile = next(reply.profile for reply in facts.replies if reply.profile.network == chosen.network)
        return ClaimExplanation(chosen.code, chosen.message, profile, chosen.height, transfers, chosen)
    if not known:
        code = ClaimCode.UNDONE if facts.known_before else ClaimCode.NOT_FOUND
        networks = " or ".join(reply.profile.name for reply in facts.replies)
        return ClaimExplanation(code, _SENTENCES[code].format(networks=networks), None, None, ())
    reply, found = min(known, key=lambda each: _STATES[each[1].state])
    code = _OF_STATE[found.state]
    words = {"network": reply.profile.name, "block": f"{found.height or 0:,}"}
    message = _SENTENCES[code].format(**words)
    if code == ClaimCode.FAILED and (why := WHY_FAILED.get(reply.profile.family)):
        message = f"{message} {why}"
    return ClaimExplanation(code, message, reply.profile, found.height, ())


def _transfers(facts: ClaimFacts, reply: NetworkReply, found: FoundTransaction) -> Iterator[ExplainedTransfer]:
    for transfer in found.transfers:
        code = _code(facts, reply, transfer)
        deposit = facts.deposits.get((reply.profile.network, transfer.ordinal))
        yield _explained(facts, reply, transfer, code, height=transfer.height, asset=transfer.asset, deposit=deposit)
    assets = {asset.contract: asset for asset in reply.profile.assets.values()} | {"": reply.profile.native}
    for moved in found.idle:
        yield _explained(
            facts, reply, moved, _idle_code(facts, reply, moved), height=found.height, asset=assets.get(moved.contract)
        )


def _code(facts: ClaimFacts, reply: NetworkReply, transfer: IncomingTransfer) -> ClaimCode:
    payment, (_, memo) = facts.payment, facts.place_on(reply.profile)
    if elsewhere := _elsewhere(facts, reply, transfer):
        return elsewhere
    if transfer.asset is None:
        return ClaimCode.UNKNOWN_TOKEN
    if (transfer.memo or "") == memo and is_older(transfer.block_time, payment.id):
        return ClaimCode.TOO_EARLY
    deposit = facts.deposits.get((reply.profile.network, transfer.ordinal))
    standing = deposit if deposit is not None and deposit.status != DepositStatus.ORPHANED else None
    unseen = None if standing else _unseen(payment, reply, transfer)
    if unseen in READ_AGAIN and not is_older(transfer.block_time, payment.id):
        return unseen  # where all share an account, what came before it was read is the house's, and booked as that
    if (transfer.memo or "") != memo:
        return ClaimCode.NO_MEMO
    if reply.profile.network != payment.network:
        return ClaimCode.WRONG_NETWORK
    if transfer.asset.code != payment.cryptocurrency:
        return ClaimCode.WRONG_TOKEN
    if standing is None or unseen:
        return unseen or ClaimCode.NOT_READ_YET
    return _credit(payment, reply, standing)


def _elsewhere(facts: ClaimFacts, reply: NetworkReply, moved: IncomingTransfer | NonDeposit) -> ClaimCode | None:
    """The code of another recipient; None when the transfer is for this payment, or would be if it had its memo."""
    (address, own_memo), memo = facts.place_on(reply.profile), moved.memo or ""
    if moved.recipient == address and memo in (own_memo, ""):
        return None
    if (moved.recipient, memo) in facts.own_payments:
        return ClaimCode.OTHER_PAYMENT
    return ClaimCode.OTHER_MEMO if moved.recipient == address else ClaimCode.OTHER_ADDRESS


def _unseen(payment: Payment, reply: NetworkReply, transfer: IncomingTransfer) -> ClaimCode:
    """The reason there is no deposit of a transfer on the chain. What is not final yet is read again with every
    scan."""
    cursor = reply.cursor
    if reply.is_halted:
        return ClaimCode.NETWORK_HALTED
    if cursor is None or cursor.read_until is None or transfer.height > cursor.finalized_height:
        return ClaimCode.NOT_READ_YET
    if cursor.read_until - transfer.block_time < READ_SEVERAL_TIMES:
        return ClaimCode.NOT_READ_YET
    watched_until = payment.closes_at + WATCHED_AFTER_END
    return ClaimCode.NO_LONGER_WATCHED if transfer.block_time > watched_until else ClaimCode.MISSED


def _credit(payment: Payment, reply: NetworkReply, deposit: Deposit) -> ClaimCode:
    """The progress of the payment's own money."""
    if deposit.status == DepositStatus.SEEN:
        return _waiting(payment, reply, deposit)
    if deposit.booked_to == suspense(DiscrepancyKind.LATE):
        return ClaimCode.LATE
    if deposit.booked_to == suspense(DiscrepancyKind.REVIEW):
        return ClaimCode.NOT_READ_YET
    if payment.status == PaymentStatus.UNDERPAID:
        return ClaimCode.UNDERPAID
    return ClaimCode.OVERPAID if payment.surplus else ClaimCode.CREDITED


def _waiting(payment: Payment, reply: NetworkReply, deposit: Deposit) -> ClaimCode:
    cursor = reply.cursor
    if cursor is None or reply.is_halted:
        return ClaimCode.NETWORK_HALTED
    if payment.cancelled_at or payment.closed_at or deposit.first_block_time > payment.closes_at:
        return ClaimCode.LATE
    rule = CreditRule(payment.required_confirmations)
    confirmed = rule.satisfied(
        height=deposit.height, head_height=cursor.head_height, finalized_height=cursor.finalized_height
    )
    waits_for_finality = payment.require_finalized and deposit.height > cursor.finalized_height
    return ClaimCode.AWAITING_FINALITY if confirmed and waits_for_finality else ClaimCode.CONFIRMING


def _idle_code(facts: ClaimFacts, reply: NetworkReply, moved: NonDeposit) -> ClaimCode:
    if moved.kind == "clawback" and moved.sender == facts.place_on(reply.profile)[0]:
        return ClaimCode.CLAWBACK
    if elsewhere := _elsewhere(facts, reply, moved):
        return elsewhere
    if moved.kind:
        return ClaimCode(moved.kind)
    return ClaimCode.ZERO_AMOUNT if moved.amount == 0 else ClaimCode.NATIVE_COIN


def _explained(
    facts: ClaimFacts,
    reply: NetworkReply,
    moved: IncomingTransfer | NonDeposit,
    code: ClaimCode,
    *,
    height: int | None,
    asset: Asset | None,
    deposit: Deposit | None = None,
) -> ExplainedTransfer:
    payment = facts.payment
    arrived_here = _elsewhere(facts, reply, moved) is None
    is_ours = arrived_here and (moved.memo or "") == facts.place_on(reply.profile)[1]
    matched = (
        is_ours
        and isinstance(moved, IncomingTransfer)
        and (reply.profile.network, asset and asset.code) == (payment.network, payment.cryptocurrency)
    )
    decision = facts.decisions.get(deposit.id) if deposit is not None and code in _IN_SUSPENSE else None
    other = facts.own_payments.get((moved.recipient, moved.memo or ""))
    confirmations = _confirmations(payment, reply, deposit, height)
    words = {
        "amount": _amount(moved.amount, asset),
        "token": _token_name(reply.profile, moved.contract),
        "network": reply.profile.name,
        "block": f"{height or 0:,}",
        "asked": f"{payment.cryptocurrency} on {facts.network_name}",
        "confirmations": str(confirmations),
        "required": str(payment.required_confirmations),
        "missing": wording.coins(max(0, payment.due - payment.received), payment.decimals, payment.cryptocurrency),
        "surplus": wording.coins(payment.surplus, payment.decimals, payment.cryptocurrency),
        "other": other or "",
    }
    message = _SENTENCES[code].format(**words)
    if isinstance(moved, IncomingTransfer) and moved.conflicting_memo:
        of_memo = _SAME_MEMO if moved.conflicting_memo == payment.memo else _CONFLICT
        message = f"{message} {of_memo.format(memo=moved.conflicting_memo, muxed=moved.memo)}"
    if code in _IN_SUSPENSE:
        message = f"{message} {_DECISIONS[decision]}"
    return ExplainedTransfer(
        network=reply.profile.network,
        asset=asset,
        contract=moved.contract,
        amount=moved.amount,
        sender=moved.sender,
        recipient=moved.recipient,
        memo=moved.memo,
        code=code,
        message=message,
        matched=matched,
        arrived_here=arrived_here,
        payment_id=payment.public_id if is_ours else other,
        height=height,
        confirmations=confirmations,
        decision=decision,
    )


def _confirmations(payment: Payment, reply: NetworkReply, deposit: Deposit | None, height: int | None) -> int:
    """At most those that are required; by blocks that have been read, as the payment counts them."""
    required = payment.required_confirmations
    if deposit is not None and deposit.status == DepositStatus.CREDITED:
        return required
    read = reply.cursor.head_height if reply.cursor else 0
    return 0 if height is None else max(0, min(read - height + 1, required))


def _amount(units: int, asset: Asset | None) -> str:
    return f"{wording.coins_held(units, asset.decimals)} {asset.code}" if asset else "an unknown token"


def _token_name(profile: NetworkProfile, contract: str) -> str:
    """Common name of a token that is not accepted, where many mistake it for one that is."""
    known: Mapping[str, str] = profile.metadata.get("known_not_accepted", {})
    return next((f"{name} ({contract})" for name, token in known.items() if token == contract), contract)


_RANK = {code: rank for rank, code in enumerate(ClaimCode)}
_STATES = {"included": 0, "failed": 1, "pending": 2}
_OF_STATE = {"included": ClaimCode.NO_TRANSFERS, "failed": ClaimCode.FAILED, "pending": ClaimCode.PENDING}

WHY_FAILED: Mapping[Family, Promise] = {
    "stellar": gettext_lazy(
        "Often the coin was one of another issuer, which this account does not take, or an issuer has frozen "
        "one of the accounts."
    ),
}
"""By network family: what most often makes a transaction fail there."""

_CONFLICT = "Its memo is {memo}, but the muxed address it was sent to says {muxed}, and that counts."
_SAME_MEMO = "Its memo is this payment's, but the muxed address it was sent to says {muxed}, and that counts."

_DECISIONS: Mapping[str | None, str] = {
    None: "Once it is confirmed it is kept for a decision.",
    DiscrepancyStatus.OPEN: "It is kept until somebody decides to accept it or to give it back.",
    DiscrepancyStatus.ACCEPTED: "It has been accepted.",
    DiscrepancyStatus.REFUNDED: "It is given back by a refund.",
    DiscrepancyStatus.VOID: "What was to be decided about it has become void.",
}

_SENTENCES: Mapping[ClaimCode, str] = {
    ClaimCode.MISSED: (
        "It is this payment's money, and it should have been seen in block {block}. Its transaction is being read "
        "again now, and the operators have been told. Ask again in a minute."
    ),
    ClaimCode.NO_LONGER_WATCHED: (
        "It came to this payment's address long after the payment had ended, when nobody watched the address any "
        "more. Its transaction is being read now. Ask again in a minute."
    ),
    ClaimCode.TOO_EARLY: (
        "It came to this payment's address before the payment existed, so it was not sent for it and is not credited."
    ),
    ClaimCode.NETWORK_HALTED: (
        "{network} has contradicted itself, so nothing on it is credited until the operators have looked. Nothing is "
        "lost by that."
    ),
    ClaimCode.NOT_READ_YET: (
        "It is in block {block} of {network}, which is still being read. It shows up by itself in a moment."
    ),
    ClaimCode.CONFIRMING: "It matches, and has {confirmations} of {required} confirmations.",
    ClaimCode.AWAITING_FINALITY: (
        "It matches and has the confirmations it needs. It counts once {network} calls its block final."
    ),
    ClaimCode.LATE: "It matches, but it was sent after the payment's time was over.",
    ClaimCode.UNDERPAID: "It matches and is counted, but {missing} of what is due has not arrived.",
    ClaimCode.OVERPAID: (
        "It matches and is credited. In all, {surplus} more than was due arrived; about that somebody decides apart."
    ),
    ClaimCode.CREDITED: "It matches and is credited to this payment.",
    ClaimCode.WRONG_NETWORK: (
        "It came to this payment's address, but as {amount} on {network}; the payment asked for {asked}."
    ),
    ClaimCode.WRONG_TOKEN: "It came to this payment's address, but as {amount}; the payment asked for {asked}.",
    ClaimCode.UNKNOWN_TOKEN: (
        "It came to this payment's address, but the token {token} is not accepted, whatever it calls itself; the "
        "payment asked for {asked}."
    ),
    ClaimCode.NO_MEMO: "It came to the right address as {amount}, but without the memo that says whose it is.",
    ClaimCode.CLAIMABLE_BALANCE: (
        "It set {amount} aside as a claimable balance in place of paying it: nothing has arrived, and the payment "
        "service claims none by itself. The payer can take it back where it allows that, and pay as the page says."
    ),
    ClaimCode.CLAWBACK: (
        "By it the issuer of the coin took {amount} back from the account that payments arrive at. It is no payment."
    ),
    ClaimCode.ACCOUNT_MERGE: (
        "By it an account was closed, and its native coins went to this payment's address. No payment counts them; the "
        "payment asked for {asked}."
    ),
    ClaimCode.NATIVE_COIN: (
        "It came to this payment's address as {amount}, the native coin of {network}, which no payment counts; the "
        "payment asked for {asked}."
    ),
    ClaimCode.ZERO_AMOUNT: "It came to this payment's address, but moved an amount of zero.",
    ClaimCode.OTHER_PAYMENT: "It was sent for another payment of yours, {other}.",
    ClaimCode.OTHER_MEMO: "It came to the right address, but with a memo that is not this payment's.",
    ClaimCode.OTHER_ADDRESS: "It went to an address that is not this payment's.",
    ClaimCode.NO_TRANSFERS: "The transaction is in block {block} of {network}, but it moved no coins.",
    ClaimCode.FAILED: (
        "The transaction failed in block {block} of {network}: nothing moved, and the payer still has the money."
    ),
    ClaimCode.PENDING: (
        "{network} knows the transaction, but it is in no block yet. Nothing has moved until it is in one."
    ),
    ClaimCode.UNDONE: (
        "The transaction was seen in a block that the network has replaced, and is in none now. It counts again when "
        "it comes back; if it does not, the money never left the payer."
    ),
    ClaimCode.NOT_FOUND: (
        "No transaction with this hash is known on {networks}. The hash may be wrong, the transaction may not have "
        "been sent yet or have been dropped, or it is on another network."
    ),
}
