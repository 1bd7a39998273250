"""The second of two operators, who agrees under Admin → Proposals."""

from __future__ import annotations

from merchants.four_eyes.models import Proposal, ProposalStatus
from merchants.four_eyes.services import agree
from merchants.models import User


def agree_to_what_waits(by: User) -> list[Proposal]:
    """Agrees to every proposal that waits; returns them as they are then."""
    waiting = Proposal.objects.filter(status=ProposalStatus.WAITING).order_by("pk")
    return [agree(each, by=by) for each in waiting]
