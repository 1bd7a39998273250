"""Logging in and out."""

from __future__ import annotations

import pytest
from django.test import Client

from merchants.models import Member
from tests.factories import PASSWORD


def log_in(client: Client, email: str, password: str, **fields: str) -> str:
    response = client.post("/login", {"email": email, "password": password, **fields})
    return response.headers["Location"] if response.status_code == 302 else f"{response.status_code}"


def test_the_right_password_opens_the_dashboard_with_a_new_session(member: Member) -> None:
    client = Client()
    client.get("/login")
    before = client.cookies.get("ballast_session")
    assert log_in(client, member.user.email, PASSWORD) == "/dashboard"
    cookie = client.cookies["ballast_session"]
    assert before is None or before.value != cookie.value
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert client.get("/dashboard").status_code == 200


def test_the_csrf_cookie_is_out_of_reach_for_scripts(member: Member) -> None:
    client = Client()
    client.get("/login")
    assert client.cookies["ballast_csrf"]["httponly"]
    assert client.cookies["ballast_csrf"]["samesite"] == "Lax"


def test_a_wrong_password_and_an_unknown_address_read_the_same(member: Member) -> None:
    wrong = Client().post("/login", {"email": member.user.email, "password": "not this one"})
    unknown = Client().post("/login", {"email": "nobody@example.com", "password": "not this one"})
    assert wrong.status_code == unknown.status_code == 400
    assert "The e-mail address or the password is not right." in wrong.text
    assert without_tokens(wrong.text, member.user.email) == without_tokens(unknown.text, "nobody@example.com")


def without_tokens(page: str, email: str) -> list[str]:
    return [line.replace(email, "") for line in page.splitlines() if "csrfmiddlewaretoken" not in line]


def test_the_password_is_never_sent_back(member: Member) -> None:
    page = Client().post("/login", {"email": member.user.email, "password": "wrong but telling"}).text
    assert "wrong but telling" not in page


def test_missing_fields_are_named(db: None) -> None:
    page = Client().post("/login", {"email": "", "password": ""}).text
    assert "Enter your e-mail address." in page
    assert "Enter your password." in page


@pytest.mark.parametrize("target", ["/dashboard/keys", "/dashboard/payments?status=completed"])
def test_one_comes_back_to_where_one_wanted_to_go(member: Member, target: str) -> None:
    assert log_in(Client(), member.user.email, PASSWORD, next=target) == target


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "http:///evil.example",
        "javascript:alert(1)",
        "\thttps://evil.example",
        "https://testserver@evil.example/",
    ],
)
def test_one_never_comes_out_at_another_site(member: Member, target: str) -> None:
    assert log_in(Client(), member.user.email, PASSWORD, next=target) == "/dashboard"
    assert target not in Client().get("/login", {"next": target}).text


def test_whoever_is_logged_in_needs_no_form(client: Client) -> None:
    assert client.get("/login").headers["Location"] == "/dashboard"


def test_logging_out_ends_the_session(client: Client) -> None:
    assert client.get("/logout").status_code == 405
    assert client.get("/dashboard").status_code == 200
    assert client.post("/logout").headers["Location"] == "/login"
    assert client.get("/dashboard").status_code == 302


def test_too_many_attempts_have_to_wait(member: Member) -> None:
    client = Client()
    for _ in range(5):
        log_in(client, member.user.email, "not this one")
    response = client.post("/login", {"email": member.user.email, "password": PASSWORD})
    assert response.status_code == 429
    assert response.headers["Retry-After"] == "2"
    assert "Too many attempts to log in" in response.text
    assert "ballast_session" not in client.cookies


def test_the_operators_address_may_be_typed_without_its_slash(db: None) -> None:
    response = Client().get("/admin")
    assert (response.status_code, response.headers["Location"]) == (302, "/admin/")
