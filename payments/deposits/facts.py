"""Gathers what decides about a payment: its deposits, which of them are confirmed, and how far its network is read."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Stop
from payments.chains.profiles import CreditRule
from payments.deposits.assessment import AssessmentFacts, DepositFact, crumb_limit
from payments.deposits.confirmation_policy import confirm
from payments.deposits.models import ScanCursor
from payments.deposits.turnover.counting import Share, share_of
from payments.models import Deposit, Discrepancy, Payment
from payments.screening.matching import note_evidence, released, with_lists
from payments.states import DepositStatus, DiscrepancyKind, DiscrepancyStatus, PaymentStatus


@dataclass(frozen=True, slots=True)
class Evidence:
    """The rows that an assessment rests on, and the facts that follow from them.

    `deposits` are in the order in which they were sent. `lost` are those that are booked, although the chain does not
    confirm them any more; `discrepancies` are the payment's that are not void, read only when something is lost.
    `mismatched` are deposits of another coin, on another network or held for review, which cannot pay the payment.
    `heads` are the heights of the networks' newest blocks.
    """

    deposits: Sequence[Deposit]
    confirmed: frozenset[uuid.UUID]
    mismatched: Mapping[uuid.UUID, DiscrepancyKind]
    lost: Sequence[Deposit]
    discrepancies: Sequence[Discrepancy]
    heads: Mapping[str, int]
    facts: AssessmentFacts
    is_reopened: bool
    """Money that counted for the payment is lost: what was released, closed and accepted is assessed anew."""
    rule: CreditRule
    """The rule by which its deposits are confirmed now."""
    counted: Share
    """What the payment is in the counters of turnover, as they are before this assessment."""


def gather(payment: Payment) -> Evidence | None:
    """Lock what belongs to a locked payment and return what decides about it; None when its network is halted.

    Where more is at stake than was due, the rule is stricter than the payment's own; recording writes it.
    """
    halted = set(Stop.objects.halting().filter(environment=payment.environment).values_list("network", flat=True))
    if payment.network in halted:
        return None
    cursors = cursors_of(payment.environment)
    cursor = cursors.get(payment.network)
    deposits = list(with_lists(payment.deposits.select_for_update()).order_by("first_block_time", "id"))
    reviewed = _note_review(deposits)
    existing = payment.discrepancies.select_for_update().exclude(status=DiscrepancyStatus.VOID).order_by("id")
    there = [deposit for deposit in deposits if deposit.status != DepositStatus.ORPHANED]
    mismatched = {deposit.id: kind for deposit in there if (kind := _mismatch(deposit, payment, reviewed))}
    counted = share_of(payment)
    read = {network: each for network, each in cursors.items() if network not in halted}
    rule, confirmed = confirm(payment, deposits, read)
    lost = [deposit for deposit in deposits if deposit.booked_to and deposit.id not in confirmed]
    is_reopened = any(deposit.booked_to == AccountKind.PAYMENT for deposit in lost)
    facts = AssessmentFacts(
        due=payment.due,
        tolerance_bps=payment.tolerance_bps,
        expires_at=payment.expires_at,
        closes_at=payment.closes_at,
        cancelled=payment.status == PaymentStatus.CANCELLED,
        closed=payment.closed_at is not None and not is_reopened,
        accepted=payment.accepted and not is_reopened,
        returned=payment.returned,
        read_until=cursor.read_until if cursor else None,
        deposits=tuple(
            DepositFact.of(each, is_confirmed=each.id in confirmed) for each in there if each.id not in mismatched
        ),
        crumb=crumb_limit(payment.decimals),
        released=0 if is_reopened else payment.released,
        surplus=0 if is_reopened else payment.surplus,
        in_review=DiscrepancyKind.REVIEW in mismatched.values(),
    )
    return Evidence(
        deposits=deposits,
        confirmed=confirmed,
        mismatched=mismatched,
        lost=lost,
        discrepancies=list(existing) if lost else [],
        heads={each.network: each.head_height for each in cursors.values()},
        facts=facts,
        is_reopened=is_reopened,
        rule=rule,
        counted=counted,
    )


def cursors_of(environment: str) -> dict[str, ScanCursor]:
    """Scan cursors of the networks of an environment, by network."""
    return {cursor.network: cursor for cursor in ScanCursor.objects.filter(environment=environment)}


def _note_review(deposits: Sequence[Deposit]) -> frozenset[uuid.UUID]:
    """Deposits that are held for review: a list names their sender, and operators have not released them. Notes the
    evidence on them, unsaved. What was booked before any list named its sender stays where it is."""
    new = [each for each in deposits if not each.booked_to]
    note_evidence(new)
    named = [each for each in new if each.evidence]
    held = {each.id for each in named} - released(named[0].environment, named) if named else set()
    return frozenset(held | {each.id for each in deposits if each.is_in_review})


def _mismatch(deposit: Deposit, payment: Payment, reviewed: Collection[uuid.UUID]) -> DiscrepancyKind | None:
    """The reason a deposit at the payment's address cannot pay it; None when it can."""
    if deposit.id in reviewed:
        return DiscrepancyKind.REVIEW
    if deposit.network != payment.network:
        return DiscrepancyKind.WRONG_NETWORK
    if deposit.asset != payment.cryptocurrency:
        return DiscrepancyKind.WRONG_TOKEN
    return None
