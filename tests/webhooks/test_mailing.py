from __future__ import annotations

import pytest

from merchants.people.models import Mail
from tests.factories import make_merchant
from tests.sending.delivering import endpoint_at
from webhooks.mailing import mail_disabled
from webhooks.models import Endpoint
from webhooks.services import disable_endpoint, enable_endpoint
from webhooks.states import DisabledReason

pytestmark = pytest.mark.django_db

SHOP = "https://shop.example.com/webhooks"


def disabled(reason: DisabledReason = DisabledReason.FAILING) -> Endpoint:
    endpoint = endpoint_at(SHOP, make_merchant())
    return disable_endpoint(endpoint=endpoint, reason=reason)


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [(DisabledReason.FAILING, "No request to it has succeeded for five days."), (DisabledReason.GONE, "410 Gone")],
)
def test_a_merchant_is_told_once(reason: DisabledReason, sentence: str) -> None:
    endpoint = disabled(reason)
    assert mail_disabled() == 1
    assert mail_disabled() == 0
    message = Mail.objects.get()
    assert message.to == endpoint.merchant.email
    assert SHOP in message.subject
    assert sentence in message.text
    assert not Endpoint.objects.get().is_mail_due


def test_who_disabled_it_themselves_is_not_told() -> None:
    disabled(DisabledReason.MERCHANT)
    assert mail_disabled() == 0


def test_an_endpoint_that_is_enabled_again_is_not_told_of() -> None:
    enable_endpoint(endpoint=disabled())
    assert mail_disabled() == 0
    assert not Mail.objects.exists()
