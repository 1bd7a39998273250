"""Proposals of operators: each is carried out once it has the approvals that the environment requires."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from config.environments import Environment
from merchants.models import User


class ProposalKind(models.TextChoices):
    POLICY = "policy", "Limits of payouts"
    BREAKER = "breaker", "Stop of a network, a coin or a merchant"
    SWITCH = "switch", "Stop of an environment"
    OPERATOR = "operator", "Rights of an operator"
    DEBT = "debt", "End of a merchant's debt"
    ADDRESS = "address", "Address that the house may be paid at"
    WITHDRAWAL = "withdrawal", "Withdrawal of the house's own coins"
    BY_HAND = "by_hand", "Transfer that was sent by hand"
    FUNDING = "funding", "Coins that the house puts in"
    SKIM = "skim", "Coins to the cold wallet"
    COLD_MOVE = "cold_move", "What left the cold wallet"
    HALT = "halt", "Halt after a finality violation"
    MEMBER = "member", "Member of a merchant"
    FEE = "fee", "Fee of a merchant"
    FINDING = "finding", "Explained finding"
    THAW = "thaw", "Frozen wallet that signs again"
    ACCEPT = "accept", "Money in suspense for its merchant"
    ATTRIBUTE = "attribute", "Payment that money in suspense was sent for"
    RETURN = "return", "Money that goes back to its sender"
    LOSS = "loss", "Who bears missing coins"
    PAYOUT = "payout", "Payout that is held"
    SCREENING = "screening", "Money held for review"


class ProposalStatus(models.TextChoices):
    WAITING = "waiting", "Waits for another operator"
    DONE = "done", "Done"
    WITHDRAWN = "withdrawn", "Withdrawn"
    FALLEN = "fallen", "Fallen: what it would change has changed since"


class Proposal(models.Model):
    """One change that an operator has proposed, with what was there before."""

    kind = models.CharField(max_length=20, choices=ProposalKind.choices)
    environment = models.CharField(max_length=10, choices=Environment.choices, blank=True)
    subject = models.CharField(max_length=80, help_text="The key of the row that it changes.")
    before = models.JSONField(default=dict, help_text="What it was when this was proposed.")
    after = models.JSONField(default=dict, help_text="What it becomes.")
    told = models.TextField("what it does")
    status = models.CharField(max_length=10, choices=ProposalStatus.choices, default=ProposalStatus.WAITING)
    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(default=timezone.now)
    decided_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(null=True)

    heard: Any = None
    """Result of the kind's query outside, before the database transaction that carries it out."""

    reasons: tuple[str, ...] = ()
    """Reasons, in the words of those who agreed; set while it is carried out."""

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["kind", "subject"], condition=Q(status=ProposalStatus.WAITING), name="proposal_waits_once"
            ),
            models.CheckConstraint(
                condition=Q(status=ProposalStatus.WAITING, decided_at__isnull=True)
                | (~Q(status=ProposalStatus.WAITING) & Q(decided_at__isnull=False)),
                name="proposal_decided_with_its_end",
            ),
        ]

    def __str__(self) -> str:
        return self.told

    @property
    def people(self) -> str:
        """Addresses of who proposed it and who decided it."""
        return ", ".join(dict.fromkeys(each.email for each in (self.proposed_by, self.decided_by) if each))
