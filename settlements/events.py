"""The event of each change of a settlement. The catalogue of webhooks describes the names."""

from __future__ import annotations

from settlements.models import Settlement
from settlements.records import settlement_record
from settlements.states import SettlementStatus
from webhooks.events.catalogue import SETTLEMENT_COMPLETED as COMPLETED
from webhooks.events.catalogue import SETTLEMENT_CREATED as CREATED
from webhooks.events.catalogue import SETTLEMENT_FAILED as FAILED
from webhooks.events.recording import build_event
from webhooks.models import Event

ON_STATUS: dict[str, str] = {
    SettlementStatus.PENDING: CREATED,
    SettlementStatus.COMPLETED: COMPLETED,
    SettlementStatus.FAILED: FAILED,
}
"""The event of a change into each status. A settlement is pending from the start; waiting is no event."""


def event_of(settlement: Settlement) -> Event:
    """The event, not yet stored, of the settlement's current status."""
    return build_event(
        merchant_id=settlement.merchant_id,
        environment=settlement.environment,
        type=ON_STATUS[settlement.status],
        object_id=settlement.id,
        version=settlement.version,
        payload=settlement_record(settlement),
    )
