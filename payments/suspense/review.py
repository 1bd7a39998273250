"""Money held for review because a sanctions list names its sender or recipient: released by two operators, and
compared again with each new list."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TypeVar

import structlog
from django.db.models import QuerySet
from django.utils import timezone

from config.celery import wake
from config.errors import DomainError, InvalidParameter
from config.pages import wording
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.posting import InsufficientFunds, post_drafts
from merchants.models import User
from payments.chains.registry import chain, oracle_of
from payments.deposits.assessment_effects import DepositEffects
from payments.deposits.crediting import request_assessment
from payments.deposits.postings import deposit_postings
from payments.deposits.recording import record_deposits, record_seen
from payments.models import Deposit, Payment
from payments.screening.addresses import account
from payments.screening.matching import MAY_RELEASE, evidence_of, is_released, released, released_once
from payments.screening.models import SanctionsList
from payments.screening.oracle import AGAIN_AFTER, GIVEN_UP_AFTER, no_answer, query_oracle
from payments.states import DepositStatus, DiscrepancyKind, DiscrepancyStatus
from payments.transfers.models import Payout
from payments.transfers.states import ENDED_PAYOUTS, PayoutStatus

logger = structlog.get_logger(__name__)

Row = TypeVar("Row", Deposit, Payout)

COMPARED_AGAIN_AFTER = timedelta(minutes=1)
"""Time after an import when what came and left is compared once more: by then nothing goes on that began before it."""

SENDERS_AT_ONCE = 50
UNANSWERED_AFTER = timedelta(minutes=10)

_PEOPLE_KEPT = 120  # characters of the field


class NothingHeld(DomainError):
    code = "nothing_held_for_review"
    message = "No list names its sender or recipient, or it has been released already."


class CoinsElsewhere(DomainError):
    code = "coins_elsewhere"
    message = "The wallet that holds these coins has too few at the moment. Release them once it has been filled."


def propose_release(row: Deposit | Payout, reason: str, by: User) -> Proposal:
    """Propose that a deposit or payout is treated as if no list named its address, or agree to it.

    It holds for this row as it is now, whatever lists come next. Of money that counted or left before, it ends the
    alarm alone. NothingHeld; InvalidParameter without a reason.
    """
    if not (reason := reason.strip()):
        raise InvalidParameter("Enter a reason: it is saved.", param="note")
    row = type(row).objects.get(pk=row.pk)
    if not row.evidence or is_released(row):
        raise NothingHeld
    return propose(
        ProposalKind.SCREENING,
        environment=row.environment,
        subject=row.pk,
        after=row.terms,
        reason=reason,
        by=by,
    )


def awaiting_release(environment: str, rows: QuerySet[Deposit] | QuerySet[Payout]) -> Iterator[Deposit | Payout]:
    """Of these, those with evidence that operators have not released, oldest first.

    What has counted or was sent since stays released, whatever becomes of the operators.
    """
    named: list[Deposit | Payout] = [*rows.exclude(evidence="").order_by("pk")]
    done = released(environment, named) | released_once([row for row in named if _is_over(row)])
    return (row for row in named if row.pk not in done)


def _is_over(row: Deposit | Payout) -> bool:
    """True if nothing is held of it any more."""
    if isinstance(row, Payout):
        return row.status == PayoutStatus.PAID
    return bool(row.booked_to) and not row.is_in_review


def alarming(environment: str, network: str) -> Iterator[Deposit | Payout]:
    """Deposits and payouts of a network that a list names and nobody has released: held, credited or sent."""
    here = {"environment": environment, "network": network}
    yield from awaiting_release(environment, Deposit.objects.filter(**here).exclude(status=DepositStatus.ORPHANED))
    given_up = (PayoutStatus.FAILED, PayoutStatus.CANCELLED)
    yield from awaiting_release(environment, Payout.objects.filter(**here).exclude(status__in=given_up))


def screen_senders(environment: str, network: str) -> None:
    """Query the network's oracle about senders of deposits that it has not answered about yet. It moves nothing: what
    it names is compared as a new list is, and after a day without an answer two people decide."""
    if not oracle_of(environment, network):
        return
    adapter = chain(environment, network)
    now = timezone.now()
    due = Deposit.objects.filter(environment=environment, network=network, screen_at__lte=now)
    rows = list(due.order_by("screen_at")[:SENDERS_AT_ONCE])
    answered = list(query_oracle(adapter, {row.sender for row in rows}))
    queried = due.filter(pk__in=[row.pk for row in rows])  # not those that came from another sender meanwhile
    queried.filter(sender__in=answered).update(screen_at=None)
    since = now - GIVEN_UP_AFTER
    queried.filter(seen_at__gt=since).update(screen_at=now + AGAIN_AFTER)
    given_up = queried.filter(seen_at__lte=since)
    given_up.filter(evidence="").update(evidence=no_answer(adapter))
    given_up.update(screen_at=None)


def unanswered(environment: str, network: str) -> QuerySet[Deposit]:
    """Deposits that the network's oracle has left without an answer for a while."""
    if not oracle_of(environment, network):
        return Deposit.objects.none()
    since = timezone.now() - UNANSWERED_AFTER
    return Deposit.objects.filter(environment=environment, network=network, screen_at__isnull=False, seen_at__lt=since)


