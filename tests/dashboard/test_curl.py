"""The commands on the pages read from the API just what the page shows, with the keys of somebody's shell."""

from __future__ import annotations

import json
import re

from django.conf import settings
from django.test import Client

from config.environments import Environment
from merchants.models import Member
from merchants.pages import curl
from tests.dashboard.addresses import Records
from tests.dashboard.conftest import browser_of
from tests.dashboard.shell import command_on, run
from tests.factories import api_client, make_key, make_member
from tests.payments.scenes import make_payment


def test_the_command_on_the_page_of_a_record_reads_that_record(records: Records) -> None:
    merchant = records.payment.merchant
    client, key = browser_of(make_member(merchant)), make_key(merchant)
    for page, record in (
        ("payments", records.payment),
        ("refunds", records.refund),
        ("settlements", records.settlement),
        ("deliveries", records.delivery),
    ):
        reply = run(command_on(client, f"/dashboard/{page}/{record.public_id}"), key)
        assert (reply.status_code, reply.json().get("id")) == (200, record.public_id)


def test_the_command_below_a_list_reads_it_as_it_is_filtered(records: Records) -> None:
    merchant = records.payment.merchant
    client, key = browser_of(make_member(merchant)), make_key(merchant)
    for page, record in (
        ("payments", records.payment),
        ("refunds", records.refund),
        ("settlements", records.settlement),
        ("deliveries", records.delivery),
    ):
        day = f"{record.created_at:%Y-%m-%d}"
        address = f"/dashboard/{page}?status={record.status}&start={day}&end={day}"
        reply = run(command_on(client, address), key)
        assert reply.status_code == 200, reply.text
        linked = set(re.findall(rf'href="/dashboard/{page}/([a-z]{{3}}_\w+)"', client.get(address).text))
        assert {each["id"] for each in reply.json()["data"]} == linked
        assert record.public_id in linked
        other = run(command_on(client, f"/dashboard/{page}?status={record.status}&end=2020-01-01"), key)
        assert other.json()["data"] == []


def test_a_filter_that_the_api_lacks_is_named(client: Client, member: Member) -> None:
    make_payment(merchant=member.merchant)
    assert "returns more" not in client.get("/dashboard/payments?status=created").text
    assert "returns more" in client.get("/dashboard/payments?status=created&least=5").text


def test_production_has_its_own_address(client: Client) -> None:
    client.post("/dashboard/environment", {"environment": "production"})
    assert f"{settings.PUBLIC_URL}/v1/payments \\" in command_on(client, "/dashboard/payments")


def test_what_is_sent_arrives_as_it_was_written(member: Member) -> None:
    """Quotes, backslashes, dollars and a body over several lines mean nothing to the shell."""
    key = make_key(member.merchant)
    note = 'it\'s "$HOME" `x` \\n\nend'
    body = '{"amount": 5, "metadata": {"note": ' + json.dumps(note) + "}}"
    reply = run(curl.command("POST", "/sandbox/v1/payments", body=body, idempotency_key="it's 1"), key)
    assert reply.json()["error"]["param"] == "currency"
    assert api_client(key).get("/sandbox/v1/payments").json()["totalCount"] == 0
    assert curl.reading(Environment.SANDBOX, "payments", {"status": "a b"}).splitlines()[0].endswith("a+b' \\")
