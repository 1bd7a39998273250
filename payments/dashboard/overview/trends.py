"""Trends for the overview: sums of a period beside those of the preceding one, a chart, and the coins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal, localcontext

from django.utils.dateformat import format as date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from config.money import FIAT_DIGITS, from_units
from config.pages.wording import in_style, percent, signed, whole
from merchants.models import Merchant
from payments.chains import registry
from payments.dashboard.overview.periods import Period
from payments.deposits.turnover.models import Span
from payments.deposits.turnover.reading import Came, turnover_between
from payments.rates.quoting import RateUnavailable, quote

CHART_WIDTH, CHART_HEIGHT = 720, 160
_REFERENCE_COIN = "USDC"
"""Currencies are compared by what one of this coin costs in each."""


@dataclass
class Sums:
    """Sums of payments. `volume` is in the chosen currency; payments without a rate are counted in `without_rate`."""

    paid: int = 0
    unpaid: int = 0
    seconds: int = 0
    volume: Decimal = Decimal(0)
    without_rate: Counter[str] = field(default_factory=Counter)

    def add(self, came: Came, convert: Converter) -> None:
        self.paid += came.paid
        self.unpaid += came.unpaid
        self.seconds += came.seconds
        worth = convert(from_units(came.volume, FIAT_DIGITS[came.currency]), came.currency)
        if worth is None:
            self.without_rate[came.currency] += came.paid
        else:
            self.volume += worth

    @property
    def success(self) -> Decimal | None:
        """The share of payments that were paid, of those that ended, in percent; None when none did."""
        ended = self.paid + self.unpaid
        return Decimal(self.paid * 100) / ended if ended else None

    @property
    def mean_seconds(self) -> int | None:
        return self.seconds // self.paid if self.paid else None


Converter = Callable[[Decimal, str], Decimal | None]
"""An amount of a currency in the chosen one; None without a rate."""


def converter(into: str, environment: str) -> Converter:
    """Convert by the rates of this moment, each queried once."""
    prices: dict[str, Decimal | None] = {}

    def price(currency: str) -> Decimal | None:
        if currency not in prices:
            try:
                prices[currency] = quote(currency, _REFERENCE_COIN, environment=environment).rate
            except RateUnavailable:
                prices[currency] = None
        return prices[currency]

    def convert(amount: Decimal, currency: str) -> Decimal | None:
        if currency == into or not amount:
            return amount
        own, other = price(currency), price(into)
        if own is None or other is None:
            return None
        with localcontext(prec=60):
            return amount * other / own

    return convert


@dataclass(frozen=True)
class Figure:
    """A figure with what became of it since the time before."""

    label: str
    value: str
    change: str
    tone: str


@dataclass(frozen=True)
class Bar:
    """One bar of the chart, in units of its drawing."""

    x: str
    y: str
    width: str
    height: str
    when: str
    volume: str
    paid: int
    unpaid: int


@dataclass(frozen=True)
class CoinRow:
    """Sums of one coin on one network."""

    coin: str
    network: str
    paid: str
    success: str
    volume: str


@dataclass(frozen=True)
class Trend:
    """Trend of a period."""

    period: Period
    currency: str
    figures: list[Figure]
    bars: list[Bar]
    coins: list[CoinRow]
    without_rate: list[str]

    @property
    def is_empty(self) -> bool:
        return not self.coins


def currencies_of(rows: Iterable[Came], usual: str) -> list[str]:
    """The currencies that payments had, the most frequent first; the usual one when there are none."""
    paid: Counter[str] = Counter()
    for row in rows:
        paid[row.currency] += row.paid
    return [currency for currency, _number in paid.most_common()] or [usual]


def read(merchant: Merchant, environment: str, period: Period, now: datetime) -> list[Came]:
    """Turnover of the period and the preceding one: one query, over counters."""
    first = period.first_before(now)
    return turnover_between(merchant, environment, period.span, first, period.end(now), bar=period.bar)


def trend(rows: Sequence[Came], environment: str, period: Period, currency: str, now: datetime) -> Trend:
    convert, first, starts = converter(currency, environment), period.first(now), period.starts(now)
    current, before = Sums(), Sums()
    bars = [Sums() for _start in starts]
    coins: dict[tuple[str, str], Sums] = {}
    for row in rows:
        if row.at < first:
            before.add(row, convert)
            continue
        current.add(row, convert)
        bars[(row.at - first) // period.bar].add(row, convert)
        coins.setdefault((row.coin, row.network), Sums()).add(row, convert)
    return Trend(
        period=period,
        currency=currency,
        figures=_figures(current, before, period, currency),
        bars=_bars(bars, starts, period, currency),
        coins=_coin_rows(coins, environment, currency),
        without_rate=[
            ngettext("%(number)d payment in %(currency)s", "%(number)d payments in %(currency)s", number)
            % {"number": number, "currency": each}
            for each, number in (current.without_rate + before.without_rate).items()
        ],
    )


def money(amount: Decimal, currency: str) -> str:
    """`1,250.00 EUR`, rounded to the digits of the currency."""
    digits = FIAT_DIGITS[currency]
    rounded = amount.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return signed(rounded, f"{in_style(f'{abs(rounded):,f}')} {currency}")


def _figures(current: Sums, before: Sums, period: Period, currency: str) -> list[Figure]:
    return [
        Figure(_("Volume"), money(current.volume, currency), *_change(current.volume, before.volume, period)),
        Figure(_("Paid"), whole(current.paid), *_change(Decimal(current.paid), Decimal(before.paid), period)),
        Figure(_("Success"), _percent(current.success), *_points(current.success, before.success, period)),
        Figure(_("Time to pay"), _duration(current.mean_seconds), *_longer(current, before, period)),
    ]


def _change(now: Decimal, before: Decimal, period: Period) -> tuple[str, str]:
    """Change of a sum, in words, and its tone."""
    values = {"before": period.before}
    if not before:
        return (_("nothing in %(before)s") % values if now else "", "calm")
    change = round((now - before) * 100 / before)
    if change == 0:
        return _("as in %(before)s") % values, "calm"
    values |= {"percent": whole(abs(change))}
    if change > 0:
        return _("%(percent)s %% more than in %(before)s") % values, "good"
    return _("%(percent)s %% less than in %(before)s") % values, "warn"


def _points(now: Decimal | None, before: Decimal | None, period: Period) -> tuple[str, str]:
    if now is None or before is None:
        return "", "calm"
    return _("%(percent)s in %(before)s") % {"percent": _percent(before), "before": period.before}, (
        "good" if now > before else "warn" if now < before else "calm"
    )


def _longer(current: Sums, before: Sums, period: Period) -> tuple[str, str]:
    now, then = current.mean_seconds, before.mean_seconds
    if now is None or then is None:
        return "", "calm"
    return _("%(duration)s in %(before)s") % {"duration": _duration(then), "before": period.before}, "calm"


def _percent(share: Decimal | None) -> str:
    """Rounded down, so that 100 % means all."""
    return "–" if share is None else percent(share * 10 // 1 / 10)


def _duration(seconds: int | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds} s"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def _bars(sums: Sequence[Sums], starts: Sequence[datetime], period: Period, currency: str) -> list[Bar]:
    highest = max((each.volume for each in sums), default=Decimal(0))
    step = Decimal(CHART_WIDTH) / len(sums)
    shown = []
    for number, (each, start) in enumerate(zip(sums, starts, strict=True)):
        height = each.volume * CHART_HEIGHT / highest if highest else Decimal(0)
        height = max(height, Decimal(2)) if each.volume else height  # the smallest can be seen too
        shown.append(
            Bar(
                x=f"{step * number + step / 10:.2f}",
                y=f"{CHART_HEIGHT - height:.2f}",
                width=f"{step * 8 / 10:.2f}",
                height=f"{height:.2f}",
                when=_when(start, period),
                volume=money(each.volume, currency),
                paid=each.paid,
                unpaid=each.unpaid,
            )
        )
    return shown


def _when(start: datetime, period: Period) -> str:
    if period.span == Span.HOUR:
        return date_format(start, "j M, H:i")
    if period.spans_in_bar == 1:
        return date_format(start, "j M")
    last = start + period.bar - (period.bar / period.spans_in_bar)
    return f"{date_format(start, 'j M')} – {date_format(last, 'j M')}"


def _coin_rows(coins: dict[tuple[str, str], Sums], environment: str, currency: str) -> list[CoinRow]:
    ordered = sorted(coins.items(), key=lambda each: (-each[1].volume, each[0]))
    return [
        CoinRow(
            coin=f"{coin}",
            network=registry.known_profile(environment, network).name,
            paid=whole(sums.paid),
            success=_percent(sums.success),
            volume=money(sums.volume, currency),
        )
        for (coin, network), sums in ordered
    ]


def coins_worth(units: int, decimals: int, coin: str, currency: str, environment: str) -> Decimal | None:
    """Worth of coins in a currency now; None without a rate."""
    try:
        price = quote(currency, coin, environment=environment).rate
    except RateUnavailable:
        return None
    with localcontext(prec=60):
        return from_units(units, decimals) * price
