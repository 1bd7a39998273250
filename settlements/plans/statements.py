"""Statement of a settlement, line by line: per coin, opening balance + entries = closing balance, to the base unit.

Pure: it makes a Statement from rows, and refuses one that does not balance. What was carried over from before the
period is the opening balance and is itemised too, so that every payment is in one statement.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

from config import ids
from config.money import FIAT_DIGITS, fiat_share, from_units
from payments.states import BalanceChangeKind
from settlements.models import Settlement
from settlements.states import SettlementStatus

REFUNDED = (BalanceChangeKind.REFUND, BalanceChangeKind.REFUND_FAILED)


class StatementDoesNotBalance(Exception):
    """A bug, or damaged rows: a wrong statement is never shown."""


class LineType(StrEnum):
    """Types of lines, beside the kinds of balance changes."""

    OPENING = "opening_balance"
    FEE = "fee"
    CONVERSION = "conversion"
    SETTLEMENT = "settlement"
    CLOSING = "closing_balance"


class Section(StrEnum):
    """The parts of each coin's account, in their order."""

    CARRIED_OVER = "carried_over"
    OPENING = "opening"
    PERIOD = "period"
    SETTLEMENT = "settlement"
    CLOSING = "closing"


class OtherSide(NamedTuple):
    """The other side of a debt offset: of what was taken what it repaid, of what was repaid what was taken for it.

    `rate` is what one of the coin taken was worth in the coin owed, as text; source and time are empty at par.
    """

    coin: str
    network: str
    decimals: int
    amount: int
    rate: str
    rate_source: str
    rate_quoted_at: str


class Change(NamedTuple):
    """A balance change with the quote of its payment: a row of CHANGE_COLUMNS."""

    id: uuid.UUID
    kind: str
    reference: str
    payment_id: uuid.UUID | None
    asset: str
    decimals: int
    wallet: str
    amount: int
    fiat_amount: int | None
    currency: str | None
    payment_coin: str | None
    due: int | None
    returns_fee: bool = False
    before: int | None = None
    """Sum of the payment's earlier changes, in the same coin."""
    token_fee: int = 0
    claimable_balance: str = ""
    other_side: OtherSide | None = None


