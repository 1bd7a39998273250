"""Balances that decide what is posted: read, and locked with every account that the postings may touch."""

from __future__ import annotations

from merchants.ledger.posting import lock_accounts
from payments.deposits.assessment_effects import AssessmentEffects
from payments.deposits.postings import Balances, accounts_touched
from payments.models import Payment


def lock_balances(payment: Payment, effects: AssessmentEffects) -> Balances:
    """The balances that decide who gives the money of these effects; empty, with no lock, when nothing is lost."""
    if not effects.lost:
        return {}
    return lock_accounts(accounts_touched(payment, effects), environment=payment.environment)
