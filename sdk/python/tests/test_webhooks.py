"""Webhooks are verified as Standard Webhooks says, and become typed events."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from ballast import Webhook, WebhookVerificationError
from ballast.events import EVENTS, PaymentCompletedEvent, UnknownEvent, parse_event

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
EVENT: dict[str, Any] = {
    "id": "evt_1", "object": "event", "type": "payment.completed", "apiVersion": "v1", "environment": "sandbox",
    "createdAt": "2027-01-31T09:34:40.123Z", "version": 3, "data": {"object": {"id": "pay_1", "amount": 25.5}},
}  # fmt: skip
BODY = json.dumps(EVENT).encode()


def headers(webhook: Webhook, body: bytes = BODY, timestamp: int | None = None, **changed: str) -> dict[str, str]:
    seconds = int(time.time()) if timestamp is None else timestamp
    signed = {
        "webhook-id": "evt_1", "webhook-timestamp": str(seconds),
        "webhook-signature": webhook.sign(body, "evt_1", seconds),
    }  # fmt: skip
    return {**signed, **{name.replace("_", "-"): value for name, value in changed.items()}}


def test_a_genuine_one_is_a_typed_event() -> None:
    webhook = Webhook(SECRET)
    event = webhook.verify(BODY, headers(webhook))
    assert isinstance(event, PaymentCompletedEvent)
    assert (event.id, event.data.object.id, event.version) == ("evt_1", "pay_1", 3)


def test_the_example_of_the_standard_is_signed_as_there() -> None:
    body = b'{"test": 2432232314}'
    signature = Webhook(SECRET).sign(body, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330)
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_headers_come_in_any_case_and_as_wsgi_has_them() -> None:
    webhook = Webhook(SECRET)
    for rename in (str.title, lambda name: "HTTP_" + name.upper().replace("-", "_")):
        webhook.verify(BODY.decode(), {rename(name): value for name, value in headers(webhook).items()})


def test_either_of_two_signatures_is_enough() -> None:
    old, new = Webhook("whsec_b2xk"), Webhook(SECRET)
    both = {
        **headers(old),
        "webhook-signature": f"{headers(old)['webhook-signature']} {headers(new)['webhook-signature']}",
    }
    assert old.verify(BODY, both).id == new.verify(BODY, both).id == "evt_1"


@pytest.mark.parametrize(
    ("body", "changed", "words"),
    [
        (BODY + b" ", {}, "no signature fits"),
        (BODY, {"webhook_id": "evt_2"}, "no signature fits"),
        (BODY, {"webhook_signature": "v1,é"}, "no signature fits"),
        (BODY, {"webhook_signature": ""}, "webhook-signature is missing"),
        (BODY, {"webhook_timestamp": "soon"}, "no number"),
        (BODY, {"webhook_timestamp": "9" * 400}, "no number"),
        (BODY, {"webhook_timestamp": "1614265330"}, "five minutes"),
        (BODY, {"webhook_timestamp": "9999999999"}, "five minutes"),
    ],
)
def test_what_is_not_genuine_is_refused(body: bytes, changed: dict[str, str], words: str) -> None:
    webhook = Webhook(SECRET)
    with pytest.raises(WebhookVerificationError, match=words):
        webhook.verify(body, headers(webhook, **changed))


def test_what_is_signed_and_no_event_is_refused() -> None:
    webhook = Webhook(SECRET)
    for body in (b"[]", b"no JSON", b"7"):
        with pytest.raises(WebhookVerificationError, match="no event"):
            webhook.verify(body, headers(webhook, body))


def test_a_body_that_was_parsed_is_refused() -> None:
    with pytest.raises(TypeError, match="raw bytes"):
        Webhook(SECRET).verify(EVENT, {})  # type: ignore[arg-type]


@pytest.mark.parametrize("secret", ["", " ", "whsec_", "sk_test_1"])
def test_a_secret_of_something_else_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="whsec_"):
        Webhook(secret)


def test_an_event_that_is_newer_than_this_package_is_unknown() -> None:
    event = parse_event({**EVENT, "type": "payment.teleported"})
    assert isinstance(event, UnknownEvent)
    assert event.data["object"]["id"] == "pay_1"


@pytest.mark.parametrize("kind", EVENTS)
def test_each_event_has_its_record(kind: str) -> None:
    event: Any = parse_event({**EVENT, "type": kind})
    assert (type(event), event.data.object.id) == (EVENTS[kind], "pay_1")