CHANGE_COLUMNS = (
    "id",
    "kind",
    "reference",
    "payment_id",
    "asset",
    "decimals",
    "wallet",
    "amount",
    "payment__fiat_amount",
    "payment__currency",
    "payment__cryptocurrency",
    "payment__due",
    "returns_fee",
    "before",
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a coin's account, in base units. A line that only shows the balance has no amount."""

    section: Section
    type: str
    at: datetime
    amount: int | None
    balance: int = 0
    reference: str = ""
    payment_id: str = ""
    refund_id: str = ""
    wallet: str = ""
    fiat_amount: Decimal | None = None
    fiat_currency: str = ""
    other_coin: str = ""
    rate: str = ""
    rate_source: str = ""
    rate_quoted_at: str = ""
    transaction_hash: str = ""
    token_fee: int = 0
    """The part of the amount that the token kept; the rest arrived."""
    claimable_balance: str = ""
    """The id of what was set aside instead of paid."""
    other_side: OtherSide | None = None
    """Of a debt offset."""
    returns_fee: bool | None = None
    """Of a refund, or one that came back: whether the fee follows it."""


@dataclass(frozen=True)
class CoinAccount:
    """The movements of one coin: `opening + the amounts of entries = closing`."""

    coin: str
    decimals: int
    carried_over: Sequence[Line]
    opening: int
    entries: Sequence[Line]
    closing: int


@dataclass(frozen=True)
class Statement:
    """The accounts of a settlement's coins; the settlement currency comes last, others are converted into it."""

    settlement: Settlement
    accounts: Sequence[CoinAccount]


# --- building ----------------------------------------------------------------------------------------


def build_statement(settlement: Settlement, changes: Iterable[Change]) -> Statement:
    """`changes` are those the settlement is made of, in the order of their keys.

    A settlement on its way closes with what is still to be paid, a failed one with what went back to the merchant's
    balance, a completed one with nothing. StatementDoesNotBalance when rows and settlement do not agree.
    """
    by_coin: defaultdict[str, list[Change]] = defaultdict(list)
    for change in changes:
        by_coin[change.asset].append(change)
    parts = {part["coin"]: part for part in settlement.coins}
    if unknown := by_coin.keys() - parts.keys():
        raise StatementDoesNotBalance(f"{settlement.public_id} does not know of its {', '.join(sorted(unknown))}")
    coins = [*sorted(parts.keys() - {settlement.currency}), settlement.currency]
    return Statement(settlement, [_account(settlement, coin, parts, by_coin[coin]) for coin in coins])


def _account(
    settlement: Settlement, coin: str, parts: dict[str, dict[str, Any]], changes: Sequence[Change]
) -> CoinAccount:
    part = parts.get(coin)
    decimals = settlement.decimals if part is None else int(part["decimals"])
    first_of_period = ids.first_uuid_at(settlement.period_start)
    lines = [line_of(change, Section.PERIOD) for change in changes if change.id >= first_of_period]
    carried = [line_of(change, Section.CARRIED_OVER) for change in changes if change.id < first_of_period]
    if part is not None:
        gained = sum(change.amount for change in changes)
        expected = int(part["gross"]) - int(part["refund"])
        if gained != expected or expected - int(part["fee"]) != int(part["net"]):
            raise StatementDoesNotBalance(f"{settlement.public_id}: {gained} {coin} in rows, {expected} in the ledger")
    carried, opening = _with_balances(carried, 0)
    entries, closing = _with_balances([*lines, *_settling(settlement, coin, parts)], opening)
    if closing != (due := _left_over(settlement, coin, parts)):
        raise StatementDoesNotBalance(f"{settlement.public_id}: {coin} closes with {closing} instead of {due}")
    return CoinAccount(coin, decimals, carried, opening, entries, closing)


def line_of(change: Change, section: Section) -> Line:
    currency = change.currency or ""
    fiat = None
    if change.fiat_amount is not None and change.due and change.payment_coin == change.asset:
        share = fiat_share(
            change.amount, fiat_amount=int(change.fiat_amount), due=int(change.due), before=int(change.before or 0)
        )
        fiat = from_units(share, FIAT_DIGITS[currency])
    other = change.other_side
    return Line(
        section=section,
        type=change.kind,
        at=ids.created_at_of(change.id),
        amount=change.amount,
        reference=change.reference,
        payment_id=ids.PAYMENT.encode(change.payment_id) if change.payment_id else "",
        refund_id=change.reference if ids.REFUND.decode(change.reference) else "",
        wallet=change.wallet,
        fiat_amount=fiat,
        fiat_currency=currency if fiat is not None else "",
        token_fee=change.token_fee,
        claimable_balance=change.claimable_balance,
        other_coin=other.coin if other else "",
        rate=other.rate if other else "",
        rate_source=other.rate_source if other else "",
        rate_quoted_at=other.rate_quoted_at if other else "",
        other_side=other,
        returns_fee=change.returns_fee if change.kind in REFUNDED else None,
    )


def _settling(settlement: Settlement, coin: str, parts: dict[str, dict[str, Any]]) -> Iterator[Line]:
    """Lines of the settlement itself: its fee, its conversion, its payment."""
    reference = settlement.public_id
    if coin in parts and (fee := int(parts[coin]["fee"])):
        yield Line(Section.SETTLEMENT, LineType.FEE, settlement.created_at, -fee, reference=reference)
    if settlement.converted_at is not None:
        for other, part in sorted(parts.items()):
            if other == settlement.currency or not int(part["net"]):
                continue
            conversion = Line(
                Section.SETTLEMENT,
                LineType.CONVERSION,
                settlement.converted_at,
                None,
                reference=reference,
                rate=part["rate"],
                rate_source=part["source"],
                rate_quoted_at=part["quotedAt"],
            )
            if coin == other:
                yield replace(conversion, amount=-int(part["net"]), other_coin=settlement.currency)
            elif coin == settlement.currency:
                yield replace(conversion, amount=int(part["converted"]), other_coin=other)
    if coin == settlement.currency and settlement.status == SettlementStatus.COMPLETED:
        yield Line(
            Section.SETTLEMENT,
            LineType.SETTLEMENT,
            settlement.completed_at or settlement.created_at,
            -settlement.amount,
            reference=reference,
            wallet=settlement.destination,
            transaction_hash=settlement.transaction_hash,
            token_fee=int(settlement.token_fee),
            claimable_balance=settlement.claimable_balance,
        )


def _left_over(settlement: Settlement, coin: str, parts: dict[str, dict[str, Any]]) -> int:
    """The closing balance of the coin, by the settlement alone."""
    if settlement.status == SettlementStatus.COMPLETED:
        return 0
    if settlement.converted_at is not None:
        return settlement.amount if coin == settlement.currency else 0
    return int(parts[coin]["net"]) if coin in parts else 0


def _with_balances(lines: Iterable[Line], balance: int) -> tuple[list[Line], int]:
    run = []
    for line in lines:
        balance += line.amount or 0
        run.append(replace(line, balance=balance))
    return run, balance
