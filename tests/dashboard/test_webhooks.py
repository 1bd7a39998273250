"""Webhook endpoints on the dashboard."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from config.environments import Environment
from merchants.models import Member
from merchants.roles import Role
from tests.dashboard.conftest import browser_of
from tests.factories import make_member
from tests.webhooks.scenes import answering, current, make_delivery, make_endpoint, make_event, send_due
from webhooks.endpoints.secrets import live_secrets
from webhooks.events.catalogue import CATALOGUE, PAYMENT_COMPLETED, PAYMENT_CREATED
from webhooks.models import Delivery, Endpoint, SigningSecret
from webhooks.pages.presenters import Bar, LastDay, last_days
from webhooks.sending.fan_out import fan_out
from webhooks.services import disable_endpoint
from webhooks.states import DisabledReason

SECRET = re.compile(r"whsec_[0-9A-Za-z+/]{43}=")
URL = "https://harbourcoffee.example/ballast"
NEW = "/dashboard/webhooks/new"
FOR_PAYMENTS = "/dashboard/webhooks/signing-secret"


def form_of(client: Client, path: str = NEW, **fields: object) -> dict[str, object]:
    """A fresh form, filled in."""
    form_id = re.search(r'name="form_id" value="([^"]+)"', client.get(path).text)
    assert form_id
    return {"form_id": form_id[1], "url": URL, "events": ["*"], **fields}


def words_of(page: str) -> str:
    """The page as one line, without what stands between the words."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def address_of(endpoint: Endpoint, action: str = "") -> str:
    return f"/dashboard/webhooks/{endpoint.public_id}{action}"


@pytest.fixture
def endpoint(member: Member) -> Endpoint:
    return make_endpoint(member.merchant, url=URL)


# --- adding and changing -----------------------------------------------------------------------------


def test_a_new_webhook_shows_its_secret_once(client: Client, member: Member) -> None:
    response = client.post(NEW, form_of(client, description="Order system"))
    assert response.status_code == 200
    assert "no-store" in response.headers["Cache-Control"]
    endpoint = Endpoint.objects.get()
    assert set(SECRET.findall(response.text)) == set(live_secrets(endpoint, timezone.now()))
    assert (endpoint.merchant, endpoint.environment) == (member.merchant, Environment.SANDBOX)
    assert (endpoint.url, endpoint.description, endpoint.events) == (URL, "Order system", ["*"])
    for action in ("", "/edit", "/rotate", "/disable", "/delete"):
        assert not SECRET.search(client.get(address_of(endpoint, action)).text)
    assert not SECRET.search(client.get("/dashboard/webhooks").text)


def test_sending_the_same_form_again_makes_and_shows_nothing(client: Client) -> None:
    fields = form_of(client)
    client.post(NEW, fields)
    again = client.post(NEW, fields, follow=True)
    assert not SECRET.search(again.text)
    assert "A secret is shown only once" in again.text
    assert Endpoint.objects.count() == 1


def test_the_form_offers_the_whole_catalogue_and_everything_first(client: Client) -> None:
    page = client.get(NEW).text
    assert re.findall(r'name="events"\s+value="([^"]+)"', page) == ["*", *CATALOGUE]
    assert re.findall(r'value="([^"]+)"[^>]*\schecked', page) == ["*"]
    assert all(str(words) in page for words in CATALOGUE.values())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"url": ""}, "Enter the address that receives the events."),
        ({"url": "http://10.0.0.8/"}, "Must be a public address"),
        ({"url": "https://shop.example:22/"}, "Must use port"),
        ({"url": "javascript:alert(1)"}, "http"),
        ({"url": f"https://shop.example/{'x' * 2000}"}, "at most 2000 characters"),
        ({"events": []}, "Tick at least one event, or everything."),
        ({"events": ["payment.lost"]}, "Select a valid choice."),
        ({"description": "x" * 201}, "at most 200 characters"),
        ({"description": "bell \x07"}, "printable characters"),
    ],
)
def test_a_bad_form_says_what_is_wrong_and_makes_nothing(client: Client, change: dict[str, object], words: str) -> None:
    response = client.post(NEW, form_of(client) | change)
    assert words in response.text
    assert "field__error" in response.text
    assert not SECRET.search(response.text)
    assert not Endpoint.objects.exists()


