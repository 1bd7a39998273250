"""The statement of a month as its page shows it: each account with what changed it, summed by kind, and its entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from django.utils.formats import date_format
from django.utils.translation import gettext, gettext_lazy

from config import ids
from config.money import FIAT_DIGITS, to_units
from config.pages.wording import coins, fiat, number, whole
from merchants import wording as instants
from merchants.models import Merchant
from payments.chains import registry
from payments.monitoring.accounting.periods import Days
from settlements import wording
from settlements.monthly.months import number_of
from settlements.monthly.reading import (
    BALANCE,
    HELD,
    SUSPENSE,
    MonthAccount,
    MonthEntry,
    accounts_of,
    counts_of,
    first_entries_of,
)
from settlements.monthly.valuation import Valuation, Valuer, Worth
from settlements.plans.statements import LineType

ENTRIES_OF_PAGE, ENTRIES_OF_PDF = 400, 2_000
"""Of all accounts together: a page is to be there at once, a PDF within seconds. CSV and JSON have every entry."""

SUMMED_MAX = 2_000
"""Entries that the page adds up by kind, of all accounts together: adding up more would take it seconds."""

DASH = "–"
FLOWS = (gettext_lazy("Came in"), gettext_lazy("Went out"), gettext_lazy("Fees"))
"""Sums of entries on the first page. Fees that were given back reduce the fees taken."""

NAMES = {
    BALANCE: gettext_lazy("Your balance"),
    HELD: gettext_lazy("Held while coins are missing"),
    SUSPENSE: gettext_lazy("Waits for your decision"),
}

_OUTSIDE_THE_BALANCE = {
    "deposit_held": gettext_lazy("Late, wrong network or wrong coin"),
    "deposit_reversed": gettext_lazy("Undone by its network"),
    "payment_released": gettext_lazy("Overpaid"),
    "payment_reopened": gettext_lazy("Back to its payment"),
    "window_closed": gettext_lazy("Too little at the end of the time to pay"),
    "suspense_accepted": gettext_lazy("Accepted for its payment"),
    "suspense_kept": gettext_lazy("Kept: it is in your balance"),
    "refund_reserved": gettext_lazy("Refunded"),
    "refund_voided": gettext_lazy("Could not be refunded"),
    "refund_covered": gettext_lazy("Borne by your balance"),
    "missing_held": gettext_lazy("Held"),
    "missing_ended": gettext_lazy("Back in your balance"),
    "loss_of_merchant": gettext_lazy("Lost"),
    "loss_of_house": gettext_lazy("Back in your balance"),
    "settlement_reserved": gettext_lazy("Settlement"),
}
"""By the kind of posting."""


def head_of(merchant: Merchant, environment: str, month: Days, timezone: str) -> list[str]:
    """The number of the statement and its period, in words."""
    period = [date_format(day, "j F Y") for day in (month.first, month.last)]
    return [
        gettext("Statement number %(number)s") % {"number": number_of(merchant, environment, month)},
        f"{period[0]} – {period[1]}, {instants.zone(timezone)}",
    ]


def words_of(type_: str) -> str:
    """The kind of an entry in words; the kind's name if there are no words for it yet."""
    known = wording.ENTRIES if type_ in wording.ENTRIES else _OUTSIDE_THE_BALANCE
    return str(known[type_]) if type_ in known else type_.replace("_", " ").capitalize()


@dataclass
class SumRow:
    """The entries of one kind in one account, summed."""

    words: str
    count: int = 0
    units: int = 0
    fiat: dict[str, Decimal] = field(default_factory=dict)

    def add(self, entry: MonthEntry) -> None:
        self.count, self.units = self.count + 1, self.units + entry.amount
        if entry.fiat_amount is not None:
            self.fiat[entry.fiat_currency] = self.fiat.get(entry.fiat_currency, Decimal(0)) + entry.fiat_amount


