"""Coins that wait to be swept, the dust among them, and the range of the gas balance; from rows, without a query to a
network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext

from django.conf import settings
from django.db.models import Sum

from config.environments import Environment
from config.money import Asset, from_units
from config.pages.wording import coins_held, grouped
from payments.chains import registry
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.monitoring.models import Alarm, NetworkSnapshot
from payments.monitoring.states import PROVIDER_ALARMS
from payments.transfers.models import Payout
from payments.transfers.states import PayoutStatus
from payments.treasury import native_deposits
from payments.treasury.dust import Fees, WaitingAddress
from payments.treasury.models import Sweep, SweptAddress
from payments.treasury.sweep_failures import passed_over
from payments.treasury.sweeping import addresses_worth_sweeping, all_that_waits, fees_at

USUAL_ADDRESSES, USUAL_PAYOUTS = 50, 10
"""The unit of the gas reserve: one sweep of so many new addresses, and so many payouts."""

_SMALLEST_NATIVE_SHOWN = Decimal("0.00000001")


@dataclass(frozen=True, slots=True)
class CoinFigures:
    """One coin at the deposit addresses of a network."""

    asset: Asset
    worth: Sequence[WaitingAddress]
    dust_addresses: int
    dust: int
    """Base units of the coin that are not worth sweeping."""
    threshold: int
    sweep_cost: int
    """The cost of sweeping what is worth it, in base units of the native coin."""
    is_paid: bool
    """True if a sweep brings more than it costs."""
    passed_over: Sequence[SweptAddress] = ()
    """Addresses where a sweep left the coin, and why."""

    @property
    def sweepable(self) -> int:
        return sum(address.amount for address in self.worth)

    @property
    def sweepable_text(self) -> str:
        return f"{coins_text(self.sweepable, self.asset)} at {_addresses(len(self.worth))}"

    @property
    def dust_text(self) -> str:
        return f"{coins_text(self.dust, self.asset)} at {_addresses(self.dust_addresses)}" if self.dust else "none"

    @property
    def passed_over_text(self) -> str:
        total = coins_text(sum(line.amount for line in self.passed_over), self.asset)
        return f"{total} at {_addresses(len(self.passed_over))}" if self.passed_over else "none"

    @property
    def percent(self) -> int:
        """Waiting coins as a share of the threshold, in percent."""
        return 100 * min(self.sweepable, self.threshold) // self.threshold if self.threshold else 100

    @property
    def outlook(self) -> str:
        """The reason it is not swept, or when it will be."""
        if not self.worth:
            return "nothing to sweep"
        if missing := max(0, self.threshold - self.sweepable):
            return f"{coins_text(missing, self.asset)} short of the threshold"
        return "swept next" if self.is_paid else "not worth a sweep yet"


@dataclass(frozen=True, slots=True)
class GasTank:
    """The gas balance of the hot wallet. Everything in base units of the native coin."""

    native: Asset
    wallet: str
    balance: int
    """Spendable balance: without the reserve that the network keeps."""
    wanted: int
    """Balance needed for pending sweeps and payouts, and for the reserve."""
    usual_sweep: int
    payout: int

    @property
    def sweeps_left(self) -> int | None:
        return self.balance // self.usual_sweep if self.usual_sweep else None

    @property
    def payouts_left(self) -> int:
        return self.balance // self.payout if self.payout else 0

    @property
    def percent(self) -> int:
        """The balance as a share of its target, in percent; 200 at most."""
        return 100 * min(self.balance, 2 * self.wanted) // self.wanted if self.wanted else 200

    @property
    def use(self) -> str:
        """Number of sweeps and payouts it pays for."""
        payouts = f"{self.payouts_left:,} payouts at {coins_text(self.payout, self.native)}"
        if self.sweeps_left is None:
            return payouts
        each = coins_text(self.usual_sweep, self.native)
        return f"{self.sweeps_left:,} sweeps of {USUAL_ADDRESSES} new addresses at {each}, or {payouts}"

    def is_low(self, *, is_alarmed: bool = False) -> bool:
        """True if it is too low. An open alarm ends only with a quarter more, because fees rise and fall."""
        return self.balance * 4 < self.wanted * 5 if is_alarmed else self.balance < self.wanted


@dataclass(frozen=True, slots=True)
class NetworkFigures:
    """All figures that are shown of one network."""

    snapshot: NetworkSnapshot
    native: Asset
    cursor: ScanCursor | None
    alarms: Sequence[Alarm]
    coins: Sequence[CoinFigures]
    """Empty where deposits arrive at the hot wallet itself."""
    tank: GasTank | None
    """None when it was never measured."""
    last_sweep: Sweep | None
    stray: int
    """Base units of the native coin at deposit addresses, where it counts for no payment."""
    decided_by_one: bool
    """True if the operator lets one provider decide about money alone."""

    @property
    def rescan(self) -> ReadingRequest | None:
        """The range of blocks that is being read again. Reads a row."""
        here = {"environment": self.snapshot.environment, "network": self.snapshot.network}
        return ReadingRequest.objects.filter(**here, transaction_hash="").first()

    @property
    def head(self) -> str:
        return f"{self.cursor.head_height:,}" if self.cursor else "never read"

    @property
    def lag(self) -> int:
        """Blocks between the head and the newest final one."""
        return self.cursor.head_height - self.cursor.finalized_height if self.cursor else 0

    @property
    def providers(self) -> dict[str, list[str]]:
        """The known problems of each provider; an empty list means it is well."""
        found: dict[str, list[str]] = {name: [] for name in self.snapshot.providers}
        for alarm in self.alarms:
            if alarm.kind in PROVIDER_ALARMS.values():
                found.setdefault(alarm.subject, []).append(f"{alarm.get_kind_display()}: {alarm.message}")
        return found


def figures_of(snapshot: NetworkSnapshot) -> NetworkFigures:
    """The figures of one network, with the fees that were last measured."""
    here = {"environment": snapshot.environment, "network": snapshot.network}
    profile = registry.profile(**here)
    cursor = ScanCursor.objects.filter(**here).first()
    sweeps = Sweep.objects.filter(
        transfer__environment=snapshot.environment, transfer__network=snapshot.network
    ).select_related("transfer")
    coins = [_coin(*each) for each in _worth_sweeping(snapshot, cursor)]
    return NetworkFigures(
        snapshot=snapshot,
        native=profile.native,
        cursor=cursor,
        alarms=list(Alarm.objects.filter(**here, cleared_at__isnull=True)),
        coins=coins,
        tank=_tank(snapshot, sum(coin.sweep_cost for coin in coins)) if snapshot.measured_at else None,
        last_sweep=sweeps.order_by("-id").first(),
        stray=int(native_deposits.waiting(**here).aggregate(total=Sum("held"))["total"] or 0),
        decided_by_one=snapshot.network in registry.decided_by_one(snapshot.environment),
    )


def figures_once(snapshot: NetworkSnapshot) -> NetworkFigures:
    """The same, read once for all that a page shows of this row."""
    known = vars(snapshot)
    if "_figures" not in known:
        known["_figures"] = figures_of(snapshot)
    figures: NetworkFigures = known["_figures"]
    return figures


def tank_of(snapshot: NetworkSnapshot) -> GasTank | None:
    """The gas balance alone, by fewer queries; None when it was never measured."""
    if snapshot.measured_at is None:
        return None
    cursor = ScanCursor.objects.filter(environment=snapshot.environment, network=snapshot.network).first()
    return _tank(snapshot, sum(fees.of(worth) for _, _, fees, worth in _worth_sweeping(snapshot, cursor)))


def snapshots_in_use() -> list[NetworkSnapshot]:
    """The snapshots of the networks in use, production first."""
    in_use = {(str(environment), name) for environment in Environment for name in registry.networks(environment)}
    return [each for each in NetworkSnapshot.objects.all() if (each.environment, each.network) in in_use]


def _worth_sweeping(
    snapshot: NetworkSnapshot, cursor: ScanCursor | None
) -> Iterator[tuple[ScanCursor, Asset, Fees, Sequence[WaitingAddress]]]:
    """The addresses worth sweeping of each coin; none where deposits arrive at the hot wallet itself."""
    profile = registry.profile(snapshot.environment, snapshot.network)
    if cursor is None or profile.shares_account:
        return
    fees = fees_at(snapshot.costs, profile)
    for asset in profile.assets.values():
        yield cursor, asset, fees, addresses_worth_sweeping(cursor, asset, fees)


def _tank(snapshot: NetworkSnapshot, sweep_cost: int) -> GasTank:
    costs = snapshot.costs
    profile = registry.profile(snapshot.environment, snapshot.network)
    payouts = Payout.objects.filter(
        environment=snapshot.environment,
        network=snapshot.network,
        status__in=[PayoutStatus.READY, PayoutStatus.HELD],
    )
    usual_sweep = costs.of_sweep(first_time=USUAL_ADDRESSES)
    sweeps = int(settings.GAS_TANK_RESERVE.get(snapshot.network, profile.gas_reserve))
    reserve = sweeps * (usual_sweep + USUAL_PAYOUTS * costs.payout)
    waiting = sweep_cost + payouts.count() * costs.payout
    waiting += payouts.filter(set_aside_at__isnull=False).count() * costs.set_aside
    return GasTank(
        native=profile.native,
        wallet=snapshot.wallet,
        balance=max(0, int(snapshot.native_balance) - int(snapshot.native_reserve)),
        wanted=waiting + reserve,
        usual_sweep=usual_sweep,
        payout=costs.payout,
    )


def _addresses(number: int) -> str:
    return f"{number:,} address{'' if number == 1 else 'es'}"


def coins_text(units: int, asset: Asset) -> str:
    """`1,212.50 USDC`; eight digits for a native coin, whose amounts are small. Rounded down."""
    if asset.contract:
        return f"{grouped(coins_held(units, asset.decimals))} {asset.code}"
    with localcontext(prec=120):
        amount = from_units(units, asset.decimals).quantize(_SMALLEST_NATIVE_SHOWN, ROUND_FLOOR)
    if units and not amount:
        return f"under {_SMALLEST_NATIVE_SHOWN:f} {asset.code}"
    return f"{amount.normalize():,f} {asset.code}"


def _coin(cursor: ScanCursor, asset: Asset, fees: Fees, worth: Sequence[WaitingAddress]) -> CoinFigures:
    addresses, total = all_that_waits(cursor, asset.code)
    return CoinFigures(
        asset=asset,
        worth=worth,
        dust_addresses=max(0, addresses - len(worth)),  # a sweep may have begun between the two
        dust=max(0, total - sum(address.amount for address in worth)),
        threshold=settings.SWEEP_THRESHOLD * 10**asset.decimals,
        sweep_cost=fees.of(worth),
        is_paid=fees.are_paid_by(worth, asset),
        passed_over=list(passed_over(cursor.environment, cursor.network).filter(sweep__asset=asset.code)),
    )