def compare_due(now: datetime | None = None) -> int:
    """Compare what came and left before with lists that are new; returns how many deposits and payouts they name.

    It notes the evidence and moves nothing: what is not booked or sent yet is held by it, the rest raises an alarm.
    """
    now, found = now or timezone.now(), 0
    for source in SanctionsList.objects.filter(replaced_at__isnull=True, compare_at__lte=now):
        found += _compare(set(source.addresses.values_list("address", flat=True)))
        again = source.imported_at + COMPARED_AGAIN_AFTER
        compared = SanctionsList.objects.filter(pk=source.pk, imported_at=source.imported_at)
        compared.update(compare_at=again if now < again else None)  # an oracle may have named more meanwhile
    return found


def _compare(addresses: set[str]) -> int:
    there = Deposit.objects.exclude(status=DepositStatus.ORPHANED)
    found: list[Deposit | Payout] = [*_of(there, "sender", addresses)]
    found += _of(Payout.objects.all(), "recipient", addresses)
    evidence = evidence_of({row.counterparty for row in found})
    done = 0
    for row in found:
        if said := evidence.get(row.counterparty):  # one row at a time: it waits for nobody while it holds another
            done += type(row).objects.filter(pk=row.pk, evidence="").update(evidence=said)
            logger.error("a sanctions list names what came or left", row=str(row), evidence=said)
    return done


def _of(rows: QuerySet[Row], column: str, addresses: set[str]) -> QuerySet[Row]:
    """Those without evidence whose address is among these, or is a muxed one of an account that is."""
    new = rows.filter(evidence="")
    muxed = new.filter(**{f"{column}__gte": "M", f"{column}__lt": "N"}).order_by().values_list(column, flat=True)
    own = {each for each in muxed.distinct() if account(each) in addresses}
    return new.filter(**{f"{column}__in": addresses | own})


def _summary_of(proposal: Proposal) -> str:
    row = _row_of(proposal.subject)
    coins = f"{wording.coins(row.amount, row.decimals, row.asset)} on {row.network}"
    whose = f"to {row.recipient} ({row.reference})" if isinstance(row, Payout) else f"from {row.sender}"
    return f"Release {coins} {whose}, held for review. {row.evidence}. Why: {proposal.after['reason']}"


def _row_of(subject: str) -> Deposit | Payout:
    key = uuid.UUID(subject)
    return Payout.objects.filter(pk=key).first() or Deposit.objects.get(pk=key)


def _release_as_agreed(proposal: Proposal, people: str) -> bool:
    row = _row_of(proposal.subject)
    is_same = _release_payout(row, proposal) if isinstance(row, Payout) else _release_deposit(row, proposal, people)
    if is_same:
        logger.warning("released from review", row=str(row), by=people)
    return is_same


register(ProposalKind.SCREENING, _release_as_agreed, permission=MAY_RELEASE, summarize=_summary_of)


def _release_payout(payout: Payout, proposal: Proposal) -> bool:
    payout = Payout.objects.select_for_update().get(pk=payout.pk)
    if not _is_as_agreed(payout, proposal) or payout.status in (PayoutStatus.FAILED, PayoutStatus.CANCELLED):
        return False
    if payout.status not in (*ENDED_PAYOUTS, PayoutStatus.SENDING):
        payout.next_attempt_at = timezone.now()
        payout.save(update_fields=["next_attempt_at"])
        wake("transfers.drive")
    return True


def _release_deposit(deposit: Deposit, proposal: Proposal, people: str) -> bool:
    """Take it out of suspense, if it is there. The payment's next assessment books it as any other deposit; one that a
    reorganisation has just undone it takes back."""
    payment = Payment.objects.select_for_update().get(pk=deposit.payment_id) if deposit.payment_id else None
    deposit = Deposit.objects.select_for_update().get(pk=deposit.pk)
    if not _is_as_agreed(deposit, proposal):
        return False
    if deposit.is_in_review and deposit.status == DepositStatus.CREDITED:
        waiting = deposit.discrepancies.select_for_update().filter(kind=DiscrepancyKind.REVIEW)
        held = waiting.get(status=DiscrepancyStatus.OPEN)
        held.resolved_by = people[:_PEOPLE_KEPT]
        effects = DepositEffects(lost=[(deposit, held)], voided=[held])
        drafts = deposit_postings(effects, payment)
        record_deposits(effects)
        try:
            post_drafts(drafts, environment=deposit.environment)
        except InsufficientFunds as error:
            raise CoinsElsewhere from error
        record_seen(deposit)
    request_assessment([deposit.payment_id])
    return True


def _is_as_agreed(row: Deposit | Payout, proposal: Proposal) -> bool:
    return bool({**row.terms, "reason": proposal.after["reason"]} == proposal.after)
