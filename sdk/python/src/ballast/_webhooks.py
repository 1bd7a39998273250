"""Receives webhooks: verifies them as Standard Webhooks says, and makes events of them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping

from ballast._errors import WebhookVerificationError
from ballast._json import loads
from ballast.events import Event, parse_event

TOLERANCE_SECONDS = 300
LONGEST_TIMESTAMP = 12
"""Digits."""


class Webhook:
    """`Webhook(secret).verify(body, headers)` → the event. The secret is shown once, when the webhook is made."""

    def __init__(self, secret: str) -> None:
        try:
            self._key = base64.b64decode(secret.strip().removeprefix("whsec_"), validate=True)
        except binascii.Error:
            raise ValueError("this is no secret of a webhook: those begin with whsec_") from None
        if not self._key:  # with it everybody could sign
            raise ValueError("the secret is empty; it begins with whsec_ and goes on")

    def __repr__(self) -> str:
        return "Webhook('whsec_…')"

    def verify(self, body: bytes | str, headers: Mapping[str, str]) -> Event:
        """The event; WebhookVerificationError where it is not genuine. `body` is the request's body as it came."""
        if not isinstance(body, bytes | str):
            raise TypeError("verify() takes the body's raw bytes: JSON that was parsed and written again is other JSON")
        content = body.encode() if isinstance(body, str) else body
        found = {name.lower().removeprefix("http_").replace("_", "-"): value for name, value in headers.items()}
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        missing = [name for name in names if not found.get(name)]
        if missing:
            raise WebhookVerificationError(f"the header {missing[0]} is missing")
        message_id, timestamp, signatures = (found[name] for name in names)
        if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= LONGEST_TIMESTAMP):
            raise WebhookVerificationError("webhook-timestamp is no number of seconds")
        if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
            raise WebhookVerificationError("webhook-timestamp is more than five minutes off; is the clock right?")
        right = self.sign(content, message_id, int(timestamp)).encode()
        # Two of them while a secret is being replaced.
        if not any(hmac.compare_digest(one.encode(), right) for one in signatures.split(" ")):
            raise WebhookVerificationError("no signature fits: another secret, or a body that was changed on its way")
        try:
            return parse_event(loads(content))
        except (ValueError, AttributeError, TypeError):
            raise WebhookVerificationError("the body is no event") from None

    def sign(self, body: bytes, message_id: str, timestamp: int) -> str:
        """The signature of such a request: what a test of your receiver sends as `webhook-signature`."""
        text = f"{message_id}.{timestamp}.".encode() + body
        return "v1," + base64.b64encode(hmac.new(self._key, text, hashlib.sha256).digest()).decode()
