"""Lists of payments by network, coin, currency and status, which are read group by group."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any
from urllib.parse import urlencode

import pytest

from payments.groups import COLUMNS
from payments.models import Payment
from payments.services import cancel_payment
from tests.factories import ApiClient, api_client, make_key, make_merchant
from tests.payments.scenes import ETHEREUM, POLYGON, make_payment

pytestmark = pytest.mark.django_db


@pytest.fixture
def own() -> list[Payment]:
    """Payments of twelve groups, and of each more than one but not side by side; somebody else's too."""
    merchant = make_merchant()
    made = []
    for _ in range(2):
        for network, coin, currency in product((ETHEREUM, POLYGON), ("USDC", "DAI"), ("EUR", "USD")):
            made.append(make_payment(network, coin, "20", merchant=merchant, currency=currency))
        make_payment(POLYGON, "DAI", "20", currency="EUR")
    for payment in made[::4]:
        cancel_payment(payment)
    return list(Payment.objects.filter(merchant=merchant).order_by("-pk"))


def queries() -> Iterator[dict[str, str]]:
    values = {
        "network": [POLYGON, "stellar"],
        "cryptocurrency": ["DAI"],
        "currency": ["EUR", "CHF"],
        "status": ["cancelled", "created,cancelled", "completed,refunded"],
    }
    for number in (1, 2, 3, 4):
        for names in combinations(COLUMNS, number):
            yield from (dict(zip(names, each, strict=True)) for each in product(*(values[name] for name in names)))


def pages(client: ApiClient, query: dict[str, str], turn: str, place: int) -> Iterator[dict[str, Any]]:
    cursor: dict[str, str] = {}
    while True:
        page = client.call("GET", f"/payments?{urlencode({**query, **cursor, 'limit': '3'})}").json()
        yield page
        if not page["hasMore"]:
            return
        cursor = {turn: page["data"][place]["id"]}


def test_groups_make_the_list_that_reading_all_payments_makes(own: list[Payment]) -> None:
    client = api_client(make_key(own[0].merchant))
    for query in queries():
        wanted = [
            payment.public_id
            for payment in own
            if all(getattr(payment, name) in value.split(",") for name, value in query.items())
        ]
        found = list(pages(client, query, "starting_after", -1))
        assert [each["id"] for page in found for each in page["data"]] == wanted, query
        assert {page["totalCount"] for page in found} == {len(wanted)}, query


def test_groups_are_turned_back_and_bounded_in_time(own: list[Payment]) -> None:
    client = api_client(make_key(own[0].merchant))
    polygon = [payment.public_id for payment in own if payment.network == POLYGON]
    query = {"network": POLYGON, "ending_before": polygon[-1]}
    first = client.call("GET", f"/payments?{urlencode({**query, 'limit': '3'})}").json()
    assert ([each["id"] for each in first["data"]], first["hasMore"]) == (polygon[-4:-1], True)
    at = own[5].created_at.isoformat().replace("+00:00", "Z")
    older = [payment.public_id for payment in own[5:] if payment.network == POLYGON]
    reply = client.call("GET", f"/payments?{urlencode({'network': POLYGON, 'created_lte': at})}").json()
    assert ([each["id"] for each in reply["data"]], reply["totalCount"]) == (older, len(older))
    nothing = {"network": POLYGON, "created_gte": "2199-01-01", "created_lte": "2198-01-01"}
    assert client.call("GET", f"/payments?{urlencode(nothing)}").json()["totalCount"] == 0
