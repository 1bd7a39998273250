"""Operations that move money, as pages of payments or operations record them. Pure; as records.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import orjson

from payments.chains.protocol.transfers import UnreadRecord
from payments.chains.providers.servers import printable
from payments.chains.stellar.horizon import records, values
from payments.chains.stellar.horizon.envelope_check import Contradiction, Signed, signed
from payments.chains.stellar.horizon.records import Memo, TransactionRecord, ledger_of
from payments.chains.stellar.horizon.values import NATIVE

_OPERATION_BITS = 12
_ALWAYS = {"unconditional": True}
_PATH_PAYMENTS = ("path_payment_strict_receive", "path_payment_strict_send")
_NEVER_READ = ("_links", "result_meta_xdr", "fee_meta_xdr")
_LONGEST_CONTENT = 200_000

PaymentKind = Literal[
    "payment", "path_payment", "create_account", "account_merge", "contract", "claimable_balance", "clawback"
]


@dataclass(frozen=True, slots=True)
class Payment:
    """An operation, or a part of one, that moved an asset from one account to another, in a transaction that succeeded.

    `sender` is the M address where the transaction names one, `recipient` always the account; `muxed_id` is what an M
    address added to it. `amount` of `asset` is what arrived, and None for a merge, of which Horizon does not report it;
    `spent` of `spent_asset` is what left the sender, which differs for path payments. `operation` counts from 0.
    `is_conditional` marks a claimable balance that not the recipient alone may claim, or not at all times.
    """

    paging_token: int
    ledger: int
    closed_at: datetime
    transaction_hash: str
    operation: int
    ordinal: int
    kind: PaymentKind
    sender: str
    recipient: str
    muxed_id: str | None
    asset: str
    amount: int | None
    spent_asset: str
    spent: int | None
    memo: Memo
    source_account: str
    sequence: int
    inner_hash: str = ""
    """Of what a fee bump is around; empty without one."""
    is_conditional: bool = False

    def __str__(self) -> str:
        place = f"in ledger {self.ledger} by {self.transaction_hash}"
        return f"{self.amount} units of {self.asset} from {self.sender} to {self.recipient} {place}"


@dataclass(frozen=True, slots=True)
class OperationRecord:
    """An operation of a page: its place, and what it moved, if anything that is known here, or why that is unknown."""

    paging_token: int
    payments: tuple[Payment, ...]
    unread: UnreadRecord | None = None


def operation(found: Any) -> OperationRecord:
    """An operation of a page, with its transaction.

    Nothing moved where its transaction failed. What an operation of a kind that is not known here moved is left to the
    audit of balances.
    """
    return _operation(found, records.transaction)


def neighbours(account: str, network_id: bytes = b"") -> Callable[[Any], OperationRecord]:
    """As `operation`, for one after the other: the transaction of a hundred operations is read once.

    Of what contracts moved, what touches this account alone is read; a record that cannot be read is noted as such.
    With a network's id what moved money is compared with the envelope.
    """
    joined: Any = None
    known: TransactionRecord | None = None

    def remembered(found: Any) -> TransactionRecord:
        nonlocal joined, known
        if known is None or found != joined:
            joined, known = found, records.transaction(found)
        return known

    compare = _compared(network_id)
    return _or_unread(lambda found: compare(_operation(found, remembered, account), remembered, found))


def transaction_place(found: Any) -> int | None:
    """The paging token of the transaction that an operation needs to be read; None for one that moved nothing."""
    moves = found["type"] in _MOVES and found["transaction_successful"]
    return values.whole(found["paging_token"]) >> _OPERATION_BITS << _OPERATION_BITS if moves else None


def operation_of(known: TransactionRecord, network_id: bytes = b"") -> Callable[[Any], OperationRecord]:
    """Reads an operation of this transaction, as `neighbours`."""
    compare = _compared(network_id)
    return _or_unread(lambda found: compare(_operation(found, lambda _: known), lambda _: known, found))


def _compared(
    network_id: bytes,
) -> Callable[[OperationRecord, Callable[[Any], TransactionRecord], Any], OperationRecord]:
    """Returns records as they are; raises Contradiction for one that its envelope does not bear out."""
    envelopes: dict[str, Signed] = {}

    def compare(
        record: OperationRecord, transaction_of: Callable[[Any], TransactionRecord], found: Any
    ) -> OperationRecord:
        if network_id and any(map(_was_signed, record.payments)):
            of = transaction_of(found.get("transaction"))
            if of.hash not in envelopes:
                envelopes.clear()
                envelopes[of.hash] = signed(of.envelope_xdr, of.hash, network_id, of.signature_lengths)
            _compare(record, envelopes[of.hash])
        return record

    return compare


def _was_signed(payment: Payment) -> bool:
    """Whether an envelope names the recipient, even if not the amount and the asset."""
    return payment.kind in ("payment", "path_payment", "contract")


def _compare(record: OperationRecord, signed: Signed) -> None:
    """Raises Contradiction where a payment is another one than was signed."""
    for each in record.payments:
        if each.memo != signed.memo:
            raise Contradiction(f"the memo {each.memo.text} beside an envelope with {signed.memo.text}")
        if each.kind == "contract" or each.operation >= signed.read:
            continue
        paid = signed.payments.get(each.operation)
        if (
            paid is None
            or (each.recipient, each.muxed_id, each.asset) != (paid.recipient, paid.muxed_id, paid.asset)
            or (each.amount or 0) < paid.amount
            or (each.amount != paid.amount and not paid.is_least)
        ):
            raise Contradiction("a payment that its envelope does not make")


def _or_unread(read: Callable[[Any], OperationRecord]) -> Callable[[Any], OperationRecord]:
    """Whoever can make a contract decides what is in a record: one that cannot be read must not hide those after it."""

    def read_or_note(found: Any) -> OperationRecord:
        token = values.whole(found["paging_token"])
        try:
            return read(found)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            digest = values.digest(found["transaction_hash"])
            problem = printable(f"{type(error).__name__}: {error}")
            return OperationRecord(token, (), UnreadRecord(digest, ledger_of(token), problem, _content(found)))

    return read_or_note


def _content(found: Any) -> str:
    """A record as it was sent, without links and what the network changed besides, which is never read here."""
    joined = found.get("transaction")
    kept = {name: value for name, value in found.items() if name not in _NEVER_READ}
    if isinstance(joined, dict):
        kept["transaction"] = {name: value for name, value in joined.items() if name not in _NEVER_READ}
    return orjson.dumps(kept, option=orjson.OPT_SORT_KEYS).decode()[:_LONGEST_CONTENT].replace("\\u0000", "\\ufffd")


def _operation(
    found: Any, transaction_of: Callable[[Any], TransactionRecord], account: str | None = None
) -> OperationRecord:
    token = values.whole(found["paging_token"])
    moves = _MOVES.get(values.text(found["type"]))
    if moves is None or not values.flag(found["transaction_successful"]):
        return OperationRecord(token, ())
    of = transaction_of(found.get("transaction"))
    place = _Place(token, of, (token & ((1 << _OPERATION_BITS) - 1)) - 1, account)
    if (
        not of.successful
        or of.hash != values.digest(found["transaction_hash"])
        or of.ledger != ledger_of(token)
        or of.paging_token >> _OPERATION_BITS != token >> _OPERATION_BITS
        or not 0 <= place.operation < of.operation_count
    ):
        raise ValueError("an operation that contradicts its transaction")
    return OperationRecord(token, moves(found, place))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an operation stands."""

    token: int
    transaction: TransactionRecord
    operation: int
    account: str | None = None
    """Whose records these are; None where everybody's are read."""

    def payment(
        self,
        kind: PaymentKind,
        sender: str,
        recipient: str,
        asset: str,
        amount: int | None,
        *,
        muxed_id: str | None = None,
        spent: tuple[str, int] | None = None,
        ordinal: int | None = None,
        is_conditional: bool = False,
    ) -> Payment:
        spent_asset, spent_amount = spent or (asset, amount)
        return Payment(
            paging_token=self.token,
            ledger=self.transaction.ledger,
            closed_at=self.transaction.closed_at,
            transaction_hash=self.transaction.hash,
            operation=self.operation,
            ordinal=self.operation if ordinal is None else ordinal,
            kind=kind,
            sender=sender,
            recipient=recipient,
            muxed_id=muxed_id,
            asset=asset,
            amount=amount,
            spent_asset=spent_asset,
            spent=spent_amount,
            memo=self.transaction.memo,
            source_account=self.transaction.source_account,
            sequence=self.transaction.sequence,
            inner_hash=self.transaction.inner_hash or "",
            is_conditional=is_conditional,
        )


