"""Deliveries of webhooks on the dashboard."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config import ids
from config.api.renderers import render_json
from config.environments import Environment
from merchants.models import Member
from tests.payments.scenes import make_payment
from tests.webhooks.scenes import (
    answering,
    current,
    make_all_due,
    make_delivery,
    make_endpoint,
    make_event,
    now,
    send_due,
    unknown,
)
from webhooks.events.catalogue import PAYMENT_CREATED, PAYMENT_EXPIRED
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.pages.presenters import delivery_badge
from webhooks.records import event_record
from webhooks.schedule import Reply
from webhooks.sending.fan_out import fan_out
from webhooks.services import delete_endpoint, disable_endpoint, send_test
from webhooks.states import DisabledReason

LIST = "/dashboard/deliveries"
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="[^"]+"')


@pytest.fixture
def endpoint(member: Member) -> Endpoint:
    return make_endpoint(member.merchant)


def listed(client: Client, query: str = "") -> list[str]:
    """The ids on a page of the list, in its order."""
    return list(dict.fromkeys(re.findall(r'href="/dashboard/deliveries/(dlv_\w+)"', client.get(LIST + query).text)))


def address_of(delivery: Delivery) -> str:
    return f"{LIST}/{delivery.public_id}"


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


# --- the list ----------------------------------------------------------------------------------------


def test_the_list_is_newest_first_and_only_ones_own(client: Client, endpoint: Endpoint) -> None:
    first, second = make_delivery(endpoint), make_delivery(endpoint)
    make_delivery(make_endpoint())
    make_delivery(make_endpoint(endpoint.merchant, Environment.PRODUCTION))
    assert listed(client) == [second.public_id, first.public_id]


def test_the_list_is_filtered_by_endpoint_status_type_and_day(client: Client, endpoint: Endpoint) -> None:
    delivered = make_delivery(endpoint)
    send_due()
    other = make_endpoint(endpoint.merchant, url="https://other.example/")
    make_event(endpoint.merchant, PAYMENT_EXPIRED)
    fan_out()
    here, there = Delivery.objects.get(endpoint=endpoint, status="pending"), Delivery.objects.get(endpoint=other)
    today = timezone.now().date()
    both = {here.public_id, there.public_id}
    assert listed(client, f"?endpoint={other.public_id}") == [there.public_id]
    assert listed(client, "?status=delivered") == [delivered.public_id]
    assert set(listed(client, f"?type={PAYMENT_EXPIRED}")) == both
    assert listed(client, f"?type={PAYMENT_EXPIRED}&endpoint={endpoint.public_id}") == [here.public_id]
    assert set(listed(client, f"?start={today}&end={today}")) == {*both, delivered.public_id}
    assert listed(client, f"?start={today + timedelta(days=1)}") == []
    assert listed(client, f"?end={today - timedelta(days=1)}") == []
    assert "Nothing matches" in client.get(f"{LIST}?type={PAYMENT_CREATED}").text


def test_a_senseless_filter_says_so(client: Client, endpoint: Endpoint) -> None:
    make_delivery(endpoint)
    page = client.get(f"{LIST}?status=lost&start=yesterday&endpoint=whk_1&type=x&q=%00").text
    assert page.count("Select a valid choice.") == 3
    assert "Enter a valid date." in page
    assert "Null characters are not allowed." in page


def test_another_merchants_endpoint_is_no_choice(client: Client, endpoint: Endpoint) -> None:
    foreign, never = make_endpoint().public_id, unknown(ids.WEBHOOK)
    pages = [client.get(f"{LIST}?endpoint={public_id}").text for public_id in (foreign, never)]
    first, second = (TOKEN.sub("", page).replace(foreign, never) for page in pages)
    assert first == second
    assert "Select a valid choice." in first


def test_deliveries_of_deleted_endpoints_and_payments_addresses_can_be_chosen(
    client: Client, endpoint: Endpoint
) -> None:
    make_event(endpoint.merchant, direct_url="https://shop.example/orders/1")
    fan_out()
    delete_endpoint(endpoint=endpoint)
    for chosen in Endpoint.objects.all():
        [delivery] = Delivery.objects.filter(endpoint=chosen)
        assert listed(client, f"?endpoint={chosen.public_id}") == [delivery.public_id]


def test_ids_find_what_they_stand_for(client: Client, endpoint: Endpoint) -> None:
    payment = make_payment(merchant=endpoint.merchant)
    fan_out()
    [delivery] = Delivery.objects.filter(event__object_id=payment.pk)
    test = send_test(endpoint=endpoint)
    assert listed(client, f"?q={payment.public_id}") == [delivery.public_id]
    assert listed(client, f"?q={delivery.event.public_id}") == [delivery.public_id]
    assert listed(client, f"?q=+{endpoint.public_id}+") == [test.public_id]
    response = client.get(f"{LIST}?q={delivery.public_id}")
    assert response.headers["Location"] == address_of(delivery)
    page = client.get(f"/dashboard/payments/{payment.public_id}").text
    assert f'href="{LIST}?q={payment.public_id}"' in page


def test_what_is_not_ones_own_is_not_found(client: Client, endpoint: Endpoint) -> None:
    make_delivery(endpoint)
    foreign = make_delivery(make_endpoint())
    for text in (foreign.public_id, foreign.event.public_id, unknown(ids.DELIVERY), unknown(ids.PAYMENT), "anything"):
        response = client.get(LIST, {"q": text})
        assert response.status_code == 200
        assert "Nothing matches" in response.text


def test_pages_follow_each_other_without_gap_or_repetition(client: Client, endpoint: Endpoint) -> None:
    for _ in range(30):
        make_event(endpoint.merchant)
    fan_out()
    made = [delivery.public_id for delivery in Delivery.objects.order_by("-pk")]
    older = re.search(r'href="(/dashboard/deliveries\?[^"]*)">Older', client.get(f"{LIST}?status=pending").text)
    assert older
    address = unescape(older[1]).removeprefix(LIST)
    assert "status=pending" in address
    assert listed(client, "?status=pending") + listed(client, address) == made
    last = client.get(LIST + address).text
    assert ">Older<" not in last
    assert f'href="{LIST}?status=pending">Newest' in last
    assert "5 deliveries, newest first" in last


def test_a_page_costs_the_same_however_much_is_on_it(client: Client, endpoint: Endpoint) -> None:
    counts = []
    for more in (1, 1, 10):  # the first look at a page also notes that the session is in use
        for _ in range(more):
            make_event(endpoint.merchant)
        fan_out()
        send_due(answering(500))
        with CaptureQueriesContext(connection) as queries:
            listed(client)
        counts.append(len(queries))
    assert counts[1] == counts[2]


# --- one delivery ------------------------------------------------------------------------------------


def test_a_delivery_shows_the_request_and_every_attempt(client: Client, endpoint: Endpoint) -> None:
    delivery = make_delivery(endpoint)
    send_due(lambda url: Reply(error="No connection within 5 seconds."))
    make_all_due()
    send_due(answering(503, b"try <later>"))
    page = client.get(address_of(delivery)).text
    words = words_of(page)
    for expected in ("No reply", "No connection within 5 seconds.", "503 Service Unavailable", "120 ms"):
        assert expected in words
    assert "try &lt;later&gt;" in page
    assert "Attempt 3 of 10 is due at" in words
    assert re.search(r"in [4-6] minutes\.", words)
    assert delivery.event.public_id in words
    newest = Attempt.objects.get(delivery=delivery, number=2)
    assert f"webhook-timestamp {int(newest.started_at.timestamp())}" in words


def test_the_bytes_are_shown_as_they_are_sent(client: Client, endpoint: Endpoint) -> None:
    delivery = make_delivery(endpoint)
    sent = render_json(event_record(delivery.event))
    page = unescape(client.get(address_of(delivery)).text)
    assert f'aria-label="Body as sent"><code>{sent.decode()}</code>' in page
    assert f"The {len(sent):,} bytes as they are sent and signed" in page
    assert f"Content-Length</dt>\n      <dd>\n        {len(sent)}\n" in page
    assert '{\n  "id": "evt_' in page


def test_a_reply_that_no_page_can_show_is_shown_all_the_same(client: Client, endpoint: Endpoint) -> None:
    delivery = make_delivery(endpoint)
    send_due(answering(500, b"\x00\x1b[2J\xff\n\xe2\x80\xaeabc" + b"z" * 2000))
    page = client.get(address_of(delivery)).text
    assert "\ufffd\ufffd[2J\ufffd\n\ufffdabc" in page
    assert "\u202e" not in page
    assert "z" * 1001 not in page
    assert "The beginning of the reply." in page


def test_attempts_that_are_not_kept_any_more_are_counted(client: Client, endpoint: Endpoint) -> None:
    delivery = make_delivery(endpoint)
    send_due()
    Attempt.objects.all().delete()
    page = words_of(client.get(address_of(delivery)).text)
    assert "1 earlier attempt, not kept any more after 60 days." in page
    assert "No attempt yet" not in page


def test_a_delivery_is_sent_again(client: Client, endpoint: Endpoint) -> None:
    delivery = make_delivery(endpoint)
    assert "Send it now" in client.get(address_of(delivery)).text
    send_due()
    assert "Send it again" in client.get(address_of(delivery)).text
    response = client.post(f"{address_of(delivery)}/redeliver", follow=True)
    assert "It is sent again." in response.text
    assert "It is due now, or on its way." in response.text
    assert now(delivery).status == "pending"
    assert delivery_badge(now(delivery)) == ("accent", "Waiting")
    send_due(lambda url: answering(500)(url))
    assert now(delivery).attempt_count == 2
    assert delivery_badge(now(delivery)) == ("warn", "Retrying")
    assert listed(client) == [delivery.public_id]


def test_nothing_is_sent_again_to_a_disabled_webhook(client: Client, endpoint: Endpoint) -> None:
    delivery = make_delivery(endpoint)
    disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
    page = client.get(address_of(delivery)).text
    assert "The webhook is disabled. Enable it to send this again." in page
    assert "/redeliver" not in page
    response = client.post(f"{address_of(delivery)}/redeliver", follow=True)
    assert "This webhook is disabled. Enable it first." in response.text
    assert now(delivery).status == "discarded"
    assert current(endpoint).status == "disabled"
