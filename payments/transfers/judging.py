"""What the chain's answers about the versions of one transfer amount to. Pure; nothing but the chain decides.

A transfer has one sequence of its wallet and any number of signed versions of which at most one is ever mined. It is
over only when the chain has proved it for good: everything else means that any version may still be mined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from payments.chains.base import TransferStatus as ChainStatus


class Verdict(Enum):
    FINAL = "final"
    """One version is in a block for good, and the money moved."""

    FAILED = "failed"
    """One version is in a block for good, and moved nothing."""

    DEAD = "dead"
    """No version can ever be mined, and the sequence is as good as new, or used by another of our transfers."""

    USURPED = "usurped"
    """No version can ever be mined, because somebody else's transaction of this wallet used the sequence."""

    MINED = "mined"
    """In a block that is not final yet: wait."""

    WAITING = "waiting"
    """Known to the network and in no block."""

    MISSING = "missing"
    """The network does not know it: send it again."""


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    version: int | None = None
    """Which of the versions stands in a block."""


def judge(answers: Sequence[ChainStatus]) -> Judgement:
    """`answers` are what the chain says of each version, oldest first; there is at least one."""
    for version, answer in enumerate(answers):
        if answer.state in ("included", "failed"):
            if not answer.final:
                return Judgement(Verdict.MINED, version)
            return Judgement(Verdict.FINAL if answer.state == "included" else Verdict.FAILED, version)
    if all(answer.final and answer.state in ("replaced", "expired") for answer in answers):
        usurped = any(answer.state == "replaced" for answer in answers)
        return Judgement(Verdict.USURPED if usurped else Verdict.DEAD)
    if any(answer.state == "replaced" for answer in answers):
        return Judgement(Verdict.MINED)  # something else stands in its place, in a block that may yet be undone
    if any(answer.state == "pending" for answer in answers):
        return Judgement(Verdict.WAITING)
    return Judgement(Verdict.MISSING)
