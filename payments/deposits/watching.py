"""Reading a network from its cursor: deposits and cursor move in one database transaction."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseFault
from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from config.database.database_time import CLOCKS_APART, database_now, has_come
from config.database.leases import lease_one
from config.errors import InvalidParameter
from config.periodic import task_runs
from merchants.ledger.models import Stop
from payments.chains.errors import ChainUnavailable, FinalityViolation, NotSetUp, RecordUnreadable
from payments.chains.protocol.scans import Scan
from payments.chains.protocol.transfers import IncomingTransfer
from payments.chains.registry import chain, oracle_of
from payments.deposits.address_derivations import require_as_noted
from payments.deposits.addresses import PaymentAddresses
from payments.deposits.crediting import not_due, request_assessment
from payments.deposits.finality_halts import halt_network
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.deposits.unattributed import Surpluses
from payments.models import Deposit, Payment
from payments.states import DEPOSIT_MOVES, DepositStatus

logger = structlog.get_logger(__name__)

LEASE = timedelta(seconds=60)

_not_given_back: dict[tuple[str, str], datetime] = {}
"""By environment and network, the end of the last lease that this process could not give back, as the database was
away: it may take that one again at once."""

RESCANS_AT_ONCE = 20
"""Number of on-chain transactions that are rescanned after a scan, on request."""

RETRY_AFTER, UNREADABLE_AGAIN = timedelta(minutes=1), timedelta(days=1)
"""Pause of one that no provider answered about, and of one that this version could not read."""


def watch_network(environment: str, network: str) -> bool:
    """Read what is new on one network and record it. True when there is more to read at once.

    The chain is queried between two short database transactions: one that takes the lease, one that records. A provider
    that fails leaves everything as it was, and the next round tries again.
    """
    global _not_given_back
    cursor = _lease(environment, network)
    if cursor is None:
        return False
    try:
        is_more = _read(cursor)
    except DatabaseFault:
        _not_given_back = {**_not_given_back, (environment, network): cursor.leased_until}
        raise
    task_runs.note(task_runs.WATCHER, f"{environment} {network}")
    return is_more


def _read(cursor: ScanCursor) -> bool:
    environment, network = cursor.environment, cursor.network
    addresses = PaymentAddresses(environment, network)
    try:
        adapter = chain(environment, network)
        adapter.set_up.require()
        require_as_noted(environment, adapter)
        scan = adapter.reading.scan(cursor.cursor, addresses)
        if not _record_scan(cursor, scan, addresses):
            return False
        _rescan(cursor, scan, addresses)
        _rescan_range(cursor, addresses)
        return not scan.caught_up
    except (NotSetUp, ImproperlyConfigured) as error:
        _record_failure(cursor, str(error), fault=str(error))
    except ChainUnavailable as error:
        _record_failure(cursor, str(error))
    except FinalityViolation as error:
        halt_network(cursor, str(error))
    except Exception as error:  # an answer nobody foresaw must not keep the other networks from being read
        logger.exception("network could not be read", environment=environment, network=network)
        _record_failure(cursor, f"{type(error).__name__}: {error}")
    return False


def _lease(environment: str, network: str) -> ScanCursor | None:
    """Take the right to read this network for a while; None when somebody else has it or it is halted."""
    if Stop.objects.halting().of_network(environment, network).exists():
        return None
    now = database_now()
    here = ScanCursor.objects.filter(environment=environment, network=network)
    lost = Q(leased_until=_not_given_back.get((environment, network)))
    mine = here.filter(has_come("leased_until", now, longest=LEASE) | lost)
    leased = lease_one(mine, "leased_until", until=now + LEASE)
    if leased is None and not here.exists():
        first = ScanCursor(environment=environment, network=network, leased_until=now)
        ScanCursor.objects.bulk_create([first], ignore_conflicts=True)
        leased = lease_one(mine, "leased_until", until=now + LEASE)
    return leased


def _lock(environment: str, network: str) -> ScanCursor | None:
    """The cursor of a network, locked; None when the network is halted."""
    cursor = ScanCursor.objects.select_for_update().get(environment=environment, network=network)
    return None if Stop.objects.halting().of_network(environment, network).exists() else cursor


def _record_failure(cursor: ScanCursor, error: str, *, fault: str = "") -> None:
    """`fault` is the fault of the set-up; until it is cleared, it stays."""
    now = database_now()
    ScanCursor.objects.filter(pk=cursor.pk).update(
        leased_until=now, last_error=error, failing_since=cursor.failing_since or now, fault=fault or cursor.fault
    )
    if error != cursor.last_error:  # once, and not each second
        logger.warning("network unavailable", environment=cursor.environment, network=cursor.network, error=error)


def _record_scan(cursor: ScanCursor, scan: Scan, addresses: PaymentAddresses) -> bool:
    """Write what a scan found and where the next one begins; False when another watcher was faster, or halted it."""
    with transaction.atomic():
        current = _lock(cursor.environment, cursor.network)
        if current is None or current.version != cursor.version:
            return False
        if _record_transfers(current, scan, addresses):
            current.cursor = scan.cursor
        _set_aside(current, scan)
        current.version += 1
        # Nothing counts as confirmed by blocks beyond what has been read: a reorganisation may await us there.
        head = scan.head.height if scan.caught_up else min(scan.last_height, scan.head.height)
        now = database_now()
        if _is_new_block(current, scan, head, now):
            current.clock_ahead_seconds = (now - scan.last_block_time).total_seconds()
        _record_heights(current, head=head, finalized=scan.head.finalized_height, now=now)
        # Never back: blocks that replace others, or are read once more, do not reopen windows that have ended.
        current.read_until = max(current.read_until or scan.last_block_time, scan.last_block_time)
        current.leased_until = now
        current.failing_since, current.last_error, current.fault = None, "", ""
        current.save()
    _request_for_confirmed(current)
    return True


def _is_new_block(cursor: ScanCursor, scan: Scan, head: int, now: datetime) -> bool:
    """True if the newest block read was made since a moment ago, so that its time can be compared with the clock."""
    was_seen = cursor.polled_at is not None and now - cursor.polled_at <= CLOCKS_APART
    return was_seen and scan.caught_up and head > cursor.head_height


def _record_heights(cursor: ScanCursor, *, head: int, finalized: int, now: datetime) -> None:
    """Record the heights of the network, and since when: a network whose final blocks stay behind differs from one that
    is slow.

    What was final stays so, though a provider that lags may be the one that answers now.
    """
    finalized = min(head, max(finalized, cursor.finalized_height))
    if cursor.head_since is None or head > cursor.head_height:
        cursor.head_since = now
    if cursor.finalized_since is None or finalized > cursor.finalized_height:
        cursor.finalized_since = now
    cursor.head_height, cursor.finalized_height = head, finalized
    cursor.polled_at = now


def _rescan(cursor: ScanCursor, scan: Scan, addresses: PaymentAddresses) -> None:
    """Rescan requested on-chain transactions, where no scan reads their blocks again."""
    now = database_now()
    requests = ReadingRequest.objects.filter(environment=cursor.environment, network=cursor.network, due_at__lte=now)
    for request in requests.exclude(transaction_hash="").order_by("due_at")[:RESCANS_AT_ONCE]:
        try:
            found = chain(cursor.environment, cursor.network).reading.find_transfers(request.transaction_hash)
        except RecordUnreadable as error:
            problem, content = error.record.problem, error.record.content
            requests.filter(pk=request.pk).update(due_at=now + UNREADABLE_AGAIN, problem=problem, content=content)
            continue
        except ChainUnavailable as error:
            logger.warning("transaction not read again", transaction=str(request), error=str(error))
            requests.filter(pk=request.pk).update(due_at=now + RETRY_AFTER)
            continue
        if any(transfer.height >= scan.first_height for transfer in found):
            continue  # the scans themselves still come by here
        watched = addresses.matching({transfer.recipient for transfer in found})
        ours = tuple(transfer for transfer in found if transfer.recipient in watched)
        no_blocks = replace(scan, first_height=1, last_height=0, transfers=ours)  # nothing is missing from those
        with transaction.atomic():
            current = _lock(cursor.environment, cursor.network)
            if current is not None and _record_transfers(current, no_blocks, addresses):
                request.delete()
        logger.warning("transaction read again", environment=cursor.environment, transaction=str(request))


class _EveryAddress:
    """The watch list of a range: all addresses that were ever given out, also those that nothing is expected at."""

    def __init__(self, addresses: PaymentAddresses) -> None:
        self.matching = addresses.matching

    def addresses(self, at_most: int) -> None:
        return None


def request_range(environment: str, network: str, first: int, last: int) -> ReadingRequest:
    """Request that the watcher reads these final blocks again, for deposits that are not recorded.

    InvalidParameter for a range that is empty or not final, and while another range of the network is being read.
    """
    cursor = ScanCursor.objects.filter(environment=environment, network=network).first()
    newest = cursor.finalized_height if cursor else 0
    if not 1 <= first <= last:
        raise InvalidParameter("A range begins at block 1 or later, and ends where it begins or later.", param="first")
    if last > newest:
        raise InvalidParameter(f"The newest final block of {network} that was read is {newest:,}.", param="last")
    place = {"environment": environment, "network": network, "transaction_hash": ""}
    found, is_new = ReadingRequest.objects.get_or_create(**place, defaults={"first_height": first, "last_height": last})
    if not is_new:
        raise InvalidParameter(f"Blocks {found} are being read: wait until that is done.", param="network")
    return found


def _rescan_range(cursor: ScanCursor, addresses: PaymentAddresses) -> None:
    """Rescan the next blocks of a requested range. What is not recorded is added; nothing that is recorded goes."""
    here = ReadingRequest.objects.filter(environment=cursor.environment, network=cursor.network, transaction_hash="")
    wanted = here.filter(due_at__lte=database_now()).first()
    if wanted is None or wanted.first_height is None or wanted.last_height is None:
        return
    reading = chain(cursor.environment, cursor.network).reading
    try:
        scan = reading.scan(reading.cursor_at(wanted.first_height - 1), _EveryAddress(addresses))
    except ChainUnavailable as error:
        logger.warning("blocks not read again", blocks=str(wanted), error=str(error))
        here.update(due_at=database_now() + RETRY_AFTER, problem=str(error))
        return
    until = min(scan.last_height, wanted.last_height)
    watched = addresses.matching({transfer.recipient for transfer in scan.transfers})
    ours = tuple(each for each in scan.transfers if each.recipient in watched and each.height <= until)
    no_blocks = replace(scan, first_height=1, last_height=0, transfers=ours)  # nothing is missing from those
    with transaction.atomic():
        current = _lock(cursor.environment, cursor.network)
        if current is None or not _record_transfers(current, no_blocks, addresses):
            return
        _set_aside(current, scan)
        if until >= wanted.last_height:
            wanted.delete()
        elif until >= wanted.first_height:
            here.update(first_height=until + 1, problem="")


def record_arrivals(
    environment: str, network: str, transfers: Sequence[IncomingTransfer], addresses: PaymentAddresses
) -> None:
    """Make deposits of what arrived at addresses of ours that no scan watches, in final blocks."""
    head = chain(environment, network).reading.head()
    no_blocks = Scan(1, 0, head.closed_at, head, tuple(transfers), {}, caught_up=True)
    with transaction.atomic():
        if (cursor := _lock(environment, network)) is not None:
            _record_transfers(cursor, no_blocks, addresses)


def _set_aside(cursor: ScanCursor, scan: Scan) -> None:
    """Keep what could not be read: an alarm and reconcile report it, and a later version or an operator reads it."""
    due = database_now() + UNREADABLE_AGAIN
    for each in scan.unread:
        _, is_new = ReadingRequest.objects.get_or_create(
            environment=cursor.environment,
            network=cursor.network,
            transaction_hash=each.transaction_hash,
            defaults={"due_at": due, "problem": each.problem, "content": each.content},
        )
        if is_new:
            logger.error("record set aside", network=cursor.network, hash=each.transaction_hash, why=each.problem)


def _record_transfers(cursor: ScanCursor, scan: Scan, addresses: PaymentAddresses) -> bool:
    """Make the deposits of the scanned heights equal to the transfers of the chain there.

    False when these heights must be read once more: an on-chain transaction that ran again in another block can have
    moved another amount, and what was booked for the first one is taken back before the second is believed.
    """
    here = Deposit.objects.filter(environment=cursor.environment, network=cursor.network, is_surplus=False)
    wanted = [transfer for transfer in scan.transfers if transfer.asset is not None and transfer.amount > 0]
    in_range = Q(height__gte=scan.first_height, height__lte=scan.last_height)
    seen_again = Q(transaction_hash__in={transfer.transaction_hash for transfer in wanted})
    stored = here.filter(seen_again | (in_range & ~Q(status=DepositStatus.ORPHANED)))
    if not wanted and not stored.exists():
        return True

    payment_ids = addresses.payment_ids(wanted)
    touched = set(stored.filter(payment__isnull=False).values_list("payment_id", flat=True)) | set(payment_ids.values())
    list(Payment.objects.select_for_update().filter(pk__in=touched).order_by("pk").values_list("pk"))
    known = {(deposit.transaction_hash, deposit.ordinal): deposit for deposit in stored.select_for_update()}

    surpluses = Surpluses(cursor.environment, cursor.network, [transfer.recipient for transfer in wanted])
    complete = True
    fresh: list[Deposit] = []
    changed: set[uuid.UUID | None] = set()
    for transfer in wanted:
        deposit = known.pop(transfer.identity, None)
        payment_id = payment_ids.get(transfer.identity)
        if deposit is None and surpluses.cover(transfer):
            logger.warning("transfer is in the ledger as a sweep's surplus", transfer=transfer.identity)
            continue
        if deposit is None:
            deposit = _new_deposit(cursor, transfer, payment_id)
            fresh.append(deposit)
        elif _is_other_money(deposit, transfer):
            changed.add(deposit.payment_id)
            if deposit.booked_to:
                complete = False
                _orphan_deposit(deposit)
            else:
                _rewrite_deposit(deposit, transfer, payment_id)
        elif deposit.block_hash != transfer.block_hash or deposit.status == DepositStatus.ORPHANED:
            _move_deposit(deposit, transfer)
        else:
            continue
        changed.add(deposit.payment_id)
    Deposit.objects.bulk_create(fresh)
    unread = {each.transaction_hash for each in scan.unread}
    looked_at = addresses.matching({deposit.recipient for deposit in known.values()}) if known else set()
    for deposit in known.values():
        if deposit.transaction_hash in unread or deposit.recipient not in looked_at:
            continue  # it is there still, though its move is unknown, or it is not requested
        if deposit.status != DepositStatus.ORPHANED and scan.first_height <= deposit.height <= scan.last_height:
            _orphan_deposit(deposit)
            changed.add(deposit.payment_id)
    new = Counter(deposit.payment_id for deposit in fresh)
    keys = [key for key in changed if key]
    if keys:
        with connection.cursor() as at_once:  # each update of a payment writes to nearly all of its indexes
            at_once.execute(_REQUEST_ASSESSMENT, [timezone.now(), keys, [new[key] for key in keys]])
    return complete


_REQUEST_ASSESSMENT = f"""
    UPDATE {Payment._meta.db_table} AS payment
    SET assess_at = %s, deposit_count = payment.deposit_count + changed.new_deposits
    FROM unnest(%s::uuid[], %s::integer[]) AS changed (id, new_deposits) WHERE payment.id = changed.id
