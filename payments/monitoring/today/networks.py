"""Networks and hot wallets in a line each, from rows: height, lag, providers, stops, gas, coins and what they cover."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import CharField, F, Sum, Value

from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account, Stop, StopKind
from payments.chains import registry
from payments.deposits.models import ScanCursor
from payments.monitoring.figures import USUAL_ADDRESSES, GasTank, NetworkFigures, coins_text, snapshots_in_use
from payments.monitoring.models import Alarm, NetworkSnapshot
from payments.monitoring.states import AlarmKind
from payments.transfers.models import Payout
from payments.transfers.states import PayoutStatus

_PAYOUTS = "payouts"


@dataclass(frozen=True)
class CoinLine:
    """A coin of a hot wallet by the ledger, and what is to be paid out of it. Text, in coins."""

    hot: str
    cold: str
    waiting: str
    short: str
    """What the hot wallet lacks for the payouts that wait; empty if it covers them."""


@dataclass(frozen=True)
class NetworkLine:
    snapshot: NetworkSnapshot
    figures: NetworkFigures
    stops: Sequence[Stop]
    tank: GasTank | None
    is_gas_low: bool
    coins: Sequence[CoinLine]

    @property
    def gas(self) -> str:
        return coins_text(self.tank.balance, self.tank.native) if self.tank else ""

    @property
    def ill_providers(self) -> list[str]:
        return [f"{name}: {'; '.join(problems)}" for name, problems in self.figures.providers.items() if problems]

    @property
    def well_providers(self) -> int:
        return sum(not problems for problems in self.figures.providers.values())

    @property
    def is_halted(self) -> bool:
        return any(stop.kind == StopKind.HALT for stop in self.stops)


def network_lines(alarms: Sequence[Alarm], stops: Sequence[Stop], *, shows_coins: bool) -> list[NetworkLine]:
    """Every network in use, production first, by three queries, and one less without the coins."""
    snapshots = snapshots_in_use()
    cursors = {(cursor.environment, cursor.network): cursor for cursor in ScanCursor.objects.all()}
    amounts = _amounts() if shows_coins else {}
    return [_line(each, cursors.get((each.environment, each.network)), alarms, stops, amounts) for each in snapshots]


def _line(
    snapshot: NetworkSnapshot,
    cursor: ScanCursor | None,
    alarms: Sequence[Alarm],
    stops: Sequence[Stop],
    amounts: Mapping[tuple[str, str, str], Mapping[str, int]],
) -> NetworkLine:
    place = snapshot.environment, snapshot.network
    profile, costs = registry.profile(*place), snapshot.costs
    own = [alarm for alarm in alarms if (alarm.environment, alarm.network) == place]
    tank = None
    if snapshot.measured_at:
        spendable = max(0, int(snapshot.native_balance) - int(snapshot.native_reserve))
        usual = costs.of_sweep(first_time=USUAL_ADDRESSES)
        tank = GasTank(profile.native, snapshot.wallet, spendable, 0, usual, costs.payout)
    return NetworkLine(
        snapshot=snapshot,
        figures=NetworkFigures(snapshot, profile.native, cursor, own, (), tank, None, 0, False),
        stops=[stop for stop in stops if stop.environment == place[0] and stop.network in ("", place[1])],
        tank=tank,
        is_gas_low=any(alarm.kind == AlarmKind.GAS_TANK_LOW for alarm in own),
        coins=_coin_lines(place, amounts),
    )


def coin_lines(environment: str, network: str) -> list[CoinLine]:
    """The coins of a network's wallets that there are any of, or that are to be paid out."""
    return _coin_lines((environment, network), _amounts())


def _coin_lines(place: tuple[str, str], amounts: Mapping[tuple[str, str, str], Mapping[str, int]]) -> list[CoinLine]:
    lines = []
    for asset in registry.profile(*place).assets.values():
        found = amounts.get((*place, asset.code), {})
        hot, cold, waiting = (found.get(each, 0) for each in (AccountKind.CHAIN_HOT, AccountKind.CHAIN_COLD, _PAYOUTS))
        if found:
            told = (coins_text(units, asset) if units else "" for units in (hot, cold, waiting, max(0, waiting - hot)))
            lines.append(CoinLine(*told))
    return lines


def _amounts() -> dict[tuple[str, str, str], dict[str, int]]:
    """The coins of hot and cold wallets, and those of payouts that wait, by environment, network and coin."""
    columns = ("environment", "network", "asset", "what", "units")
    held = Account.objects.filter(owner="", kind__in=[AccountKind.CHAIN_HOT, AccountKind.CHAIN_COLD])
    payouts = Payout.objects.filter(status__in=[PayoutStatus.READY, PayoutStatus.HELD]).order_by()
    sums = payouts.values("environment", "network", "asset").annotate(
        what=Value(_PAYOUTS, output_field=CharField()), units=Sum("amount")
    )
    found: defaultdict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    balances = held.annotate(what=F("kind"), units=F("balance")).values_list(*columns)
    for environment, network, asset, what, units in balances.union(sums.values_list(*columns), all=True):
        if units:
            found[environment, network, asset][what] = int(units)
    return dict(found)
