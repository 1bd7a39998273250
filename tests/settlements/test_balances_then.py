"""The balance as it was at any instant, from the ledger: what was read at the time, and what statements account for."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from config import ids
from merchants.ledger.models import Posting
from tests.factories import ApiClient, api_client, make_key, make_merchant
from tests.payments.scenes import ETHEREUM, make_payment, pay_and_confirm
from tests.settlements.page_scenes import earn, make_settlements

pytestmark = pytest.mark.django_db


def balances(client: ApiClient, at: str = "") -> list[dict[str, Any]]:
    reply = client.call("GET", f"/balance{at and f'?at={at}'}")
    assert reply.status_code == 200, reply.content
    found: list[dict[str, Any]] = reply.json()["balances"]
    return found


def written(instant: datetime) -> str:
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def last_posting() -> datetime:
    return ids.created_at_of(Posting.objects.latest("id").id)


def test_every_balance_that_was_read_can_be_read_again_later() -> None:
    merchant, stranger = make_merchant(), make_merchant()
    client = api_client(make_key(merchant))
    read: list[tuple[datetime, list[dict[str, Any]]]] = []

    def note() -> None:
        read.append((last_posting(), balances(client)))

    earn(merchant)
    note()
    earn(stranger, "7")
    pay_and_confirm(make_payment(ETHEREUM, merchant=merchant), "125")  # the surplus waits for a decision
    note()
    earn(merchant, "30", coin="USDT")
    note()
    settlements = make_settlements(merchant)
    note()
    assert [each[0]["inSuspense"] for _, each in read] == ["0.000000", *["25.000000"] * 3]
    for instant, then in read:
        now = balances(client, written(instant))
        assert [each for each in now if {each["available"], each["inSuspense"]} != {"0.000000"}] == [
            each for each in then if {each["available"], each["inSuspense"]} != {"0.000000"}
        ]

    settled: dict[str, Decimal] = {}
    for settlement in settlements:
        statement = client.call("GET", f"/settlements/{settlement.public_id}/statement").json()
        for account in statement["coins"]:
            lines = [line for line in (*account["carriedOver"], *account["entries"]) if line["type"] == "payment"]
            settled[account["cryptocurrency"]] = sum((Decimal(line["amount"]) for line in lines), Decimal(0))
    assert settled == {each["cryptocurrency"]: Decimal(each["available"]) for each in read[-2][1]}
    assert {each["available"] for each in read[-1][1]} == {"0.000000"}


def test_before_the_first_posting_there_is_nothing() -> None:
    merchant = make_merchant()
    earn(merchant)
    client = api_client(make_key(merchant))
    assert balances(client, written(merchant.created_at - timedelta(days=1))) == []


@pytest.mark.parametrize(
    ("at", "says"),
    [("9998-01-01", "Must not be in the future."), ("yesterday", "Must be a date such as 2027-01-31")],
)
def test_an_instant_that_is_none_is_refused_by_name(at: str, says: str) -> None:
    reply = api_client(make_key(make_merchant())).call("GET", f"/balance?at={at}")
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "at")
    assert says in reply.json()["error"]["message"]
