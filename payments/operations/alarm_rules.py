"""What threatens money on a network just now: read from the rows that say so, and from who asks its providers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from django.db.models import Count, Q, Sum
from django.utils import timezone

from config.installation.services import current_standstill
from config.money import format_crypto
from merchants.ledger.models import Breaker
from payments import unswept
from payments.chains import registry
from payments.chains.base import ProviderState
from payments.chains.profiles import NetworkProfile
from payments.invariants import UNBOOKED_MAX
from payments.losses.models import MissingCoins, MissingStatus
from payments.models import ScanCursor, Sweep, SweptAddress
from payments.operations import work
from payments.operations.figures import coins_text, figures_of
from payments.operations.models import NetworkSnapshot
from payments.operations.states import PROVIDER_ALARMS, AlarmKind
from payments.states import OF_THE_WHOLE_COIN
from payments.transfers.lateness import late_transfers
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.states import OPEN_TRANSFERS, HoldReason, PayoutStatus, TransferPurpose

UNAVAILABLE_AFTER = timedelta(minutes=2)
"""How long a network may not answer before a person hears of it."""

UNREAD_AFTER = timedelta(minutes=5)
"""How long nobody may have asked a network."""


@dataclass(frozen=True, slots=True)
class Danger:
    """Something an operator must know. There is one at a time of each kind and subject on a network."""

    kind: AlarmKind
    message: str
    subject: str = ""


def of_providers(states: Iterable[ProviderState]) -> Iterator[Danger]:
    for state in states:
        for problem, message in state.problems.items():
            yield Danger(PROVIDER_ALARMS[problem], message, state.name)


def of_house() -> Iterator[Danger]:
    """Of the installation as a whole. What runs nothing at all raises no alarm: /health/work tells of that."""
    behind = [item for item in work.all_work() if item.is_behind and item.age is not None]
    for name, items in groupby(behind, key=lambda item: item.name):
        yield Danger(AlarmKind.WORK_BEHIND, f"{'; '.join(map(str, items))}.", name)
    for clock in work.clocks():
        if clock.is_off:
            yield Danger(AlarmKind.CLOCK_OFF, f"{clock} of the database's.", clock.process)


def of_rows(environment: str, network: str) -> Iterator[Danger]:
    """All that the database knows."""
    here = {"environment": environment, "network": network}
    if (standstill := current_standstill()) is not None:
        yield Danger(AlarmKind.DATABASE_RESTORED, standstill.message)
    cursor = ScanCursor.objects.filter(**here).first()
    if cursor is not None:
        yield from _of_reading(cursor, registry.profile(environment, network), timezone.now())
    for breaker in Breaker.objects.filter(**here, closed_at__isnull=True):
        yield Danger(AlarmKind.PAYOUTS_STOPPED, breaker.reason)
    for wallet in Wallet.objects.filter(**here):
        if wallet.frozen_at is not None:
            yield Danger(AlarmKind.WALLET_FROZEN, wallet.frozen_reason, wallet.address)
        elif wallet.last_error and _is_kept_waiting(wallet):
            yield Danger(AlarmKind.WALLET_CANNOT_SEND, wallet.last_error, wallet.address)
    yield from _of_transfers(environment, network)
    yield from _of_sweeps(environment, network)
    yield from _of_passed_over(environment, network)
    yield from _of_missing_coins(environment, network)
    yield from _of_coins(environment, network)
    yield from _of_gas_tank(environment, network)


def _of_reading(cursor: ScanCursor, profile: NetworkProfile, now: datetime) -> Iterator[Danger]:
    if cursor.halted_at is not None:
        yield Danger(AlarmKind.NETWORK_HALTED, cursor.last_error)
        return
    if cursor.fault:
        yield Danger(AlarmKind.NETWORK_NOT_SET_UP, cursor.fault)
        return
    if cursor.failing_since is not None:
        if now - cursor.failing_since >= UNAVAILABLE_AFTER:
            since = f"It has not answered since {cursor.failing_since:%Y-%m-%d %H:%M:%S}"
            yield Danger(AlarmKind.NETWORK_UNAVAILABLE, f"{since}: {cursor.last_error}")
    elif cursor.polled_at is not None and now - cursor.polled_at >= UNREAD_AFTER:
        message = f"Nobody has asked it since {cursor.polled_at:%Y-%m-%d %H:%M:%S}: the chain worker does not run."
        yield Danger(AlarmKind.NETWORK_UNAVAILABLE, message)
    if cursor.head_standstill >= timedelta(seconds=profile.head_stall_seconds):
        message = f"Block {cursor.head_height} has been the newest since {cursor.head_since:%Y-%m-%d %H:%M:%S}."
        yield Danger(AlarmKind.HEAD_STALLED, message)
    if cursor.finality_standstill >= timedelta(seconds=profile.finality_stall_seconds):
        since = f"since {cursor.finalized_since:%Y-%m-%d %H:%M:%S}"
        message = f"Block {cursor.finalized_height} has been the newest final one {since}."
        yield Danger(AlarmKind.FINALITY_STALLED, message)


def _is_kept_waiting(wallet: Wallet) -> bool:
    """Whether it has something to send, and has not been able to for a while."""
    if wallet.checked_at is not None and timezone.now() - wallet.checked_at < UNAVAILABLE_AFTER:
        return False
    place = {"environment": wallet.environment, "network": wallet.network}
    silent = Q(status=PayoutStatus.HELD, hold_reason=HoldReason.NETWORK)
    due = Payout.objects.filter(silent | Q(status__in=[PayoutStatus.READY, PayoutStatus.SENDING]), **place)
    return due.exists() or Transfer.objects.filter(**place, status__in=OPEN_TRANSFERS).exists()


def _of_transfers(environment: str, network: str) -> Iterator[Danger]:
    for late in late_transfers([environment], network):
        is_sweep = late.transfer.purpose == TransferPurpose.SWEEP
        yield Danger(
            AlarmKind.SWEEP_STUCK if is_sweep else AlarmKind.TRANSFER_STUCK,
            f"{late.state}, should be {late.allowed}. The network said last: {late.said}",
            str(late.transfer.pk),
        )


def _of_sweeps(environment: str, network: str) -> Iterator[Danger]:
    unbooked = Sweep.objects.filter(
        booked_at__isnull=True,
        transfer__finished_at__lt=timezone.now() - UNBOOKED_MAX,
        transfer__environment=environment,
        transfer__network=network,
    )
    for sweep in unbooked.select_related("transfer"):
        ended = f"It has ended at {sweep.transfer.finished_at:%Y-%m-%d %H:%M:%S} and is not in the books yet."
        message = f"{ended} {sweep.last_error}".rstrip()
        yield Danger(AlarmKind.SWEEP_STUCK, message, str(sweep.transfer.pk))


def _of_passed_over(environment: str, network: str) -> Iterator[Danger]:
    """One for each address, or one for a coin that can be moved from none."""
    whole: defaultdict[str, list[SweptAddress]] = defaultdict(list)
    for line in unswept.passed_over(environment, network):
        if line.reason in OF_THE_WHOLE_COIN:
            whole[line.sweep.asset].append(line)
        else:
            subject = f"{line.sweep.asset} at {line.payment.deposit_address}"
            yield Danger(AlarmKind.ADDRESS_PASSED_OVER, unswept.told(line), subject)
    for code, lines in whole.items():
        yield Danger(AlarmKind.ADDRESS_PASSED_OVER, unswept.all_told(lines), code)


def _of_missing_coins(environment: str, network: str) -> Iterator[Danger]:
    """One for each coin, however many addresses an issuer has emptied."""
    waiting = MissingCoins.objects.filter(environment=environment, network=network, status=MissingStatus.OPEN)
    for asset, decimals, count, total in waiting.values_list("asset", "decimals").annotate(Count("pk"), Sum("amount")):
        message = f"{format_crypto(int(total), decimals)} {asset} are not at {count} of the deposit addresses."
        yield Danger(AlarmKind.COINS_MISSING, message, asset)


def _of_coins(environment: str, network: str) -> Iterator[Danger]:
    """Coins that can be sent to nobody, as they were measured last."""
    snapshot = NetworkSnapshot.objects.filter(environment=environment, network=network).first()
    for code, (kind, message) in sorted(snapshot.blocked_coins.items()) if snapshot else ():
        yield Danger(AlarmKind(kind), message, code)


def _of_gas_tank(environment: str, network: str) -> Iterator[Danger]:
    snapshot = NetworkSnapshot.objects.filter(environment=environment, network=network).first()
    figures = figures_of(snapshot) if snapshot else None
    if figures is None or figures.tank is None:
        return
    is_alarmed = any(alarm.kind == AlarmKind.GAS_TANK_LOW for alarm in figures.alarms)
    if figures.tank.is_low(is_alarmed=is_alarmed):
        held, wanted = (coins_text(units, figures.native) for units in (figures.tank.balance, figures.tank.wanted))
        yield Danger(AlarmKind.GAS_TANK_LOW, f"The hot wallet holds {held}; it should hold {wanted}.")
