"""What the dispatcher really sends, over HTTP: the public library verifies all of it, also while secrets change."""

from __future__ import annotations

import random

import pytest

from config.environments import Environment
from tests.factories import make_merchant
from tests.patience import until
from tests.sending.delivering import beside, happen
from tests.sending.receivers import Shop
from tests.webhooks.forging import mutations, random_value, verifies
from webhooks.endpoints.secrets import new_secret
from webhooks.models import Attempt
from webhooks.services import register_endpoint, rotate_secret

pytestmark = pytest.mark.django_db(transaction=True)

ENDPOINTS, EVENTS = 20, 50
"""Events before the rotation, and as many after it: 2,000 deliveries in all."""


def test_the_public_library_verifies_every_delivery_and_refuses_every_forgery(shop: Shop) -> None:
    """The secrets change in the middle, while the dispatcher sends: from then on either verifies what comes."""
    chance = random.Random(20270202)
    merchant = make_merchant()
    paths = [f"/hook/{number}" for number in range(ENDPOINTS)]
    registered = [
        register_endpoint(merchant=merchant, environment=Environment.SANDBOX, url=shop.url(path)) for path in paths
    ]
    before = [happen(merchant, extra=random_value(chance))[0].public_id for _ in range(EVENTS)]

    with beside():
        until(lambda: len(shop.arrivals) >= ENDPOINTS * EVENTS // 4)
        new = dict(zip(paths, [rotate_secret(endpoint=endpoint)[1] for endpoint, _ in registered], strict=True))
        after = [happen(merchant, extra=random_value(chance))[0].public_id for _ in range(EVENTS)]
        until(lambda: Attempt.objects.count() == 2 * EVENTS * ENDPOINTS)

    old = dict(zip(paths, [secret for _, secret in registered], strict=True))
    assert len(shop.arrivals) == 2 * EVENTS * ENDPOINTS == 2000
    signed_twice, refused = 0, 0
    for arrival in shop.arrivals:
        message = arrival.body, dict(arrival.headers)
        secrets = [old[arrival.path]]
        if len(arrival.headers["webhook-signature"].split()) == 2:
            secrets.append(new[arrival.path])
            signed_twice += 1
        else:
            assert arrival.message_id in before
        assert all(verifies(secret, message) for secret in secrets)
        assert not verifies(new_secret(), message)
        for name, forgery in mutations(message, chance).items():
            assert not any(verifies(secret, forgery) for secret in secrets), name
            refused += 1
    for path in paths:
        assert {arrival.message_id for arrival in shop.at(path)} == {*before, *after}
    assert 1000 <= signed_twice <= 1750
    assert refused == 20_000
