"""The statement of a month as its page shows it: each account with what changed it, summed by kind, and its entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from django.utils.translation import gettext, gettext_lazy

from config import ids
from config.money import FIAT_DIGITS, to_units
from config.pages.wording import coins, fiat, in_style, whole
from merchants import wording as instants
from merchants.models import Merchant
from payments.chains import registry
from payments.monitoring.accounting.periods import Days
from settlements import wording
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
from settlements.monthly.valuation import Valuation, Valuer

ENTRIES_OF_PAGE, ENTRIES_OF_PDF = 400, 2_000
"""Of all accounts together: a page is to be there at once, a PDF within seconds. CSV and JSON have every entry."""

SUMMED_MAX = 2_000
"""Entries that the page adds up by kind, of all accounts together: adding up more would take it seconds."""

NAMES = {
    BALANCE: gettext_lazy("Your balance"),
    HELD: gettext_lazy("Held while coins are missing"),
    SUSPENSE: gettext_lazy("Waits for your decision"),
}

_OUTSIDE_THE_BALANCE = {
    "deposit_held": gettext_lazy("Came late, astray or in another coin"),
    "deposit_reversed": gettext_lazy("Undone by its network"),
    "payment_released": gettext_lazy("Paid beyond the price"),
    "payment_reopened": gettext_lazy("Back to its payment"),
    "window_closed": gettext_lazy("Too little when the time was over"),
    "suspense_accepted": gettext_lazy("Accepted for its payment"),
    "suspense_kept": gettext_lazy("Kept: it is in your balance"),
    "refund_reserved": gettext_lazy("Given back"),
    "refund_voided": gettext_lazy("Could not be given back"),
    "refund_covered": gettext_lazy("Borne by your balance"),
    "missing_held": gettext_lazy("Held"),
    "missing_ended": gettext_lazy("Back in your balance"),
    "loss_of_merchant": gettext_lazy("Lost"),
    "loss_of_house": gettext_lazy("Back in your balance"),
    "settlement_reserved": gettext_lazy("Settlement"),
}
"""By the kind of posting."""


def words_of(type_: str) -> str:
    """What kind of entry it is; of a kind that has no words yet, its name."""
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
    """One account of the statement, with amounts in words."""

    account: MonthAccount
    environment: str
    timezone: str
    sums: dict[str, SumRow]
    entries: list[MonthEntry]
    closing_units: int
    is_summed: bool
    """Whether `sums` hold the whole month; of one with too many entries there are none."""
    valuations: list[Valuation]

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

    def _coins(self, units: int) -> str:
        return f"{'− ' if units < 0 else ''}{coins(abs(units), self.account.decimals, self.account.coin)}"


def _or_dash(amount: Decimal | None, currency: str) -> str:
    if amount is None:
        return "–"
    return _fiat(amount, currency) if currency in FIAT_DIGITS else f"{in_style(f'{amount:,f}')} {currency}"


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
        valuations = valuer.begin(account)
        closing = entries[-1].balance if entries else account.opening
        if is_summed:
            for entry in entries:
                if entry.type not in sums:
                    sums[entry.type] = SumRow(words_of(entry.type))
                sums[entry.type].add(entry)
                valuer.add(valuations, account, entry)
        else:
            closing = account.closing
        valuer.close(valuations, account, closing)
        if entries or account.opening:
            first = entries if share == count else entries[:share]
            page = MonthAccountPage(account, environment, timezone, sums, first, closing, is_summed, valuations)
            found.append(page)
    return found


def _are_summed(counts: Iterable[int]) -> list[bool]:
    """Which accounts with so many entries the page adds up: one after the other, until they are too many."""
    left, found = SUMMED_MAX, []
    for count in counts:
        found.append(count <= left)
        left -= count if found[-1] else 0
    return found


def _shares(counts: Sequence[int], most: int) -> list[int]:
    """How many entries are shown of each account, `most` together: of small ones all, of large ones the same number."""
    found = [0] * len(counts)
    for done, place in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
        found[place] = min(counts[place], (most - sum(found)) // (len(counts) - done))
    return found


def _fiat(amount: Decimal, currency: str) -> str:
    return fiat(to_units(amount, FIAT_DIGITS[currency]), currency)
