"""Worth of the accounts of a month in the settlement currency and in a fiat currency, at recorded rates.

The opening balance is valued at the rate of the beginning of the month, each entry at the rate of its own time, and the
closing balance at the rate of the end. The difference that rates make is a figure of its own: opening + entries +
revaluation = closing, to the last digit. Where no rate was recorded there is no figure, and nothing is guessed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal, localcontext

from config import ids
from config.money import FIAT_DIGITS, from_units
from merchants.models import MerchantSettings
from payments.monitoring.accounting.periods import Days
from payments.rates.recording import KnownRate, RecordedRates
from settlements.monthly.reading import MonthAccount, MonthEntry

COIN_DIGITS = 6
"""Of the worth in a coin of what is in another one."""


@dataclass(frozen=True, slots=True)
class Worth:
    """An amount in another currency, and the rate that it was valued at."""

    amount: Decimal
    rate: KnownRate


@dataclass
class Valuation:
    """One account in one currency. `entries` sums those that have a rate; `unvalued` counts the others."""

    currency: str
    opening: Worth | None
    closing: Worth | None = None
    entries: Decimal = Decimal(0)
    unvalued: int = 0

    @property
    def revaluation(self) -> Decimal | None:
        """Change of the worth by rates alone; None where a figure is missing."""
        if self.opening is None or self.closing is None or self.unvalued:
            return None
        return self.closing.amount - self.opening.amount - self.entries


@dataclass
class Valuer:
    """Values the accounts of one month."""

    currencies: list[str]
    rates: RecordedRates = field(repr=False)
    start: datetime
    end: datetime

    @classmethod
    def of(cls, chosen: MerchantSettings, month: Days, *, fiat: str, now: datetime) -> Valuer:
        """In the settlement currency that a merchant has chosen and in `fiat`. The end of a month that runs is now."""
        currencies = [chosen.settlement_currency, fiat]
        end = min(month.end, now)
        return cls(currencies, RecordedRates(chosen.environment, currencies, month.start, end), month.start, end)

    def worth(self, units: int, account: MonthAccount, currency: str, at: datetime) -> Worth | None:
        """Worth of base units of the account's coin at that time, to the last digit of the currency."""
        rate = self.rates.of(account.coin, currency, at)
        if rate is None:
            return None
        with localcontext(prec=60):
            digits = FIAT_DIGITS.get(currency, account.decimals if account.coin == currency else COIN_DIGITS)
            worth = (from_units(abs(units), account.decimals) * rate.rate).quantize(
                Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP
            )
            return Worth(worth if units >= 0 else -worth, rate)

    def begin(self, account: MonthAccount) -> list[Valuation]:
        """The account in each currency, before its entries."""
        return [Valuation(each, self.worth(account.opening, account, each, self.start)) for each in self.currencies]

    def add(self, valuations: list[Valuation], account: MonthAccount, entry: MonthEntry) -> list[Worth | None]:
        """Take an entry into account; returns what it was worth in each currency."""
        at = ids.created_at_of(entry.posting_id)
        found = []
        for valuation in valuations:
            worth = self.worth(entry.amount, account, valuation.currency, at)
            if worth is None:
                valuation.unvalued += 1
            else:
                valuation.entries += worth.amount
            found.append(worth)
        return found

    def close(self, valuations: list[Valuation], account: MonthAccount, balance: int) -> None:
        """Value the closing balance."""
        for valuation in valuations:
            valuation.closing = self.worth(balance, account, valuation.currency, self.end)
