"""The rules of alarms: conditions that threaten money on a network now, by rows and by the state of its providers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from django.db.models import Count, Q, Sum
from django.utils import timezone

from config import ids
from config.database.database_time import CLOCKS_APART, database_now
from config.installation.backups import records
from config.installation.services import current_standstill
from config.pages import wording
from merchants.four_eyes.people import lately_reset
from merchants.ledger.models import Stop, StopKind
from payments.chains import registry
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.providers import ProviderState
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.monitoring import work
from payments.monitoring.figures import coins_text, tank_of
from payments.monitoring.models import Alarm, NetworkSnapshot, RoleChange
from payments.monitoring.states import PROVIDER_ALARMS, AlarmKind
from payments.states import OF_THE_WHOLE_COIN
from payments.suspense import review
from payments.transfers.audit.overdue import late_transfers
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.states import OPEN_TRANSFERS, HoldReason, PayoutStatus, TransferPurpose
from payments.treasury import sweep_failures
from payments.treasury.cold import unknown_moves
from payments.treasury.losses.models import MissingCoins, MissingStatus
from payments.treasury.models import SweptAddress
from payments.treasury.sweep_booking import sweeps_not_booked

UNAVAILABLE_AFTER = timedelta(minutes=2)
"""Time a network may be unavailable before there is an alarm."""

UNREAD_AFTER = timedelta(minutes=5)
"""Time a network may go without being read at all."""


NOT_SIGNED_FOR = {
    AlarmKind.SIGNER_REFUSES: timedelta(minutes=15),
    AlarmKind.SIGNER_UNAVAILABLE: timedelta(minutes=3),
}
"""Time a missing signature is reported: several times the time until the next request to the signer."""


@dataclass(frozen=True, slots=True)
class AlarmCondition:
    """Something an operator must know. There is at most one of each kind and subject on a network."""

    kind: AlarmKind
    message: str
    subject: str = ""


def of_providers(states: Iterable[ProviderState]) -> Iterator[AlarmCondition]:
    for state in states:
        for problem, message in state.problems.items():
            yield AlarmCondition(PROVIDER_ALARMS[problem], message, state.name)


def of_installation() -> Iterator[AlarmCondition]:
    """Conditions of the whole installation. When no worker runs there are no alarms: /health/work reports that."""
    report = work.report()
    behind = [item for item in report.behind if item.age is not None]
    for name, items in groupby(behind, key=lambda item: item.name):
        yield AlarmCondition(AlarmKind.WORK_BEHIND, f"{'; '.join(map(str, items))}.", name)
    for last in report.runs.values():
        if not last.is_clean:
            found = f"{last.errors} errors and {last.warnings} warnings"
            message = f"The {last.extent} run of {last.started_at:%Y-%m-%d %H:%M:%S} ended as {last.outcome}: {found}."
            yield AlarmCondition(AlarmKind.RECONCILE_NOT_CLEAN, message, last.extent)
    for clock in report.clocks_off:
        yield AlarmCondition(AlarmKind.CLOCK_OFF, f"{clock} of the database's.", clock.process)
    for subject, message in records.current().faults(database_now()):
        yield AlarmCondition(AlarmKind.BACKUP_UNRELIABLE, message, subject)
    for person in lately_reset():
        message = f"{person.email} got a new password or lost the second factors, and has no say for a day."
        yield AlarmCondition(AlarmKind.OPERATOR_RESET, message, person.email[:100])


def of_rows(environment: str, network: str) -> Iterator[AlarmCondition]:
    """Conditions that rows of the database show."""
    here = {"environment": environment, "network": network}
    if (standstill := current_standstill()) is not None:
        yield AlarmCondition(AlarmKind.DATABASE_RESTORED, standstill.message)
    stopped = list(Stop.objects.standing().of_network(environment, network))
    halted = [AlarmCondition(AlarmKind.NETWORK_HALTED, each.reason) for each in stopped if each.kind == StopKind.HALT]
    yield from halted
    cursor = ScanCursor.objects.filter(**here).first()
    if cursor is not None and not halted:
        yield from _of_reading(cursor, registry.profile(environment, network), database_now())
    for stop in stopped:
        if stop.kind == StopKind.WALLET:
            yield AlarmCondition(AlarmKind.WALLET_FROZEN, stop.reason, stop.address)
        else:
            yield AlarmCondition(AlarmKind.PAYOUTS_STOPPED, stop.reason, stop.asset)
    for wallet in Wallet.objects.filter(**here).exclude(address__in={stop.address for stop in stopped}):
        if wallet.last_error and _is_kept_waiting(wallet):
            yield AlarmCondition(AlarmKind.WALLET_CANNOT_SEND, wallet.last_error, wallet.address)
    yield from _of_signer(environment, network)
    for change in RoleChange.objects.filter(**here, known_at__isnull=True):
        yield AlarmCondition(AlarmKind.ROLE_CHANGED, f"The {change}.", f"{change.role} {change.transaction_hash}"[:100])
    yield from _of_transfers(environment, network)
    yield from _of_sweeps(environment, network)
    yield from _of_passed_over(environment, network)
    yield from _of_missing_coins(environment, network)
    yield from _of_cold_wallets(environment, network)
    yield from _of_records_set_aside(environment, network)
    if snapshot := NetworkSnapshot.objects.filter(**here).first():
        yield from _of_coins(snapshot)
        yield from _of_gas_tank(snapshot)
    yield from _of_review(environment, network)


def _of_reading(cursor: ScanCursor, profile: NetworkProfile, now: datetime) -> Iterator[AlarmCondition]:
    if cursor.fault:
        yield AlarmCondition(AlarmKind.NETWORK_NOT_SET_UP, cursor.fault)
        return
    if cursor.failing_since is not None:
        if now - cursor.failing_since >= UNAVAILABLE_AFTER:
            since = f"It has not answered since {cursor.failing_since:%Y-%m-%d %H:%M:%S}"
            yield AlarmCondition(AlarmKind.NETWORK_UNAVAILABLE, f"{since}: {cursor.last_error}")
    elif cursor.polled_at is not None and now - cursor.polled_at >= UNREAD_AFTER:
        message = f"Nobody has asked it since {cursor.polled_at:%Y-%m-%d %H:%M:%S}: the chain worker does not run."
        yield AlarmCondition(AlarmKind.NETWORK_UNAVAILABLE, message)
    ahead = timedelta(seconds=cursor.clock_ahead_seconds or 0)
    if abs(ahead) > CLOCKS_APART:
        side = "ahead of" if ahead > timedelta() else "behind"
        seconds = f"{abs(ahead).total_seconds():.0f} s"
        message = f"The database's clock is {seconds} {side} block {cursor.head_height}, as it was first seen."
        yield AlarmCondition(AlarmKind.CLOCK_AND_CHAIN_DIFFER, message)
    if cursor.head_standstill >= timedelta(seconds=profile.head_stall_seconds):
        message = f"Block {cursor.head_height} has been the newest since {cursor.head_since:%Y-%m-%d %H:%M:%S}."
        yield AlarmCondition(AlarmKind.HEAD_STALLED, message)
    if cursor.finality_standstill >= timedelta(seconds=profile.finality_stall_seconds):
        since = f"since {cursor.finalized_since:%Y-%m-%d %H:%M:%S}"
        message = f"Block {cursor.finalized_height} has been the newest final one {since}."
        yield AlarmCondition(AlarmKind.FINALITY_STALLED, message)


def _is_kept_waiting(wallet: Wallet) -> bool:
    """True if it has had something to send, and could not, for a while."""
    if wallet.checked_at is not None and timezone.now() - wallet.checked_at < UNAVAILABLE_AFTER:
        return False
    # What it last could not do may be long over: what came just now has not been tried yet.
    for_a_while = ids.first_uuid_at(timezone.now() - UNAVAILABLE_AFTER)
    place = {"environment": wallet.environment, "network": wallet.network, "id__lt": for_a_while}
    silent = Q(status=PayoutStatus.HELD, hold_reason=HoldReason.NETWORK)
    due = Payout.objects.filter(silent | Q(status__in=[PayoutStatus.READY, PayoutStatus.SENDING]), **place)
    return due.exists() or Transfer.objects.filter(**place, status__in=OPEN_TRANSFERS).exists()


def _of_signer(environment: str, network: str) -> Iterator[AlarmCondition]:
    """Alarms of a remote signer that has not signed lately. A refused request is repeated every five minutes."""
    for wallet in Wallet.objects.filter(environment=environment, network=network, not_signed_at__isnull=False):
        kind = AlarmKind.SIGNER_REFUSES if wallet.is_refused else AlarmKind.SIGNER_UNAVAILABLE
        if wallet.not_signed_at is not None and timezone.now() - wallet.not_signed_at < NOT_SIGNED_FOR[kind]:
            yield AlarmCondition(kind, wallet.not_signed_reason, wallet.address)


def _of_transfers(environment: str, network: str) -> Iterator[AlarmCondition]:
    for late in late_transfers([environment], network):
        is_sweep = late.transfer.purpose == TransferPurpose.SWEEP
        yield AlarmCondition(
            AlarmKind.SWEEP_STUCK if is_sweep else AlarmKind.TRANSFER_STUCK,
            f"{late.state}, should be {late.allowed}. The network said last: {late.last_error_words}",
            str(late.transfer.pk),
        )


def _of_sweeps(environment: str, network: str) -> Iterator[AlarmCondition]:
    for sweep in sweeps_not_booked([environment], network):
        ended = f"It has ended at {sweep.transfer.finished_at:%Y-%m-%d %H:%M:%S} and is not in the ledger yet."
        message = f"{ended} {sweep.last_error}".rstrip()
        yield AlarmCondition(AlarmKind.SWEEP_STUCK, message, str(sweep.transfer.pk))


def _of_passed_over(environment: str, network: str) -> Iterator[AlarmCondition]:
    """One for each address, or one for a coin that cannot be moved from any."""
    whole: defaultdict[str, list[SweptAddress]] = defaultdict(list)
    for line in sweep_failures.passed_over(environment, network):
        if line.reason in OF_THE_WHOLE_COIN:
            whole[line.sweep.asset].append(line)
        else:
            subject = f"{line.sweep.asset} at {line.payment.address_on(line.sweep.transfer.network)}"
            yield AlarmCondition(AlarmKind.ADDRESS_PASSED_OVER, sweep_failures.describe(line), subject)
    for code, lines in whole.items():
        yield AlarmCondition(AlarmKind.ADDRESS_PASSED_OVER, sweep_failures.describe_all(lines), code)


def _of_missing_coins(environment: str, network: str) -> Iterator[AlarmCondition]:
    """One for each coin, however many addresses an issuer has emptied."""
    waiting = MissingCoins.objects.filter(environment=environment, network=network, status=MissingStatus.OPEN)
    for asset, decimals, count, total in waiting.values_list("asset", "decimals").annotate(Count("pk"), Sum("amount")):
        message = f"{wording.coins(int(total), decimals, asset)} are not at {count} of the deposit addresses."
        yield AlarmCondition(AlarmKind.COINS_MISSING, message, asset)


def _of_cold_wallets(environment: str, network: str) -> Iterator[AlarmCondition]:
    """Unexplained transfers of a cold wallet, and coins from it that payouts wait for."""
    for move in unknown_moves(environment, network):
        yield AlarmCondition(AlarmKind.COLD_WALLET_MOVED, f"{move}, by {move.transaction_hash}.", f"move {move.pk}")
    waiting = Payout.objects.filter(
        environment=environment, network=network, status=PayoutStatus.HELD, hold_reason=HoldReason.REFILL
    )
    for asset, decimals, count, total in waiting.values_list("asset", "decimals").annotate(Count("pk"), Sum("amount")):
        coins = wording.coins(int(total), decimals, asset)
        yield AlarmCondition(AlarmKind.REFILL_NEEDED, f"{count} payouts of {coins} wait for a refill.", asset)


def _of_coins(snapshot: NetworkSnapshot) -> Iterator[AlarmCondition]:
    """Coins that nobody can be sent, as last measured, and what the last audit of the wallet found."""
    for code, (kind, message) in sorted(snapshot.blocked_coins.items()):
        yield AlarmCondition(AlarmKind(kind), message, code)
    for kind, code, message in snapshot.audit:
        yield AlarmCondition(AlarmKind(kind), message, code)


def _of_records_set_aside(environment: str, network: str) -> Iterator[AlarmCondition]:
    """One alarm however many there are: anybody can make more."""
    here = ReadingRequest.objects.filter(environment=environment, network=network).exclude(content="")
    if first := here.order_by("asked_at").first():
        message = f"{here.count()} cannot be read. The first: {first.transaction_hash}, {first.problem}."
        yield AlarmCondition(AlarmKind.RECORD_SET_ASIDE, message)


def _of_review(environment: str, network: str) -> Iterator[AlarmCondition]:
    """One for each deposit and payout that a sanctions list names and nobody has released."""
    for row in review.alarming(environment, network):
        coins = wording.coins(row.amount, row.decimals, row.asset)
        if isinstance(row, Payout):
            where = f"{coins} to {row.recipient}, {row.reference}, {row.get_status_display().lower()}"
        else:
            state = "held" if row.is_in_review else "not held" if row.payment_id else "of no payment"
            where = f"{coins} from {row.sender}, {state}"
        yield AlarmCondition(AlarmKind.SCREENED, f"{where}. {row.evidence}", str(row.pk))
    waiting = review.unanswered(environment, network)
    if first := waiting.order_by("seen_at").first():
        message = (
            f"The sanctions oracle gives no answer about senders of {waiting.count()} deposits. The first: {first}."
        )
        yield AlarmCondition(AlarmKind.SCREENED, message)


def _of_gas_tank(snapshot: NetworkSnapshot) -> Iterator[AlarmCondition]:
    tank = tank_of(snapshot)
    if tank is None or not tank.is_low(is_alarmed=True):
        return
    here = Alarm.objects.filter(environment=snapshot.environment, network=snapshot.network, cleared_at__isnull=True)
    if tank.is_low(is_alarmed=here.filter(kind=AlarmKind.GAS_TANK_LOW).exists()):
        held, wanted = (coins_text(units, tank.native) for units in (tank.balance, tank.wanted))
        yield AlarmCondition(AlarmKind.GAS_TANK_LOW, f"The hot wallet holds {held}; it should hold {wanted}.")
