"""Statements for bookkeeping: a booking list, and bank statements for Xero and QuickBooks.

All digits are in the statement itself. Xero and QuickBooks keep two: there each line is what the rounded balance
changes by, so that rounding never adds up and the lines sum to the rounded closing balance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from zoneinfo import ZoneInfo

from django.http import Http404, HttpResponse

from config.api.renderers import render_json
from config.pages.files import csv_lines, file_headers, text_cell
from payments.states import BalanceChangeKind
from settlements.exports.formats import exact, statement_csv, statement_record
from settlements.plans.statements import CoinAccount, Line, LineType, Statement
from settlements.wording import ENTRIES

_CENTS = 2

BOOKINGS = "bookings"

BOOKING_COLUMNS = (
    "Umsatz",
    "Soll/Haben-Kennzeichen",
    "WKZ Umsatz",
    "Basis-Umsatz",
    "WKZ Basis-Umsatz",
    "Konto",
    "Gegenkonto",
    "Belegdatum",
    "Belegfeld 1",
    "Belegfeld 2",
    "Buchungstext",
)
CLEARING = "1360"
"""SKR03: money in transit, here what Ballast holds."""

COUNTER_ACCOUNTS: Mapping[str, str] = MappingProxyType(
    {
        BalanceChangeKind.PAYMENT: "8200",
        BalanceChangeKind.REVERSAL: "8200",
        BalanceChangeKind.REFUND: "8200",
        BalanceChangeKind.REFUND_FAILED: "8200",
        BalanceChangeKind.ACCEPTED: "2700",
        BalanceChangeKind.SETTLEMENT_FAILED: "1590",
        BalanceChangeKind.SETTLED_AHEAD: "1590",
        BalanceChangeKind.MISSING: "1590",
        BalanceChangeKind.MISSING_ENDED: "1590",
        BalanceChangeKind.LOSS: "2400",
        BalanceChangeKind.DEBT_OFFSET: "1590",
        BalanceChangeKind.DEBT_REPAID: "1590",
        BalanceChangeKind.DEBT_WRITTEN_OFF: "2700",
        BalanceChangeKind.DEBT_COLLECTED: "1590",
        BalanceChangeKind.DEBT_OWED_AGAIN: "1590",
        LineType.FEE: "4970",
        LineType.CONVERSION: "1590",
        LineType.SETTLEMENT: "1200",
    }
)
"""SKR03, by the type of a line: what it is booked against. docs/settlements.md explains each."""


def statement_reply(statement: Statement, form: str, *, coin: str = "", timezone: str = "UTC") -> HttpResponse:
    """The statement as a file: `csv`, `json` or one of FORMS; Http404 for another form, or a coin that it has not.

    In FORMS dates are those of the time zone. Xero and QuickBooks take one account, so one coin, at a time.
    """
    settlement, ending = statement.settlement, "json" if form == "json" else "csv"
    # Begins with the period, for sorting.
    name = f"ballast-{settlement.period_end:%Y-%m-%d}-{settlement.public_id}"
    if form == "csv":
        content = statement_csv(statement).encode()
    elif form == "json":
        content = render_json(statement_record(statement), indented=True)
    else:
        account = next((each for each in statement.accounts if each.coin == coin), None)
        if form not in FORMS or account is None:
            raise Http404
        accounts = statement.accounts if form == BOOKINGS else [account]
        content = "".join(FORMS[form](accounts, ZoneInfo(timezone))).encode("utf-8-sig")
        name += f"-{form}" if form == BOOKINGS else f"-{coin.lower()}-{form}"
    return HttpResponse(content, headers=file_headers(f"{name}.{ending}"))


def _booking_list(accounts: Sequence[CoinAccount], zone: ZoneInfo) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [BOOKING_COLUMNS]
    for account in accounts:
        for line in _lines(account):
            units = line.amount or 0
            fiat = "" if line.fiat_amount is None else f"{abs(line.fiat_amount):f}".replace(".", ",")
            rows.append(
                (
                    exact(abs(units), account.decimals).replace(".", ","),
                    "S" if units > 0 else "H",
                    account.coin,
                    fiat,
                    line.fiat_currency,
                    CLEARING,
                    COUNTER_ACCOUNTS.get(line.type, "1590"),
                    f"{_day(line, zone):%d.%m.%Y}",
                    text_cell(line.reference),
                    text_cell(line.payment_id),
                    text_cell(_words(line)),
                )
            )
    return csv_lines(rows, delimiter=";")


def _xero(accounts: Sequence[CoinAccount], zone: ZoneInfo) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("Date", "Amount", "Payee", "Description", "Reference")]
    for line, amount in _in_cents(accounts[0]):
        rows.append((f"{_day(line, zone):%Y-%m-%d}", amount, "Ballast", _words(line), text_cell(line.reference)))
    return csv_lines(rows)


def _quickbooks(accounts: Sequence[CoinAccount], zone: ZoneInfo) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("Date", "Description", "Amount")]
    for line, amount in _in_cents(accounts[0]):
        rows.append((f"{_day(line, zone):%m/%d/%Y}", text_cell(f"{_words(line)} {line.reference}".strip()), amount))
    return csv_lines(rows)


FORMS: Mapping[str, Callable[[Sequence[CoinAccount], ZoneInfo], Iterator[str]]] = MappingProxyType(
    {BOOKINGS: _booking_list, "xero": _xero, "quickbooks": _quickbooks}
)


def _lines(account: CoinAccount) -> Iterator[Line]:
    """Changes of the balance, oldest first, after those carried over into the period."""
    yield from (line for line in [*account.carried_over, *account.entries] if line.amount)


def _in_cents(account: CoinAccount) -> Iterator[tuple[Line, str]]:
    """Each line with what the balance, rounded to cents, changes by; lines that change no cent are left out."""
    cent = 10 ** (account.decimals - _CENTS)
    balance = before = 0
    for line in _lines(account):
        balance += line.amount or 0
        after = (balance + cent // 2) // cent
        if after != before:
            yield line, exact(after - before, _CENTS)
        before = after


def _day(line: Line, zone: ZoneInfo) -> datetime:
    return line.at.astimezone(zone)


def _words(line: Line) -> str:
    words = str(ENTRIES.get(line.type, line.type))
    return f"{words} ({line.other_coin})" if line.other_coin else words
