"""Mails leave through rows, and an embedded run without a mail server shows them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail
from django.core.mail import send_mail
from django.core.mail.backends.locmem import EmailBackend
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.people import mailing
from merchants.people.models import Mail

pytestmark = pytest.mark.django_db


class Refusing(EmailBackend):
    """A mail server that takes nothing for one person."""

    def send_messages(self, messages: list[mail.EmailMessage]) -> int:  # type: ignore[override]  # as django has it
        if any("anna@example.com" in message.to for message in messages):
            raise ConnectionRefusedError("no mail today")
        return int(super().send_messages(messages))


@pytest.fixture(autouse=True)
def with_a_server(settings: Settings) -> None:
    settings.MAILBOX_IS_SHOWN = False


def test_a_mail_is_sent_once_and_its_row_is_gone() -> None:
    mailing.write_mail(to="anna@example.com", subject="Hello", text="A link")
    now = timezone.now()
    assert [mailing.send_due(now=now), mailing.send_due(now=now)] == [1, 0]
    (sent,) = mail.outbox
    assert (sent.to, sent.subject, sent.body) == (["anna@example.com"], "Hello", "A link")
    assert not Mail.objects.exists()


def test_the_database_alone_shows_no_link_of_a_mail_that_waits(settings: Settings) -> None:
    mailing.write_mail(to="anna@example.com", subject="Hello", text="Open https://pay.example.com/invitation/a-token")
    settings.WEBHOOK_ENCRYPTION_KEY, settings.WEBHOOK_ENCRYPTION_KEY_FALLBACKS = "", []
    mailing.write_mail(to="bob@example.com", subject="Hello", text="Written where there is no key")
    assert [("token" in str(row), row["is_sealed"]) for row in Mail.objects.order_by("id").values()] == [
        (False, True),
        (False, False),
    ]
    now = timezone.now()
    assert mailing.send_due(now=now) == 1  # the other is tried again where the key is
    settings.WEBHOOK_ENCRYPTION_KEY = "a new key of this test"
    settings.WEBHOOK_ENCRYPTION_KEY_FALLBACKS = ["a key for the webhooks of tests and nothing else"]
    assert mailing.send_due(now=now + timedelta(hours=1)) == 1
    assert [sent.body for sent in mail.outbox] == [
        "Written where there is no key",
        "Open https://pay.example.com/invitation/a-token",
    ]


def test_what_the_server_refuses_waits_longer_and_longer_and_delays_no_other(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "tests.people.test_mailing.Refusing"
    for to in ("anna@example.com", "bob@example.com"):
        mailing.write_mail(to=to, subject="Hello", text="A link")
    now, waits = timezone.now(), []
    for _ in range(9):
        mailing.send_due(now=now)
        due = Mail.objects.get(to="anna@example.com").next_attempt_at
        waits.append((due - now).seconds)
        assert mailing.send_due(now=due - timedelta(seconds=1)) == 0
        now = due
    assert waits == [120, 120, 120, 240, 480, 960, 1920, 3600, 3600]
    assert [sent.to for sent in mail.outbox] == [["bob@example.com"]]


def test_an_old_mail_is_given_up() -> None:
    old, new = (mailing.write_mail(to="anna@example.com", subject=name, text="") for name in ("old", "new"))
    now = timezone.now()
    Mail.objects.filter(pk=old.pk).update(created_at=now - mailing.KEPT_FOR - timedelta(seconds=1))
    assert mailing.purge(now=now) == 1
    assert Mail.objects.get() == new


class TestMailbox:
    def test_it_shows_the_mails_that_are_not_sent(self, settings: Settings) -> None:
        settings.MAILBOX_IS_SHOWN = True
        settings.EMAIL_BACKEND = "merchants.people.mailing.MailboxBackend"
        send_mail("A webhook was disabled", "<b>at</b> https://shop.example/hook", None, ["anna@example.com"])
        assert mailing.send_due(now=timezone.now()) == 0
        page = Client().get("/mailbox")
        assert page.status_code == 200
        assert "A webhook was disabled" in page.text
        assert "&lt;b&gt;at&lt;/b&gt;" in page.text
        assert 'href="https://shop.example/hook"' in page.text
        assert "no-store" in page.headers["Cache-Control"]

    @pytest.mark.parametrize(("is_shown", "in_production"), [(False, False), (True, True), (False, True)])
    def test_elsewhere_there_is_no_such_page(self, settings: Settings, is_shown: bool, in_production: bool) -> None:
        settings.MAILBOX_IS_SHOWN, settings.IN_PRODUCTION = is_shown, in_production
        mailing.write_mail(to="anna@example.com", subject="A secret", text="")
        reply = Client().get("/mailbox")
        assert reply.status_code == 404
        assert "A secret" not in reply.text
