"""Finding a payment by one's own order's number and other filters, all discrepancies, a quote without a payment."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote_plus, urlencode

import pytest
from django.db import connection

from merchants.access.scopes import Scope
from payments.models import Payment
from tests.factories import api_client, make_key, make_merchant
from tests.payments.creating import body
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    STELLAR,
    end_window,
    everything,
    make_payment,
    pay_and_confirm,
    watch,
)
from tests.refunds.scenes import ask, paid
from tests.stopping import halt

pytestmark = pytest.mark.django_db


def get(payment: Payment, path: str, **query: str) -> Any:
    return api_client(make_key(payment.merchant)).call("GET", f"{path}?{urlencode(query)}" if query else path)


def found(payment: Payment, **query: str) -> list[str]:
    reply = get(payment, "/payments", **query).json()
    assert reply["totalCount"] == len(reply["data"])
    return [each["id"] for each in reply["data"]]


def message(reply: Any) -> tuple[str, str]:
    assert reply.status_code == 400, reply.content
    return reply.json()["error"]["param"], reply.json()["error"]["message"]


def test_payments_are_found_by_their_metadata() -> None:
    merchant = make_merchant()
    text = make_payment(merchant=merchant, metadata={"order": "1007", "shop": "a b&c"})
    number = make_payment(merchant=merchant, metadata={"order": 1007, "gift": True, "price": 1.5})
    make_payment(merchant=merchant, metadata={"order": "10071", "deep": {"order": "1007"}})
    make_payment(metadata={"order": "1007"})  # somebody else's
    wanted = [
        ({"metadata[order]": "1007"}, [number, text]),
        ({"metadata[order]": "1007", "metadata[shop]": "a b&c"}, [text]),
        ({"metadata[order]": "1007", "metadata[gift]": "true"}, [number]),
        ({"metadata[price]": "1.50", "limit": "1"}, [number]),
        ({"metadata[order]": "1007", "status": "completed"}, []),
        ({"metadata[deep]": "1007"}, []),
        ({"metadata['; DROP TABLE payments_payment; --]": "%"}, []),
    ]
    for query, payments in wanted:
        assert found(text, **query) == [each.public_id for each in payments], query


@pytest.mark.parametrize(
    ("query", "param", "words"),
    [
        ({"metadata": "1007"}, "metadata", "Write it with a name, as in metadata[order]=1007."),
        ({"metadata[order][id]": "1"}, "metadata", "Only names of the first level"),
        ({"metadata[]": "1"}, "metadata", "Only names of the first level"),
        ({f"metadata[{n}]": "1" for n in range(11)}, "metadata", "at most 10 names"),
        ({"metadata[a]": "\x00"}, "metadata", "Write it"),
        ({"orderId": "1"}, "orderId", "Unknown parameter"),
        ({"status": "completed,paid"}, "status", "Did you mean completed?"),
        ({"status": "completed,"}, "status", "Must be one of"),
        ({"amount_gte": "3"}, "currency", "Name the currency of this amount too."),
        ({"amount_gte": "3.001", "currency": "EUR"}, "amount_gte", "at most 2 decimal places"),
        ({"amount_gte": "1e3", "currency": "EUR"}, "amount_gte", "Must be a number."),
        ({"network": "matic"}, "network", "Did you mean polygon?"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(query: dict[str, str], param: str, words: str) -> None:
    refused = message(get(make_payment(), "/payments", **query))
    assert (refused[0], words in refused[1]) == (param, True), refused


def test_the_filters_together() -> None:
    merchant = make_merchant()
    cheap = make_payment(ETHEREUM, "USDC", "20", merchant=merchant)
    dear = make_payment(POLYGON, "DAI", "20.50", merchant=merchant)
    yen = make_payment(POLYGON, "USDT", "2000", merchant=merchant, currency="JPY")
    pay_and_confirm(dear)
    for query, payments in (
        ({"status": "completed"}, [dear]),
        ({"status": "created,completed"}, [yen, dear, cheap]),
        ({"status": "created", "network": POLYGON}, [yen]),
        ({"cryptocurrency": "USDC"}, [cheap]),
        ({"currency": "USD", "amount_gte": "20", "amount_lte": "20.49"}, [cheap]),
        ({"currency": "JPY", "amount_gte": "2000"}, [yen]),
    ):
        assert found(cheap, **query) == [each.public_id for each in payments], query


def test_a_search_by_metadata_uses_its_index() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
        cursor.execute("""EXPLAIN SELECT id FROM payments_payment WHERE metadata @> '{"order": "1"}'""")
        assert "payment_metadata" in str(cursor.fetchall())


def test_pages_are_turned_in_both_directions() -> None:
    merchant = make_merchant()
    made = [make_payment(merchant=merchant) for _ in range(5)]
    newest = [each.public_id for each in reversed(made)]

    def page(**query: str) -> tuple[list[str], bool]:
        reply = get(made[0], "/payments", limit="2", **query).json()
        return [each["id"] for each in reply["data"]], reply["hasMore"]

    assert page(ending_before=newest[4]) == (newest[2:4], True)
    assert page(ending_before=newest[2]) == (newest[:2], False)
    assert page(ending_before=newest[0]) == ([], False)
    both = get(made[0], "/payments", ending_before=newest[1], starting_after=newest[3])
    assert message(both) == ("ending_before", "Send starting_after or ending_before, not both.")
    foreign = make_payment().public_id
    assert message(get(made[0], "/payments", ending_before=foreign))[0] == "ending_before"


def test_a_record_is_expanded_by_its_discrepancies_and_refunds() -> None:
    payment = paid(received=["60", "45"], senders=["Ada", "Bob"])
    refund = ask(payment, "10")
    path = f"/payments/{payment.public_id}"
    plain = get(payment, path).json()
    both = get(payment, path, expand="discrepancies,refunds").json()
    assert {name: value for name, value in both.items() if name in plain} == plain
    assert both["discrepancies"] == get(payment, f"{path}/discrepancies").json()["data"]
    assert [each["id"] for each in both["refunds"]] == [refund.public_id]
    assert both["refunds"][0]["claimUrl"]
    reader = api_client(make_key(payment.merchant, scopes=[Scope.PAYMENTS_READ]))
    refused = reader.call("GET", f"{path}?expand=refunds")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "insufficient_scope")
    assert reader.call("GET", f"{path}?expand=discrepancies").status_code == 200
    reader = api_client(make_key(payment.merchant, scopes=[Scope.PAYMENTS_READ, Scope.REFUNDS_READ]))
    assert reader.call("GET", f"{path}?expand=refunds").json()["refunds"][0]["claimUrl"] is None
    assert message(get(payment, path, expand="refund"))[1] == (
        "Must be one of: discrepancies, refunds. Did you mean refunds?"
    )


def test_all_discrepancies_are_one_list() -> None:
    merchant = make_merchant()
    short = make_payment(STELLAR, merchant=merchant)
    for amount, payment in (("60", short), ("110", make_payment(STELLAR, merchant=merchant))):
        pay_and_confirm(payment, amount)
    pay_and_confirm(make_payment(STELLAR), "110")
    end_window(short)
    watch()
    listed = get(short, "/discrepancies", status="open").json()
    assert [each["kind"] for each in listed["data"]] == ["underpaid", "overpaid"]
    assert listed["totalCount"] == 2
    assert [each["paymentId"] for each in get(short, "/discrepancies", kind="underpaid").json()["data"]] == [
        short.public_id
    ]
    assert get(short, "/discrepancies", status="accepted").json()["data"] == []


def test_a_quote_is_what_a_payment_would_come_to_and_stores_nothing() -> None:
    merchant = make_merchant()
    client = api_client(make_key(merchant))
    before = everything()
    reply = client.call("GET", "/quote?amount=25.50&currency=EUR")
    quoted = reply.json()
    assert (reply.status_code, quoted["object"], quoted["amount"], quoted["currency"]) == (200, "quote", 25.5, "EUR")
    assert everything() == before
    for option in quoted["options"]:
        network, coin = option["network"], option["cryptocurrency"]
        made = client.call(
            "POST", "/payments", json_body=body(network, amount=25.5, currency="EUR", cryptocurrency=coin)
        ).json()
        assert option["cryptoAmount"] == made["cryptoAmount"]
        assert option["exchangeRate"]["rate"] == made["exchangeRate"]["rate"]
        assert option["seconds"] >= 1
        assert option["networkFee"] > 0
    assert len(quoted["options"]) == 9
    one = client.call("GET", "/quote?amount=2000&currency=JPY&network=stellar&cryptocurrency=USDC").json()
    assert [(each["network"], each["cryptocurrency"]) for each in one["options"]] == [(STELLAR, "USDC")]


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        ("amount=25.501&currency=EUR", "invalid_parameter", "amount"),
        ("amount=0&currency=EUR", "invalid_parameter", "amount"),
        ("amount=2000000&currency=USD", "invalid_parameter", "amount"),
        ("currency=EUR", "missing_parameter", "amount"),
        (f"amount={quote_plus('1 ')}&currency=EUR", "invalid_parameter", "amount"),
    ],
)
def test_a_price_that_no_payment_could_have_is_not_quoted(query: str, code: str, param: str) -> None:
    reply = api_client(make_key(make_merchant())).call("GET", f"/quote?{query}")
    error = reply.json()["error"]
    assert (reply.status_code, error["code"], error["param"]) == (400, code, param)


def test_a_network_that_is_not_read_is_left_out_of_a_quote() -> None:
    payment = make_payment(STELLAR)
    options = get(payment, "/quote", amount="10", currency="USD").json()["options"]
    assert STELLAR in {each["network"] for each in options}
    halt(STELLAR)
    options = get(payment, "/quote", amount="10", currency="USD").json()["options"]
    assert {each["network"] for each in options} == {ETHEREUM, POLYGON}
    refused = get(payment, "/quote", amount="10", currency="USD", network=STELLAR)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "network_unavailable")
