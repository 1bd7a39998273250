"""GET /payments/:id/discrepancies and POST …/accept: what waits for a decision, and deciding it."""

from __future__ import annotations

from typing import Any

import pytest

from config import ids
from config.api.renderers import format_instant
from merchants.access.scopes import Scope
from payments.models import Payment
from payments.services import cancel_payment
from payments.suspense.acceptance import accept_discrepancy
from tests.factories import ApiClient, api_client, make_key, make_merchant
from tests.payments.refunds import reserve_all
from tests.payments.scenes import (
    ETHEREUM,
    PRODUCTION,
    STELLAR,
    assert_all_is_well,
    discrepancy,
    end_window,
    everything,
    make_payment,
    now,
    pay_and_confirm,
    units,
)

pytestmark = pytest.mark.django_db


def client_of(payment: Payment, **key: Any) -> ApiClient:
    return api_client(make_key(payment.merchant, **key))


def listed(payment: Payment, query: str = "") -> dict[str, Any]:
    reply = client_of(payment).call("GET", f"/payments/{payment.public_id}/discrepancies{query}")
    assert reply.status_code == 200, reply.content
    answer: dict[str, Any] = reply.json()
    return answer


def in_suspense(client: ApiClient) -> dict[tuple[str, str], tuple[str, str]]:
    """What is available and what is in suspense, by network and coin; the merchant's record says the same."""
    balances = client.call("GET", "/balance").json()["balances"]
    assert client.call("GET", "/merchant").json()["balances"] == balances
    return {
        (each["network"], each["cryptocurrency"]): (each["available"], each["inSuspense"])
        for each in balances
        if each["receivable"] == "0.000000"
    }


def accept(client: ApiClient, payment: Payment, discrepancy_id: str, **body: Any) -> Any:
    path = f"/payments/{payment.public_id}/discrepancies/{discrepancy_id}/accept"
    return client.call("POST", path, json_body=body)


def refusal(reply: Any) -> tuple[int, str, str | None]:
    error = reply.json()["error"]
    return reply.status_code, error["code"], error.get("param")


def test_a_payment_without_any_has_an_empty_list() -> None:
    assert listed(make_payment()) == {"object": "list", "data": [], "hasMore": False, "totalCount": 0}


def test_what_waits_is_listed_newest_first() -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM), "130")
    pay_and_confirm(payment, "7", coin="DAI")
    overpaid, wrong = discrepancy(payment, "overpaid"), discrepancy(payment, "wrong_token")
    answer = listed(payment)
    assert (answer["totalCount"], answer["hasMore"]) == (2, False)
    assert [record["id"] for record in answer["data"]] == [wrong.public_id, overpaid.public_id]
    assert answer["data"][1] == {
        "id": overpaid.public_id,
        "object": "discrepancy",
        "paymentId": payment.public_id,
        "kind": "overpaid",
        "status": "open",
        "amount": "30.000000",
        "cryptocurrency": "USDC",
        "network": "ethereum",
        "note": None,
        "createdAt": format_instant(overpaid.created_at),
        "resolvedAt": None,
    }
    assert (answer["data"][0]["amount"], answer["data"][0]["cryptocurrency"]) == ("7.000000", "DAI")

    first = listed(payment, "?limit=1")
    assert ([record["id"] for record in first["data"]], first["hasMore"]) == ([wrong.public_id], True)
    second = listed(payment, f"?limit=1&starting_after={wrong.public_id}")
    assert ([record["id"] for record in second["data"]], second["hasMore"]) == ([overpaid.public_id], False)


def test_what_was_decided_stays_listed() -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM), "130")
    pay_and_confirm(payment, "7", coin="DAI")
    reserve_all(discrepancy(payment, "overpaid"))
    accept_discrepancy(discrepancy(payment, "wrong_token"), resolved_by="Ada", note="a gift")
    wrong, overpaid = listed(payment)["data"]
    assert (overpaid["status"], overpaid["note"], overpaid["resolvedAt"] is None) == ("refunded", None, False)
    assert (wrong["status"], wrong["note"], wrong["resolvedAt"] is None) == ("accepted", "a gift", False)


