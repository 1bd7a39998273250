"""Makes a run: the settlements of one period of one merchant, in one database transaction, and only once."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

import structlog
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.utils import timezone

from config import ids
from config.celery import wake
from config.errors import InvalidParameter
from config.installation.services import may_act
from merchants.counting import creation_delta
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account
from merchants.ledger.posting import AccountRef, InsufficientFunds, lock_accounts, post_drafts
from merchants.models import Merchant, MerchantSettings, RecordCountDelta
from payments.chains import registry
from payments.merchant_wallets.models import MerchantWallet
from payments.models import BalanceChange
from payments.states import BalanceChangeKind
from payments.transfers.execution.arrivals import as_shown
from payments.transfers.models import Payout
from payments.transfers.owners import attribute_payout, networks_to_decide
from payments.transfers.postings import payout_account
from settlements.models import SETTLEMENTS, DebtOffset, FeeRemainder, Settlement, SettlementRun
from settlements.plans import postings
from settlements.plans.facts import AT_ONCE, facts_of
from settlements.plans.offsetting import PlannedOffset
from settlements.plans.periods import due_period, last_end_of
from settlements.plans.planning import CoinPart, Plan, PlannedSettlement, plan
from settlements.plans.pricing import rate_moment
from settlements.plans.schedule import Period
from settlements.records import event_of
from settlements.states import SettlementStatus, Trigger
from webhooks.events.recording import record_events

logger = structlog.get_logger(__name__)

PLANS_MAX: Final = 5
"""Number of times a run plans again because money moved meanwhile."""


class MoneyMoved(Exception):
    """Money moved between the plan and the locks on the ledger: plan again."""


def run_once(
    *, merchant_id: uuid.UUID, environment: str, period: Period, trigger: Trigger, requested_by: str = ""
) -> SettlementRun | None:
    """Make the run of a period with its settlements; None when it exists already. Waits for another run."""

    def make(hold_still: bool) -> SettlementRun | None:
        chosen = _locked_settings(merchant_id, environment)
        if chosen is None:
            return None
        run = _new_run(chosen, period, last_end_of(chosen), trigger=trigger, requested_by=requested_by)
        return _make(run, chosen, hold_still=hold_still) if run else None

    return _until_it_holds(make)


def run_scheduled(*, merchant_id: uuid.UUID, environment: str, now: datetime) -> SettlementRun | None:
    """Run the period of the merchant's schedule that ended last; None when it is done, or another worker does it."""

    def make(hold_still: bool) -> SettlementRun | None:
        chosen = _locked_settings(merchant_id, environment, skip_locked=True)
        if chosen is None:
            return None
        last_end = last_end_of(chosen)
        period = due_period(chosen, last_end, now)
        if period is None:
            return None
        run = _new_run(chosen, period, last_end, trigger=Trigger.SCHEDULE)
        return _make(run, chosen, hold_still=hold_still) if run else None

    return _until_it_holds(make)


def _until_it_holds(make: Callable[[bool], SettlementRun | None]) -> SettlementRun | None:
    """Make a run without locks, because money rarely moves meanwhile; if it does, plan again with the ledger locked."""
    for attempt in range(PLANS_MAX):
        try:
            with transaction.atomic():
                return make(attempt > 0)
        except MoneyMoved as moved:
            reason = moved
    raise reason


def _locked_settings(merchant_id: uuid.UUID, environment: str, *, skip_locked: bool = False) -> MerchantSettings | None:
    """The merchant's settings, locked: one run of a merchant at a time. None when another run has the lock."""
    locked = MerchantSettings.objects.select_for_update(of=("self",), no_key=True, skip_locked=skip_locked)
    return locked.select_related("merchant").filter(merchant=merchant_id, environment=environment).first()


def _new_run(
    chosen: MerchantSettings, period: Period, last_end: datetime | None, *, trigger: Trigger, requested_by: str = ""
) -> SettlementRun | None:
    """The row of the period, inserted; None when another run has it."""
    run = SettlementRun(
        merchant=chosen.merchant,
        environment=chosen.environment,
        period_key=period.key,
        trigger=trigger,
        requested_by=requested_by,
        period_start=min(last_end or chosen.merchant.created_at, period.ends_at),
        period_end=period.ends_at,
        scheduled_for=period.ends_at,
    )
    return run if _insert(run) else None


