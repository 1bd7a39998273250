"""An application is given keys by a member: what the page shows and refuses, and who can exchange a code."""

from __future__ import annotations

import hashlib
import secrets
import threading
from base64 import urlsafe_b64encode
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test import Client
from pytest_django.fixtures import Settings

from config.environments import Environment
from merchants.audit.models import LoggedAction
from merchants.models import ApiKey, Member, Merchant, User
from merchants.roles import Role
from tests.dashboard.conftest import browser_of
from tests.factories import PASSWORD, make_member, make_merchant, suspend
from webhooks.connections.codes import purge_codes
from webhooks.models import ConnectionCode, Endpoint

VERIFIER = secrets.token_urlsafe(48)
CHALLENGE = urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
ASKED = {
    "name": "WooCommerce",
    "scopes": "payments:write,refunds:write",
    "redirectUrl": "https://shop.example/admin?page=wc",
    "webhookUrl": "https://shop.example/?wc-api=ballast",
    "state": "of this & that session",
    "codeChallenge": CHALLENGE,
}
LOCAL = {"redirectUrl": "http://localhost:8000/back", "webhookUrl": "http://localhost:8000/hook"}


def address(**changes: str) -> str:
    asked = {name: value for name, value in {**ASKED, **changes}.items() if value != "left out"}
    return f"/dashboard/connect?{urlencode(asked)}"


def code_of(browser: Client, **changes: str) -> str:
    """The code with which the member's browser comes back."""
    reply = browser.post(address(**changes))
    assert reply.status_code == 200, reply.text
    seconds, _, way_back = reply.headers["Refresh"].partition("; url=")
    query = parse_qs(urlsplit(way_back).query)
    assert (seconds, query["state"]) == ("0", [ASKED["state"]])
    return query["code"][0]


def exchange(code: str, verifier: str = VERIFIER, **more: str) -> Any:
    body = {"code": code, "codeVerifier": verifier, **more}
    return Client().post("/connect/exchange", body, content_type="application/json")


def refusal(reply: Any) -> tuple[int, str, str | None]:
    error = reply.json()["error"]
    return reply.status_code, error["code"], error.get("param")


def nothing_made() -> bool:
    return not ApiKey.objects.exists() and not Endpoint.objects.exists()


def test_a_shop_gets_its_keys_by_a_code_that_works_once(client: Client, member: Member) -> None:
    page = client.get(address())
    assert (page.headers["X-Frame-Options"], page.status_code) == ("DENY", 200)
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    for words in ("Connect shop.example?", "WooCommerce", "Refund payers", "Harbour Coffee", "no real money moves"):
        assert words in page.text, words
    assert "error=access_denied" in page.text
    assert nothing_made()

    code = code_of(client)
    assert nothing_made(), "keys are made when they are fetched"
    stored = [
        bytes(value) if isinstance(value, memoryview) else value
        for value in vars(ConnectionCode.objects.get()).values()
    ]
    assert hashlib.sha256(code.encode()).digest() in stored
    assert code not in repr(stored)
    reply = exchange(code)
    made, key, endpoint = reply.json(), ApiKey.objects.get(), Endpoint.objects.get()
    assert reply.headers["Cache-Control"] == "no-store"
    assert (made["environment"], made["publicKey"], made["scopes"]) == (
        "sandbox",
        key.public_key,
        ["payments:write", "refunds:write"],
    )
    assert (key.name, key.created_by, key.merchant) == ("WooCommerce (shop.example)", member.user, member.merchant)
    assert (made["webhook"]["id"], endpoint.url) == (endpoint.public_id, ASKED["webhookUrl"])
    assert made["webhook"]["secret"].startswith("whsec_")
    headers = {"Authorization": f"Bearer {made['publicKey']}", "X-Api-Secret": made["secretKey"]}
    assert Client(headers=headers).get("/sandbox/v1/payments").status_code == 200
    assert Client(headers=headers).get("/sandbox/v1/balance").status_code == 403

    assert refusal(exchange(code)) == (400, "connection_code_unknown", "code")
    assert (ApiKey.objects.count(), ConnectionCode.objects.count()) == (1, 0)
    rows = LoggedAction.objects.filter(merchant=member.merchant).order_by("id").values_list("action", "record")
    assert list(rows) == [
        ("application.connect", ""),
        ("key.make", key.public_id),
        ("webhook.add", endpoint.public_id),
    ]
    assert made["secretKey"] not in repr(list(LoggedAction.objects.values()))