@dataclass(frozen=True)
class MonthAccountPage:
    """One account of the statement, with amounts in words.

    `flows` is what came in, what went out and what fees took, in base units; `worths_of_flows` the same in each
    currency of the valuations.
    """

    account: MonthAccount
    environment: str
    timezone: str
    sums: dict[str, SumRow]
    entries: list[MonthEntry]
    closing_units: int
    is_summed: bool
    """True if `sums` hold the whole month; an account with too many entries has none."""
    valuations: list[Valuation]
    flows: list[int]
    worths_of_flows: list[list[Decimal]]

    @property
    def title(self) -> str:
        network = registry.known_profile(self.environment, self.account.network).name
        return gettext("%(what)s: %(coin)s on %(network)s") % {
            "what": NAMES[self.account.name],
            "coin": self.account.coin,
            "network": network,
        }

    @property
    def opening(self) -> str:
        return self._coins(self.account.opening)

    @property
    def closing(self) -> str:
        return self._coins(self.closing_units)

    @property
    def rows(self) -> Iterator[dict[str, str]]:
        for row in self.sums.values() if self.is_summed else ():
            yield {
                "words": row.words,
                "count": whole(row.count),
                "amount": self._coins(row.units),
                "fiat": ", ".join(_fiat(amount, currency) for currency, amount in sorted(row.fiat.items())),
            }

    @property
    def worths(self) -> Iterator[dict[str, str]]:
        """Opening, entries, change of rates and closing in each currency; a dash where no rate was recorded."""
        for each in self.valuations:
            known = [worth.rate for worth in (each.opening, each.closing) if worth and worth.rate.source]
            rates = [f"{rate.shown} ({rate.source}, {instants.exact(rate.recorded_at)})" for rate in known]
            yield {
                "currency": each.currency,
                "opening": _or_dash(each.opening.amount if each.opening else None, each.currency),
                "entries": _or_dash(each.entries if self.is_summed and not each.unvalued else None, each.currency),
                "revaluation": _or_dash(each.revaluation if self.is_summed else None, each.currency),
                "closing": _or_dash(each.closing.amount if each.closing else None, each.currency),
                "rates": "; ".join(rates),
            }

    @property
    def lines(self) -> Iterator[dict[str, str]]:
        words = {type_: words_of(type_) for type_ in {entry.type for entry in self.entries}}
        for entry in self.entries:
            worth = entry.in_settlement_currency
            yield {
                "at": instants.short(ids.created_at_of(entry.posting_id), self.timezone),
                "words": words[entry.type],
                "reference": entry.payment_id or entry.reference,
                "amount": self._coins(entry.amount),
                "balance": self._coins(entry.balance),
                "fiat": "" if entry.fiat_amount is None else _fiat(entry.fiat_amount, entry.fiat_currency),
                "settled": "" if worth is None else coins(worth, entry.settlement_decimals, entry.settlement_currency),
            }

    @property
    def shows_every_entry(self) -> bool:
        return self.is_summed and sum(row.count for row in self.sums.values()) == len(self.entries)

    def number(self, units: int) -> str:
        return coins(units, self.account.decimals, "").rstrip()

    def _coins(self, units: int) -> str:
        return coins(units, self.account.decimals, self.account.coin)


@dataclass(frozen=True)
class SummaryRow:
    """One line of a statement's first page, amounts without their coin or currency; a dash for what is not known."""

    words: str
    opening: str
    flows: list[str]
    revaluation: str
    closing: str


def summary_of(accounts: Sequence[MonthAccountPage]) -> list[SummaryRow]:
    """Opening balance, flows and closing balance: of each account, and of everything the merchant owns in each
    currency."""
    rows = [
        SummaryRow(
            each.title,
            each.number(each.account.opening),
            [each.number(units) if each.is_summed else DASH for units in each.flows],
            "",
            each.number(each.closing_units),
        )
        for each in accounts
    ]
    own = [each for each in accounts if each.account.name == BALANCE]
    for place, valuation in enumerate(own[0].valuations if own else ()):
        opening = _sum(_worth(each.account.opening, each.valuations[place].opening) for each in own)
        closing = _sum(_worth(each.closing_units, each.valuations[place].closing) for each in own)
        are_valued = all(each.is_summed and not each.valuations[place].unvalued for each in own)
        flows = [
            _sum(each.worths_of_flows[place][flow] for each in own) if are_valued else None
            for flow in range(len(FLOWS))
        ]
        revaluation = None
        if are_valued and opening is not None and closing is not None:
            revaluation = closing - opening - sum(each for each in flows if each is not None)
        rows.append(
            SummaryRow(
                gettext("Your balance in %(currency)s") % {"currency": valuation.currency},
                *(_in(opening, valuation.currency), [_in(each, valuation.currency) for each in flows]),
                *(_in(revaluation, valuation.currency), _in(closing, valuation.currency)),
            )
        )
    return rows


