"""Settlements and runs as the merchant's pages show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import starmap
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from config import ids
from config.pages.wording import coins, in_style, rate, short_hash, short_id, signed, whole
from merchants import wording as instants
from payments.chains import registry
from payments.chains.recipients import person_of
from payments.rates.tables import source_in_words
from settlements import wording
from settlements.models import DebtOffset, Settlement
from settlements.plans.facts import OFFSETS, Preview
from settlements.plans.offsetting import Share
from settlements.plans.planning import CarriedOver, CarryReason, PlannedSettlement
from settlements.plans.reading import changes_of, other_sides
from settlements.plans.statements import CHANGE_COLUMNS, Change, Line, Section, Statement, line_of
from settlements.states import SettlementStatus

PAGES = {
    ids.PAYMENT: "dashboard_payment",
    ids.REFUND: "dashboard_refund",
    ids.SETTLEMENT: "dashboard_settlement",
}

ENTRIES_SHOWN = 50
"""Entries on the page; the statement has all of them."""


# --- settlements -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SettlementRow:
    """A settlement as the list shows it."""

    settlement: Settlement
    timezone: str

    @property
    def amount(self) -> str:
        return coins(self.settlement.amount, self.settlement.decimals, self.settlement.currency)

    @property
    def network(self) -> str:
        return registry.known_profile(self.settlement.environment, self.settlement.network).name

    @property
    def wallet(self) -> str:
        return short_hash(self.settlement.destination)

    @property
    def memo(self) -> str:
        """The memo that the wallet's address contains."""
        return person_of(self.settlement.destination)

    @property
    def payments(self) -> str:
        number = self.settlement.payment_count
        return ngettext("%(number)s payment", "%(number)s payments", number) % {"number": whole(number)}

    @property
    def created(self) -> str:
        return instants.short(self.settlement.created_at, self.timezone)

    @property
    def badge(self) -> str:
        """The tone of its badge; that of a warning while it waits for something."""
        return "warn" if waits(self.settlement) else self.settlement.status

    @property
    def status(self) -> str:
        return gettext("Waiting") if waits(self.settlement) else self.settlement.get_status_display()

    @property
    def reference(self) -> str:
        return short_id(self.settlement.public_id)


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
    """The steps from gross to the amount. Steps of zero are left out."""
    whole, left, steps = settlement.gross + max(0, -settlement.fee), settlement.gross, []

    def permille(units: int) -> int:
        return units * 1000 // whole if whole else 0

    def shown(units: int) -> str:
        return coins(units, settlement.decimals, settlement.currency)

    steps.append(Step(gettext("Came in"), shown(left), "gross", 0, permille(left)))
    percent = in_style(f"{Decimal(settlement.fee_bps) / 100:f}")
    if settlement.fee < 0:
        back = -settlement.fee
        steps.append(Step(gettext("Returned fee"), f"+{shown(back)}", "gross", permille(left), max(4, permille(back))))
        left += back
    taken = (
        (f"Fee, {percent} %", settlement.fee),
        (gettext("Refunds and other deductions"), settlement.refund - settlement.debt_offset),
        (gettext("Debts repaid in other coins"), settlement.debt_offset),
    )
    for label, units in taken:
        if units > 0:
            left -= units
            # Even a tiny amount gets a visible bar.
            steps.append(Step(label, f"−{shown(units)}", "minus", permille(left), max(4, permille(units))))
    label = gettext("Paid") if settlement.status == SettlementStatus.COMPLETED else gettext("To be paid")
    if settlement.claimable_balance:
        label = gettext("Set aside")
    if settlement.status == SettlementStatus.FAILED:
        label = gettext("Planned amount")
    steps.append(Step(label, shown(settlement.amount), "net", 0, permille(settlement.amount)))
    if fee := int(settlement.token_fee):
        arrived = permille(settlement.received)
        steps.append(Step(gettext("Kept by the token"), f"−{shown(fee)}", "minus", arrived, max(4, permille(fee))))
        steps.append(Step(gettext("Arrived"), shown(settlement.received), "net", 0, arrived))
    return steps


@dataclass(frozen=True)
class Conversion:
    """A coin that was or will be converted."""

    coin: str
    amount: str
    became: str
    rate: str
    source: str