def test_production_takes_https_only_and_says_so(client: Client) -> None:
    client.post("/dashboard/environment", {"environment": "production"})
    assert "A public address that begins with https://." in client.get(NEW).text
    assert "https" in client.post(NEW, form_of(client, url="http://shop.example/")).text
    assert not Endpoint.objects.exists()
    client.post(NEW, form_of(client))
    assert Endpoint.objects.get().environment == Environment.PRODUCTION


@pytest.mark.parametrize("allowed", [True, False])
def test_this_machine_is_offered_only_where_it_may_be_called(client: Client, settings: Settings, allowed: bool) -> None:
    settings.WEBHOOK_ALLOW_LOOPBACK = allowed
    for path in (NEW, "/dashboard/webhooks"):
        assert ("127.0.0.1" in client.get(path).text) is allowed
    client.post("/dashboard/environment", {"environment": "production"})
    assert "127.0.0.1" not in client.get(NEW).text


def test_an_edit_begins_with_what_is_and_saves_what_is_changed(client: Client, member: Member) -> None:
    endpoint = make_endpoint(member.merchant, events=[PAYMENT_COMPLETED], description="Till")
    page = client.get(address_of(endpoint, "/edit")).text
    assert f'value="{endpoint.url}"' in page
    assert re.findall(r'value="([^"]+)"[^>]*\schecked', page) == [PAYMENT_COMPLETED]
    events = [PAYMENT_COMPLETED, PAYMENT_CREATED]
    response = client.post(
        address_of(endpoint, "/edit"), {"url": URL, "description": "", "events": events}, follow=True
    )
    assert "The changes are saved." in response.text
    changed = current(endpoint)
    assert (changed.url, changed.description, changed.events) == (URL, "", [PAYMENT_CREATED, PAYMENT_COMPLETED])


def test_a_refused_edit_changes_nothing(client: Client, endpoint: Endpoint) -> None:
    response = client.post(address_of(endpoint, "/edit"), {"url": "http://169.254.169.254/", "events": ["*"]})
    assert "Must be a public address" in response.text
    assert current(endpoint).url == URL


# --- secrets -----------------------------------------------------------------------------------------


def test_rotating_shows_the_new_secret_once_and_says_until_when_the_old_one_lives(
    client: Client, endpoint: Endpoint
) -> None:
    [old] = live_secrets(endpoint, timezone.now())
    fields = form_of(client, address_of(endpoint, "/rotate"))
    response = client.post(address_of(endpoint, "/rotate"), fields)
    rotated = current(endpoint)
    new, still = live_secrets(rotated, timezone.now())
    assert still == old
    assert SECRET.findall(response.text)[0] == new
    assert old not in response.text
    assert "no-store" in response.headers["Cache-Control"]
    until = rotated.previous_secret_expires_at
    assert until is not None
    assert f"also signs until {until:%-d %b %Y, %H:%M} UTC" in words_of(response.text)
    page = client.get(address_of(endpoint)).text
    assert f"until {until:%-d %b %Y, %H:%M} UTC the one before it" in words_of(page)
    assert not SECRET.search(page)

    again = client.post(address_of(endpoint, "/rotate"), fields, follow=True)
    assert "A secret is shown only once" in again.text
    assert not SECRET.search(again.text)
    assert live_secrets(current(endpoint), timezone.now()) == [new, old]


def test_after_a_day_one_secret_signs(client: Client, endpoint: Endpoint) -> None:
    client.post(address_of(endpoint, "/rotate"), form_of(client, address_of(endpoint, "/rotate")))
    Endpoint.objects.update(previous_secret_expires_at=timezone.now() - timedelta(seconds=1))
    assert "Shown once, when it was created." in client.get(address_of(endpoint)).text


