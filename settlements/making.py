"""Making a run: one period of one merchant becomes settlements, all in one database transaction, and only once."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

import structlog
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from config import ids
from config.celery import wake
from merchants.counting import creation_delta
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account
from merchants.ledger.posting import AccountRef, InsufficientFunds, lock_accounts, post_drafts
from merchants.models import MerchantSettings, RecordCountDelta
from merchants.services import fee_bps_of
from payments.models import BalanceChange
from settlements import postings
from settlements.events import event_of
from settlements.models import SETTLEMENTS, Settlement, SettlementRun
from settlements.planning import PlannedSettlement
from settlements.proposals import propose
from settlements.schedule import Period, latest_period
from settlements.states import Trigger
from webhooks.recording import record_events

logger = structlog.get_logger(__name__)

PLANS_MAX: Final = 5
"""How often a run plans anew because money moved while it planned."""


class MoneyMoved(Exception):
    """A payment, a refund or a reversal came between the plan and the books: plan again."""


def run_once(
    *, merchant_id: uuid.UUID, environment: str, period: Period, trigger: Trigger, requested_by: str = ""
) -> SettlementRun | None:
    """The run of a period that was asked for, with all its settlements; None when it exists. Waits for another run."""

    def make(hold_still: bool) -> SettlementRun | None:
        chosen = _locked_settings(merchant_id, environment)
        if chosen is None:
            return None
        run = _run_of(chosen, period, _last_end(chosen), trigger=trigger, requested_by=requested_by)
        return _make(run, chosen, hold_still=hold_still)

    return _until_it_holds(make)


def run_scheduled(*, merchant_id: uuid.UUID, environment: str, now: datetime) -> SettlementRun | None:
    """Run the period of the merchant's schedule that ended last; None when that is done, or somebody is at it."""

    def make(hold_still: bool) -> SettlementRun | None:
        chosen = _locked_settings(merchant_id, environment, skip_locked=True)
        if chosen is None:
            return None
        last_end = _last_end(chosen)
        period = due_period(chosen, last_end, now)
        if period is None:
            return None
        return _make(_run_of(chosen, period, last_end, trigger=Trigger.SCHEDULE), chosen, hold_still=hold_still)

    return _until_it_holds(make)


def _until_it_holds(make: Callable[[bool], SettlementRun | None]) -> SettlementRun | None:
    """Most often no money moves while a run is planned. If it does, it is planned anew while the books hold still."""
    for attempt in range(PLANS_MAX):
        try:
            with transaction.atomic():
                return make(attempt > 0)
        except MoneyMoved as moved:
            reason = moved
    raise reason


def due_period(chosen: MerchantSettings, last_end: datetime | None, now: datetime) -> Period | None:
    """The period that ended last, unless the run that ended at `last_end` has been past it.

    What was missed before is part of it: after an outage there is one run, not one for each day.
    """
    period = latest_period(chosen, now)
    if period is None or period.ends_at <= (last_end or chosen.merchant.created_at):
        return None
    return period


def _locked_settings(merchant_id: uuid.UUID, environment: str, *, skip_locked: bool = False) -> MerchantSettings | None:
    """The merchant's settings. Their lock keeps the merchant's runs from each other; None when another has it."""
    locked = MerchantSettings.objects.select_for_update(of=("self",), no_key=True, skip_locked=skip_locked)
    return locked.select_related("merchant").filter(merchant=merchant_id, environment=environment).first()


def _last_end(chosen: MerchantSettings) -> datetime | None:
    runs = SettlementRun.objects.filter(merchant=chosen.merchant, environment=chosen.environment)
    return runs.order_by("-id").values_list("period_end", flat=True).first()


def _run_of(
    chosen: MerchantSettings, period: Period, last_end: datetime | None, *, trigger: Trigger, requested_by: str = ""
) -> SettlementRun:
    return SettlementRun(
        merchant=chosen.merchant,
        environment=chosen.environment,
        period_key=period.key,
        trigger=trigger,
        requested_by=requested_by,
        period_start=min(last_end or chosen.merchant.created_at, period.ends_at),
        period_end=period.ends_at,
        scheduled_for=period.ends_at,
    )


