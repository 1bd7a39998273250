"""Who may open the pages of people, and what those pages never do."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from config.urls import people_routes
from merchants.models import User
from tests.factories import make_user

pytestmark = pytest.mark.django_db

OPEN = {
    "login",
    "signup",
    "signup/sent",
    "signup/confirm/<str:key>",
    "password",
    "password/sent",
    r"^password/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)$",
    "invitation/<str:token>",
    "login/code",
    "login/passkey",
    "mailbox",
}
"""What anybody may open."""

PERSONAL = (
    "account",
    "account/password",
    "account/email",
    "account/confirm",
    "account/confirm/code",
    "account/app",
    "account/app/remove",
    "account/codes",
    "account/codes/new",
    "account/factors",
    "account/confirm/passkey",
    "account/passkeys",
    "account/passkeys/new",
    "account/passkeys/<int:pk>/remove",
    "account/sessions/others",
    "account/sessions/<int:log_in_id>",
)
"""What is a person's own."""

FIELDS = {"email": "eve@example.com", "current": "guess", "password": "another long phrase"}


def test_every_page_is_open_or_personal() -> None:
    assert {str(route.pattern) for route in people_routes} == OPEN | {*PERSONAL}


@pytest.mark.parametrize("path", PERSONAL)
def test_a_stranger_is_sent_to_log_in_and_changes_nothing(path: str) -> None:
    make_user("anna@example.com")
    before = list(User.objects.values())
    path = re.sub(r"<int:\w+>", "1", path)
    for reply in (Client().get(f"/{path}"), Client().post(f"/{path}", FIELDS)):
        expected = {(302, f"/login?next=/{path}"), (405, None), (302, "/account")}
        assert (reply.status_code, reply.headers.get("Location")) in expected
    assert list(User.objects.values()) == before


SHOWN = (
    "account",
    "account/password",
    "account/email",
    "account/confirm",
    "account/app",
    "account/codes/new",
    "account/passkeys/new",
)
"""Those that show a page to somebody without a second factor."""


@pytest.mark.parametrize("path", [*SHOWN, "signup", "signup/sent", "password", "password/sent"])
def test_no_page_is_stored(path: str) -> None:
    client = Client()
    if path in PERSONAL:
        client.force_login(make_user())
    reply = client.get(f"/{path}")
    assert reply.status_code == 200
    assert "no-store" in reply.headers["Cache-Control"]


@pytest.mark.parametrize(
    "path", [*SHOWN[1:], "account/app/remove", "account/sessions/others", "signup", "password", "signup/confirm/x"]
)
def test_a_form_of_another_site_is_refused(path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    if path in PERSONAL:
        client.force_login(make_user("anna@example.com"))
    before = list(User.objects.values())
    assert client.post(f"/{path}", FIELDS).status_code == 403
    assert list(User.objects.values()) == before
