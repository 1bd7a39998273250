"""The event of each change of a settlement. The catalogue of webhooks describes the names."""

from __future__ import annotations

from settlements.states import SettlementStatus
from webhooks.events.catalogue import SETTLEMENT_COMPLETED as COMPLETED
from webhooks.events.catalogue import SETTLEMENT_CREATED as CREATED
from webhooks.events.catalogue import SETTLEMENT_FAILED as FAILED

ON_STATUS: dict[str, str] = {
    SettlementStatus.PENDING: CREATED,
    SettlementStatus.COMPLETED: COMPLETED,
    SettlementStatus.FAILED: FAILED,
}
"""The event of a change into each status. A settlement is pending from the start; waiting is no event."""
