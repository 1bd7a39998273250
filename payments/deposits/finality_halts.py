"""When a network breaks its word and a final block changes: all stops there until a person has looked."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.people import people_needed
from merchants.four_eyes.services import propose, register
from merchants.ledger.models import Stop
from merchants.ledger.stops import ELSEWHERE, Listed, lift_stop, stop
from merchants.models import User
from payments.chains import registry
from payments.chains.base import Cursor
from payments.chains.errors import ChainError, NetworkUnavailable
from payments.deposits.models import ScanCursor

logger = structlog.get_logger(__name__)

READ_AGAIN = timedelta(days=1)
"""How far behind the last final block a network is read again: no chain has ever gone back so far."""


def halt_network(cursor: ScanCursor, error: str) -> None:
    """Record nothing more, credit nothing more and pay nothing more, until a person has looked."""
    now = timezone.now()
    with transaction.atomic():
        ScanCursor.objects.filter(pk=cursor.pk).update(leased_until=now, last_error=error, halted_at=now)
        stop(environment=cursor.environment, network=cursor.network, reason=_reason(error))
    logger.critical("finality violated", environment=cursor.environment, network=cursor.network, error=error)


def propose_clearing(cursor: ScanCursor, *, reason: str, by: User) -> Proposal:
    """Propose that a halted network goes on, or agree to it: payouts that the halt has stopped go on with it."""
    return propose(
        ProposalKind.HALT,
        environment=cursor.environment,
        subject=cursor.pk,
        before={"halted_at": str(cursor.halted_at)},
        after={"cleared": True},
        told=f"{cursor} goes on: payments are credited and payouts sent. It was halted: {cursor.last_error} {reason}",
        by=by,
    )


def _clear_as_agreed(proposal: Proposal, people: str) -> bool:
    if proposal.heard is None or str(proposal.heard[0].halted_at) != proposal.before["halted_at"]:
        return False
    return _clear(*proposal.heard, cleared_by=people[:120])


def _ask(cursor_id: str) -> tuple[ScanCursor, Cursor] | None:
    """Where a halted network is to be read from; None when it is not halted. Asks the network."""
    halted = ScanCursor.objects.filter(pk=cursor_id, halted_at__isnull=False).first()
    if halted is None:
        return None
    try:
        return halted, _cursor_far_before(halted)
    except ChainError as error:
        raise NetworkUnavailable(f"{halted.network} must answer before it can go on: {error}") from error


register(
    ProposalKind.HALT,
    _clear_as_agreed,
    permission="payments.change_scancursor",
    asks_before=lambda cursor_id, _after: _ask(cursor_id),
)


def clear_halt(*, environment: str, network: str, cleared_by: str) -> bool:
    """Let crediting and paying on a network go on after a finality violation; False when it was not halted.

    The cursor still names the block that changed and would halt the next scan, so the network is read again from far
    before it: what the chain no longer has is undone, everything else stays as it is. Payouts stay stopped if they
    were stopped for another reason.
    """
    halted = ScanCursor.objects.filter(environment=environment, network=network, halted_at__isnull=False).first()
    heard = _ask(str(halted.pk)) if halted is not None else None
    return heard is not None and _clear(*heard, cleared_by=cleared_by)


def _clear(halted: ScanCursor, cursor: Cursor, *, cleared_by: str) -> bool:
    """Compare with the row as it is now, and write; False when it is another."""
    environment, network = halted.environment, halted.network
    with transaction.atomic():
        same = ScanCursor.objects.filter(pk=halted.pk, version=halted.version, halted_at=halted.halted_at)
        if not same.update(halted_at=None, cursor=cursor, version=F("version") + 1):
            return False
        here = Stop.objects.filter(environment=environment, network=network, asset="", lifted_at__isnull=True)
        for stopped in here.filter(reason=_reason(halted.last_error)):
            lift_stop(stopped, by=cleared_by)
    logger.warning("halt cleared", environment=environment, network=network, cleared_by=cleared_by)
    return True


def _reason(error: str) -> str:
    return f"The network is halted: {error}"


def _cursor_far_before(halted: ScanCursor) -> Cursor:
    chain = registry.chain(halted.environment, halted.network)
    block_seconds = min(chain.profile.block_seconds, chain.pace())
    blocks = int(READ_AGAIN.total_seconds() / block_seconds) if block_seconds else halted.finalized_height
    return chain.cursor_at(max(0, halted.finalized_height - blocks))


def _stopped() -> Iterator[Listed]:
    """Networks that are not read, and whose payouts go on with them."""
    for cursor in ScanCursor.objects.filter(halted_at__isnull=False).order_by("environment", "network"):
        who = f"{people_needed(cursor.environment)} operators with payments.change_scancursor"
        how = "Compare the network with a second source. Then Admin → Scan cursors → Clear the halt: payouts go on too."
        yield Listed(f"reading of {cursor}", cursor.last_error, cursor.halted_at, who, how)


ELSEWHERE.append(_stopped)
