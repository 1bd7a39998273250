"""What a member chooses for themselves, and how pages follow it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from config.pages.wording import coins, fiat, grouped, numbers_as
from merchants.audit.models import LoggedAction
from merchants.models import Member
from merchants.preferences import Notice, NumberStyle
from merchants.roles import Role
from merchants.wording import exact
from payments.models import Payment
from tests.factories import make_member
from tests.payments.scenes import make_payment

pytestmark = pytest.mark.django_db

CHOSEN = {"timezone": "new york", "number_style": "point", "language": "en", "notices": ["payment_paid"]}


def browser_of(member: Member) -> Client:
    client = Client()
    client.force_login(member.user)
    return client


def test_what_is_chosen_counts_for_one_member_at_one_merchant() -> None:
    member = make_member(role=Role.VIEWER)
    other = make_member(member.merchant)
    assert browser_of(member).post("/dashboard/preferences", CHOSEN).status_code == 302
    member, other = Member.objects.get(pk=member.pk), Member.objects.get(pk=other.pk)
    assert (member.timezone, member.number_style, member.notices) == ("America/New_York", "point", ["payment_paid"])
    assert (other.timezone, other.number_style, other.notices) == (
        "UTC",
        "comma",
        ["decision", "settlement_held", "settlement_waits"],
    )
    row = LoggedAction.objects.get()
    assert row.before == {"timezone": "UTC", "number_style": "comma", "notices": []}


@pytest.mark.parametrize(
    "wrong", [{"timezone": "Moon/Base"}, {"number_style": "roman"}, {"language": "tlh"}, {"notices": ["everything"]}]
)
def test_what_there_is_not_is_refused_at_its_field(wrong: dict[str, str]) -> None:
    member = make_member()
    page = browser_of(member).post("/dashboard/preferences", CHOSEN | wrong)
    assert (page.status_code, list(page.context["form"].errors)) == (400, list(wrong))
    assert Member.objects.get().chosen_notices is None


def test_who_wants_nothing_gets_nothing() -> None:
    member = make_member()
    browser_of(member).post("/dashboard/preferences", CHOSEN | {"notices": []})
    assert Member.objects.get().notices == []


def test_usual_notices_are_those_of_the_role() -> None:
    told = {role: Member(role=role).notices for role in Role}
    assert told == {role: [] for role in Role} | {
        role: [Notice.DECISION, Notice.HELD, Notice.WAITS] for role in (Role.OWNER, Role.ADMIN)
    }
    assert Member(role="janitor").notices == []


def test_pages_show_times_and_numbers_as_chosen_and_the_payers_page_does_not(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0
    payment = make_payment(amount="1250.00")
    Payment.objects.filter(pk=payment.pk).update(expires_at=datetime(2027, 1, 22, 20, 30, tzinfo=UTC))
    member = make_member(payment.merchant)
    client, address = browser_of(member), f"/dashboard/payments/{payment.public_id}"
    page = client.get(address).text
    assert ("22 Jan 2027, 20:30:00 UTC" in page, "1,250.00 USD" in page) == (True, True)
    client.post("/dashboard/preferences", CHOSEN)
    page = client.get(address).text
    assert ("22 Jan 2027, 15:30:00 EST" in page, "1.250,00 USD" in page) == (True, True)
    assert "1,250.00 USD" in client.get(f"/pay/{payment.public_id}").text
    assert exact(datetime(2027, 1, 22, 20, 30, tzinfo=UTC)) == "22 Jan 2027, 20:30:00 UTC", "the request is over"


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        ("comma", ("1,234.50 EUR", "1,234.50 USDC", "1,234.5")),
        ("point", ("1.234,50 EUR", "1.234,50 USDC", "1.234,5")),
        ("space", ("1\u202f234,50 EUR", "1\u202f234,50 USDC", "1\u202f234,5")),
        ("apostrophe", ("1\u2019234.50 EUR", "1\u2019234.50 USDC", "1\u2019234.5")),
    ],
)
def test_numbers_for_reading_are_in_the_style_of_who_reads(style: str, shown: tuple[str, ...]) -> None:
    assert style in NumberStyle.values
    with numbers_as(style):
        assert (fiat(123450, "EUR"), coins(1234500000, 6, "USDC"), grouped("1234.5")) == shown
    assert grouped("1234.5") == "1,234.5"