def _make(run: SettlementRun, chosen: MerchantSettings, *, hold_still: bool) -> SettlementRun | None:
    if not _insert(run):
        return None
    if hold_still:
        _lock_books(chosen)
    plan = propose(run.merchant, chosen, until=run.period_end, now=timezone.now())
    if plan.carried_over:
        run.carried_over = [left.to_record() for left in plan.carried_over]
        run.save(update_fields=["carried_over"])
    if plan.settlements:
        made = [(planned, _settlement_of(run, planned, fee_bps_of(run.merchant))) for planned in plan.settlements]
        _store(run, made)
        wake("settlements.advance_due")
    logger.info("settlement run", run=str(run), settlements=len(plan.settlements), carried_over=len(plan.carried_over))
    return run


def _insert(run: SettlementRun) -> bool:
    """Whoever inserts the row of the period makes its settlements."""
    try:
        with transaction.atomic():
            run.save(force_insert=True)
    except IntegrityError:
        return False
    return True


def _lock_books(chosen: MerchantSettings) -> None:
    """Whatever changes what the merchant may have settled locks one of these, and commits before or after the run."""
    kinds = (AccountKind.MERCHANT_AVAILABLE, AccountKind.MERCHANT_RECEIVABLE)
    own = Account.objects.filter(environment=chosen.environment, owner=str(chosen.merchant_id), kind__in=kinds)
    accounts = [AccountRef(each.network, each.asset, each.kind, each.owner) for each in own]
    lock_accounts(accounts, environment=chosen.environment)


def _settlement_of(run: SettlementRun, planned: PlannedSettlement, fee_bps: int) -> Settlement:
    totals = planned.totals
    return Settlement(
        run=run,
        merchant_id=run.merchant_id,
        environment=run.environment,
        period_key=run.period_key,
        network=planned.network,
        destination=planned.wallet,
        currency=planned.currency,
        decimals=planned.decimals,
        gross=totals.gross,
        fee=totals.fee,
        refund=totals.refund,
        amount=totals.amount,
        fee_bps=fee_bps,
        payment_count=planned.payment_count,
        coins=[part.to_record(planned.decimals) for part in planned.parts],
        period_start=run.period_start,
        period_end=run.period_end,
        scheduled_for=run.scheduled_for,
    )


def _store(run: SettlementRun, made: Sequence[tuple[PlannedSettlement, Settlement]]) -> None:
    """The settlements, what they are made of, the money set apart for them, and that they were made."""
    settlements = [settlement for _, settlement in made]
    Settlement.objects.bulk_create(settlements)
    _take_changes(run, made)
    try:
        post_drafts(
            [postings.reserved(settlement, planned.parts) for planned, settlement in made], environment=run.environment
        )
    except InsufficientFunds as error:
        raise MoneyMoved(str(error)) from error
    RecordCountDelta.objects.bulk_create(
        creation_delta(
            SETTLEMENTS,
            merchant_id=run.merchant_id,
            environment=run.environment,
            key=settlement.id,
            status=settlement.status,
        )
        for settlement in settlements
    )
    record_events([event_of(settlement) for settlement in settlements])


TAKE_CHANGES = f"""
    WITH taken AS (
        UPDATE {BalanceChange._meta.db_table} AS change SET settlement = planned.settlement
        FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[]) AS planned (settlement, network, wallet, asset)
        WHERE change.merchant_id = %s AND change.environment = %s AND change.settlement IS NULL
            AND change.network = planned.network AND change.wallet = planned.wallet AND change.asset = planned.asset
            AND (change.id < %s OR change.amount < 0)
        RETURNING change.settlement, change.asset, change.amount
    )
    SELECT settlement, asset, sum(amount) FROM taken GROUP BY settlement, asset
"""  # noqa: S608 - the name of our own table


def _take_changes(run: SettlementRun, made: Sequence[tuple[PlannedSettlement, Settlement]]) -> None:
    """Make what was planned part of the settlements; MoneyMoved when that is not the same any more."""
    rows: list[tuple[uuid.UUID, str, str, str]] = []
    expected: dict[tuple[uuid.UUID, str], int] = {}
    for planned, settlement in made:
        for part in planned.parts:
            expected[settlement.id, part.coin] = part.gross - part.refund
            rows += [(settlement.id, planned.network, wallet, part.coin) for wallet in part.wallets]
    with connection.cursor() as cursor:
        columns = [list(column) for column in zip(*rows, strict=True)]
        until = ids.first_uuid_at(run.period_end)
        cursor.execute(TAKE_CHANGES, [*columns, run.merchant_id, run.environment, until])
        taken: Mapping[tuple[uuid.UUID, str], int] = {(key, coin): int(total) for key, coin, total in cursor.fetchall()}
    if taken != expected:
        raise MoneyMoved(f"{run}: planned {expected}, taken {taken}")
