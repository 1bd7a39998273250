from __future__ import annotations

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from pytest_django.fixtures import Settings

from tests.advisory_locks import beside_another
from tests.factories import make_merchant
from tests.sending.delivering import endpoint_at
from webhooks.mailing import LOCK, mail_disabled
from webhooks.models import Endpoint
from webhooks.services import disable_endpoint, enable_endpoint
from webhooks.states import DisabledReason
from webhooks.tasks import mail_disabled_task

pytestmark = pytest.mark.django_db

SHOP = "https://shop.example.com/webhooks"


class Refusing(EmailBackend):
    """A mail server that takes nothing for one merchant."""

    refused = ""

    def send_messages(self, messages: list[mail.EmailMessage]) -> int:  # type: ignore[override]  # as django has it
        if any(self.refused in message.to for message in messages):
            raise ConnectionRefusedError("no mail today")
        return int(super().send_messages(messages))


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
    (message,) = mail.outbox
    assert message.to == [endpoint.merchant.email]
    assert SHOP in message.subject
    assert sentence in message.body
    assert not Endpoint.objects.get().is_mail_due


def test_who_disabled_it_themselves_is_not_told() -> None:
    disabled(DisabledReason.MERCHANT)
    assert mail_disabled() == 0


def test_an_endpoint_that_is_enabled_again_is_not_told_of() -> None:
    enable_endpoint(endpoint=disabled())
    assert mail_disabled() == 0
    assert mail.outbox == []


def test_a_mail_server_that_fails_leaves_it_due_and_the_others_told(settings: Settings) -> None:
    first, second = disabled(), disabled()
    settings.EMAIL_BACKEND = f"{__name__}.Refusing"
    Refusing.refused = first.merchant.email
    assert mail_disabled() == 1
    assert [message.to for message in mail.outbox] == [[second.merchant.email]]
    assert list(Endpoint.objects.filter(is_mail_due=True)) == [first]

    Refusing.refused = ""
    mail_disabled_task()
    assert [message.to for message in mail.outbox] == [[second.merchant.email], [first.merchant.email]]
    assert not Endpoint.objects.filter(is_mail_due=True).exists()


@pytest.mark.django_db(transaction=True)
def test_one_sweep_mails_at_a_time() -> None:
    disabled()
    assert beside_another(mail_disabled, LOCK) == (0, 1)