def _insert(run: SettlementRun) -> bool:
    """Insert the row of the period; False when another run has: only the one that inserts makes settlements."""
    try:
        with transaction.atomic():
            run.save(force_insert=True)
    except IntegrityError:
        return False
    return True


def _make(run: SettlementRun, chosen: MerchantSettings, *, hold_still: bool) -> SettlementRun:
    """Gather the facts, plan, store what is planned."""
    if hold_still:
        _lock_ledger(chosen)
    closed, before = _closed_networks(run.environment), ids.first_uuid_at(run.period_end)
    facts = facts_of(run.merchant, chosen, before=before, now=timezone.now(), closed=closed)
    made = plan(facts)
    _store(run, made, fee_bps=facts.terms.fee_bps, before=before)
    if made.settlements:
        wake("settlements.advance_due")
    logger.info(
        "settlement run",
        run=str(run),
        settlements=len(made.settlements),
        offsets=len(made.offsets),
        carried_over=len(made.carried_over),
    )
    return run


def _closed_networks(environment: str) -> Collection[str]:
    """Networks where nothing is settled: a transfer that left before a restore may have been a settlement of this very
    money, until it is attributed."""
    return networks_to_decide(environment) if may_act() else registry.networks(environment)


def _lock_ledger(chosen: MerchantSettings) -> None:
    """Lock the accounts that changes of the merchant's balance lock: these commit before or after the run.

    And those of everybody's that the run posts to, as all locks are taken together.
    """
    kinds = (AccountKind.MERCHANT_AVAILABLE, AccountKind.MERCHANT_RECEIVABLE)
    own = Account.objects.filter(environment=chosen.environment, owner=str(chosen.merchant_id), kind__in=kinds)
    accounts = {AccountRef(each.network, each.asset, each.kind, each.owner) for each in own}
    shared = (AccountKind.FEE_SERVICE, AccountKind.DEBT_OFFSET, AccountKind.ROUNDING)
    accounts |= {AccountRef(each.network, each.asset, kind) for each in accounts for kind in shared}
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
        debt_offset=totals.offset,
        amount=totals.amount,
        fee_bps=fee_bps,
        payment_count=planned.payment_count,
        coins=[part.to_record(planned.decimals) for part in planned.parts],
        rate_moment=rate_moment(),
        period_start=run.period_start,
        period_end=run.period_end,
        scheduled_for=run.scheduled_for,
    )


def _offset_of(run: SettlementRun, planned: PlannedOffset) -> DebtOffset:
    taken, repaid, price = planned.taken, planned.repaid, planned.price
    return DebtOffset(
        run=run,
        merchant_id=run.merchant_id,
        environment=run.environment,
        network=taken.network,
        asset=taken.coin,
        decimals=taken.decimals,
        wallet=taken.wallet,
        amount=taken.amount,
        debt_network=repaid.network,
        debt_asset=repaid.coin,
        debt_decimals=repaid.decimals,
        debt_wallet=repaid.wallet,
        repaid=repaid.amount,
        rounding=planned.rounding,
        rate=planned.rate,
        rate_source=price.source if price else "",
        quoted_at=price.quoted_at if price else None,
    )


def _store(run: SettlementRun, made: Plan, *, fee_bps: int, before: uuid.UUID) -> None:
    """Store what is carried over, settlements and offsets, assign their balance changes, move their money and record
    their events."""
    if made.carried_over:
        run.carried_over = [left.to_record() for left in made.carried_over]
        run.save(update_fields=["carried_over"])
    if not (made.settlements or made.offsets):
        return
    settlements = [_settlement_of(run, planned, fee_bps) for planned in made.settlements]
    offsets = [_offset_of(run, planned) for planned in made.offsets]
    of_plans = list(zip(made.settlements, settlements, strict=True))
    Settlement.objects.bulk_create(settlements)
    DebtOffset.objects.bulk_create(offsets)
    BalanceChange.objects.bulk_create(change for offset in offsets for change in _changes_of(offset))
    _take_changes(run, of_plans, before=before)
    _keep_remainders(run, made.settlements)
    drafts = [postings.offset(offset) for offset in offsets]
    drafts += [postings.reserved(settlement, planned.parts) for planned, settlement in of_plans]
    try:
        post_drafts(drafts, environment=run.environment)
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
    events = [event_of(settlement) for settlement in settlements]
    record_events(events)


