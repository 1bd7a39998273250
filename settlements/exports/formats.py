"""Statements as JSON, and as CSV for spreadsheets and bookkeeping. Every digit is shown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from config.api.renderers import format_instant
from config.money import from_units
from config.pages.files import csv_lines, text_cell
from settlements.models import Settlement
from settlements.plans.statements import CoinAccount, Line, LineType, OtherSide, Section, Statement
from settlements.records import shown_rate

VERSION = 1
"""Grows when a column or field changes its meaning or is removed. New ones are added at the end without that."""


# --- as JSON -----------------------------------------------------------------------------------------


def statement_record(statement: Statement) -> dict[str, Any]:
    settlement = statement.settlement
    return {
        "object": "settlement_statement",
        "version": VERSION,
        "settlement": settlement.public_id,
        "status": settlement.status,
        "settlementCurrency": settlement.currency,
        "network": settlement.network,
        "destination": settlement.destination,
        "amount": exact(settlement.amount, settlement.decimals),
        "rateMoment": settlement.rate_moment,
        "feeBps": settlement.fee_bps,
        "periodStart": format_instant(settlement.period_start),
        "periodEnd": format_instant(settlement.period_end),
        "environment": settlement.environment,
        "coins": [_account_record(account) for account in statement.accounts],
    }


def _account_record(account: CoinAccount) -> dict[str, Any]:
    return {
        "cryptocurrency": account.coin,
        "carriedOver": [_line_record(line, account.decimals) for line in account.carried_over],
        "openingBalance": exact(account.opening, account.decimals),
        "entries": [_line_record(line, account.decimals) for line in account.entries],
        "closingBalance": exact(account.closing, account.decimals),
    }


def _line_record(line: Line, decimals: int) -> dict[str, Any]:
    return {
        "type": line.type,
        "time": format_instant(line.at),
        "amount": exact(line.amount or 0, decimals),
        "balance": exact(line.balance, decimals),
        "reference": line.reference,
        "paymentId": line.payment_id or None,
        "refundId": line.refund_id or None,
        "wallet": line.wallet or None,
        "fiatAmount": line.fiat_amount,
        "fiatCurrency": line.fiat_currency or None,
        "conversion": _conversion_record(line) if line.type == LineType.CONVERSION else None,
        "transactionHash": line.transaction_hash or None,
        "tokenFee": exact(line.token_fee, decimals) if line.token_fee else None,
        "claimableBalanceId": line.claimable_balance or None,
        "debtOffset": _offset_record(line.other_side) if line.other_side else None,
        "returnsFee": line.returns_fee,
    }


def _offset_record(other: OtherSide) -> dict[str, Any]:
    return {
        "cryptocurrency": other.coin,
        "network": other.network,
        "amount": exact(other.amount, other.decimals),
        "rate": shown_rate(other.rate),
        "source": other.rate_source or None,
        "quotedAt": other.rate_quoted_at or None,
    }


def _conversion_record(line: Line) -> dict[str, Any]:
    return {
        "cryptocurrency": line.other_coin,
        "rate": shown_rate(line.rate),
        "source": line.rate_source,
        "quotedAt": line.rate_quoted_at,
    }


def exact(units: int, decimals: int) -> str:
    """Every digit the coin has: `12.500000000000000001`."""
    return f"{from_units(units, decimals):f}"


# --- as CSV ------------------------------------------------------------------------------------------

CSV_COLUMNS = (
    "statement_version",
    "settlement_id",
    "line",
    "section",
    "type",
    "time",
    "cryptocurrency",
    "amount",
    "balance",
    "fiat_amount",
    "fiat_currency",
    "payment_id",
    "refund_id",
    "reference",
    "wallet",
    "converted_with",
    "rate",
    "rate_source",
    "rate_quoted_at",
    "transaction_hash",
    "token_fee",
    "claimable_balance_id",
    "other_network",
    "other_amount",
    "returns_fee",
)


def statement_csv(statement: Statement) -> str:
    """RFC 4180 with a heading. The amounts of all lines sum to the closing balances."""
    lines = ((line, account) for account in statement.accounts for line in _with_bounds(statement.settlement, account))
    named = VERSION, statement.settlement.public_id
    rows = ((*named, number, *_cells(line, account)) for number, (line, account) in enumerate(lines, start=1))
    return "".join(csv_lines(chain([CSV_COLUMNS], rows)))


def _with_bounds(settlement: Settlement, account: CoinAccount) -> Iterator[Line]:
    yield from account.carried_over
    yield Line(Section.OPENING, LineType.OPENING, settlement.period_start, None, account.opening)
    yield from account.entries
    ended_at = settlement.ended_at or settlement.created_at
    yield Line(Section.CLOSING, LineType.CLOSING, ended_at, None, account.closing)


def _cells(line: Line, account: CoinAccount) -> tuple[str, ...]:
    texts = (
        line.fiat_currency,
        line.payment_id,
        line.refund_id,
        line.reference,
        line.wallet,
        line.other_coin,
        shown_rate(line.rate) if line.rate else "",
        line.rate_source,
        line.rate_quoted_at,
        line.transaction_hash,
    )
    return (
        line.section,
        line.type,
        format_instant(line.at),
        account.coin,
        "" if line.amount is None else exact(line.amount, account.decimals),
        exact(line.balance, account.decimals),
        "" if line.fiat_amount is None else f"{line.fiat_amount:f}",
        *(text_cell(text) for text in texts),
        exact(line.token_fee, account.decimals) if line.token_fee else "",
        text_cell(line.claimable_balance),
        line.other_side.network if line.other_side else "",
        exact(line.other_side.amount, line.other_side.decimals) if line.other_side else "",
        "" if line.returns_fee is None else str(line.returns_fee).lower(),
    )
