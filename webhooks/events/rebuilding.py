"""Puts a payment's QR code, which stored events leave out, back into them before they are sent.

With the code put back, a repeated delivery has the same bytes as the first.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from config.hooks import Hook
from webhooks.models import Event

FIELD = "qrCode"

qr_codes_of: Hook[[Collection[uuid.UUID]], Mapping[uuid.UUID, str]] = Hook("qr_codes_of")
"""The QR codes of some payments by their keys; payments provide them."""


def complete(events: Sequence[Event]) -> Sequence[Event]:
    """Puts back, into all of these at once, what was not stored; returns the same events."""
    lacking = [event for event in events if _lacks_code(event.payload)]
    codes = qr_codes_of({event.object_id for event in lacking}) if lacking else {}
    for event in lacking:
        event.payload[FIELD] = codes.get(event.object_id)
    return events


def _lacks_code(payload: dict[str, Any]) -> bool:
    return bool(payload.get("object") == "payment" and FIELD in payload and payload[FIELD] is None)