def possible_merchants(payouts: Sequence[Payout]) -> dict[uuid.UUID, set[str]]:
    """The merchants that found payouts may have settled, by the payouts' keys: those whose wallet they went to."""
    owners: defaultdict[tuple[str, str, str, str], set[str]] = defaultdict(set)
    for environment, network in {(each.environment, each.network) for each in payouts}:
        here, profile = {"environment": environment, "network": network}, registry.profile(environment, network)
        named = BalanceChange.objects.filter(**here).order_by().values_list("wallet", "merchant")
        named = named.union(
            Settlement.objects.filter(**here).order_by().values_list("destination", "merchant"),
            MerchantWallet.objects.filter(**here).order_by().values_list("address", "merchant"),
        )
        for wallet, merchant_id in named:
            owners[environment, network, *as_shown(profile, wallet, "")].add(ids.MERCHANT.encode(merchant_id))
    return {each.pk: owners[each.environment, each.network, each.recipient, each.memo] for each in payouts}


def settle_found(payout: Payout, merchant_name: str) -> None:
    """Make the settlement that a found payout has paid, and that the database lacks. One that still waits to be made a
    payout of is that one; else it is paid ahead, and the merchant's next settlements are so much less.

    InvalidParameter when there is no such merchant.
    """
    merchant = Merchant.objects.filter(pk__in=[ids.MERCHANT.decode(merchant_name)]).first()
    chosen = _locked_settings(merchant.pk, payout.environment) if merchant else None
    if merchant is None or chosen is None:
        raise InvalidParameter("There is no such merchant.", param="owner")
    settlement = _waiting_for(payout, merchant)
    if settlement is None:
        settlement = _paid_ahead(payout, chosen)
        settlement.save(force_insert=True)
        _owe_again(settlement)
        counted = creation_delta(
            SETTLEMENTS,
            merchant_id=merchant.pk,
            environment=settlement.environment,
            key=settlement.id,
            status=settlement.status,
        )
        counted.save()
        record_events([event_of(settlement)])
    reserved = payout_account(payout.network, payout.asset, settlement.id)
    attribute_payout(payout, reference=settlement.public_id, merchant_id=merchant.pk, reserved=reserved)
    settlement.payout, settlement.converted_at, settlement.next_step_at = payout, timezone.now(), timezone.now()
    settlement.save(update_fields=["payout", "converted_at", "next_step_at"])
    wake("settlements.advance_due")


def _waiting_for(payout: Payout, merchant: Merchant) -> Settlement | None:
    """The settlement of before the backup that this must have paid, locked."""
    waiting = Settlement.objects.of(merchant, payout.environment).filter(
        network=payout.network, currency=payout.asset, amount=payout.amount, payout=None
    )
    profile = registry.profile(payout.environment, payout.network)
    for settlement in waiting.filter(status=SettlementStatus.PENDING).select_for_update().order_by("id"):
        is_one_coin = [part["coin"] for part in settlement.coins] == [settlement.currency]
        if is_one_coin and as_shown(profile, settlement.destination, "") == (payout.recipient, payout.memo):
            return settlement
    return None


def _paid_ahead(payout: Payout, chosen: MerchantSettings) -> Settlement:
    """A settlement that is made of nothing but what was paid: its fees are taken with those that follow."""
    last_end = last_end_of(chosen) or chosen.merchant.created_at
    run = SettlementRun.objects.create(
        merchant=chosen.merchant,
        environment=payout.environment,
        period_key=str(payout.pk),
        trigger=Trigger.PERSON,
        requested_by="Found after a restore",
        period_start=last_end,
        period_end=last_end,
        scheduled_for=timezone.now(),
    )
    amount = int(payout.amount)
    part = CoinPart(payout.asset, payout.decimals, amount, 0, 0, wallets=(payout.recipient,))
    return Settlement(
        run=run,
        merchant=chosen.merchant,
        environment=payout.environment,
        period_key=run.period_key,
        network=payout.network,
        destination=payout.recipient,
        currency=payout.asset,
        decimals=payout.decimals,
        gross=amount,
        fee=0,
        refund=0,
        amount=amount,
        coins=[part.to_record(payout.decimals)],
        period_start=last_end,
        period_end=last_end,
        scheduled_for=run.scheduled_for,
    )