"""  # noqa: S608 - a name of our own


def _new_deposit(cursor: ScanCursor, transfer: IncomingTransfer, payment_id: uuid.UUID | None) -> Deposit:
    assert transfer.asset is not None  # noqa: S101 - narrowed by the caller
    deposit = Deposit(
        environment=cursor.environment,
        network=cursor.network,
        transaction_hash=transfer.transaction_hash,
        ordinal=transfer.ordinal,
        payment_id=payment_id,
        contract=transfer.contract,
        asset=transfer.asset.code,
        decimals=transfer.asset.decimals,
        amount=transfer.amount,
        token_fee=transfer.token_fee,
        sender=transfer.sender,
        recipient=transfer.recipient,
        memo=transfer.memo or "",
        conflicting_memo=transfer.conflicting_memo or "",
        inner_hash=transfer.inner_hash,
        height=transfer.height,
        block_hash=transfer.block_hash,
        block_time=transfer.block_time,
        first_block_time=transfer.block_time,
        said_by=list(transfer.said_by),
        screen_at=_screen_at(cursor.environment, cursor.network),
    )
    if deposit.conflicting_memo:
        logger.warning("memo and muxed id disagree", deposit=str(deposit), memo=deposit.conflicting_memo)
    logger.info("deposit seen", network=cursor.network, deposit=str(deposit), matched=payment_id is not None)
    return deposit


def _screen_at(environment: str, network: str) -> datetime | None:
    return timezone.now() if oracle_of(environment, network) else None


def _move_deposit(deposit: Deposit, transfer: IncomingTransfer) -> None:
    """The same transfer stands in another block now; what was credited for it is assessed again. A contract can have
    moved the coins of somebody else there, who is compared with sanctions lists anew."""
    if deposit.status != DepositStatus.SEEN:
        DEPOSIT_MOVES.check(deposit.status, DepositStatus.SEEN)
        deposit.status = DepositStatus.SEEN
    deposit.height, deposit.block_hash, deposit.block_time = transfer.height, transfer.block_hash, transfer.block_time
    deposit.first_block_time = min(deposit.first_block_time, transfer.block_time)
    deposit.said_by = list(transfer.said_by)
    if deposit.sender != transfer.sender:
        deposit.sender, deposit.screen_at = transfer.sender, _screen_at(deposit.environment, deposit.network)
        deposit.evidence = deposit.evidence if deposit.booked_to else ""
    deposit.save(
        update_fields=[
            "status",
            "height",
            "block_hash",
            "block_time",
            "first_block_time",
            "said_by",
            "sender",
            "screen_at",
            "evidence",
        ]
    )


def _is_other_money(deposit: Deposit, transfer: IncomingTransfer) -> bool:
    stored = (deposit.contract, deposit.amount, deposit.recipient, deposit.memo)
    return stored != (transfer.contract, transfer.amount, transfer.recipient, transfer.memo or "")


def _rewrite_deposit(deposit: Deposit, transfer: IncomingTransfer, payment_id: uuid.UUID | None) -> None:
    """The changes of a deposit that is not booked when it ran again: its amount, and its payment."""
    assert transfer.asset is not None  # noqa: S101 - narrowed by the caller
    if payment_id != deposit.payment_id:
        for key, more in ((deposit.payment_id, -1), (payment_id, 1)):
            if key is not None:
                Payment.objects.filter(pk=key).update(deposit_count=F("deposit_count") + more)
    deposit.payment_id, deposit.amount = payment_id, transfer.amount
    deposit.contract, deposit.asset, deposit.decimals = transfer.contract, transfer.asset.code, transfer.asset.decimals
    deposit.recipient, deposit.memo = transfer.recipient, transfer.memo or ""
    deposit.conflicting_memo, deposit.inner_hash = transfer.conflicting_memo or "", transfer.inner_hash
    deposit.save()
    _move_deposit(deposit, transfer)
    logger.warning("deposit changed with its block", deposit=str(deposit))


def _orphan_deposit(deposit: Deposit) -> None:
    if deposit.status == DepositStatus.ORPHANED:
        return
    DEPOSIT_MOVES.check(deposit.status, DepositStatus.ORPHANED)
    deposit.status = DepositStatus.ORPHANED
    deposit.save(update_fields=["status"])
    logger.warning("deposit undone by a reorganisation", deposit=str(deposit))


def _request_for_confirmed(cursor: ScanCursor) -> None:
    """Payments whose deposits have become old enough are due for assessment.

    In a database transaction of its own: the scan's holds payments already, and whoever locks several takes them all at
    once, in the order of their keys. Each scan reads afresh, so that nothing is lost in between.
    """
    confirmed = Deposit.objects.filter(
        environment=cursor.environment,
        network=cursor.network,
        status=DepositStatus.SEEN,
        height__lte=cursor.head_height + 1 - F("payment__required_confirmations"),
    ).exclude(payment__require_finalized=True, height__gt=cursor.finalized_height)
    confirmed = confirmed.filter(not_due("payment__"))
    request_assessment(confirmed.values_list("payment_id", flat=True).distinct())
