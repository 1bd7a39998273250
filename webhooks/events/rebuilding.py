"""Leaves a payment's QR code out of stored events, and puts it back before they are sent.

The code is half of what an event would take up, and the payment keeps it. The event stores null instead; with the code
put back, a repeated delivery has the same bytes as the first. A code over what is left of the price is not kept by the
payment, and neither is the one before its payer chose another coin or network: such events store the code themselves,
as older events do.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

from config.hooks import Hook
from webhooks.models import Event

FIELD = "qrCode"

qr_codes_of: Hook[[Collection[uuid.UUID]], Mapping[uuid.UUID, str]] = Hook("qr_codes_of")
"""The QR codes of some payments by their keys; payments provide them."""


def to_store(payload: dict[str, Any]) -> dict[str, Any]:
    """The record as an event stores it."""
    if payload.get("object") != "payment" or FIELD not in payload:
        return payload
    is_over_a_part = 0 < Decimal(payload.get("amountDue", 0)) < Decimal(payload["cryptoAmount"])
    return payload if is_over_a_part or payload.get("choices") else {**payload, FIELD: None}


def complete(events: Sequence[Event]) -> Sequence[Event]:
    """Puts back, into all of these at once, what was not stored; returns the same events."""
    lacking = [event for event in events if _lacks_code(event.payload)]
    codes = qr_codes_of({event.object_id for event in lacking}) if lacking else {}
    for event in lacking:
        event.payload[FIELD] = codes.get(event.object_id)
    return events


def _lacks_code(payload: dict[str, Any]) -> bool:
    return bool(payload.get("object") == "payment" and FIELD in payload and payload[FIELD] is None)
