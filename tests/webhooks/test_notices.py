"""Mails to members about what they have chosen: gathered, bounded, and each event once."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from config import ids
from config.environments import Environment
from merchants.members import prefer
from merchants.models import Member, Merchant
from merchants.people.models import Mail
from merchants.preferences import Notice
from merchants.roles import Role
from tests.factories import make_member, make_merchant
from webhooks.events.notices import ABOUT, GATHERED_FOR, MOST_NAMED, NEVER_OLDER_THAN, SETTLES_AFTER, write_notices
from webhooks.events.samples import sample_of
from webhooks.models import Event, NoticeRound

pytestmark = pytest.mark.django_db

NOW = timezone.now().replace(microsecond=0)


@pytest.fixture
def merchant() -> Merchant:
    write_notices(now=NOW)  # the first round notes since when
    return make_merchant("Harbour Coffee")


def happen(merchant: Merchant, kind: str, *, number: int = 1, at: datetime = NOW, environment: str = "sandbox") -> None:
    """As their services record them: the samples are real records."""
    records = {"payment": ids.PAYMENT, "settlement": ids.SETTLEMENT}
    noun = kind.partition(".")[0]
    for _ in range(number):
        key = ids.new_uuid(round(at.timestamp() * 1000))
        sample = sample_of(kind)["data"]["object"]
        payload = {**sample, "id": records[noun].encode(key), "amount": "12.50", "metadata": "x"}
        Event.objects.create(
            id=key,
            merchant=merchant,
            environment=environment,
            type=kind,
            object_id=key,
            version=1,
            payload=payload,
        )


def next_round(rounds: int = 1) -> int:
    return write_notices(now=NOW + rounds * (GATHERED_FOR + SETTLES_AFTER))


def choose(member: Member, *notices: str) -> None:
    prefer(member=member, language="en", timezone="UTC", number_style="comma", notices=notices)


@pytest.mark.parametrize("kind", ABOUT)
def test_each_event_is_told_to_those_who_want_it(merchant: Merchant, kind: str) -> None:
    usual = {role: make_member(merchant, role=role) for role in Role}
    eager, deaf, foreign = make_member(merchant, role=Role.VIEWER), make_member(merchant), make_member()
    choose(eager, *Notice.values)
    choose(deaf)
    happen(merchant, kind)
    next_round()
    told = set(Mail.objects.values_list("to", flat=True))
    leading = {usual[Role.OWNER].user.email, usual[Role.ADMIN].user.email}
    assert told == {eager.user.email} | (leading if ABOUT[kind] in (Notice.DECISION, Notice.HELD) else set())
    assert foreign.user.email not in told
    currency = "USDC" if kind.startswith("settlement") else "USD"
    assert all(f"- 12.50 {currency}, " in mail.text for mail in Mail.objects.all())


def test_a_mail_has_amount_reference_and_link_and_nothing_else_of_the_record(merchant: Merchant) -> None:
    make_member(merchant)
    happen(merchant, "payment.overpaid")
    assert next_round() == 1
    mail, record = Mail.objects.get(), Event.objects.get().payload["id"]
    assert mail.subject == "Sandbox: Harbour Coffee: Money waits for a decision (1)"
    assert f"- 12.50 USD, {record}\n  http://127.0.0.1:8000/dashboard/payments/{record}\n" in mail.text
    assert "http://127.0.0.1:8000/dashboard/preferences" in mail.text
    assert "metadata" not in mail.text


def test_a_thousand_payments_are_one_mail_and_nothing_is_told_twice(merchant: Merchant) -> None:
    member = make_member(merchant)
    choose(member, Notice.PAID, Notice.UNPAID)
    happen(merchant, "payment.completed", number=40)
    happen(merchant, "payment.expired", number=2)
    assert next_round() == 1
    text = Mail.objects.get().text
    assert ("A payment is paid (40):" in text, f"and {40 - MOST_NAMED} more." in text) == (True, True)
    assert text.count("- 12.50 USD") == MOST_NAMED + 2
    assert [next_round(), next_round(2), next_round(3)] == [0, 0, 0]
    assert Mail.objects.count() == 1


def test_what_is_still_being_committed_is_told_in_the_next_round(merchant: Merchant) -> None:
    make_member(merchant)
    end = NOW + GATHERED_FOR
    happen(merchant, "payment.late", at=end - timedelta(milliseconds=1))
    happen(merchant, "payment.late", at=end)
    assert write_notices(now=end) == 0, "not due yet"
    assert next_round() == 1
    assert "(1)" in Mail.objects.get().subject
    assert next_round(2) == 1
    assert Mail.objects.count() == 2


def test_environments_are_told_apart(merchant: Merchant) -> None:
    make_member(merchant)
    for environment in Environment:
        happen(merchant, "settlement.failed", environment=environment)
    assert next_round() == 2
    assert {mail.subject.startswith("Sandbox: ") for mail in Mail.objects.all()} == {True, False}


def test_after_a_long_stop_only_the_last_day_is_told(merchant: Merchant) -> None:
    make_member(merchant)
    happen(merchant, "payment.late", number=3)
    happen(merchant, "payment.late", at=NOW + timedelta(days=5))
    assert write_notices(now=NOW + timedelta(days=5) + NEVER_OLDER_THAN - timedelta(minutes=1)) == 1
    assert "(1)" in Mail.objects.get().subject


def test_who_has_left_is_told_nothing(merchant: Merchant) -> None:
    gone, inactive = make_member(merchant), make_member(merchant)
    make_member(merchant, role=Role.VIEWER)
    inactive.user.is_active = False
    inactive.user.save()
    happen(merchant, "payment.late")
    gone.delete()
    assert next_round() == 0


def test_a_round_whose_mails_are_not_written_is_done_again(merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    make_member(merchant)
    happen(merchant, "payment.late")
    until = NoticeRound.objects.get().told_until
    with monkeypatch.context() as patch:
        patch.setattr("webhooks.events.notices._part", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            next_round()
    assert NoticeRound.objects.get().told_until == until
    assert next_round() == 1


def test_a_record_that_cannot_be_named_is_counted_and_all_others_are_told(merchant: Merchant) -> None:
    make_member(merchant)
    happen(merchant, "payment.late", number=2)
    damaged, whole = Event.objects.order_by("id")
    del damaged.payload["currency"]
    damaged.save()
    assert next_round() == 1
    mail = Mail.objects.get()
    assert "(2)" in mail.subject
    assert [each.payload["id"] in mail.text for each in (damaged, whole)] == [False, True]
    assert "and 1 more." in mail.text