def conversions(settlement: Settlement) -> list[Conversion]:
    return [
        Conversion(
            coin=part["coin"],
            amount=coins(int(part["net"]), int(part["decimals"]), part["coin"]),
            became=coins(int(part["converted"]), settlement.decimals, settlement.currency),
            rate=_rate_words(part, settlement.currency),
            source=part["source"],
        )
        for part in settlement.coins
        if part["coin"] != settlement.currency
    ]


def _rate_words(part: dict[str, Any], currency: str) -> str:
    return f"1 {part['coin']} = {rate(Decimal(part['rate']))} {currency}" if part["rate"] else ""


@dataclass(frozen=True)
class EntryRow:
    """A line of the statement, as the page shows it."""

    line: Line
    coin: str
    decimals: int
    timezone: str
    environment: str

    @property
    def words(self) -> str:
        return str(wording.ENTRIES.get(self.line.type, self.line.type))

    @property
    def fee(self) -> str:
        """The fee on a refund: given back or taken again; empty where it is kept."""
        if not self.line.returns_fee:
            return ""
        return gettext("its fee is returned") if (self.line.amount or 0) < 0 else gettext("its fee is taken again")

    @property
    def at(self) -> str:
        return instants.short(self.line.at, self.timezone)

    @property
    def amount(self) -> str:
        units = self.line.amount or 0
        words = coins(units, self.decimals, self.coin)
        return words if units < 0 else f"+{words}"

    @property
    def balance(self) -> str:
        return coins(self.line.balance, self.decimals, self.coin)

    @property
    def fiat(self) -> str:
        amount = self.line.fiat_amount
        if amount is None:
            return ""
        return signed(amount, f"{in_style(f'{abs(amount):,f}')} {self.line.fiat_currency}")

    @property
    def other_side(self) -> str:
        """The other side of a debt offset, and the rate; empty for every other line."""
        other = self.line.other_side
        if other is None:
            return ""
        amount = coins(other.amount, other.decimals, other.coin)
        network = registry.known_profile(self.environment, other.network).name
        if not other.rate_source:
            return gettext("%(amount)s on %(network)s") % {"amount": amount, "network": network}
        return gettext("%(amount)s on %(network)s, at %(rate)s") % {
            "amount": amount,
            "network": network,
            "rate": rate(Decimal(other.rate)),
        }

    @property
    def is_carried_over(self) -> bool:
        return self.line.section == Section.CARRIED_OVER

    @property
    def address(self) -> str:
        """The URL of the page of what it was for."""
        reference = self.line.reference
        for kind, page in PAGES.items():
            if kind.decode(reference) is not None:
                return reverse(page, args=[reference])
        return ""

    @property
    def short_reference(self) -> str:
        return short_id(self.line.reference)


def newest_entries(settlement: Settlement, timezone: str) -> list[EntryRow]:
    """The newest entries of the settlement's statement."""
    rows = changes_of(settlement).order_by("-id").values_list(*CHANGE_COLUMNS)
    first_of_period = ids.first_uuid_at(settlement.period_start)
    changes = list(starmap(Change, rows[:ENTRIES_SHOWN]))
    offsets = other_sides(settlement) if any(change.kind in OFFSETS for change in changes) else {}
    shown = []
    for change in changes:
        section = Section.PERIOD if change.id >= first_of_period else Section.CARRIED_OVER
        line = line_of(change._replace(other_side=offsets.get((change.reference, change.kind))), section)
        shown.append(EntryRow(line, change.asset, change.decimals, timezone, settlement.environment))
    return shown


@dataclass(frozen=True)
class PrintedAccount:
    """A coin's account, as the page for paper shows it."""

    coin: str
    opening: str
    rows: list[EntryRow]
    closing: str


def printed_accounts(statement: Statement, timezone: str) -> list[PrintedAccount]:
    """Every line of the statement, coin by coin."""
    return [
        PrintedAccount(
            account.coin,
            coins(account.opening, account.decimals, account.coin),
            [
                EntryRow(line, account.coin, account.decimals, timezone, statement.settlement.environment)
                for line in account.entries
            ],
            coins(account.closing, account.decimals, account.coin),
        )
        for account in statement.accounts
    ]


