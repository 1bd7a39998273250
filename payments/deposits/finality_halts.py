"""Halts of a network that breaks its word, when a final block changes: all stops there until a person has looked."""

from __future__ import annotations

from datetime import timedelta

import structlog
from django.db import transaction
from django.utils import timezone

from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.ledger.models import Stop, StopKind
from merchants.ledger.stops import lift_stop, register_way, stop
from payments.chains import registry
from payments.chains.errors import ChainError, NetworkUnavailable
from payments.chains.protocol.scans import Cursor
from payments.deposits.models import ScanCursor

logger = structlog.get_logger(__name__)

READ_AGAIN = timedelta(days=1)
"""Distance behind the last final block from which a network is read again: no chain has ever gone back so far."""


def halt_network(cursor: ScanCursor, error: str) -> None:
    """Record nothing more, credit nothing more and pay nothing more, until a person has looked."""
    with transaction.atomic():
        ScanCursor.objects.filter(pk=cursor.pk).update(leased_until=timezone.now())
        stop(StopKind.HALT, environment=cursor.environment, network=cursor.network, reason=error)
    logger.critical("finality violated", environment=cursor.environment, network=cursor.network, error=error)


def _query(halt: Stop | None) -> tuple[int, Cursor | None] | None:
    """The version of a halted network's cursor, and where it is read from next, which is None if it was never read;
    None when it is halted no more. Queries the network."""
    if halt is None:
        return None
    cursor = ScanCursor.objects.filter(environment=halt.environment, network=halt.network).first()
    if cursor is None:
        return 0, None
    try:
        return cursor.version, _cursor_far_before(cursor)
    except ChainError as error:
        raise NetworkUnavailable(f"{halt.network} must answer before it can go on: {error}") from error


def _lift(halt: Stop, proposal: Proposal, people: str) -> bool:
    """Let crediting and paying on a network go on after a finality violation; False when its cursor has moved.

    The cursor still names the block that changed and would halt the next scan, so the network is read again from far
    before it: what the chain no longer has is undone, everything else stays as it is.
    """
    if proposal.heard is None:
        return False
    version, cursor = proposal.heard
    same = ScanCursor.objects.filter(environment=halt.environment, network=halt.network, version=version)
    if cursor is not None and not same.update(cursor=cursor, version=version + 1):
        return False
    return lift_stop(halt, by=people)


def _cursor_far_before(halted: ScanCursor) -> Cursor:
    chain = registry.chain(halted.environment, halted.network)
    block_seconds = min(chain.profile.block_seconds, chain.reading.pace())
    blocks = int(READ_AGAIN.total_seconds() / block_seconds) if block_seconds else halted.finalized_height
    return chain.reading.cursor_at(max(0, halted.finalized_height - blocks))


register_way(
    StopKind.HALT,
    ProposalKind.HALT,
    first="Compare the network with a second source.",
    permission="payments.change_scancursor",
    lift=_lift,
    before_transaction=lambda halt_id, _after: _query(Stop.objects.halting().filter(pk=halt_id).first()),
)
