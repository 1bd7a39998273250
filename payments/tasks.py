"""Periodic tasks: find rows that are due and call services. A lost or repeated task does no harm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import structlog
from celery import shared_task
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from config.database.advisory_locks import named_lock
from config.database.counters import fold_all
from config.environments import Environment
from config.periodic.containment import contained
from config.periodic.due_work import rows_of
from payments.chains.errors import ChainError
from payments.chains.networks import NETWORKS
from payments.chains.registry import is_simulated, places_in_use
from payments.chains.simulated.models import ScheduledAction, SimulatedStatus, SimulatedTransaction
from payments.checkout import mailing
from payments.dashboard.exports import services as exports
from payments.dashboard.search import indexing
from payments.deposits import crediting, unattributed
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.deposits.turnover import counting as turnover
from payments.deposits.turnover.models import TurnoverDelta
from payments.deposits.watching import watch_network
from payments.models import Deposit, Payment
from payments.monitoring.services import note_providers
from payments.monitoring.states import AlarmKind
from payments.rates import recording
from payments.rates.quoting import refresh_rates as refresh
from payments.states import DepositStatus
from payments.suspense import review, small_remainders, surplus_policy
from payments.transfers.execution.executor import check_set_up
from payments.treasury import native_deposits, sweep_booking, sweeping
from payments.treasury.models import NativeCoin, Sweep, SweepRequest

logger = structlog.get_logger(__name__)

MAX_SCANS_IN_A_ROW = 20
INDEX_BATCHES_IN_A_ROW = 10

USUAL = (ChainError, ImproperlyConfigured)
"""Errors of a network that is unavailable or not set up yet."""


@shared_task(name="payments.watch_networks")
def watch_networks() -> None:
    """Read what is new on every network, then assess the payments that it concerns."""
    for environment, network in places_in_use():
        read_new(environment, network)
    crediting.assess_due()


def read_new(environment: str, network: str) -> None:
    """Read what is new on one network, and book what belongs to no payment. What fails is logged."""
    place: dict[str, Any] = {"environment": environment, "network": network}
    with contained("network could not be read", **place):
        for _ in range(MAX_SCANS_IN_A_ROW):
            if not watch_network(environment, network):
                break
    with contained("senders not screened", expected=USUAL, **place):
        review.screen_senders(environment, network)
    with contained("deposits of no payment could not be booked", **place):
        unattributed.book_unattributed(environment, network)
    with contained("alarms about providers not updated", **place):
        note_providers(environment, network)


@shared_task(name="payments.assess_due")
def assess_due() -> None:
    """Assess what a crash or a halted network left due."""
    crediting.assess_due()


@shared_task(name="payments.keep_surplus")
def keep_surplus() -> None:
    """Keep what was paid beyond prices as far as merchants have chosen that, and book crumbs."""
    surplus_policy.keep_due()
    small_remainders.book_crumbs()


@shared_task(name="payments.expire_due")
def expire_due() -> None:
    """End the windows whose time is over."""
    if crediting.expire_due():
        crediting.assess_due()


@shared_task(name="payments.sweep")
def sweep() -> None:
    """Bring deposits to the hot wallets, and book what has arrived there."""
    for environment, network in places_in_use():
        place: dict[str, Any] = {"environment": environment, "network": network}
        with (
            contained("nothing swept", expected=USUAL, **place),
            named_lock(f"sweep {environment} {network}") as is_ours,
        ):
            if is_ours:
                _sweep_network(environment, network)
        with contained(
            "alarms about providers not updated", **place
        ):  # problems found in this process while following payouts
            note_providers(environment, network, kinds=[AlarmKind.PROVIDER_DISAGREES, AlarmKind.PROVIDER_PUT_ASIDE])
    with named_lock("book sweeps") as is_ours:
        if is_ours:
            sweep_booking.book_sweeps()


def _sweep_network(environment: str, network: str) -> None:
    check_set_up(environment, network)
    with contained("no deposits swept", expected=USUAL, environment=environment, network=network):
        sweeping.sweep_due(environment, network)
    native_deposits.sweep_requested(environment, network)


@shared_task(name="payments.look_for_native_coin")
def look_for_native_coin() -> None:
    """Look for native coins at a few more deposit addresses, because there is no event for them."""
    for environment, network in places_in_use():
        with contained("not looked for native coin", expected=USUAL, environment=environment, network=network):
            native_deposits.look_for_some(environment, network)


@shared_task(name="payments.refresh_rates")
def refresh_rates() -> None:
    """Query the rate sources."""
    done = refresh()
    if done.failures or done.disputed:
        logger.warning("rates incomplete", failures=done.failures, disputed=["/".join(pair) for pair in done.disputed])


@shared_task(name="payments.record_rates")
def record_rates() -> None:
    """Keep the rates of this day for good, as soon as sources agree on them."""
    recording.record_rates()


@shared_task(name="payments.fold_turnover")
def fold_turnover() -> None:
    """Fold all deltas of the turnover."""
    fold_all(turnover.TURNOVER)


@shared_task(name="payments.index_payments")
def index_payments() -> None:
    """Make new payments findable by parts of their text; at first, all that there are, some batches at a time."""
    for _ in range(INDEX_BATCHES_IN_A_ROW):
        if indexing.index_payments() < indexing.BATCH:
            break


@shared_task(name="payments.write_exports")
def write_exports() -> None:
    """Write the files of exports that members requested."""
    exports.write_exports()


@shared_task(name="payments.mail_payers")
def mail_payers() -> None:
    """Write the mails to payers whose payment has changed."""
    mailing.mail_due(now=timezone.now())


@shared_task(name="payments.purge_exports")
def purge_exports() -> None:
    """Delete rows that are kept for a while: files of exports, the turnover by the hour, and payers' addresses."""
    now = timezone.now()
    mailing.purge(now=now)
    exports.purge_exports(now=now)
    turnover.purge_hours(now=now)


