"""Reads gauges from PostgreSQL: rows that are few, or have an index of what is open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Count, FloatField, Min, Sum, TextField
from django.db.models.functions import Cast, Extract, Now
from django.utils import timezone

from config import ids
from config.database.database_time import database_now
from config.installation.backups import records
from config.installation.models import BackupRun
from config.money import from_units
from config.process.release import RELEASE
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account
from payments.chains import registry
from payments.deposits.models import ScanCursor
from payments.models import Discrepancy
from payments.monitoring import work
from payments.monitoring.figures import USUAL_ADDRESSES, snapshots_in_use
from payments.monitoring.metrics import definitions as metrics
from payments.monitoring.metrics.definitions import PLACE, Metric
from payments.monitoring.models import Alarm
from payments.monitoring.reconciling import ended_runs
from payments.monitoring.states import PROVIDER_ALARMS, AlarmKind
from payments.states import DiscrepancyStatus
from payments.transfers.models import Payout
from payments.transfers.states import PayoutStatus
from webhooks.models import Delivery
from webhooks.states import DeliveryStatus


@dataclass(frozen=True, slots=True)
class Sample:
    """One number of a metric. A float, as Prometheus has no other: for graphs and alerts, never for books."""

    metric: Metric
    labels: tuple[str, ...]
    value: float


Reading = Callable[[], Iterator[Sample]]


def info() -> Iterator[Sample]:
    yield Sample(metrics.INFO, (RELEASE, settings.PUBLIC_URL), 1)


def periodic_work() -> Iterator[Sample]:
    report = work.report()
    for item in report.items:
        labels = (item.name, item.of)
        yield Sample(metrics.WORK_AGE, labels, inf if item.age is None else item.age)
        yield Sample(metrics.WORK_LIMIT, labels, item.limit)
    for last in report.runs.values():
        yield Sample(metrics.RECONCILE_AGE, (last.extent,), last.age)
    yield Sample(metrics.CLOCK_OFF, (), max((abs(clock.ahead) for clock in report.clocks), default=0.0))


def backups() -> Iterator[Sample]:
    now, found = timezone.now(), records.current()
    if (age := found.age(now)) is not None:
        yield Sample(metrics.BACKUP_AGE, (BackupRun.Kind.MADE,), age.total_seconds())
    if found.drilled is not None:
        yield Sample(metrics.BACKUP_AGE, (BackupRun.Kind.DRILLED,), (now - found.drilled.ended_at).total_seconds())
        yield Sample(metrics.DRILL_OK, (), not found.drilled.fault)


def alarms() -> Iterator[Sample]:
    found = Alarm.objects.open().order_by().values_list("kind", *PLACE).annotate(Count("pk"))
    for *labels, count in found:
        yield Sample(metrics.ALARMS, tuple(labels), count)


def findings() -> Iterator[Sample]:
    """By check, of the last run of each extent: a quick run does not find again all that a full one has found."""
    worst: dict[tuple[str, str], int] = {}
    for runs in ended_runs().values():
        for check in runs.values_list("checks", flat=True).first() or ():
            for severity in ("error", "warning"):
                key = (check["check"], severity)
                worst[key] = max(worst.get(key, 0), check[f"{severity}s"])
    for labels, count in worst.items():
        yield Sample(metrics.FINDINGS, labels, count)


def heads() -> Iterator[Sample]:
    in_use, now = set(registry.places_in_use()), database_now()
    for cursor in ScanCursor.objects.filter(head_since__isnull=False):
        place = (cursor.environment, cursor.network)
        if place in in_use and cursor.head_since is not None:
            yield Sample(metrics.HEAD_AGE, place, (now - cursor.head_since).total_seconds())
            yield Sample(metrics.FINALITY_LAG, place, cursor.head_height - cursor.finalized_height)


def networks() -> Iterator[Sample]:
    """Providers, and what the gas balances pay for, as last measured."""
    of_providers = Alarm.objects.filter(kind__in=PROVIDER_ALARMS.values())
    down = set(of_providers.open().values_list(*PLACE, "subject"))
    disagreements: dict[tuple[str, ...], int] = {}
    for snapshot in snapshots_in_use():
        place = (snapshot.environment, snapshot.network)
        for name in snapshot.providers:
            yield Sample(metrics.PROVIDER_UP, (*place, name), (*place, name) not in down)
            disagreements[*place, name] = 0
        if snapshot.measured_at and (cost := snapshot.costs.of_sweep(first_time=USUAL_ADDRESSES)):
            spendable = max(0, int(snapshot.native_balance) - int(snapshot.native_reserve))
            yield Sample(metrics.GAS, place, spendable // cost)
    raised = of_providers.filter(kind=AlarmKind.PROVIDER_DISAGREES).order_by()
    for *labels, count in raised.values_list(*PLACE, "subject").annotate(Count("pk")):
        disagreements[tuple(labels)] = count
    for named, count in disagreements.items():
        yield Sample(metrics.DISAGREEMENTS, named, count)


def payouts() -> Iterator[Sample]:
    waiting = Payout.objects.filter(status__in=[PayoutStatus.READY, PayoutStatus.HELD]).order_by()
    # As text: the aggregate min() takes no UUIDs before PostgreSQL 18, and they sort alike.
    first = Min(Cast("pk", TextField()))
    counted = waiting.values_list(*PLACE, "hold_reason").annotate(Count("pk"), first=first)
    now = database_now()
    for *labels, count, oldest in counted:
        age = now - ids.created_at_of(UUID(oldest))
        yield Sample(metrics.PAYOUTS_WAITING, tuple(labels), count)
        yield Sample(metrics.PAYOUTS_OLDEST, tuple(labels), max(0.0, age.total_seconds()))


def hot_wallets() -> Iterator[Sample]:
    held = Account.objects.filter(owner="", kind=AccountKind.CHAIN_HOT).values_list(*PLACE, "asset", "balance")
    for environment, network, asset, units in held:
        if network in registry.networks(environment):
            coin = registry.profile(environment, network).assets.get(asset)
            if coin is not None:
                labels = (environment, network, asset)
                yield Sample(metrics.HOT_WALLET, labels, float(from_units(int(units), coin.decimals)))


def suspense() -> Iterator[Sample]:
    waiting = Discrepancy.objects.filter(status=DiscrepancyStatus.OPEN).order_by()
    summed = waiting.values_list(*PLACE, "asset", "kind", "decimals").annotate(Sum("amount"))
    for *labels, decimals, units in summed:
        yield Sample(metrics.SUSPENSE, tuple(labels), float(from_units(int(units), decimals)))


def webhooks() -> Iterator[Sample]:
    """Without endpoints that fail, or are sent their backlog slowly: those are their merchants' matter."""
    due = Delivery.objects.filter(status=DeliveryStatus.PENDING, next_attempt_at__lte=Now()).order_by()
    due = due.filter(endpoint__failing_since__isnull=True, endpoint__is_recovering=False)
    late = Extract(Now() - Min("next_attempt_at"), "epoch", output_field=FloatField())
    found: Mapping[str, Sequence[Any]] = {
        environment: rest for environment, *rest in due.values_list("environment").annotate(Count("pk"), late=late)
    }
    for environment in ("production", "sandbox"):
        count, seconds = found.get(environment, (0, 0.0))
        yield Sample(metrics.BACKLOG, (environment,), count)
        yield Sample(metrics.BACKLOG_OLDEST, (environment,), float(seconds))


GAUGES: tuple[Reading, ...] = (
    info,
    periodic_work,
    backups,
    alarms,
    findings,
    heads,
    networks,
    payouts,
    hot_wallets,
    suspense,
    webhooks,
)
