"""GET /payments/:id, GET /payments and GET /payments/:id/timeline."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config import ids
from config.api.renderers import format_instant, render_json
from config.pages.qr import data_uri, render_png
from merchants.counting import fold_counts
from merchants.models import Merchant
from payments.models import Payment
from payments.records import record_of
from payments.services import cancel_payment
from tests.factories import ApiClient, api_client, make_key, make_merchant
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    ETHEREUM,
    POLYGON,
    PRODUCTION,
    STELLAR,
    deposit_of,
    end_window,
    make_payment,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    reorganise,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant()


@pytest.fixture
def client(merchant: Merchant) -> ApiClient:
    return api_client(make_key(merchant))


def get(client: ApiClient, path: str) -> Any:
    reply = client.call("GET", path)
    assert reply.status_code == 200, reply.content
    return reply.json()


def listed(reply: dict[str, Any]) -> list[str]:
    return [record["id"] for record in reply["data"]]


# One payment.


def test_a_payment_is_read_as_it_was_created(client: ApiClient, merchant: Merchant) -> None:
    asked = {"amount": 12.5, "currency": "USD", "cryptocurrency": "DAI", "network": "polygon"}
    wallet = make_payment(POLYGON).merchant_wallet
    created = client.call("POST", "/payments", json_body={**asked, "merchantWallet": wallet}).json()
    assert get(client, f"/payments/{created['id']}") == created


def test_a_confirming_payment_shows_its_transfer_and_how_far_it_is(client: ApiClient, merchant: Merchant) -> None:
    payment = make_payment(ETHEREUM, merchant=merchant)
    transaction_hash = pay(payment, "60")
    mine_and_watch(ETHEREUM)
    record = get(client, f"/payments/{payment.public_id}")
    deposit = deposit_of(transaction_hash)
    assert (record["status"], record["confirmations"], record["requiredConfirmations"]) == ("pending", 1, 3)
    assert record["amountReceived"] == "0.000000"
    assert record["transfers"] == [
        {
            "id": ids.TRANSFER.encode(deposit.id),
            "object": "transfer",
            "hash": transaction_hash,
            "amount": "60.000000",
            "cryptocurrency": "USDC",
            "network": "ethereum",
            "status": "seen",
            "block": 1,
            "missing": None,
            "conflictingMemo": None,
            "seenAt": format_instant(deposit.seen_at),
        }
    ]
    mine_and_watch(ETHEREUM)
    assert get(client, f"/payments/{payment.public_id}")["confirmations"] == 2
    mine_and_watch(ETHEREUM, 5)
    record = get(client, f"/payments/{payment.public_id}")
    assert (record["status"], record["confirmations"], record["amountReceived"]) == ("underpaid", 3, "60.000000")
    assert (record["statusReasons"], record["transfers"][0]["status"]) == (["underpaid"], "credited")

    pay(payment, "40")
    mine_and_watch(ETHEREUM)
    record = get(client, f"/payments/{payment.public_id}")
    assert (record["status"], record["confirmations"]) == ("pending", 1)  # of the one that still needs most
    mine_and_watch(ETHEREUM, 2)
    record = get(client, f"/payments/{payment.public_id}")
    assert (record["status"], record["confirmations"], len(record["transfers"])) == ("completed", 3, 2)
    assert record["completedAt"] == format_instant(now(payment).completed_at or payment.expires_at)


def test_an_undone_transfer_is_shown_as_such_and_counts_for_nothing(client: ApiClient, merchant: Merchant) -> None:
    payment = make_payment(ETHEREUM, merchant=merchant)
    pay(payment)
    mine_and_watch(ETHEREUM)
    reorganise(payment, 1, "dropped")
    record = get(client, f"/payments/{payment.public_id}")
    assert (record["status"], record["confirmations"], record["amountReceived"]) == ("created", 0, "0.000000")
    assert [transfer["status"] for transfer in record["transfers"]] == ["orphaned"]


def test_other_coins_are_shown_among_the_transfers_but_not_received(client: ApiClient, merchant: Merchant) -> None:
    payment = make_payment(ETHEREUM, merchant=merchant)
    pay_and_confirm(payment, "5", coin="DAI")
    pay_and_confirm(payment, "7", network=POLYGON)
    record = get(client, f"/payments/{payment.public_id}")
    shown = [(each["amount"], each["cryptocurrency"], each["network"]) for each in record["transfers"]]
    assert shown == [("5.000000", "DAI", "ethereum"), ("7.000000", "USDC", "polygon")]
    assert (record["confirmations"], record["amountReceived"]) == (0, "0.000000")
    assert record["statusReasons"] == ["wrong_network", "wrong_token"]


@pytest.mark.parametrize("path", ["/payments/{}", "/payments/{}/timeline"])
def test_another_merchant_s_payment_looks_like_one_that_never_was(client: ApiClient, path: str) -> None:
    theirs = make_payment()
    live = api_client(make_key(theirs.merchant, PRODUCTION))
    unknown = ids.PAYMENT.encode(ids.new_uuid())
    bodies = []
    for caller, payment_id in [
        (client, theirs.public_id),
        (client, unknown),
        (live, theirs.public_id),
        (client, "pay_x"),
        (client, theirs.public_id.upper()),
        (client, theirs.public_id.replace("pay_", "evt_")),
        (client, str(theirs.pk)),
    ]:
        reply = caller.call("GET", path.format(payment_id))
        error = reply.json()["error"]
        del error["requestId"]
        bodies.append((reply.status_code, error))
    short = " An id of this kind has 30 characters, this one has 5."
    form = " Ids of payments begin with pay_. Your order's number is found by GET /payments?metadata[order]=1007."
    hints = ["", "", "", short, " Ids are written in lower case.", f" {EVENT_FOR_PAYMENT}", form]
    assert bodies == [
        (404, {"type": "not_found_error", "code": "resource_missing", "message": f"No such payment.{hint}"})
        for hint in hints
    ]


EVENT_FOR_PAYMENT = (
    "evt_… is the id of an event; that of a payment begins with pay_. An event has it in data.object.id."
)

# Lists.


@pytest.fixture
def shop(merchant: Merchant) -> dict[str, list[Payment]]:
    """Payments in several states, and some of another merchant that must never be seen; oldest first."""
    cancelled = [cancel_payment(make_payment(STELLAR, merchant=merchant)) for _ in range(3)]
    completed = [pay_and_confirm(make_payment(STELLAR, merchant=merchant)) for _ in range(2)]
    expired = [end_window(make_payment(STELLAR, merchant=merchant))]
    created = [make_payment(STELLAR, merchant=merchant) for _ in range(7)]
    for _ in range(3):
        make_payment(STELLAR)
    return {"cancelled": cancelled, "completed": completed, "expired": expired, "created": created}


def newest_first(payments: list[Payment]) -> list[str]:
    return sorted((payment.public_id for payment in payments), reverse=True)


def test_a_record_is_the_same_by_itself_in_a_list_and_in_events(
    client: ApiClient, shop: dict[str, list[Payment]]
) -> None:
    """One reads the columns by SQL of its own, the other by conditions, and events are made of the whole row."""
    for payment in (each for several in shop.values() for each in several):
        own = get(client, f"/payments/{payment.public_id}")
        assert own == orjson.loads(render_json(record_of(now(payment))))
        [alone] = [each for each in get(client, "/payments?limit=100")["data"] if each["id"] == own["id"]]
        assert alone == own


def test_a_list_is_newest_first_ten_at_a_time(client: ApiClient, shop: dict[str, list[Payment]]) -> None:
    own = newest_first([payment for payments in shop.values() for payment in payments])
    reply = get(client, "/payments")
    assert (reply["object"], reply["hasMore"], reply["totalCount"]) == ("list", True, 13)
    assert listed(reply) == own[:10]
    assert [record["id"] for record in reply["data"]] == listed(reply)
    assert reply["data"][0] == get(client, f"/payments/{own[0]}")


def test_pages_follow_each_other_without_gap_or_repeat(client: ApiClient, shop: dict[str, list[Payment]]) -> None:
    own = newest_first([payment for payments in shop.values() for payment in payments])
    found: list[str] = []
    cursor = ""
    while True:
        reply = get(client, f"/payments?limit=4{cursor}")
        assert reply["totalCount"] == 13
        found += listed(reply)
        if not reply["hasMore"]:
            break
        make_payment(STELLAR)  # somebody else's, meanwhile
        cursor = f"&starting_after={found[-1]}"
    assert found == own


@pytest.mark.parametrize("folded", [False, True])
def test_a_status_filter_finds_and_counts_exactly_those(
    client: ApiClient, shop: dict[str, list[Payment]], folded: bool
) -> None:
    if folded:
        fold_counts()
    for status, payments in shop.items():
        reply = get(client, f"/payments?status={status}&limit=2")
        assert listed(reply) == newest_first(payments)[:2]
        assert (reply["totalCount"], reply["hasMore"]) == (len(payments), len(payments) > 2)
    nothing = get(client, "/payments?status=refunded")
    assert (nothing["data"], nothing["totalCount"], nothing["hasMore"]) == ([], 0, False)


def test_dates_bound_the_list_and_its_count_both_ends_included(
    client: ApiClient, shop: dict[str, list[Payment]]
) -> None:
    own = sorted((payment for payments in shop.values() for payment in payments), key=lambda payment: payment.pk)
    first, last = own[3], own[8]
    expected = [
        payment.public_id for payment in reversed(own) if first.created_at <= payment.created_at <= last.created_at
    ]
    bounds = f"created_gte={format_instant(first.created_at)}&created_lte={format_instant(last.created_at)}"
    reply = get(client, f"/payments?limit=100&{bounds}")
    assert (listed(reply), reply["totalCount"]) == (expected, len(expected))

    completed = [payment.public_id for payment in shop["completed"]]
    with_status = get(client, f"/payments?limit=100&status=completed&{bounds}")
    wanted = [payment_id for payment_id in expected if payment_id in completed]
    assert (listed(with_status), with_status["totalCount"]) == (wanted, len(wanted))

    day = f"{first.created_at:%Y-%m-%d}"
    other_day = f"{first.created_at + timedelta(days=1):%Y-%m-%d}"
    assert get(client, f"/payments?created_gte={day}&created_lte={other_day}")["totalCount"] == 13
    assert get(client, f"/payments?created_gte={other_day}")["totalCount"] == 0
    backwards = get(client, f"/payments?created_gte={other_day}&created_lte={day}")
    assert (backwards["data"], backwards["totalCount"], backwards["hasMore"]) == ([], 0, False)


def test_totals_do_not_depend_on_the_page(client: ApiClient, shop: dict[str, list[Payment]]) -> None:
    middle = shop["completed"][0].public_id
    reply = get(client, f"/payments?starting_after={middle}&limit=100")
    assert (reply["totalCount"], len(reply["data"])) == (13, 3)


def test_a_cursor_need_not_match_the_filter_but_must_be_one_s_own(
    client: ApiClient, shop: dict[str, list[Payment]]
) -> None:
    after_expired = get(client, f"/payments?status=cancelled&starting_after={shop['expired'][0].public_id}")
    assert listed(after_expired) == newest_first(shop["cancelled"])
    foreign = make_payment(STELLAR).public_id
    never = ids.PAYMENT.encode(ids.new_uuid())
    errors = []
    for cursor in (foreign, never, "pay_x", "", "evt_00000000000000000000000000"):
        reply = client.call("GET", f"/payments?starting_after={cursor}")
        error = reply.json()["error"]
        errors.append((reply.status_code, error["code"], error["param"], error["message"]))
    assert set(errors[:3]) == {(400, "invalid_parameter", "starting_after", "Must be the id of a record in this list.")}
    assert {error[:3] for error in errors} == {(400, "invalid_parameter", "starting_after")}


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=ten", "limit"),
        ("status=paid", "status"),
        ("status=", "status"),
        ("created_gte=yesterday", "created_gte"),
        ("created_lte=2027-02-30", "created_lte"),
        ("limit=5&limit=6", "limit"),
    ],
)
def test_a_filter_that_means_nothing_is_refused(client: ApiClient, query: str, param: str) -> None:
    reply = client.call("GET", f"/payments?{query}")
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, param)


def test_an_unknown_filter_is_refused(client: ApiClient) -> None:
    reply = client.call("GET", "/payments?orderId=1007")
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "unknown_parameter")


# The timeline.


def test_the_timeline_tells_what_happened_newest_first(client: ApiClient, merchant: Merchant) -> None:
    payment = make_payment(STELLAR, merchant=merchant)
    pay_and_confirm(payment, "60")
    pay_and_confirm(payment, "70")
    reply = get(client, f"/payments/{payment.public_id}/timeline")
    assert (reply["object"], reply["hasMore"], reply["totalCount"]) == ("list", False, 4)
    told = [(each["type"], each["version"], each["status"], each["amountReceived"]) for each in reply["data"]]
    assert told == [
        ("payment.overpaid", 3, "completed", "130.000000"),
        ("payment.completed", 3, "completed", "130.000000"),
        ("payment.underpaid", 2, "underpaid", "60.000000"),
        ("payment.created", 1, "created", "0.000000"),
    ]
    assert {each["object"] for each in reply["data"]} == {"event"}

    newest = reply["data"][0]["id"]
    rest = get(client, f"/payments/{payment.public_id}/timeline?limit=2&starting_after={newest}")
    assert (listed(rest), rest["hasMore"], rest["totalCount"]) == (listed(reply)[1:3], True, 4)

    other = make_payment(STELLAR, merchant=merchant)
    foreign = client.call("GET", f"/payments/{other.public_id}/timeline?starting_after={newest}")
    assert (foreign.status_code, foreign.json()["error"]["param"]) == (400, "starting_after")


# What reading costs.


def queries_of(client: ApiClient, path: str) -> int:
    get(client, path)  # the first call of a process may look something up once
    with CaptureQueriesContext(connection) as queries:
        get(client, path)
    return len(queries)


def test_reading_costs_the_same_however_much_there_is(client: ApiClient, merchant: Merchant) -> None:
    empty = queries_of(client, "/payments?limit=100")
    payment = make_payment(STELLAR, merchant=merchant)
    unpaid = queries_of(client, f"/payments/{payment.public_id}")
    pay_and_confirm(payment, "10")
    few = queries_of(client, "/payments?limit=100")
    paid = queries_of(client, f"/payments/{payment.public_id}")
    for _ in range(5):
        pay_and_confirm(payment, "1")
        pay_and_confirm(make_payment(STELLAR, merchant=merchant))
    assert queries_of(client, "/payments?limit=100") == few == empty
    assert queries_of(client, "/payments?limit=3&status=completed") == few
    assert queries_of(client, f"/payments/{payment.public_id}") == paid == unpaid
    assert unpaid <= 2


@pytest.mark.parametrize("network", [ETHEREUM, STELLAR])
def test_what_is_left_is_in_the_record_its_link_and_its_code_and_in_events(network: str) -> None:
    payment = make_payment(network)
    client = api_client(make_key(payment.merchant))

    def told() -> dict[str, Any]:
        record: dict[str, Any] = get(client, f"/payments/{payment.public_id}")
        assert get(client, "/payments")["data"] == [record]
        return record

    whole = told()
    assert (whole["amountDue"], whole["paymentUri"]) == ("100.000000", payment.payment_uri)
    pay(payment, "60")
    mine_and_watch(network)
    if network == ETHEREUM:
        assert told()["amountDue"] == "40.000000", "also before it is confirmed"
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network])
    record = told()
    assert (record["status"], record["amountDue"]) == ("underpaid", "40.000000")
    link, left = record["paymentUri"], {ETHEREUM: "uint256=40000000", STELLAR: "amount=40&"}[network]
    assert left in link
    assert record["qrCode"] == data_uri(render_png(payment.deposit_address if network == ETHEREUM else link))
    event = get(client, "/events")["data"][0]
    assert event["type"] == "payment.underpaid"
    named = ("amountDue", "paymentUri", "qrCode")
    assert [event["data"]["object"][name] for name in named] == [record[name] for name in named]

    pay(payment, "40")
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network])
    paid = told()
    assert [paid[name] for name in ("status", *named)] == [
        "completed",
        "0.000000",
        whole["paymentUri"],
        whole["qrCode"],
    ]

    closed = make_payment(network, merchant=payment.merchant)
    pay_and_confirm(closed, "60")
    end_window(closed)
    record = get(client, f"/payments/{closed.public_id}")
    assert (record["status"], record["amountDue"]) == ("underpaid", "0.000000"), "what comes now is late"
