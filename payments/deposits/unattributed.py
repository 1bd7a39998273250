"""Unattributed deposits: sent before their payment existed, or to an address of ours that no payment had yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.db.models import Exists, Subquery

from config.periodic.containment import contained
from merchants.ledger.models import Stop
from merchants.ledger.posting import PostingDraft, post_drafts
from payments.chains.networks import NETWORKS
from payments.chains.protocol.transfers import IncomingTransfer
from payments.deposits.addresses import is_older
from payments.deposits.assessment_effects import DepositEffects, hold
from payments.deposits.models import PayerReturn, ScanCursor
from payments.deposits.postings import deposit_postings, return_covered, return_recovered
from payments.deposits.recording import move_discrepancy, record_deposits
from payments.models import Deposit, Payment
from payments.screening.matching import note_evidence, with_lists
from payments.states import DepositStatus, DiscrepancyKind, DiscrepancyStatus, ReturnStatus

logger = structlog.get_logger(__name__)


GOES_BACK = (ReturnStatus.PENDING, ReturnStatus.COMPLETED)
DECIDED_BY = "policy"


@dataclass(frozen=True, slots=True)
class Beside:
    """Postings around the booking of a deposit that goes back to its sender, or has gone."""

    before: Sequence[PostingDraft] = ()
    after: Sequence[PostingDraft] = ()
    returned: PayerReturn | None = None


def book_unattributed(environment: str, network: str, *, limit: int = 200) -> int:
    """Book deposits that belong to no payment once they are final: they wait for a person. Returns how many."""
    if Stop.objects.halting().of_network(environment, network).exists():
        return 0
    cursor = ScanCursor.objects.filter(environment=environment, network=network)
    finalized = Subquery(cursor.values("finalized_height"))
    unattributed = Deposit.objects.filter(environment=environment, network=network, payment__isnull=True)
    final = unattributed.filter(status=DepositStatus.SEEN, height__lte=finalized)
    undone = unattributed.filter(Exists(cursor)).exclude(booked_to="").exclude(status=DepositStatus.CREDITED)
    due = final.values_list("pk", flat=True)[:limit].union(undone.values_list("pk", flat=True)[:limit], all=True)
    booked = 0
    for deposit_id in list(due):
        with contained("deposit of no payment could not be booked", deposit=str(deposit_id)), transaction.atomic():
            deposit = with_lists(Deposit.objects.select_for_update()).get(pk=deposit_id)
            effects, more = DepositEffects(), Beside()
            if deposit.booked_to and deposit.status != DepositStatus.CREDITED:
                held = deposit.discrepancies.select_for_update().exclude(status=DiscrepancyStatus.VOID).get()
                effects = DepositEffects(lost=[(deposit, held)], voided=[held])
                if held.status == DiscrepancyStatus.REFUNDED:
                    more = Beside(before=[return_covered(deposit, held.kind)])
                    logger.error("deposit undone that went back to its sender", deposit=str(deposit))
            elif deposit.status == DepositStatus.SEEN:
                note_evidence([deposit])
                kind, note = _reason(deposit)
                effects = hold(deposit, kind, note=note)
                if returned := deposit.returns.filter(status__in=GOES_BACK).first():
                    more = Beside(after=[return_recovered(deposit, kind)], returned=returned)
                logger.warning(
                    "deposit of no payment held", deposit=str(deposit), kind=kind, recipient=deposit.recipient
                )
            if drafts := deposit_postings(effects):
                record_deposits(effects)
                post_drafts([*more.before, *drafts, *more.after], environment=environment)
                if more.returned:
                    [held] = effects.opened
                    held.note = f"{more.returned.public_id} has given it back already: it is the house's."
                    move_discrepancy(held, DiscrepancyStatus.REFUNDED, resolved_by=DECIDED_BY)
            booked += 1
    return booked


def _reason(deposit: Deposit) -> tuple[DiscrepancyKind, str]:
    """The reason a deposit belongs to no payment, as a kind and in words."""
    there = Payment.objects.filter(environment=deposit.environment).paid_at([deposit.recipient], [deposit.memo]).first()
    if there is not None and is_older(deposit.first_block_time, there.pk):
        sent = f"{deposit.first_block_time:%Y-%m-%d %H:%M:%S}"
        return DiscrepancyKind.UNASKED, f"Sent at {sent}, before {there.public_id} existed, which has this address."
    if NETWORKS[deposit.network].real.shares_account:
        return DiscrepancyKind.NO_MEMO, ""
    return DiscrepancyKind.UNASKED, "Sent to an address of ours that no payment had yet."


class Surpluses:
    """Surpluses of sweeps that were never seen to arrive: their own transfers must not be booked a second time."""

    def __init__(self, environment: str, network: str, recipients: Iterable[str]) -> None:
        rows = Deposit.objects.filter(
            environment=environment, network=network, is_surplus=True, recipient__in=set(recipients)
        ).exclude(status=DepositStatus.ORPHANED)
        self._until: dict[tuple[str, str], int] = {}
        for recipient, contract, height in rows.values_list("recipient", "contract", "height"):
            known = self._until.get((recipient, contract), 0)
            self._until[recipient, contract] = max(known, height)

    def cover(self, transfer: IncomingTransfer) -> bool:
        """True if a transfer without a deposit went with a sweep whose surplus is in the ledger."""
        return transfer.height <= self._until.get((transfer.recipient, transfer.contract), -1)
