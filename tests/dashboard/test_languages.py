"""The language of payers' pages: how it is found, and what follows from it."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import translation

from config.pages import wording
from merchants.members import add_member
from merchants.models import Branding
from payments.models import Payment
from tests.dashboard.conftest import browser_of
from tests.dashboard.paying import make
from tests.factories import make_merchant, make_user
from tests.payments.scenes import STELLAR

pytestmark = pytest.mark.django_db


def language_of(payment: Payment, client: Client, query: str = "", **headers: str) -> str:
    reply = client.get(f"/pay/{payment.public_id}{query}", headers=headers)
    [found] = re.findall(r'<html lang="([\w-]+)"', reply.text)
    assert reply.headers["Content-Language"] == found
    return str(found)


def test_the_language_is_asked_for_or_chosen_before_or_the_browsers_or_the_merchants() -> None:
    payment, client = make(), Client()
    assert language_of(payment, client) == "en"
    assert language_of(payment, client, **{"Accept-Language": "xx, de-AT;q=0.7, en;q=0.3"}) == "de"
    assert language_of(payment, client, "?lang=xx", **{"Accept-Language": "de"}) == "de"
    assert "ballast_language" not in client.cookies
    assert language_of(payment, client, "?lang=de") == "de"
    assert language_of(payment, client, **{"Accept-Language": "en"}) == "de"
    assert language_of(payment, client, "?lang=en") == "en"
    assert language_of(payment, client, **{"Accept-Language": "de"}) == "en"
    Branding.objects.create(merchant=payment.merchant, language="de")
    assert language_of(payment, Client()) == "de"
    assert language_of(payment, Client(), **{"Accept-Language": "fr, en;q=0.1"}) in {"fr", "en"}
    assert translation.get_language() == "en"  # nothing stays for the next request


def test_the_page_its_status_and_its_words_are_in_one_language() -> None:
    payment = make(STELLAR)
    reply = Client().get(f"/pay/{payment.public_id}?lang=de")
    assert "Senden Sie genau" in reply.text
    [status_url] = re.findall(r'data-status-url="([^"]+)"', reply.text)
    [revision] = re.findall(r'data-revision="([^"]+)"', reply.text)
    assert Client().get(status_url).json()["revision"] == revision
    assert {"Accept-Language", "Cookie"} <= {each.strip() for each in reply.headers["Vary"].split(",")}
    assert reply.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["/pay/{}/claim", "/pay/nothing", "/link/nothing", "/refund/nothing", "/return/nothing"]
)
def test_every_page_of_payers_and_their_errors_speak_it(path: str) -> None:
    reply = Client().get(path.format(make().public_id), headers={"Accept-Language": "de"})
    assert '<html lang="de"' in reply.text


def test_members_log_in_in_a_language_of_the_dashboard_and_the_api_is_english() -> None:
    for path, asked, found in (
        ("/login", "de", "de"),
        ("/signup", "ja, es-MX;q=0.5", "es"),
        ("/login", "fr", "en"),
        ("/api/v1/payments", "de", None),
        ("/admin/login/", "de", None),
    ):
        reply = Client().get(path, headers={"Accept-Language": asked})
        assert reply.headers.get("Content-Language") == found
    member = add_member(merchant=make_merchant(), user=make_user())
    assert (member.language, member.number_style) == ("en", "comma")
    with translation.override("de"):
        member = add_member(merchant=make_merchant(), user=make_user())
    assert (member.language, member.number_style) == ("de", "point")
    assert '<html lang="de"' in browser_of(member).get("/dashboard").text
    with translation.override("ja"):  # of somebody who was let in on a payer's page: there is none
        assert add_member(merchant=make_merchant(), user=make_user()).language == "en"


def test_a_rate_stays_in_its_order_from_right_to_left() -> None:
    payment = make()
    assert f"\u20661 {payment.cryptocurrency} = " in Client().get(f"/pay/{payment.public_id}?lang=ar").text


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", "1,250.50 EUR"),
        ("de", "1.250,50 EUR"),
        ("fr", "1\u202f250,50 EUR"),
        ("ja", "1,250.50 EUR"),
        ("ar", "\u20661,250.50 EUR\u2069"),
    ],
)
def test_amounts_for_reading_are_written_as_the_language_writes_them(language: str, shown: str) -> None:
    with translation.override(language):
        assert wording.fiat(125_050, "EUR") == shown
    with translation.override(language), wording.numbers_as("apostrophe"):
        assert "1\u2019250.50 EUR" in wording.fiat(125_050, "EUR")