def test_the_secret_for_addresses_of_payments_is_shown_once_too(client: Client, member: Member) -> None:
    assert "Nothing has been signed with another one yet." in words_of(client.get(FOR_PAYMENTS).text)
    fields = form_of(client, FOR_PAYMENTS)
    response = client.post(FOR_PAYMENTS, fields)
    held = SigningSecret.objects.get(merchant=member.merchant, environment=Environment.SANDBOX)
    assert SECRET.findall(response.text)[0] == live_secrets(held, timezone.now())[0]
    again = client.post(FOR_PAYMENTS, fields, follow=True)
    assert not SECRET.search(again.text)
    assert "for another 24 hours" in words_of(client.get(FOR_PAYMENTS).text)


# --- testing, disabling, deleting --------------------------------------------------------------------


def test_a_test_leads_to_its_delivery(client: Client, endpoint: Endpoint) -> None:
    response = client.post(address_of(endpoint, "/test"), follow=True)
    delivery = Delivery.objects.get()
    assert response.redirect_chain == [(f"/dashboard/deliveries/{delivery.public_id}", 302)]
    assert "A test is on its way." in response.text
    assert "webhook.test" in response.text


def test_disabling_asks_first_and_says_what_is_lost(client: Client, endpoint: Endpoint) -> None:
    make_delivery(endpoint)
    make_delivery(endpoint)
    assert "2 deliveries that wait for an attempt are discarded." in client.get(address_of(endpoint, "/disable")).text
    response = client.post(address_of(endpoint, "/disable"), follow=True)
    assert "Nothing is sent to it" in response.text
    assert "Send a test" not in response.text
    disabled = current(endpoint)
    assert (disabled.status, disabled.disabled_reason) == ("disabled", DisabledReason.MERCHANT)
    assert not disabled.is_mail_due


def test_a_disabled_webhook_says_why_and_is_enabled_again(client: Client, endpoint: Endpoint) -> None:
    disable_endpoint(endpoint=endpoint, reason=DisabledReason.FAILING)
    assert "No attempt succeeded for five days" in client.get("/dashboard/webhooks").text
    assert "No attempt succeeded for five days." in client.get(address_of(endpoint)).text
    refused = client.post(address_of(endpoint, "/test"), follow=True)
    assert "This webhook is disabled. Enable it first." in refused.text
    response = client.post(address_of(endpoint, "/enable"), follow=True)
    assert "It receives events from now on" in response.text
    assert current(endpoint).status == "enabled"


def test_a_failing_webhook_says_since_when(client: Client, endpoint: Endpoint) -> None:
    make_delivery(endpoint)
    send_due(answering(503))
    since = current(endpoint).failing_since
    assert since is not None
    page = client.get("/dashboard/webhooks").text
    assert "Failing" in page
    assert f"Since {since:%-d %b, %H:%M}" in page
    assert "After five days without a success" in client.get(address_of(endpoint)).text


def test_a_deleted_webhook_is_gone_and_its_deliveries_are_not(client: Client, endpoint: Endpoint) -> None:
    delivery = make_delivery(endpoint)
    assert "One delivery that waits for an attempt is discarded." in client.get(address_of(endpoint, "/delete")).text
    response = client.post(address_of(endpoint, "/delete"), follow=True)
    assert "The webhook is deleted." in response.text
    assert endpoint.public_id not in response.text
    assert client.get(address_of(endpoint)).status_code == client.post(address_of(endpoint, "/delete")).status_code
    assert client.get(address_of(endpoint)).status_code == 404
    page = client.get(f"/dashboard/deliveries/{delivery.public_id}").text
    assert "(deleted)" in page
    assert "Send it again" not in page


def test_a_developer_manages_webhooks(member: Member) -> None:
    developer = browser_of(make_member(member.merchant, role=Role.DEVELOPER))
    assert SECRET.search(developer.post(NEW, form_of(developer)).text)


