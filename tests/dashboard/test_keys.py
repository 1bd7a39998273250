"""Key pairs on the dashboard."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from config.environments import Environment
from merchants.models import ApiKey, Member, Role
from tests.dashboard.conftest import browser_of
from tests.factories import api_client, make_key, make_member

SECRET = re.compile(r"sk_(?:test|live)_[0-9A-Za-z]{43}")


def open_form(client: Client) -> dict[str, str]:
    page = client.get("/dashboard/keys/new").text
    form_id = re.search(r'name="form_id" value="([^"]+)"', page)
    assert form_id
    return {"form_id": form_id[1], "name": "Web shop", "lifetime": "0"}


def test_a_new_pair_is_shown_once_and_works(client: Client, member: Member) -> None:
    fields = open_form(client)
    response = client.post("/dashboard/keys/new", fields)
    secrets = set(SECRET.findall(response.text))
    assert len(secrets) == 1
    assert "no-store" in response.headers["Cache-Control"]
    key = ApiKey.objects.get()
    assert (key.name, key.merchant, key.environment) == ("Web shop", member.merchant, Environment.SANDBOX)
    assert key.created_by == member.user
    headers = {"Authorization": f"Bearer {key.public_key}", "X-Api-Secret": secrets.pop()}
    assert api_client().call("GET", "/payments", headers=headers).status_code == 200
    for path in ("/dashboard/keys", "/dashboard/keys/new", f"/dashboard/keys/{key.public_id}/delete"):
        assert not SECRET.search(client.get(path).text)


def test_sending_the_same_form_again_makes_and_shows_nothing(client: Client) -> None:
    fields = open_form(client)
    client.post("/dashboard/keys/new", fields)
    again = client.post("/dashboard/keys/new", fields, follow=True)
    assert not SECRET.search(again.text)
    assert "A secret is shown only once" in again.text
    assert ApiKey.objects.count() == 1


def test_two_open_forms_make_two_pairs(client: Client) -> None:
    first, second = open_form(client), open_form(client)
    client.post("/dashboard/keys/new", first)
    client.post("/dashboard/keys/new", second)
    assert ApiKey.objects.count() == 2


def test_a_pair_is_limited_as_asked(client: Client) -> None:
    limits = {
        "scopes": ["payments:read", "refunds:write"],
        "lifetime": "90",
        "allowed_networks": "203.0.113.7\n\n2001:db8::/48\n203.0.113.7",
        "require_signature": "on",
    }
    client.post("/dashboard/keys/new", {**open_form(client), **limits})
    key = ApiKey.objects.get()
    assert key.scopes == ["payments:read", "refunds:write"]
    assert key.allowed_networks == ["203.0.113.7/32", "2001:db8::/48"]
    assert key.require_signature
    assert key.expires_at is not None
    assert abs(key.expires_at - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "  "}, "Give the pair a name that you will recognise."),
        ({"name": "x" * 81}, "at most 80 characters"),
        ({"name": "bell \x07"}, "printable characters"),
        ({"name": "nul \x00"}, "Null characters are not allowed."),
        ({"scopes": ["payments:everything"]}, "Select a valid choice."),
        ({"lifetime": "7"}, "Select a valid choice."),
        ({"allowed_networks": "the office"}, "“the office” is not an IP address or network."),
        ({"allowed_networks": "\n".join(f"10.0.{n}.0/24" for n in range(101))}, "At most 100 lines."),
    ],
)
def test_a_bad_form_says_what_is_wrong_and_makes_nothing(client: Client, change: dict[str, object], words: str) -> None:
    response = client.post("/dashboard/keys/new", {**open_form(client), **change})
    assert words in response.text
    assert not SECRET.search(response.text)
    assert not ApiKey.objects.exists()


def test_the_list_shows_what_one_needs_to_know(client: Client, member: Member) -> None:
    make_key(member.merchant, name="Full", allowed_networks=["192.0.2.0/24"], require_signature=True)
    make_key(member.merchant, name="Narrow", scopes=["payments:read"], expires_at=timezone.now() + timedelta(days=1))
    make_key(member.merchant, Environment.PRODUCTION, name="Other environment")
    page = client.get("/dashboard/keys").text
    assert "Everything" in page
    assert "Only from 192.0.2.0/24" in page
    assert "Signed requests only" in page
    assert "payments:read" in page
    assert "Other environment" not in page
    assert "Time to rotate" not in page


def test_an_old_pair_is_due_for_rotation_and_an_expired_one_says_so(client: Client, member: Member) -> None:
    key = make_key(member.merchant, name="Old shop").key
    ApiKey.objects.filter(pk=key.pk).update(created_at=timezone.now() - timedelta(days=90))
    page = client.get("/dashboard/keys").text
    assert "Time to rotate" in page
    assert "Old shop: in use for more than 90 days" in " ".join(page.split())
    ApiKey.objects.filter(pk=key.pk).update(expires_at=timezone.now())
    page = client.get("/dashboard/keys").text
    assert "Expired" in page
    assert "Time to rotate" not in page


def test_deleting_asks_first_and_then_refuses_at_once(client: Client, member: Member) -> None:
    issued = make_key(member.merchant, name="Web shop")
    address = f"/dashboard/keys/{issued.key.public_id}/delete"
    assert "Delete “Web shop”?" in client.get(address).text
    assert api_client(issued).call("GET", "/payments").status_code == 200
    response = client.post(address, follow=True)
    assert "“Web shop” is deleted." in response.text
    assert "pk_test" not in response.text
    assert api_client(issued).call("GET", "/payments").status_code == 401
    assert client.get(address).status_code == client.post(address).status_code == 404


def test_a_developer_manages_keys(member: Member) -> None:
    developer = browser_of(make_member(member.merchant, role=Role.DEVELOPER))
    assert SECRET.search(developer.post("/dashboard/keys/new", open_form(developer)).text)
