"""The ledger of a period as files: its journal and its trial balance as CSV, and both for beancount.

Amounts have every digit. Times are UTC, and a day is a day of UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from types import MappingProxyType

from config.api.renderers import format_instant
from config.money import from_units
from config.pages.files import csv_lines, text_cell
from merchants.ledger.chart import AccountKind, Group, Side
from payments.monitoring.accounting.journal import JournalPosting, postings
from payments.monitoring.accounting.periods import Days
from payments.monitoring.accounting.totals import CAPITAL, SummedAccount, movements, scale

JOURNAL_COLUMNS = (
    "posting_id", "date", "time", "environment", "kind", "reference", "memo", "line",
    "account", "account_name", "owner", "network", "coin", "debit", "credit", "contra_accounts",
)  # fmt: skip
BALANCE_COLUMNS = (
    "environment", "first_day", "last_day", "group", "account", "account_name", "merchant", "network", "coin",
    "opening", "debit", "credit", "closing",
)  # fmt: skip


class _Scales:
    """The digits of each coin, read once."""

    def __init__(self, environment: str) -> None:
        self._environment = environment
        self._known: dict[tuple[str, str], int] = {}

    def exact(self, units: int, account: SummedAccount) -> str:
        """Every digit that the coin has: `12.500000`."""
        key = account.network, account.asset
        if key not in self._known:
            self._known[key] = scale(self._environment, *key)
        return f"{from_units(units, self._known[key]):f}"


def journal_csv(environment: str, days: Days) -> Iterator[str]:
    """A row for each line of each posting, oldest first."""
    return csv_lines(_journal_rows(environment, days))


def _journal_rows(environment: str, days: Days) -> Iterator[tuple[str, ...]]:
    scales = _Scales(environment)
    yield JOURNAL_COLUMNS
    for posting in postings(environment, days.start, days.end):
        for number, line in enumerate(posting.lines, start=1):
            contra = [f"{each.account.kind} {each.owner}".strip() for each in posting.contra_accounts(line)]
            amount = scales.exact(abs(line.amount), line.account)
            yield (
                str(posting.id),
                posting.at.date().isoformat(),
                format_instant(posting.at),
                environment,
                posting.kind,
                text_cell(posting.reference),
                text_cell(posting.memo),
                str(number),
                line.account.kind,
                AccountKind(line.account.kind).label,
                line.owner,
                line.account.network,
                line.account.asset,
                amount if line.amount > 0 else "",
                amount if line.amount < 0 else "",
                "; ".join(contra),
            )


def balances_csv(environment: str, days: Days) -> Iterator[str]:
    """A row for each kind of account, coin and merchant: opening + debit - credit = closing, debits positive."""
    return csv_lines(_balance_rows(environment, days))


def _balance_rows(environment: str, days: Days) -> Iterator[tuple[str, ...]]:
    scales = _Scales(environment)
    yield BALANCE_COLUMNS
    for account, moved in movements(environment, days.start, days.end).items():
        kind = AccountKind(account.kind)
        named = (environment, days.first.isoformat(), days.last.isoformat(), kind.rules.group.value, account.kind)
        sums = (moved.opening, moved.debits, -moved.credits, moved.closing)
        yield (
            *named,
            kind.label,
            account.merchant,
            account.network,
            account.asset,
            *(scales.exact(units, account) for units in sums),
        )


def beancount(environment: str, days: Days) -> Iterator[str]:
    """A file that beancount checks: each posting balances, and each account ends with what the ledger holds.

    The closing balances are summed by PostgreSQL, not from the lines of this file, and are asserted to the last digit.
    """
    scales = _Scales(environment)
    totals = movements(environment, days.start, days.end)
    yield f'option "title" "Ballast {environment}, {days.first} to {days.last}"\n\n'
    coins_of: dict[str, list[str]] = {}
    for account in totals:
        coins_of.setdefault(account_name(account), []).append(account.asset)
    for name, coins in coins_of.items():
        yield f"{days.first} open {name} {','.join(coins)}\n"
    if opening := [(account, moved.opening) for account, moved in totals.items() if moved.opening]:
        yield _transaction(days.first, "opening_balance", f"Before {days.first}", {})
        for account, units in opening:
            yield f"  {account_name(account)}  {scales.exact(units, account)} {account.asset}\n"
    for posting in postings(environment, days.start, days.end):
        yield _transaction(posting.at.date(), posting.kind, posting.reference, _metadata(posting))
        for line in posting.lines:
            yield f"  {account_name(line.account)}  {scales.exact(line.amount, line.account)} {line.account.asset}\n"
            if line.owner:
                yield f"    owner: {_text(line.owner)}\n"
    yield "\n"
    for account, moved in totals.items():
        held = scales.exact(moved.closing, account)
        yield f"{days.day_after} balance {account_name(account)}  {held} ~ 0 {account.asset}\n"


def account_name(account: SummedAccount) -> str:
    """Name of an account in beancount: `Liabilities:Ethereum:Merchant-Available:Mer-01h…`."""
    kind = AccountKind(account.kind)
    parts = [_group_name(kind), account.network, kind.value, account.merchant]
    return ":".join("-".join(_words(part)) for part in parts if part)


def _words(part: str) -> list[str]:
    return [f"{word[:1].upper()}{word[1:]}" for word in part.replace(":", "_").split("_")]


def _group_name(kind: AccountKind) -> str:
    rules = kind.rules
    if rules.group is not Group.EQUITY:
        return "Assets" if rules.group is Group.ASSET else "Liabilities"
    if kind.value in CAPITAL:
        return "Equity"
    return "Income" if rules.side is Side.CREDIT else "Expenses"


def _metadata(posting: JournalPosting) -> dict[str, str]:
    found = {"posting": str(posting.id), "time": format_instant(posting.at), "memo": posting.memo}
    return {name: value for name, value in found.items() if value}


def _transaction(day: date, kind: str, reference: str, metadata: Mapping[str, str]) -> str:
    details = "".join(f"  {name}: {_text(value)}\n" for name, value in metadata.items())
    return f"\n{day} * {_text(kind)} {_text(reference)}\n{details}"


def _text(value: str) -> str:
    escaped = " ".join(value.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


FORMATS: Mapping[str, tuple[Callable[[str, Days], Iterator[str]], str, str]] = MappingProxyType(
    {
        "journal": (journal_csv, "Journal (CSV)", "csv"),
        "balances": (balances_csv, "Trial balance (CSV)", "csv"),
        "beancount": (beancount, "Both, for beancount", "beancount"),
    }
)
"""Each format: what writes it, what it is called, and how its file's name ends."""


def file_name(environment: str, days: Days, form: str) -> str:
    return f"ballast-{environment}-{days.first}-{days.last}-{form}.{FORMATS[form][2]}"
