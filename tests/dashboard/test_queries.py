"""No page of the dashboard takes more than twelve queries but one, however many records there are."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from merchants.models import Merchant
from payments.chains.simulated.networks import address_named
from tests.dashboard.addresses import DOWNLOADS, READS, Records
from tests.dashboard.conftest import browser_of
from tests.factories import make_key, make_member
from tests.networks import ETHEREUM
from tests.payments.linking import begin, make_link
from tests.refunds.scenes import ask, paid, paid_by_two
from tests.settlements.page_scenes import earn, fail, make_settlements
from webhooks.services import register_endpoint, send_test

MOST = 12
PREVIEW = "/dashboard/decisions/{discrepancy}/accept"
PREVIEW_MOST = 40
"""It accepts the money and takes that back, to say what accepting it does."""
PAGES = [path for path in READS if path not in DOWNLOADS]


def test_every_page_takes_twelve_queries_at_most_and_no_more_with_more_records(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    # That a session is used is written down once a minute: on a slow machine by some page in the middle of this.
    monkeypatch.setattr("merchants.access.log_in.sessions._USE_IS_NOTED_EVERY_SECONDS", 86_400)
    client = browser_of(make_member(records.payment.merchant))
    client.get("/dashboard")  # the first page of a session writes it down
    found = []
    for number in (1, 2):
        multiply(records, number)
        found.append({path: queries_of(client, records.in_path(path)) for path in PAGES})
    many, more = found
    assert {path: asked for each in found for path, asked in each.items() if len(asked) > most_of(path)} == {}
    assert {path: (len(many[path]), more[path]) for path in PAGES if len(more[path]) > len(many[path])} == {}


def most_of(path: str) -> int:
    return PREVIEW_MOST if path == PREVIEW else MOST


def queries_of(client: Client, address: str) -> list[str]:
    """What the page asks the database, without the beginnings and ends of database transactions."""
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    asked = [query["sql"].lstrip() for query in captured]
    return [sql for sql in asked if sql.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "("))]


def multiply(records: Records, number: int) -> None:
    """More of everything that pages list, as it comes about."""
    merchant: Merchant = records.payment.merchant
    earn(merchant, network=ETHEREUM, wallet=address_named(ETHEREUM, f"of turn {number}"))
    for settlement in make_settlements(merchant):
        fail(settlement)
    for each in range(2):
        begin(make_link(merchant, max_uses=3))
        begin(records.link)
        paid(received=["125"], merchant=merchant)
        ask(paid_by_two(merchant=merchant))
        make_key(merchant)
        url = f"https://shop{number}{each}.example/ballast"
        endpoint, _ = register_endpoint(merchant=merchant, environment=records.payment.environment, url=url)
        send_test(endpoint=endpoint)
        send_test(endpoint=records.webhook)
        earn(merchant, network=ETHEREUM, wallet=address_named(ETHEREUM, f"waits {number}{each}"))
