"""What Ballast signs, the public library of the Standard Webhooks scheme verifies, and nothing else."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.utils import timezone
from standardwebhooks import Webhook

from config import ids
from tests.webhooks.forging import mutations, random_body, verifies
from tests.webhooks.scenes import make_endpoint
from webhooks.endpoints.secrets import live_secrets, new_secret
from webhooks.endpoints.signing import secret_bytes, signature_of, signed_headers
from webhooks.services import PREVIOUS_SECRET_LIVES, rotate_secret

BODIES = 2000


def test_the_public_library_verifies_every_message_and_refuses_every_forgery() -> None:
    chance = random.Random(20270131)
    accepted, refused = 0, 0
    for _ in range(BODIES):
        body, secret, message_id = random_body(chance), new_secret(), ids.EVENT.encode(ids.new_uuid())
        timestamp = int(timezone.now().timestamp())
        message = body, signed_headers([secret], message_id=message_id, timestamp=timestamp, body=body)
        assert Webhook(secret).verify(*message) == json.loads(body)
        accepted += 1
        for name, forgery in mutations(message, chance).items():
            assert not verifies(secret, forgery), name
            refused += 1
    assert (accepted, refused) == (BODIES, 10 * BODIES)


@pytest.mark.django_db
def test_during_a_rotation_both_secrets_verify_every_message() -> None:
    chance = random.Random(20270201)
    endpoint = make_endpoint()
    [old] = live_secrets(endpoint, timezone.now())
    endpoint, new = rotate_secret(endpoint=endpoint)
    now = timezone.now()
    secrets = live_secrets(endpoint, now)
    assert secrets == [new, old]
    for _ in range(BODIES):
        body, message_id = random_body(chance), ids.EVENT.encode(ids.new_uuid())
        headers = signed_headers(secrets, message_id=message_id, timestamp=int(timezone.now().timestamp()), body=body)
        assert len(headers["webhook-signature"].split(" ")) == 2
        assert verifies(new, (body, headers))
        assert verifies(old, (body, headers))
        assert not verifies(new_secret(), (body, headers))
        for name, forgery in mutations((body, headers), chance).items():
            assert not verifies(old, forgery), name
            assert not verifies(new, forgery), name


@pytest.mark.django_db
def test_after_a_day_the_secret_before_verifies_nothing() -> None:
    endpoint = make_endpoint()
    [old] = live_secrets(endpoint, timezone.now())
    endpoint, new = rotate_secret(endpoint=endpoint)
    later = timezone.now() + PREVIOUS_SECRET_LIVES
    body = b"{}"
    timestamp = int(timezone.now().timestamp())
    headers = signed_headers(live_secrets(endpoint, later), message_id="evt_1", timestamp=timestamp, body=body)
    assert verifies(new, (body, headers))
    assert not verifies(old, (body, headers))


KNOWN = "v1,JrojdC3X3+FFbUqLmNR4KqAt1OeihBhkdvub6xMnRFs="
"""Of `{"amount":19.99}`, worked out by hand."""


@pytest.mark.parametrize(
    "sign",
    [
        lambda secret, body: signature_of(secret, message_id="evt_1", timestamp=1795000000, body=body),
        lambda secret, body: Webhook(secret).sign("evt_1", datetime.fromtimestamp(1795000000, UTC), body.decode()),
    ],
    ids=["ours", "the library's"],
)
def test_a_known_signature(sign: Callable[[str, bytes], str]) -> None:
    secret = "whsec_" + base64.b64encode(bytes(range(32))).decode()
    assert secret_bytes(secret) == bytes(range(32))
    assert sign(secret, b'{"amount":19.99}') == KNOWN


def test_a_secret_has_256_random_bits() -> None:
    secrets = {new_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert {len(secret_bytes(secret)) for secret in secrets} == {32}
