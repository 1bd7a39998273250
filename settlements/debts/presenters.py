"""Rows of a merchant's pages about debts that have ended."""

from __future__ import annotations

from dataclasses import dataclass

from config.pages.wording import coins
from merchants import wording as instants
from payments.chains import registry
from settlements.models import DebtDecision, DebtEnding


@dataclass(frozen=True)
class EndedDebtRow:
    """A debt that operators have ended, as the page lists it."""

    decision: DebtDecision
    timezone: str

    @property
    def amount(self) -> str:
        return coins(self.decision.amount, self.decision.decimals, self.decision.asset)

    @property
    def network(self) -> str:
        return registry.known_profile(self.decision.environment, self.decision.network).name

    @property
    def is_written_off(self) -> bool:
        return self.decision.ending == DebtEnding.WRITTEN_OFF

    @property
    def when(self) -> str:
        return instants.short(self.decision.created_at, self.timezone)

    @property
    def owed_again(self) -> str:
        """Since when it is owed again; empty when it is not."""
        taken_back = self.decision.taken_back_at
        return instants.short(taken_back, self.timezone) if taken_back else ""
