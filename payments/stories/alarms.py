"""What an alarm is about: the records that an operator looks at first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from django.db.models import Model
from django.utils.text import capfirst

from config.admin.story import Section
from config.admin.values import related
from config.installation.models import BackupRun
from merchants.ledger.models import ReconcileOutcome, ReconcileRun, Stop
from merchants.models import User
from payments.deposits.models import ReadingRequest
from payments.models import Deposit
from payments.monitoring.models import Alarm, NetworkSnapshot, RoleChange
from payments.monitoring.states import AlarmKind
from payments.stories.sections import MOST
from payments.suspense import review
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.states import HoldReason, PayoutStatus
from payments.treasury.losses.models import MissingCoins, MissingStatus
from payments.treasury.models import ColdMove

Found = Iterator[Model]


def of_alarm(alarm: Alarm) -> Iterator[Section]:
    rows = list(_records(alarm))[:MOST]
    yield Section(
        title="What to look at",
        headings=("Kind", "Record"),
        rows=[(capfirst(str(each._meta.verbose_name)), related(each, is_page=True)) for each in rows],
    )


def _records(alarm: Alarm) -> Found:
    """Records of the alarm's subject, and the network that it concerns."""
    if of_subject := _BY_KIND.get(AlarmKind(alarm.kind) if alarm.kind in AlarmKind else None):
        yield from of_subject(alarm)
    yield from NetworkSnapshot.objects.filter(**_place(alarm))


def _place(alarm: Alarm) -> dict[str, str]:
    return {"environment": alarm.environment, "network": alarm.network}


def _stops(alarm: Alarm) -> Found:
    yield from Stop.objects.standing().of_network(alarm.environment, alarm.network)


def _wallet(alarm: Alarm) -> Found:
    yield from Wallet.objects.filter(**_place(alarm), address=alarm.subject)


def _frozen(alarm: Alarm) -> Found:
    yield from _stops(alarm)
    yield from _wallet(alarm)


def _transfer(alarm: Alarm) -> Found:
    """What the transfer was signed for, then the transfer itself."""
    transfer = Transfer.objects.filter(pk=alarm.subject).first()
    if transfer is None:
        return
    for line in transfer.lines.select_related("payout").order_by("pk")[:MOST]:
        yield line.payout
    if sweep := getattr(transfer, "sweep", None):
        yield sweep
    yield transfer


def _screened(alarm: Alarm) -> Found:
    """What is held; without a subject the deposits about whose senders the network's oracle gives no answer."""
    if not alarm.subject:
        yield from review.unanswered(alarm.environment, alarm.network).order_by("seen_at")[:MOST]
        return
    for deposit in Deposit.objects.filter(pk=alarm.subject).select_related("payment"):
        yield deposit
        if deposit.payment is not None:
            yield deposit.payment
    yield from Payout.objects.filter(pk=alarm.subject)


def _missing(alarm: Alarm) -> Found:
    yield from MissingCoins.objects.filter(**_place(alarm), asset=alarm.subject, status=MissingStatus.OPEN)


def _cold_move(alarm: Alarm) -> Found:
    yield from ColdMove.objects.filter(pk=alarm.subject.removeprefix("move "))


def _refill(alarm: Alarm) -> Found:
    held = Payout.objects.filter(status=PayoutStatus.HELD, hold_reason=HoldReason.REFILL)
    yield from held.filter(**_place(alarm), asset=alarm.subject)[:MOST]


def _unread(alarm: Alarm) -> Found:
    yield from ReadingRequest.objects.filter(**_place(alarm)).exclude(content="").order_by("asked_at")[:MOST]


def _role_change(alarm: Alarm) -> Found:
    yield from RoleChange.objects.filter(**_place(alarm), known_at__isnull=True)


def _reconcile(alarm: Alarm) -> Found:
    yield from ReconcileRun.objects.exclude(outcome=ReconcileOutcome.RUNNING).order_by("-pk")[:1]


def _operator(alarm: Alarm) -> Found:
    yield from User.objects.filter(email=alarm.subject)


def _backup(alarm: Alarm) -> Found:
    yield from BackupRun.objects.all()[:MOST]


_BY_KIND: Mapping[AlarmKind | None, Callable[[Alarm], Found]] = {
    AlarmKind.NETWORK_HALTED: _stops,
    AlarmKind.PAYOUTS_STOPPED: _stops,
    AlarmKind.WALLET_FROZEN: _frozen,
    AlarmKind.WALLET_CANNOT_SEND: _wallet,
    AlarmKind.SIGNER_UNAVAILABLE: _wallet,
    AlarmKind.SIGNER_REFUSES: _wallet,
    AlarmKind.TRANSFER_STUCK: _transfer,
    AlarmKind.SWEEP_STUCK: _transfer,
    AlarmKind.SCREENED: _screened,
    AlarmKind.COINS_MISSING: _missing,
    AlarmKind.COLD_WALLET_MOVED: _cold_move,
    AlarmKind.REFILL_NEEDED: _refill,
    AlarmKind.RECORD_SET_ASIDE: _unread,
    AlarmKind.ROLE_CHANGED: _role_change,
    AlarmKind.RECONCILE_NOT_CLEAN: _reconcile,
    AlarmKind.OPERATOR_RESET: _operator,
    AlarmKind.BACKUP_UNRELIABLE: _backup,
}
"""Functions that return the records of an alarm's subject, by its kind; other kinds are about a network alone."""
