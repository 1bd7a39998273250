"""Settlements and runs as the merchant's pages show them: what is read for a page, and its words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import starmap
from typing import Any

from django.urls import reverse

from config import ids
from merchants import wording as instants
from payments import wording as coins
from payments.chains import registry
from payments.models import BalanceChange
from settlements import wording
from settlements.models import Settlement
from settlements.planning import CarriedOver, CarryReason, PlannedSettlement
from settlements.proposals import Preview
from settlements.statements import CHANGE_COLUMNS, Change, Line, Section, line_of
from settlements.states import SettlementStatus

PAGES = {
    ids.PAYMENT: "dashboard_payment",
    ids.REFUND: "dashboard_refund",
    ids.SETTLEMENT: "dashboard_settlement",
}

ENTRIES_SHOWN = 50
"""On the page; the statement has all of them."""


def coin_amount(units: int, decimals: int, coin: str) -> str:
    return f"{coins.coins_held(units, decimals)} {coin}"


# --- settlements -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SettlementRow:
    """A settlement as the list shows it."""

    settlement: Settlement
    timezone: str

    @property
    def amount(self) -> str:
        return coin_amount(self.settlement.amount, self.settlement.decimals, self.settlement.currency)

    @property
    def network(self) -> str:
        return registry.known_profile(self.settlement.environment, self.settlement.network).name

    @property
    def wallet(self) -> str:
        return coins.short_hash(self.settlement.destination)

    @property
    def payments(self) -> str:
        number = self.settlement.payment_count
        return f"{number:,} payment{'' if number == 1 else 's'}"

    @property
    def created(self) -> str:
        return instants.short(self.settlement.created_at, self.timezone)

    @property
    def badge(self) -> str:
        """A settlement that waits for something looks as if it did."""
        return "warn" if waits(self.settlement) else self.settlement.status

    @property
    def status(self) -> str:
        return "Waiting" if waits(self.settlement) else self.settlement.get_status_display()

    @property
    def reference(self) -> str:
        return f"set_…{self.settlement.public_id[-8:]}"


def waits(settlement: Settlement) -> bool:
    return settlement.status == SettlementStatus.PENDING and bool(settlement.failure_code)


@dataclass(frozen=True)
class Step:
    """One step from gross to net: a bar `width` permille long, that begins at `start`."""

    label: str
    amount: str
    kind: str
    start: int
    width: int


def waterfall(settlement: Settlement) -> list[Step]:
    """How the amount came about. Steps that took nothing off are left out."""
    whole, left, steps = settlement.gross, settlement.gross, []

    def permille(units: int) -> int:
        return units * 1000 // whole if whole else 0

    def shown(units: int) -> str:
        return coin_amount(units, settlement.decimals, settlement.currency)

    steps.append(Step("Came in", shown(whole), "gross", 0, 1000))
    percent = f"{Decimal(settlement.fee_bps) / 100:f}"
    for label, units in ((f"Fee, {percent} %", settlement.fee), ("Refunds and what else came off", settlement.refund)):
        if units:
            left -= units
            # What is too little for a bar is seen all the same.
            steps.append(Step(label, f"− {shown(units)}", "minus", permille(left), max(4, permille(units))))
    label = "Paid" if settlement.status == SettlementStatus.COMPLETED else "To be paid"
    if settlement.status == SettlementStatus.FAILED:
        label = "Was to be paid"
    steps.append(Step(label, shown(settlement.amount), "net", 0, permille(settlement.amount)))
    if fee := int(settlement.token_fee):
        arrived = permille(settlement.received)
        steps.append(Step("Kept by the token", f"− {shown(fee)}", "minus", arrived, max(4, permille(fee))))
        steps.append(Step("Arrived", shown(settlement.received), "net", 0, arrived))
    return steps


@dataclass(frozen=True)
class Conversion:
    """A coin that was, or is to be, converted."""

    coin: str
    amount: str
    became: str
    rate: str
    source: str


def conversions(settlement: Settlement) -> list[Conversion]:
    return [
        Conversion(
            coin=part["coin"],
            amount=coin_amount(int(part["net"]), int(part["decimals"]), part["coin"]),
            became=coin_amount(int(part["converted"]), settlement.decimals, settlement.currency),
            rate=_rate_words(part, settlement.currency),
            source=part["source"],
        )
        for part in settlement.coins
        if part["coin"] != settlement.currency
    ]


def _rate_words(part: dict[str, Any], currency: str) -> str:
    return f"1 {part['coin']} = {coins.rate(Decimal(part['rate']))} {currency}" if part["rate"] else ""


@dataclass(frozen=True)
class EntryRow:
    """A line of the statement, as the page shows it."""

    line: Line
    coin: str
    decimals: int
    timezone: str

    @property
    def words(self) -> str:
        return wording.ENTRIES.get(self.line.type, self.line.type)

    @property
    def at(self) -> str:
        return instants.short(self.line.at, self.timezone)

    @property
    def amount(self) -> str:
        units = self.line.amount or 0
        sign = "−" if units < 0 else "+"
        return f"{sign} {coin_amount(abs(units), self.decimals, self.coin)}"

    @property
    def fiat(self) -> str:
        amount = self.line.fiat_amount
        if amount is None:
            return ""
        return f"{'− ' if amount < 0 else ''}{abs(amount):,f} {self.line.fiat_currency}"

    @property
    def is_carried_over(self) -> bool:
        return self.line.section == Section.CARRIED_OVER

    @property
    def address(self) -> str:
        """The page of what it was for."""
        reference = self.line.reference
        for kind, page in PAGES.items():
            if kind.decode(reference) is not None:
                return reverse(page, args=[reference])
        return ""

    @property
    def short_reference(self) -> str:
        prefix, _, body = self.line.reference.partition("_")
        return f"{prefix}_…{body[-8:]}" if body else self.line.reference


def newest_entries(settlement: Settlement, timezone: str) -> list[EntryRow]:
    """The last of what the settlement is made of."""
    rows = BalanceChange.objects.filter(settlement=settlement.id).order_by("-id").values_list(*CHANGE_COLUMNS)
    first_of_period = ids.first_uuid_at(settlement.period_start)
    shown = []
    for change in starmap(Change, rows[:ENTRIES_SHOWN]):
        section = Section.PERIOD if change.id >= first_of_period else Section.CARRIED_OVER
        shown.append(EntryRow(line_of(change, section), change.asset, change.decimals, timezone))
    return shown


# --- the next run ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NextRun:
    """The run to come, as far as it can be told now."""

    preview: Preview
    environment: str
    timezone: str
    now: datetime

    @property
    def at(self) -> datetime | None:
        return self.preview.period.ends_at if self.preview.period else None

    @property
    def when(self) -> str:
        return instants.local(self.at, self.timezone) if self.at else ""

    @property
    def zone(self) -> str:
        return instants.zone(self.timezone)

    @property
    def from_now(self) -> str:
        return instants.from_now(self.at, self.now) if self.at else ""

    @property
    def settlements(self) -> list[PlannedRow]:
        return [PlannedRow(planned, self.environment) for planned in self.preview.plan.settlements]

    @property
    def carried_over(self) -> list[CarriedRow]:
        return [CarriedRow(left, self.environment) for left in self.preview.plan.carried_over]


@dataclass(frozen=True)
class PlannedRow:
    planned: PlannedSettlement
    environment: str

    @property
    def amount(self) -> str:
        return coin_amount(self.planned.totals.amount, self.planned.decimals, self.planned.currency)

    @property
    def network(self) -> str:
        return registry.known_profile(self.environment, self.planned.network).name

    @property
    def wallet(self) -> str:
        return coins.short_hash(self.planned.wallet)

    @property
    def is_estimate(self) -> bool:
        return any(part.coin != self.planned.currency for part in self.planned.parts)


@dataclass(frozen=True)
class CarriedRow:
    left: CarriedOver
    environment: str

    @property
    def amount(self) -> str:
        units = self.left.amount
        sign = "− " if units < 0 else ""
        return f"{sign}{coin_amount(abs(units), self.left.decimals, self.left.coin)}"

    @property
    def network(self) -> str:
        return registry.known_profile(self.environment, self.left.network).name

    @property
    def wallet(self) -> str:
        return coins.short_hash(self.left.wallet)

    @property
    def why(self) -> str:
        return wording.carried(self.left.reason)

    @property
    def remedy(self) -> tuple[str, str] | None:
        """What can be done about it: words and an address."""
        match self.left.reason:
            case CarryReason.BELOW_MINIMUM | CarryReason.WALLET_NOT_ALLOWED:
                return "Change the settings", reverse("dashboard_settings")
            case CarryReason.WALLET_BLOCKED:
                return "Decide what to do", f"{reverse('dashboard_settlements')}?status={SettlementStatus.FAILED}"
            case _:
                return None