def _worth(units: int, found: Worth | None) -> Decimal | None:
    """Of a balance; nothing is worth nothing without a rate, too."""
    return found.amount if found else None if units else Decimal(0)


def _sum(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """None where one of them is not known."""
    found = list(amounts)
    return None if None in found else sum((each for each in found if each is not None), Decimal(0))


def _in(amount: Decimal | None, currency: str) -> str:
    """`1,212.50`, with the digits of the currency."""
    return DASH if amount is None else _or_dash(amount, currency).removesuffix(f" {currency}")


def _or_dash(amount: Decimal | None, currency: str) -> str:
    if amount is None:
        return DASH
    return _fiat(amount, currency) if currency in FIAT_DIGITS else f"{number(amount)} {currency}"


def pages_of(
    merchant: Merchant,
    environment: str,
    month: Days,
    timezone: str,
    valuer: Valuer,
    *,
    shown: int,
) -> list[MonthAccountPage]:
    """The accounts that held something in the month, or moved, with so many entries of all of them together."""
    accounts = accounts_of(merchant, environment, month)
    counts = counts_of(accounts, month, most=SUMMED_MAX)
    are_summed, shares = _are_summed(counts), _shares(counts, shown)
    wanted = [SUMMED_MAX + 1 if each else share for each, share in zip(are_summed, shares, strict=True)]
    read = first_entries_of(accounts, month, wanted)
    found = []
    for account, count, is_summed, share, entries in zip(accounts, counts, are_summed, shares, read, strict=True):
        sums: dict[str, SumRow] = {}
        flows, worths = [0] * len(FLOWS), [[Decimal(0)] * len(FLOWS) for _ in valuer.currencies]
        valuations = valuer.begin(account)
        closing = entries[-1].balance if entries else account.opening
        if is_summed:
            for entry in entries:
                if entry.type not in sums:
                    sums[entry.type] = SumRow(words_of(entry.type))
                sums[entry.type].add(entry)
                flow = _flow_of(entry)
                flows[flow] += entry.amount
                for own, worth in zip(worths, valuer.add(valuations, account, entry), strict=True):
                    own[flow] += worth.amount if worth else 0
        else:
            closing = account.closing
        valuer.close(valuations, account, closing)
        if entries or account.opening:
            first = entries if share == count else entries[:share]
            shown_entries = environment, timezone, sums, first, closing, is_summed, valuations
            found.append(MonthAccountPage(account, *shown_entries, flows, worths))
    return found


def _flow_of(entry: MonthEntry) -> int:
    """The index in FLOWS of an entry."""
    if entry.type == LineType.FEE:
        return 2
    return 0 if entry.amount > 0 else 1


def _are_summed(counts: Iterable[int]) -> list[bool]:
    """For each account, true if the page adds it up: one after the other, until there are too many entries."""
    left, found = SUMMED_MAX, []
    for count in counts:
        found.append(count <= left)
        left -= count if found[-1] else 0
    return found


def _shares(counts: Sequence[int], most: int) -> list[int]:
    """Number of entries shown of each account, `most` together: of small ones all, of large ones the same number."""
    found = [0] * len(counts)
    for done, place in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
        found[place] = min(counts[place], (most - sum(found)) // (len(counts) - done))
    return found


def _fiat(amount: Decimal, currency: str) -> str:
    return fiat(to_units(amount, FIAT_DIGITS[currency]), currency)