# --- by which rows it is seen that there is work -------------------------------------------------------


@rows_of("payments.watch_networks")
def _to_read() -> Iterable[QuerySet[Any]]:
    """Cursors to read: a real network is queried each time; the rows of a simulated one show whether it has something
    new."""
    if not all(is_simulated(environment) for environment, _ in places_in_use()):
        return [ScanCursor.objects.all()]
    here = ScanCursor.objects.filter(environment=Environment.SANDBOX)
    # From each cursor on, by an index: a comparison with the cursor of each row would read all rows there ever were.
    later = SimulatedTransaction.objects.filter(network=OuterRef("network"), height__gt=OuterRef("head_height"))
    deposits = Deposit.objects.filter(environment=Environment.SANDBOX)
    not_final = deposits.filter(
        network=OuterRef("network"), height__gt=OuterRef("finalized_height"), status=DepositStatus.CREDITED
    )
    return [
        ScheduledAction.objects.all(),
        SimulatedTransaction.objects.filter(status=SimulatedStatus.PENDING),
        here.filter(Exists(later)),
        deposits.filter(status=DepositStatus.SEEN),
        here.filter(Exists(not_final)),
        ReadingRequest.objects.filter(environment=Environment.SANDBOX, due_at__lte=Now()),
    ]


@rows_of("payments.sweep", is_certain=False)
def _to_sweep() -> Iterable[QuerySet[Any]]:
    """Deposits at addresses that are emptied, sweeps on request, and sweeps that are not booked."""
    not_swept = Deposit.objects.filter(status=DepositStatus.CREDITED, sweep__isnull=True).order_by("asset")
    return [
        *(
            not_swept.filter(environment=environment, network=network)[:1]
            for environment, network in places_in_use()
            if not NETWORKS[network].real.shares_account
        ),
        SweepRequest.objects.filter(done_at__isnull=True),
        NativeCoin.objects.filter(asked_at__isnull=False, held__gt=0),
        Sweep.objects.filter(booked_at__isnull=True),
    ]


@rows_of("payments.assess_due")
def _to_assess() -> Iterable[QuerySet[Any]]:
    return [Payment.objects.due_for_assessment(timezone.now())]


@rows_of("payments.expire_due")
def _to_expire() -> Iterable[QuerySet[Any]]:
    networks = {network for _, network in places_in_use()}
    ended = [Payment.objects.filter(network=network).windows_ended(timezone.now()) for network in sorted(networks)]
    return [kind[:1] for kinds in ended for kind in kinds]


@rows_of("payments.fold_turnover")
def _turnover() -> Iterable[QuerySet[Any]]:
    return [TurnoverDelta.objects.all()]


@rows_of("payments.index_payments")
def _to_index() -> Iterable[QuerySet[Any]]:
    return indexing.to_index()


@rows_of("payments.write_exports")
def _exports() -> Iterable[QuerySet[Any]]:
    return [exports.due(timezone.now())]


@rows_of("payments.mail_payers")
def _to_mail() -> Iterable[QuerySet[Any]]:
    return [mailing.due(timezone.now())]