ODD = {
    "shop.example@evil.example": "redirectUrl",
    "evil.example\\@shop.example": "redirectUrl",
    "shop.example:22": "redirectUrl",
    "shop.example:0": "redirectUrl",
    "10.0.0.1": "redirectUrl",
    "0x7f.1": "redirectUrl",
    "shöp.example": "redirectUrl",
    "shop.example.evil.example": "webhookUrl",
    "shop.example.": "webhookUrl",
}
BAD: list[tuple[str, dict[str, str]]] = [
    *((param, {"redirectUrl": f"https://{host}/back"}) for host, param in ODD.items()),
    ("redirectUrl", {"redirectUrl": "http://shop.example/back"}),
    ("redirectUrl", {"redirectUrl": "javascript:alert(1)"}),
    ("redirectUrl", {"redirectUrl": "//shop.example/back"}),
    ("redirectUrl", {"redirectUrl": "https://shop.example/#back"}),
    ("redirectUrl", {"redirectUrl": "https://shop.example/\r\nRefresh: 0"}),
    ("redirectUrl", {"redirectUrl": "left out"}),
    ("webhookUrl", {"webhookUrl": "https://elsewhere.example/"}),
    ("webhookUrl", {"webhookUrl": "http://169.254.169.254/"}),
    ("state", {"state": "left out"}),
    ("state", {"state": ""}),
    ("codeChallenge", {"codeChallenge": VERIFIER}),
    ("codeChallenge", {"codeChallenge": "left out"}),
    ("scopes", {"scopes": ""}),
    ("scopes", {"scopes": "payments:write,everything"}),
    ("events", {"events": "payment.lost"}),
    ("name", {"name": " "}),
    ("name", {"name": "a" * 41}),
    ("name", {"name": "Ballast\u202etrops"}),
    ("name", {"name": "Shop\nTrusted"}),
    ("codeChallengeMethod", {"codeChallengeMethod": "plain"}),
]
"""The parameter that the page names, and what was asked."""


@pytest.mark.parametrize("environment", Environment)
def test_what_is_not_right_is_named_and_nobody_is_sent_anywhere(
    environment: Environment, client: Client, member: Member
) -> None:
    client.post("/dashboard/environment", {"environment": environment})
    for param, changes in BAD:
        for reply in (client.get(address(**changes)), client.post(address(**changes))):
            assert reply.status_code == 400, changes
            assert f"<code>{param}</code>:" in reply.text, changes
            assert not {"Location", "Refresh"} & set(reply.headers), changes
            assert 'href="https://shop.example' not in reply.text
    assert not ConnectionCode.objects.exists()


def test_a_name_is_shown_as_text(client: Client) -> None:
    page = client.get(address(name='<script>alert("1")</script>')).text
    assert "<script>alert" not in page
    assert "<bdi>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;</bdi>" in page


def test_the_environment_is_the_one_in_view_and_can_be_changed_on_the_page(client: Client) -> None:
    here = address(**LOCAL)
    made = exchange(code_of(client, **LOCAL)).json()
    assert (made["environment"], made["publicKey"][:8]) == ("sandbox", "pk_test_")
    fields = {"environment": "production", "next": here}
    assert client.post("/dashboard/environment", fields).headers["Location"] == here
    for foreign in ("https://evil.example/", "//evil.example", "/\\evil.example"):
        reply = client.post("/dashboard/environment", {"environment": "production", "next": foreign})
        assert reply.headers["Location"] == "/dashboard"
    assert client.get(here).status_code == 400, "http is for the sandbox alone"
    page = client.get(address()).text
    assert "they move real money" in page
    made = exchange(code_of(client)).json()
    assert (made["environment"], made["publicKey"][:8], made["secretKey"][:8]) == ("production", "pk_live_", "sk_live_")