def _owe_again(settlement: Settlement) -> None:
    """Take what was paid ahead of the merchant's balance, as far as there is any; the rest is owed."""
    coin, amount = settlement.currency, int(settlement.amount)
    available = postings.available_account(settlement.network, coin, settlement.merchant_id)
    there = lock_accounts([available], environment=settlement.environment)[available]
    post_drafts([postings.paid_ahead(settlement, available=there)], environment=settlement.environment)
    BalanceChange.objects.bulk_create(
        BalanceChange(
            merchant_id=settlement.merchant_id,
            environment=settlement.environment,
            kind=BalanceChangeKind.SETTLED_AHEAD,
            reference=settlement.public_id,
            network=settlement.network,
            asset=coin,
            decimals=settlement.decimals,
            wallet=settlement.destination,
            amount=change,
            posting_kind="payout_attributed",
            posting_reference=f"{settlement.public_id}:{change}",
            settlement=settlement.id if change > 0 else None,
        )
        for change in (amount, -amount)
    )


def _changes_of(offset: DebtOffset) -> list[BalanceChange]:
    """The balance changes of an offset: minus the coin taken, plus the coin repaid."""
    shares: tuple[tuple[str, str, str, int, str, int], ...] = (
        (
            BalanceChangeKind.DEBT_OFFSET,
            offset.network,
            offset.asset,
            offset.decimals,
            offset.wallet,
            -int(offset.amount),
        ),
        (
            BalanceChangeKind.DEBT_REPAID,
            offset.debt_network,
            offset.debt_asset,
            offset.debt_decimals,
            offset.debt_wallet,
            int(offset.repaid),
        ),
    )
    return [
        BalanceChange(
            merchant_id=offset.merchant_id,
            environment=offset.environment,
            kind=kind,
            reference=offset.public_id,
            network=network,
            asset=asset,
            decimals=decimals,
            wallet=wallet,
            amount=amount,
            posting_kind=postings.OFFSET,
            posting_reference=str(offset.id),
        )
        for kind, network, asset, decimals, wallet, amount in shares
    ]


def _keep_remainders(run: SettlementRun, made: Sequence[PlannedSettlement]) -> None:
    """Keep what rounding leaves of the fees for the next run. The merchant's settings are locked."""
    for planned in made:
        for part in planned.parts:
            if not part.fee_remainder:
                continue
            kept, _ = FeeRemainder.objects.get_or_create(
                merchant_id=run.merchant_id, environment=run.environment, network=planned.network, asset=part.coin
            )
            FeeRemainder.objects.filter(pk=kept.pk).update(remainder=F("remainder") + part.fee_remainder)


TAKE_CHANGES = f"""
    WITH taken AS (
        UPDATE {BalanceChange._meta.db_table} AS change SET settlement = planned.settlement
        FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[]) AS planned (settlement, network, wallet, asset)
        WHERE change.merchant_id = %s AND change.environment = %s AND change.settlement IS NULL
            AND change.network = planned.network AND change.wallet = planned.wallet AND change.asset = planned.asset
            AND (change.id < %s OR change.amount < 0 OR change.kind = ANY(%s))
        RETURNING change.settlement, change.asset, change.amount
    )
    SELECT settlement, asset, sum(amount) FROM taken GROUP BY settlement, asset
"""  # noqa: S608 - the name of our own table


def _take_changes(
    run: SettlementRun, made: Sequence[tuple[PlannedSettlement, Settlement]], *, before: uuid.UUID
) -> None:
    """Assign the planned balance changes to the settlements; MoneyMoved when they are not the same any more."""
    rows: list[tuple[uuid.UUID, str, str, str]] = []
    expected: dict[tuple[uuid.UUID, str], int] = {}
    if not made:
        return
    for planned, settlement in made:
        for part in planned.parts:
            expected[settlement.id, part.coin] = part.gross - part.refund
            rows += [(settlement.id, planned.network, wallet, part.coin) for wallet in part.wallets]
    with connection.cursor() as cursor:
        columns = [list(column) for column in zip(*rows, strict=True)]
        at_once = [str(kind) for kind in AT_ONCE]
        cursor.execute(TAKE_CHANGES, [*columns, run.merchant_id, run.environment, before, at_once])
        taken: Mapping[tuple[uuid.UUID, str], int] = {(key, coin): int(total) for key, coin, total in cursor.fetchall()}
    if taken != expected:
        raise MoneyMoved(f"{run}: planned {expected}, taken {taken}")
