"""The statement of a month as CSV and as JSON, written entry by entry. Every digit is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse

from config import ids
from config.api.renderers import format_instant, render_json
from config.pages.files import csv_lines, file_headers, text_cell
from merchants.models import Merchant
from payments.monitoring.accounting.periods import Days
from settlements.exports.formats import exact
from settlements.monthly.months import name_of, number_of
from settlements.monthly.paper import month_pdf
from settlements.monthly.presenters import ENTRIES_OF_PDF, pages_of
from settlements.monthly.reading import MonthAccount, MonthEntry, accounts_of, entries_of
from settlements.monthly.valuation import Valuation, Valuer, Worth
from settlements.plans.statements import LineType

VERSION = 1
"""Grows when a column or field changes its meaning or is removed."""

CSV_COLUMNS = (
    "statement_version", "merchant_id", "environment", "month", "account", "network", "cryptocurrency", "type",
    "date", "time", "amount", "balance", "fiat_amount", "fiat_currency", "payment_id", "reference",
    "settlement_id", "settlement_currency", "in_settlement_currency", "rate",
    "coin", "worth_in_coin", "rate_in_coin", "fiat", "worth_in_fiat", "rate_in_fiat", "rate_source",
)  # fmt: skip


def month_reply(
    merchant: Merchant, environment: str, month: Days, valuer: Valuer, form: str, *, timezone: str, now: datetime
) -> HttpResponseBase:
    """The statement as a file: `csv`, `json` or `pdf`; Http404 for another form."""
    headers = file_headers(f"ballast-{environment}-{name_of(month)}.{form}")
    match form:
        case "csv":
            return StreamingHttpResponse(month_csv(merchant, environment, month, valuer), headers=headers)
        case "json":
            pieces = month_json(merchant, environment, month, valuer, timezone=timezone, now=now)
            return StreamingHttpResponse(pieces, headers=headers)
        case "pdf":
            accounts = pages_of(merchant, environment, month, timezone, valuer, shown=ENTRIES_OF_PDF)
            content = month_pdf(merchant, environment, month, accounts, runs=month.end > now, zone=timezone)
            return HttpResponse(content, headers=headers)
    raise Http404


def month_csv(merchant: Merchant, environment: str, month: Days, valuer: Valuer) -> Iterator[str]:
    """A row for the opening balance, each entry, the change of rates and the closing balance of each account."""
    width = len(CSV_COLUMNS)
    return csv_lines((*row, *[""] * (width - len(row))) for row in _rows(merchant, environment, month, valuer))


def _rows(merchant: Merchant, environment: str, month: Days, valuer: Valuer) -> Iterator[tuple[str, ...]]:
    yield CSV_COLUMNS
    named = (str(VERSION), merchant.public_id, environment, name_of(month))
    for account in accounts_of(merchant, environment, month):
        own = (*named, account.name, account.network, account.coin)
        balance, valuations = account.opening, valuer.begin(account)
        worth = _worth(valuer, [each.opening for each in valuations])
        opened = _padded((LineType.OPENING, *_when(month.start, month), "", exact(balance, account.decimals)))
        yield (*own, *opened, *worth)
        for entry in entries_of(account, month):
            balance = entry.balance
            worth = _worth(valuer, valuer.add(valuations, account, entry))
            yield (*own, *_cells(account, entry, month), *worth)
        # The end of the month is the beginning of the next one: what happens then is not in it any more.
        closed = (str(month.last), format_instant(month.end))
        valuer.close(valuations, account, balance)
        changed = [cell for each in valuations for cell in (each.currency, _amount(each.revaluation), "")]
        yield (*own, *_padded(("revaluation", *closed)), *changed)
        worth = _worth(valuer, [each.closing for each in valuations])
        yield (*own, *_padded((LineType.CLOSING, *closed, "", exact(balance, account.decimals))), *worth)


_OF_ENTRIES = CSV_COLUMNS.index("coin") - CSV_COLUMNS.index("type")
"""Columns that describe an entry; those of its worth follow."""


def _padded(cells: tuple[str, ...]) -> tuple[str, ...]:
    return (*cells, *[""] * (_OF_ENTRIES - len(cells)))


def _worth(valuer: Valuer, worths: Sequence[Worth | None]) -> list[str]:
    """Currency, worth and rate for each currency, and where the rates are from. Empty where no rate was recorded."""
    cells = [
        cell
        for currency, worth in zip(valuer.currencies, worths, strict=True)
        for cell in (currency, _amount(worth.amount if worth else None), worth.rate.shown if worth else "")
    ]
    sources = dict.fromkeys(each.rate.source for each in worths if each and each.rate.source)
    return [*cells, text_cell("; ".join(sources))]


def _amount(amount: Decimal | None) -> str:
    return "" if amount is None else f"{amount:f}"


def _cells(account: MonthAccount, entry: MonthEntry, month: Days) -> tuple[str, ...]:
    return (
        entry.type,
        *_when(ids.created_at_of(entry.posting_id), month),
        exact(entry.amount, account.decimals),
        exact(entry.balance, account.decimals),
        "" if entry.fiat_amount is None else f"{entry.fiat_amount:f}",
        entry.fiat_currency,
        entry.payment_id,
        text_cell(entry.reference),
        entry.settlement_id,
        entry.settlement_currency,
        _in_currency(entry) or "",
        entry.rate,
    )


def _when(instant: datetime, month: Days) -> tuple[str, str]:
    """The date in the time zone of the statement, and the instant."""
    return instant.astimezone(month.zone).date().isoformat(), format_instant(instant)


def _in_currency(entry: MonthEntry) -> str | None:
    if entry.in_settlement_currency is None:
        return None
    return exact(entry.in_settlement_currency, entry.settlement_decimals)


def month_record(merchant: Merchant, environment: str, month: Days, *, timezone: str, now: datetime) -> dict[str, Any]:
    """The month, merchant and number of a statement, without the accounts."""
    return {
        "object": "monthly_statement",
        "version": VERSION,
        "merchantId": merchant.public_id,
        "environment": environment,
        "month": name_of(month),
        "number": number_of(merchant, environment, month),
        "timeZone": timezone,
        "periodStart": month.start,
        "periodEnd": month.end,
        "isComplete": month.end <= now,
    }


def month_json(
    merchant: Merchant, environment: str, month: Days, valuer: Valuer, *, timezone: str, now: datetime
) -> Iterator[bytes]:
    """One JSON object, in pieces."""
    head = month_record(merchant, environment, month, timezone=timezone, now=now)
    yield render_json(head)[:-1] + b',"accounts":['
    for number, account in enumerate(accounts_of(merchant, environment, month)):
        own = {
            "account": account.name,
            "network": account.network,
            "cryptocurrency": account.coin,
            "openingBalance": exact(account.opening, account.decimals),
        }
        yield (b"," if number else b"") + render_json(own)[:-1] + b',"entries":['
        balance, valuations = account.opening, valuer.begin(account)
        for place, entry in enumerate(entries_of(account, month)):
            balance = entry.balance
            record = _record(account, entry, month)
            record["worth"] = [
                {"currency": currency, "amount": _amount(worth.amount), "rate": worth.rate.shown}
                for currency, worth in zip(valuer.currencies, valuer.add(valuations, account, entry), strict=True)
                if worth
            ]
            yield (b"," if place else b"") + render_json(record)
        valuer.close(valuations, account, balance)
        closed = {
            "closingBalance": exact(balance, account.decimals),
            "valuations": [valuation_record(each) for each in valuations],
        }
        yield b"]," + render_json(closed)[1:]
    yield b"]}"


def valuation_record(valuation: Valuation) -> dict[str, Any]:
    """The worth of an account in a currency; null where no rate was recorded."""
    return {
        "currency": valuation.currency,
        "opening": _balance(valuation.opening),
        "entries": _amount(valuation.entries),
        "entriesWithoutRate": valuation.unvalued,
        "revaluation": None if valuation.revaluation is None else _amount(valuation.revaluation),
        "closing": _balance(valuation.closing),
    }


def _balance(worth: Worth | None) -> dict[str, Any] | None:
    if worth is None:
        return None
    rate = worth.rate
    return {
        "amount": _amount(worth.amount),
        "rate": rate.shown,
        "rateSource": rate.source or None,
        "ratedAt": rate.recorded_at,
    }


def _record(account: MonthAccount, entry: MonthEntry, month: Days) -> dict[str, Any]:
    date, time = _when(ids.created_at_of(entry.posting_id), month)
    return {
        "type": entry.type,
        "date": date,
        "time": time,
        "amount": exact(entry.amount, account.decimals),
        "balance": exact(entry.balance, account.decimals),
        "fiatAmount": entry.fiat_amount,
        "fiatCurrency": entry.fiat_currency or None,
        "paymentId": entry.payment_id or None,
        "reference": entry.reference,
        "settlementId": entry.settlement_id or None,
        "settlementCurrency": entry.settlement_currency or None,
        "inSettlementCurrency": _in_currency(entry),
        "rate": entry.rate or None,
    }
