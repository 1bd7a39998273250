"""The pages of API requests: what is found, how far one page looks, and that a request can be sent again."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from merchants.models import Member
from merchants.pages import requests
from merchants.request_log.models import LoggedRequest
from merchants.request_log.recording import RECORDER
from payments.models import Payment
from tests.dashboard.conftest import browser_of
from tests.dashboard.shell import command_on, run
from tests.factories import api_client, key_headers, make_key, make_member, make_merchant
from tests.payments.scenes import make_payment

pytestmark = pytest.mark.django_db
PAGE = "/dashboard/requests"


@pytest.fixture
def member(db: None) -> Member:
    return make_member(make_merchant("Harbour Coffee"))


@pytest.fixture
def client(member: Member) -> Client:
    return browser_of(member)


def page(client: Client, query: str = "") -> str:
    RECORDER.flush()
    response = client.get(f"{PAGE}{query}")
    assert response.status_code == 200
    return unescape(response.text).replace("<wbr>", "")


def found(client: Client, query: str = "") -> list[str]:
    return re.findall(r'href="/dashboard/requests/rql_\w+"><code>([^<]+)<', page(client, query))


def test_each_filter_finds_its_own_and_nobody_elses(client: Client, member: Member) -> None:
    key, other = make_key(member.merchant), make_key(member.merchant, name="Till", scopes=["refunds:read"])
    payment = make_payment(merchant=member.merchant)
    shop = api_client(key)
    shop.call("GET", f"/payments/{payment.public_id}")
    shop.call("POST", "/payments", json_body={}, headers={**key_headers(key), "X-Request-Id": "shop-000001"})
    api_client(other).call("GET", "/payments")
    api_client(make_key()).call("GET", "/balance")
    one = f"GET /sandbox/v1/payments/{payment.public_id}"
    refused, forbidden = "POST /sandbox/v1/payments", "GET /sandbox/v1/payments"
    RECORDER.flush()
    today = f"{LoggedRequest.objects.latest('pk').created_at:%Y-%m-%d}"
    for query, expected in {
        "": [forbidden, refused, one],
        "?outcome=2": [one],
        "?outcome=4": [forbidden, refused],
        "?outcome=5": [],
        "?outcome=e": [forbidden, refused],
        "?method=POST": [refused],
        f"?path={payment.public_id}": [one],
        "?id=shop-000001": [refused],
        "?id=shop-00000": [],
        f"?key={other.key.public_key}": [forbidden],
        f"?start={today}&end={today}": [forbidden, refused, one],
        "?end=2020-01-01": [],
        "?outcome=4&method=POST": [refused],
    }.items():
        assert found(client, query) == expected, query
    shown = page(client, f"?key={other.key.public_key}")
    assert "insufficient_scope" in shown
    assert "403 Forbidden" in shown
    assert "Till" in shown
    client.post("/dashboard/environment", {"environment": "production"})
    assert found(client) == []


def test_a_page_looks_so_far_and_the_next_one_further(
    client: Client, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MOST_LOOKED_THROUGH", 3)
    shop = api_client(make_key(member.merchant))
    shop.call("GET", "/balance")
    for _ in range(4):
        shop.call("GET", "/payments")
    assert found(client, "?path=balance") == []
    shown = page(client, "?path=balance")
    assert "We searched the newest 3 requests." in shown
    older = re.search(r'href="/dashboard/requests(\?[^"]*before=[^"]*)">Older', shown)
    assert older
    assert found(client, older[1]) == ["GET /sandbox/v1/balance"]
    assert "We searched" not in page(client, older[1])
    with CaptureQueriesContext(connection) as queries:
        page(client, "?path=balance&method=GET&outcome=2")
    assert len(queries) <= 12


def test_a_request_is_sent_again_as_it_was(client: Client, member: Member) -> None:
    key = make_key(member.merchant)
    sent = {
        "amount": 12.50, "currency": "EUR", "cryptocurrency": "USDC", "network": "polygon",
        "merchantWallet": "0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199", "metadata": {"note": "it's $HOME"},
    }  # fmt: skip
    headers = {**key_headers(key), "Idempotency-Key": "order 7"}
    first = api_client(key).call("POST", "/payments", json_body=sent, headers=headers)
    assert first.status_code == 201
    RECORDER.flush()
    address = f"{PAGE}/{LoggedRequest.objects.latest('pk').public_id}"
    again = run(command_on(client, address), key)
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Payment.objects.count() == 1
    shown = unescape(client.get(address).text)
    for words in (first.json()["id"], "order 7", "201 Created", key.key.public_key, '"amount": 12.5'):
        assert words in shown
    assert key.secret not in shown


def test_what_was_cut_or_secret_or_signed_is_said(client: Client, member: Member) -> None:
    key = make_key(member.merchant, require_signature=True)
    api_client(key).call("POST", "/payments?token=hush", json_body={})
    RECORDER.flush()
    shown = client.get(f"{PAGE}/{LoggedRequest.objects.latest('pk').public_id}").text
    assert "[redacted]" in shown
    assert "hush" not in shown
    assert "requires signed requests" in shown
    whole = api_client(make_key(member.merchant))
    whole.call("POST", "/payments", json_body={"metadata": {"a": "x" * 9_000}})
    RECORDER.flush()
    shown = unescape(client.get(f"{PAGE}/{LoggedRequest.objects.latest('pk').public_id}").text)
    assert "The first 8 KiB of 9,0" in shown or "The first 8 KiB of 90" in shown
    assert "Only the beginning of its body was kept" in shown
    assert "data-copy" not in shown
