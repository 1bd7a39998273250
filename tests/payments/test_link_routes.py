"""/payment-links, and payments by their link."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django.fixtures import Settings

from merchants.models import Merchant
from payments.links.models import PaymentLink
from payments.models import Payment
from payments.services import cancel_payment
from tests.factories import ApiClient, api_client, make_key, make_merchant
from tests.payments.linking import begin, make_link
from tests.payments.scenes import ETHEREUM, POLYGON, WALLETS, make_payment

pytestmark = pytest.mark.django_db

ASKED = {
    "description": "Harbour tour, one seat",
    "amount": 25.5,
    "currency": "EUR",
    "merchantWallets": {"ethereum": WALLETS[ETHEREUM], "polygon": WALLETS[POLYGON]},
}


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant()


@pytest.fixture
def api(merchant: Merchant) -> ApiClient:
    return api_client(make_key(merchant))


def test_every_field_of_a_link_says_what_it_should(api: ApiClient, settings: Settings) -> None:
    settings.PUBLIC_URL = "https://pay.example.com"
    body = {**ASKED, "cryptocurrencies": ["USDC"], "maxUses": 40, "expiresAt": "2199-06-30", "expiresIn": 900}
    body |= {"redirectUrl": "https://shop.example/thanks", "note": "On the pier", "metadata": {"tour": "sunset"}}
    reply = api.call("POST", "/payment-links", json_body=body)
    assert reply.status_code == 201
    link, record = PaymentLink.objects.get(), reply.json()
    assert api.call("GET", f"/payment-links/{link.public_id}").json() == record
    assert record.pop("qrCode").startswith("data:image/png;base64,")
    assert record.pop("createdAt")
    assert record == {
        "id": link.public_id,
        "object": "payment_link",
        "url": f"https://pay.example.com/link/{link.code}",
        "status": "active",
        "enabled": True,
        "description": "Harbour tour, one seat",
        "note": "On the pier",
        "amount": 25.5,
        "minAmount": None,
        "maxAmount": None,
        "currency": "EUR",
        "cryptocurrencies": ["USDC"],
        "merchantWallets": ASKED["merchantWallets"],
        "maxUses": 40,
        "usesTaken": 0,
        "expiresAt": "2199-06-30T23:59:59.999Z",
        "expiresIn": 900,
        "redirectUrl": "https://shop.example/thanks",
        "metadata": {"tour": "sunset"},
        "environment": "sandbox",
    }


def test_what_is_left_out_is_left_open(api: ApiClient) -> None:
    body = {name: value for name, value in ASKED.items() if name != "amount"}
    record = api.call("POST", "/payment-links", json_body={**body, "maxAmount": 80}).json()
    assert (record["amount"], record["minAmount"], record["maxAmount"]) == (None, 0.01, 80)
    assert (record["cryptocurrencies"], record["maxUses"], record["usesTaken"]) == (None, None, None)
    assert (record["expiresAt"], record["expiresIn"], record["note"]) == (None, 1800, None)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"description": ""}, "invalid_parameter", "description"),
    ({"merchantWallets": {"bitcoin": "x"}}, "unknown_parameter", "merchantWallets.bitcoin"),
    ({"merchantWallets": {}}, "invalid_parameter", "merchantWallets"),
    ({"merchantWallets": {"polygon": "0x12"}}, "invalid_parameter", "merchantWallets.polygon"),
    ({"minAmount": 3}, "invalid_parameter", "minAmount"),
    ({"maxUses": 0}, "invalid_parameter", "maxUses"),
    ({"expiresAt": "2020-01-01"}, "invalid_parameter", "expiresAt"),
    ({"cryptocurrencies": []}, "invalid_parameter", "cryptocurrencies"),
]


@pytest.mark.parametrize(("fields", "code", "param"), REFUSED, ids=lambda each: str(each)[:40])
def test_what_cannot_be_is_refused_at_its_field(fields: dict[str, Any], code: str, param: str, api: ApiClient) -> None:
    reply = api.call("POST", "/payment-links", json_body={**ASKED, **fields})
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert (error["code"], error["param"]) == (code, param)
    assert not PaymentLink.objects.exists()


def test_a_link_asked_for_twice_with_one_idempotency_key_is_made_once(api: ApiClient) -> None:
    headers = {"Idempotency-Key": "a link"}
    first, second = (api.call("POST", "/payment-links", json_body=ASKED, headers=headers) for _ in range(2))
    assert first.content == second.content
    assert PaymentLink.objects.count() == 1


def test_a_link_is_taken_out_of_use_and_its_limits_are_lifted(api: ApiClient, merchant: Merchant) -> None:
    link = make_link(merchant, max_uses=2)
    begin(link)
    path = f"/payment-links/{link.public_id}"
    changed = api.call("PATCH", path, json_body={"enabled": False, "note": "Rain"}).json()
    assert (changed["status"], changed["note"], changed["usesTaken"]) == ("disabled", "Rain", 1)
    changed = api.call("PATCH", path, json_body={"enabled": True, "maxUses": 1}).json()
    assert changed["status"] == "used_up"
    changed = api.call("PATCH", path, json_body={"maxUses": None, "enabled": None}).json()
    assert (changed["status"], changed["maxUses"], changed["enabled"]) == ("active", None, True)
    refused: list[dict[str, Any]] = [
        {"amount": 5}, {"merchantWallets": {}}, {"enabled": "false"}, {"expiresAt": "2020-01-01"}
    ]  # fmt: skip
    for fields in refused:
        assert api.call("PATCH", path, json_body=fields).status_code == 400
    assert api.call("GET", path).json() == changed


def test_lists_are_of_the_own_merchant_and_environment_and_counted_exactly(api: ApiClient, merchant: Merchant) -> None:
    links = [make_link(merchant, max_uses=5) for _ in range(3)]
    make_link()
    payments = [begin(links[0]) for _ in range(3)]
    cancel_payment(payments[0])
    begin(links[1])
    make_payment(merchant=merchant)
    page = api.call("GET", "/payment-links?limit=2").json()
    assert [record["id"] for record in page["data"]] == [links[2].public_id, links[1].public_id]
    assert [record["usesTaken"] for record in page["data"]] == [0, 1]
    assert (page["hasMore"], page["totalCount"]) == (True, 3)
    page = api.call("GET", f"/payment-links?starting_after={links[1].public_id}").json()
    assert [(record["id"], record["usesTaken"]) for record in page["data"]] == [(links[0].public_id, 2)]

    of_link = f"/payments?paymentLink={links[0].public_id}"
    page = api.call("GET", f"{of_link}&limit=2").json()
    assert [record["id"] for record in page["data"]] == [payments[2].public_id, payments[1].public_id]
    assert {record["paymentLink"] for record in page["data"]} == {links[0].public_id}
    assert page["totalCount"] == 3
    page = api.call("GET", f"{of_link}&status=cancelled").json()
    assert ([record["id"] for record in page["data"]], page["totalCount"]) == ([payments[0].public_id], 1)


def test_payments_of_another_merchants_link_are_none(api: ApiClient) -> None:
    link = make_link()
    begin(link)
    page = api.call("GET", f"/payments?paymentLink={link.public_id}").json()
    assert (page["data"], page["totalCount"]) == ([], 0)
    assert Payment.objects.count() == 1