def _paid(found: Any, place: _Place) -> tuple[Payment, ...]:
    sender, recipient = values.account(found["from"]), values.account(found["to"])
    if "from_muxed" in found:
        sender = values.muxed(found["from_muxed"], of=sender)
    is_path = found["type"] in _PATH_PAYMENTS
    return (
        place.payment(
            "path_payment" if is_path else "payment",
            sender,
            recipient,
            values.asset(found),
            values.stroops(found["amount"]),
            muxed_id=values.identifier(found["to_muxed_id"]) if "to_muxed_id" in found else None,
            spent=(values.asset(found, "source_"), values.stroops(found["source_amount"])) if is_path else None,
        ),
    )


def _created(found: Any, place: _Place) -> tuple[Payment, ...]:
    funder, created = values.account(found["funder"]), values.account(found["account"])
    return (place.payment("create_account", funder, created, NATIVE, values.stroops(found["starting_balance"])),)


def _merged(found: Any, place: _Place) -> tuple[Payment, ...]:
    merged, into = values.account(found["account"]), values.account(found["into"])
    return (place.payment("account_merge", merged, into, NATIVE, None),)


def _moved_by_contract(found: Any, place: _Place) -> tuple[Payment, ...]:
    """What a contract moved: its transaction has one operation, so each movement in it has its own ordinal.

    A contract moves as much as 128 bits hold, also between others: what no account is part of, or could hold, is
    nobody's money here.
    """
    changes = values.listed(found.get("asset_balance_changes") or [])
    moved = []
    for ordinal, change in enumerate(changes):
        if change["type"] not in ("transfer", "mint"):
            continue
        parties = (change.get("from"), change["to"])
        if not any(_is_of(each, place.account) for each in parties):
            continue
        amount = values.moved_by_contract(change["amount"])
        if amount > values.MOST_UNITS:
            continue
        asset = values.asset(change)
        sender = change.get("from") or asset.partition(":")[2]
        muxed = change.get("destination_muxed_id")
        moved.append(
            place.payment(
                "contract",
                values.account_or_contract(sender),
                values.account_or_contract(change["to"]),
                asset,
                amount,
                muxed_id=None if muxed is None else values.identifier(muxed),
                ordinal=ordinal,
            )
        )
    return tuple(moved)