def test_the_address_of_a_payment_is_shown_but_not_managed(client: Client, member: Member) -> None:
    make_event(member.merchant, direct_url="https://shop.example/orders/1")
    fan_out()
    direct = Endpoint.objects.get(is_direct=True)
    assert direct.public_id not in client.get("/dashboard/webhooks").text
    page = client.get(address_of(direct)).text
    assert "requests are signed with the account’s secret" in words_of(page)
    for action in ("/edit", "/rotate", "/delete"):
        assert address_of(direct, action) not in page
        assert client.get(address_of(direct, action)).status_code == 404
    assert client.post(address_of(direct, "/test")).status_code == 302
    assert client.post(address_of(direct, "/disable")).status_code == 302
    assert current(direct).status == "disabled"


# --- the list and the last day -----------------------------------------------------------------------


def test_the_list_shows_what_one_needs_to_know(client: Client, member: Member) -> None:
    endpoint = make_endpoint(member.merchant, events=[PAYMENT_COMPLETED], description="Till")
    make_endpoint(url="https://somebody.example/else")
    make_endpoint(member.merchant, Environment.PRODUCTION, url="https://other.example/environment")
    make_delivery(endpoint)
    send_due()
    page = client.get("/dashboard/webhooks").text
    for words in ("shop.example.com", "/webhooks", "Till", PAYMENT_COMPLETED, "Enabled", "Delivered", "100 %"):
        assert words in page
    assert 'aria-label="1 of 1 delivered in the last 24 hours"' in page
    assert "somebody.example" not in page
    assert "other.example" not in page


def test_newcomers_are_told_how_to_begin(client: Client) -> None:
    page = client.get("/dashboard/webhooks").text
    assert "Get told about payments as they happen" in page
    assert "webhook_listen" in page


def test_the_last_day_is_counted_hour_by_hour(member: Member) -> None:
    endpoint, other = make_endpoint(member.merchant), make_endpoint(member.merchant)
    now = timezone.now()
    for minutes in (1, 59, 61, 23 * 60 + 59, 24 * 60 + 1):
        delivery = make_delivery(endpoint)
        at = int((now - timedelta(minutes=minutes)).timestamp() * 1000)
        Delivery.objects.filter(pk=delivery.pk).update(id=ids.new_uuid(at))
    send_due()
    make_delivery(endpoint)
    day = last_days([endpoint, other], now)[endpoint.pk]
    assert [bar.total for bar in day.bars] == [1, *[0] * 21, 1, 3]
    assert day.bars[-1].delivered == 2
    assert (day.bars[-1].pending, day.bars[-1].lost) == (1, 0)
    assert day.words == "4 of 5 delivered in the last 24 hours, 1 still to come"
    disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
    bar = last_days([endpoint], now)[endpoint.pk].bars[-1]
    assert (bar.delivered, bar.pending, bar.lost) == (2, 0, 1)


@pytest.mark.parametrize(
    ("delivered", "total", "share"),
    [(0, 0, ""), (0, 3, "0 %"), (1, 3, "33.3 %"), (1999, 2000, "99.9 %"), (9999, 10_000, "99.9 %"), (7, 7, "100 %")],
)
def test_nothing_less_than_all_is_called_all(delivered: int, total: int, share: str) -> None:
    assert LastDay((Bar(0, delivered, 0, total - delivered),)).share == share


@pytest.mark.parametrize(
    ("numbers", "heights"),
    [
        ((5, 0, 0), (24, 0, 0)),
        ((0, 5, 0), (0, 24, 0)),
        ((0, 0, 5), (0, 0, 24)),
        ((1, 0, 1), (12, 0, 12)),
        ((0, 1, 1), (0, 12, 12)),
        ((1, 1, 1), (8, 8, 8)),
        ((999, 0, 1), (20, 0, 4)),
        ((998, 1, 1), (16, 4, 4)),
        ((1, 98, 1), (1, 19, 4)),
    ],
)
def test_a_bar_shows_even_one_failure(numbers: tuple[int, int, int], heights: tuple[int, int, int]) -> None:
    bar = Bar(0, *numbers)
    assert (bar.delivered_height, bar.pending_height, bar.lost_height) == heights
