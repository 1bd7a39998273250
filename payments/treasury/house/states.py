"""Statuses of withdrawals and fundings, and the moves between them. Pure."""

from __future__ import annotations

from django.db import models

from config.states import Transitions


class WithdrawalStatus(models.TextChoices):
    PENDING = "pending", "Reserved, or on its way"
    COMPLETED = "completed", "Paid"
    FAILED = "failed", "Not paid: the coins are the house's again"


WITHDRAWAL_MOVES = Transitions(
    {
        WithdrawalStatus.PENDING: [WithdrawalStatus.COMPLETED, WithdrawalStatus.FAILED],
        WithdrawalStatus.COMPLETED: [],
        WithdrawalStatus.FAILED: [],
    }
)


class FundingStatus(models.TextChoices):
    EXPECTED = "expected", "Booked when it is seen"
    BOOKED = "booked", "In the ledger"
    CANCELLED = "cancelled", "Not waited for any more"