def test_nobody_gives_more_than_their_role_permits(client: Client, member: Member) -> None:
    developer = browser_of(make_member(member.merchant, role=Role.DEVELOPER))
    for scopes, status in (("payments:write", 200), ("decisions:write", 400), ("payments:read,merchant:write", 400)):
        assert developer.get(address(scopes=scopes)).status_code == status, scopes
        assert developer.post(address(scopes=scopes)).status_code == status, scopes
        assert client.get(address(scopes=scopes)).status_code == 200, scopes
    assert ConnectionCode.objects.get().scopes == ["payments:write"]


def test_a_member_who_was_not_asked_lately_who_they_are_is_asked_first(client: Client, settings: Settings) -> None:
    client.get("/dashboard")  # where a session that no log-in has started begins
    settings.STEP_UP_AFTER = timedelta(0)
    pages = [reply.headers["Location"] for reply in (client.get(address()), client.post(address()))]
    assert [page.partition("?")[0] for page in pages] == ["/account/confirm"] * 2
    assert not ConnectionCode.objects.exists()
    settings.STEP_UP_AFTER = timedelta(minutes=10)
    reply = client.post(pages[1], {"password": PASSWORD})
    assert reply.headers["Location"] == address(), "back on the page, which is read again"
    assert code_of(client)


def lower_the_role(member: Member) -> None:
    Member.objects.filter(pk=member.pk).update(role=Role.VIEWER)


def remove_the_member(member: Member) -> None:
    make_member(member.merchant)
    member.delete()


def disable_the_person(member: Member) -> None:
    User.objects.filter(pk=member.user_id).update(is_active=False)


def wait_too_long(member: Member) -> None:
    codes: QuerySet[ConnectionCode] = ConnectionCode.objects.all()
    codes.update(expires_at=codes.get().expires_at - timedelta(minutes=10))


MEANWHILE = [
    (lower_the_role, (400, "may_not_give", "scopes")),
    (remove_the_member, (400, "connection_code_unknown", "code")),
    (disable_the_person, (400, "connection_code_unknown", "code")),
    (wait_too_long, (400, "connection_code_expired", "code")),
    (lambda member: suspend(member.merchant), (403, "merchant_inactive", None)),
]


@pytest.mark.parametrize(("change", "expected"), MEANWHILE)
def test_what_changes_before_the_exchange_counts(
    change: Any, expected: tuple[int, str, str | None], client: Client, member: Member
) -> None:
    if change is lower_the_role:
        make_member(member.merchant)  # somebody must be the owner
    code = code_of(client)
    change(member)
    assert refusal(exchange(code)) == expected
    assert nothing_made()


def test_a_stolen_code_is_of_no_use_and_does_the_shop_no_harm(client: Client) -> None:
    code = code_of(client)
    tries = {
        "x" * 43: "connection_verifier_wrong",
        CHALLENGE: "connection_verifier_wrong",
        "": "invalid_parameter",
    }
    for verifier, fault in tries.items():
        assert refusal(exchange(code, verifier)) == (400, fault, "codeVerifier")
    assert refusal(exchange("a" * 43)) == (400, "connection_code_unknown", "code")
    assert refusal(exchange(code, secret="x")) == (400, "unknown_parameter", "secret")
    assert nothing_made()
    assert Client().get(f"/connect/exchange?code={code}").status_code == 405
    assert exchange(code).status_code == 200


def test_guesses_from_one_address_have_to_wait(client: Client) -> None:
    for _ in range(20):
        assert exchange("a" * 43).status_code == 400
    reply = exchange(code_of(client))
    assert (reply.status_code, reply.headers["Retry-After"]) == (429, "60")
    assert nothing_made()


def test_old_codes_are_deleted(client: Client, member: Member) -> None:
    code_of(client)
    assert purge_codes() == 0
    ends = ConnectionCode.objects.get().expires_at
    assert (purge_codes(now=ends + timedelta(hours=23)), purge_codes(now=ends + timedelta(hours=25))) == (0, 1)


@pytest.mark.django_db(transaction=True)
def test_of_many_exchanges_at_once_one_gets_the_keys() -> None:
    merchant: Merchant = make_merchant()
    code = code_of(browser_of(make_member(merchant)))
    start, replies = threading.Barrier(6), list[int]()

    def run() -> None:
        try:
            start.wait(timeout=60)
            replies.append(exchange(code).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(replies) == [200, 400, 400, 400, 400, 400]
    assert (ApiKey.objects.count(), Endpoint.objects.count()) == (1, 1)