def test_accepting_short_money_completes_the_payment() -> None:
    payment = end_window(pay_and_confirm(make_payment(STELLAR), "60"))
    waiting = discrepancy(payment)
    reply = accept(client_of(payment, name="Shop"), payment, waiting.public_id, note="close enough")
    assert reply.status_code == 200
    assert (reply.json()["status"], reply.json()["note"]) == ("accepted", "close enough")
    waiting.refresh_from_db()
    assert waiting.resolved_by == "Shop"
    assert (now(payment).status, now(payment).released) == ("completed", units(payment, "60"))
    assert_all_is_well()


def test_it_is_accepted_once() -> None:
    payment = pay_and_confirm(make_payment(STELLAR), "130")
    client, waiting = client_of(payment), discrepancy(payment)
    assert accept(client, payment, waiting.public_id).status_code == 200
    before = everything()
    assert refusal(accept(client, payment, waiting.public_id))[:2] == (400, "discrepancy_resolved")
    assert everything() == before


def test_an_idempotent_request_is_answered_again() -> None:
    payment = pay_and_confirm(make_payment(STELLAR), "130")
    client, waiting = client_of(payment), discrepancy(payment)
    path = f"/payments/{payment.public_id}/discrepancies/{waiting.public_id}/accept"
    replies = [client.call("POST", path, json_body={}, headers={"Idempotency-Key": "once"}) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert replies[0].content == replies[1].content
    assert replies[1].headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"note": ""}, "invalid_parameter", "note"),
        ({"note": 7}, "invalid_parameter", "note"),
        ({"note": "x" * 501}, "invalid_parameter", "note"),
        ({"amount": "1"}, "unknown_parameter", "amount"),
    ],
)
def test_a_body_that_means_nothing_is_refused(body: dict[str, Any], code: str, param: str) -> None:
    payment = pay_and_confirm(make_payment(STELLAR), "130")
    before = everything()
    assert refusal(accept(client_of(payment), payment, discrepancy(payment).public_id, **body)) == (400, code, param)
    assert everything() == before


def test_another_payment_s_discrepancy_looks_like_none() -> None:
    merchant = make_merchant()
    payment = pay_and_confirm(make_payment(STELLAR, merchant=merchant), "130")
    other = make_payment(STELLAR, merchant=merchant)
    waiting = discrepancy(payment).public_id
    before = everything()
    for wrong in (waiting, ids.DISCREPANCY.encode(ids.new_uuid()), payment.public_id, "nonsense"):
        assert refusal(accept(client_of(other), other, wrong))[:2] == (404, "resource_missing")
    assert everything() == before


def test_a_key_that_only_reads_decides_nothing() -> None:
    payment = pay_and_confirm(make_payment(STELLAR), "130")
    reader = client_of(payment, scopes=[Scope.PAYMENTS_READ])
    assert accept(reader, payment, discrepancy(payment).public_id).status_code == 403
    assert reader.call("GET", f"/payments/{payment.public_id}/discrepancies").status_code == 200


def test_the_balance_shows_what_waits_beside_what_is_available() -> None:
    payment = pay_and_confirm(make_payment(ETHEREUM), "130")
    pay_and_confirm(payment, "7.5", coin="DAI")
    pay_and_confirm(make_payment(ETHEREUM, merchant=payment.merchant), "102.5")
    pay_and_confirm(cancel_payment(make_payment(STELLAR, merchant=payment.merchant)), "100")
    pay_and_confirm(make_payment(ETHEREUM), "1000")  # another merchant's
    client = client_of(payment)
    assert in_suspense(client) == {
        ("ethereum", "DAI"): ("0.000000", "7.500000"),
        ("ethereum", "USDC"): ("200.000000", "32.500000"),
        ("stellar", "USDC"): ("0.000000", "100.000000"),
    }
    assert in_suspense(client_of(payment, environment=PRODUCTION)) == {}

    accept(client, payment, discrepancy(payment, "overpaid").public_id)
    reserve_all(discrepancy(payment, "wrong_token"))
    assert in_suspense(client) == {
        ("ethereum", "USDC"): ("230.000000", "2.500000"),
        ("stellar", "USDC"): ("0.000000", "100.000000"),
    }
