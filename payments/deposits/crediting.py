"""From deposits to the ledger: assesses payments and makes what follows true, in one database transaction."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from config.database import prepared
from config.periodic.containment import contained
from merchants.ledger.models import Stop
from merchants.ledger.posting import PostingDraft, lock_accounts
from payments.deposits.assessment import assess
from payments.deposits.assessment_effects import effects_of
from payments.deposits.facts import gather
from payments.deposits.models import ScanCursor
from payments.deposits.postings import Balances, accounts_touched, assessment_postings
from payments.deposits.recording import post, post_together, record_assessment
from payments.models import Payment

TOGETHER = 20
"""Payments assessed in one database transaction. Their postings come last, so that the accounts of the house, which
every payment in a coin changes, are locked for a moment and not while evidence is read."""

ENDED_AT_ONCE = 1_000
"""Windows ended on a network by one call, of each kind: more than are assessed until the next."""


class LosesDeposits(Exception):
    """The payment has lost deposits that were booked: it needs balances before its postings, and is assessed alone."""


def assess_due(now: datetime | None = None, *, limit: int = 200) -> int:
    """Assess every payment that is due for it, several in one database transaction; returns how many.

    One that cannot be assessed stays due and does not delay the others: I15 and the log report it.
    """
    due = Payment.objects.due_for_assessment(now or timezone.now())
    for halted in Stop.objects.halting():
        due = due.exclude(environment=halted.environment, network=halted.network)
    by_environment = defaultdict[str, list[uuid.UUID]](list)
    for payment_id, environment in due.values_list("pk", "environment")[:limit]:
        by_environment[environment].append(payment_id)
    return sum(
        _assess_or_each(payment_ids[start : start + TOGETHER])
        for payment_ids in by_environment.values()
        for start in range(0, len(payment_ids), TOGETHER)
    )


def _assess_or_each(payment_ids: Sequence[uuid.UUID]) -> int:
    """Assess payments of one environment together, or each by itself where that fails; returns how many."""
    if len(payment_ids) > 1:
        with contained("payments are assessed one by one", expected=(Exception,)):
            return _assess_together(payment_ids)
    done = 0
    for payment_id in payment_ids:
        with contained("payment could not be assessed", payment=str(payment_id)):
            done += _assess_together([payment_id])
    return done


def _assess_together(payment_ids: Sequence[uuid.UUID]) -> int:
    """Assess those that are due and that nobody else has locked; returns how many. All, or none and an exception."""
    is_alone = len(payment_ids) == 1
    with prepared.repeated(), transaction.atomic():
        payments = Payment.objects.select_for_update(skip_locked=True).filter(
            pk__in=payment_ids, assess_at__isnull=False
        )
        drafted = [(payment, _assess(payment, is_alone=is_alone)) for payment in payments.order_by("pk")]
        post_together(drafted)
    return len(drafted)


def expire_due() -> int:
    """Request an assessment of payments whose window is over on a chain that has been read past it, the first first."""
    requested = 0
    halted = set(Stop.objects.halting().values_list("environment", "network"))
    for cursor in ScanCursor.objects.all():
        if cursor.read_until is None or (cursor.environment, cursor.network) in halted:
            continue
        with contained("windows could not be ended", cursor=str(cursor)):
            here = Payment.objects.filter(not_due(), environment=cursor.environment, network=cursor.network)
            for ended in here.windows_ended(cursor.read_until):
                requested += request_assessment(ended.values_list("pk", flat=True)[:ENDED_AT_ONCE])
    return requested


def not_due(prefix: str = "") -> Q:
    """Payments whose assessment nobody has requested, or only for later."""
    return Q(**{f"{prefix}assess_at__isnull": True}) | Q(**{f"{prefix}assess_at__gt": timezone.now()})


def request_assessment(payment_ids: Iterable[uuid.UUID | None]) -> int:
    """Make payments due for assessment; returns how many. Locks all of them at once, in the order of their keys."""
    keys = [key for key in payment_ids if key is not None]
    if not keys:
        return 0
    with transaction.atomic():
        list(Payment.objects.select_for_update().filter(pk__in=keys).order_by("pk").values_list("pk"))
        return Payment.objects.filter(pk__in=keys).update(assess_at=timezone.now())


def assess_locked(payment: Payment, decided: Sequence[PostingDraft] = (), *, ends_now: bool = False) -> Payment:
    """Assess a locked payment by what is known now and book the difference; doing it again changes nothing.

    `decided` are postings of the caller's, made first.
    `ends_now` ends the window before its time, where too little has been received.

    On a halted network nothing is assessed: the payment stays due until a person has looked.
    """
    post(_assess(payment, decided, ends_now=ends_now), payment)
    return payment


def _assess(
    payment: Payment, decided: Sequence[PostingDraft] = (), *, ends_now: bool = False, is_alone: bool = True
) -> Sequence[PostingDraft]:
    """Assess a locked payment and write all that changes but the postings, which are returned in their order.

    LosesDeposits where that needs balances and the payment is not the only one of the database transaction.
    """
    evidence = gather(payment)
    effects, drafts = None, decided
    if evidence is not None:
        effects = effects_of(payment, evidence, assess(replace(evidence.facts, ends_now=ends_now)))
        balances: Balances = {}
        if effects.lost:
            if not is_alone:
                raise LosesDeposits(payment.public_id)
            touched = accounts_touched(payment, effects)
            balances = lock_accounts(touched, environment=payment.environment)
        drafts = [*decided, *assessment_postings(payment, effects, balances)]
    record_assessment(payment, effects)
    return drafts
