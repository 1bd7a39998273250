"""The outcome of one transfer by the chain's statuses of all of its versions. Pure; only the chain decides.

A transfer has one sequence of its wallet and any number of signed versions, of which at most one is ever mined. It has
ended only when a final block proves that; otherwise any version may still be mined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from payments.chains.protocol.payouts import TransactionStatus


class OutcomeKind(Enum):
    FINAL = "final"
    """One version is in a block for good, and the money moved."""

    FAILED = "failed"
    """One version is in a block for good, and moved nothing."""

    DEAD = "dead"
    """No version can ever be mined; the sequence is free again, or another of our transfers has used it."""

    USURPED = "usurped"
    """No version can ever be mined, because somebody else's transaction of this wallet used the sequence."""

    MINED = "mined"
    """In a block that is not final yet: wait."""

    WAITING = "waiting"
    """Known to the network and in no block."""

    MISSING = "missing"
    """The network does not know it: send it again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: OutcomeKind
    version: int | None = None
    """The version that is in a block."""


def outcome_of(statuses: Sequence[TransactionStatus]) -> Outcome:
    """The outcome, from the status of each version, oldest first; there is at least one."""
    for version, status in enumerate(statuses):
        if status.state in ("included", "failed"):
            if not status.final:
                return Outcome(OutcomeKind.MINED, version)
            return Outcome(OutcomeKind.FINAL if status.state == "included" else OutcomeKind.FAILED, version)
    if all(status.final and status.state in ("replaced", "expired") for status in statuses):
        usurped = any(status.state == "replaced" for status in statuses)
        return Outcome(OutcomeKind.USURPED if usurped else OutcomeKind.DEAD)
    if any(status.state == "replaced" for status in statuses):
        return Outcome(OutcomeKind.MINED)  # another uses the sequence, in a block that may be undone
    if any(status.state == "pending" for status in statuses):
        return Outcome(OutcomeKind.WAITING)
    return Outcome(OutcomeKind.MISSING)