# --- the next run ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NextRun:
    """The next run, as far as it is known now."""

    preview: Preview
    environment: str
    timezone: str
    now: datetime
    later: Sequence[datetime] = ()
    """Times of the runs after it."""

    @property
    def then(self) -> list[str]:
        return [instants.with_offset(instant, self.timezone) for instant in self.later]

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
        return [
            PlannedRow(planned, self.environment, self.preview.refusals.get((planned.network, planned.wallet), ""))
            for planned in self.preview.plan.settlements
        ]

    @property
    def rate_of(self) -> str:
        """The party that bears a move of the rate; empty where nothing is to be converted."""
        if not any(each.is_converted for each in self.settlements):
            return ""
        return str(wording.RATE_OF[self.preview.rate_moment])

    @property
    def offsets(self) -> list[OffsetRow]:
        return [
            OffsetRow(offset.taken, offset.repaid, offset.price.rate if offset.price else None, self.environment)
            for offset in self.preview.plan.offsets
        ]

    @property
    def carried_over(self) -> list[CarriedRow]:
        return [CarriedRow(left, self.environment) for left in self.preview.plan.carried_over]


@dataclass(frozen=True)
class PlannedRow:
    planned: PlannedSettlement
    environment: str
    problem: str = ""

    @property
    def warning(self) -> str:
        """The reason the network would not have paid this wallet at the last query, and the remedy."""
        return wording.refused(self.problem, self.planned.currency)

    @property
    def amount(self) -> str:
        return coins(self.planned.totals.amount, self.planned.decimals, self.planned.currency)

    @property
    def network(self) -> str:
        return registry.known_profile(self.environment, self.planned.network).name

    @property
    def wallet(self) -> str:
        return short_hash(self.planned.wallet)

    @property
    def memo(self) -> str:
        """The memo that the wallet's address contains."""
        return person_of(self.planned.wallet)

    @property
    def is_converted(self) -> bool:
        return any(part.coin != self.planned.currency for part in self.planned.parts)


@dataclass(frozen=True)
class OffsetRow:
    """An amount of one coin that repays, or has repaid, a debt in another coin or on another network."""

    taken: Share
    repaid: Share
    rate: Decimal | None
    environment: str
    source: str = ""
    at: datetime | None = None
    when: str = ""

    @property
    def amount(self) -> str:
        return coins(self.taken.amount, self.taken.decimals, self.taken.coin)

    @property
    def network(self) -> str:
        return registry.known_profile(self.environment, self.taken.network).name

    @property
    def debt(self) -> str:
        return coins(self.repaid.amount, self.repaid.decimals, self.repaid.coin)

    @property
    def debt_network(self) -> str:
        return registry.known_profile(self.environment, self.repaid.network).name

    @property
    def at_rate(self) -> str:
        if self.rate is None:
            return ""
        return f"1 {self.taken.coin} = {rate(self.rate)} {self.repaid.coin}"


def offset_rows(made: Iterable[DebtOffset], timezone: str) -> list[OffsetRow]:
    """Offsets that have been made, as the page lists them."""
    return [
        OffsetRow(
            Share(each.network, each.wallet, each.asset, each.decimals, int(each.amount)),
            Share(each.debt_network, each.debt_wallet, each.debt_asset, each.debt_decimals, int(each.repaid)),
            each.rate if each.rate_source else None,
            each.environment,
            source_in_words(each.rate_source),
            each.created_at,
            instants.short(each.created_at, timezone),
        )
        for each in made
    ]


@dataclass(frozen=True)
class CarriedRow:
    left: CarriedOver
    environment: str

    @property
    def amount(self) -> str:
        return coins(self.left.amount, self.left.decimals, self.left.coin)

    @property
    def network(self) -> str:
        return registry.known_profile(self.environment, self.left.network).name

    @property
    def wallet(self) -> str:
        return short_hash(self.left.wallet)

    @property
    def why(self) -> str:
        return wording.carried(self.left.reason)

    @property
    def remedy(self) -> tuple[str, str] | None:
        """The remedy: a text and a URL."""
        match self.left.reason:
            case CarryReason.BELOW_MINIMUM | CarryReason.WALLET_NOT_ALLOWED:
                return gettext("Change the settings"), reverse("dashboard_settings")
            case CarryReason.WALLET_BLOCKED:
                failed = f"{reverse('dashboard_settlements')}?status={SettlementStatus.FAILED}"
                return gettext("Decide what to do"), failed
            case CarryReason.NO_TRUSTLINE:
                return gettext("What to do"), f"{reverse('dashboard_settlements')}?status={SettlementStatus.PENDING}"
            case _:
                return None
