"""Which event tells of which change of a settlement. The names themselves are in the catalogue of webhooks."""

from __future__ import annotations

from settlements.models import Settlement
from settlements.records import settlement_record
from settlements.states import SettlementStatus
from webhooks.events import SETTLEMENT_COMPLETED as COMPLETED
from webhooks.events import SETTLEMENT_CREATED as CREATED
from webhooks.events import SETTLEMENT_FAILED as FAILED
from webhooks.models import Event
from webhooks.recording import build_event

ON_STATUS: dict[str, str] = {
    SettlementStatus.PENDING: CREATED,
    SettlementStatus.COMPLETED: COMPLETED,
    SettlementStatus.FAILED: FAILED,
}
"""A settlement is pending from its creation on: what it waits for meanwhile is no event."""


def event_of(settlement: Settlement) -> Event:
    """The event, not yet stored, that tells of the status the settlement has come to."""
    return build_event(
        merchant_id=settlement.merchant_id,
        environment=settlement.environment,
        type=ON_STATUS[settlement.status],
        object_id=settlement.id,
        version=settlement.version,
        payload=settlement_record(settlement),
    )