def _is_of(party: Any, account: str | None) -> bool:
    """Whether it is this account, or any where none is named."""
    return party == account if account else isinstance(party, str) and party.startswith("G")


def _set_aside(found: Any, place: _Place) -> tuple[Payment, ...]:
    """A claimable balance, which leaves the sender for whoever may claim it: the first of them but the sender."""
    sender = values.account(found["source_account"])
    listed = values.listed(found["claimants"])
    claimants = [values.account(each["destination"]) for each in listed]
    recipient = next((each for each in claimants if each != sender), sender)
    asset, amount = values.spelled_asset(found["asset"]), values.stroops(found["amount"])
    is_plain = claimants == [recipient] and listed[0].get("predicate") == _ALWAYS
    return (place.payment("claimable_balance", sender, recipient, asset, amount, is_conditional=not is_plain),)


def _clawed_back(found: Any, place: _Place) -> tuple[Payment, ...]:
    """What an issuer took away from somebody who held its asset."""
    holder, asset = values.account(found["from"]), values.asset(found)
    return (place.payment("clawback", holder, asset.partition(":")[2], asset, values.stroops(found["amount"])),)


_MOVES: Mapping[str, Callable[[Any, _Place], tuple[Payment, ...]]] = {
    "payment": _paid,
    **dict.fromkeys(_PATH_PAYMENTS, _paid),
    "create_account": _created,
    "account_merge": _merged,
    "invoke_host_function": _moved_by_contract,
    "create_claimable_balance": _set_aside,
    "clawback": _clawed_back,
}
