"""Key pairs on the dashboard."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from config.environments import Environment
from merchants.models import ApiKey, Member
from merchants.roles import Role
from merchants.services import IssuedKey
from tests.dashboard.conftest import browser_of
from tests.factories import api_client, make_key, make_member

SECRET = re.compile(r"sk_(?:test|live)_[0-9A-Za-z]{43}")


def open_form(client: Client) -> dict[str, str]:
    page = client.get("/dashboard/keys/new").text
    form_id = re.search(r'name="form_id" value="([^"]+)"', page)
    assert form_id
    return {"form_id": form_id[1], "name": "Web shop", "access": "full", "lifetime": "0"}


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
    assert "A secret key is shown only once" in again.text
    assert ApiKey.objects.count() == 1


def test_two_open_forms_make_two_pairs(client: Client) -> None:
    first, second = open_form(client), open_form(client)
    client.post("/dashboard/keys/new", first)
    client.post("/dashboard/keys/new", second)
    assert ApiKey.objects.count() == 2


def test_a_pair_is_limited_as_asked(client: Client) -> None:
    limits = {
        "access": "restricted",
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
        ({"access": ""}, "Choose what the pair may do."),
        ({"access": "restricted"}, "Tick at least one thing that the pair may do."),
        ({"access": "restricted", "scopes": ["payments:everything"]}, "Select a valid choice."),
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
    assert "See payments and payment links" in page
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
    assert "Ended" in page
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


def test_a_developer_makes_keys_that_may_do_no_more_than_developers(member: Member) -> None:
    developer = browser_of(make_member(member.merchant, role=Role.DEVELOPER))
    page = developer.get("/dashboard/keys/new").text
    assert 'value="full"' not in page
    assert 'value="merchant:write"' not in page
    assert "Change the settings: settlements, wallets and tolerance: your role does not permit this" in page
    for more in ({"access": "full"}, {"access": "restricted", "scopes": "merchant:write"}):
        assert not SECRET.search(developer.post("/dashboard/keys/new", {**open_form(developer), **more}).text)
    own = {"access": "restricted", "scopes": ["payments:write", "refunds:write"]}
    assert SECRET.search(developer.post("/dashboard/keys/new", {**open_form(developer), **own}).text)
    assert ApiKey.objects.count() == 1

    full = make_key(member.merchant, name="Full").key
    address = f"/dashboard/keys/{full.public_id}/rotate"
    assert "Ask an owner or an admin" in developer.get(address).text
    assert address not in developer.get("/dashboard/keys").text
    form_id = {"form_id": open_form(developer)["form_id"]}
    assert not SECRET.search(developer.post(address, {**form_id, "overlap": "24"}).text)
    assert ApiKey.objects.count() == 2


def test_nothing_is_ticked_before_somebody_chooses(client: Client) -> None:
    page = client.get("/dashboard/keys/new").text
    assert 'value="full"' in page
    assert "checked" not in page


def rotate(client: Client, key: ApiKey, hours: str) -> str:
    """The page that follows; an open form is sent even where no form is shown."""
    address = f"/dashboard/keys/{key.public_id}/rotate"
    form_id = re.search(r'name="form_id" value="([^"]+)"', client.get(address).text)
    assert form_id
    return client.post(address, {"form_id": form_id[1], "overlap": hours}).text


def test_rotating_makes_a_pair_with_the_same_limits_and_lets_the_old_one_end(client: Client, member: Member) -> None:
    limits: dict[str, Any] = {"name": "Web shop", "scopes": ["payments:read"], "allowed_networks": ["127.0.0.0/8"]}
    old = make_key(member.merchant, **limits, expires_at=timezone.now() + timedelta(days=30))
    [secret] = set(SECRET.findall(rotate(client, old.key, "24")))
    new = ApiKey.objects.exclude(pk=old.key.pk).get()
    for name in ("merchant_id", "environment", "name", "scopes", "allowed_networks", "require_signature"):
        assert getattr(new, name) == getattr(old.key, name), name
    assert new.created_by == member.user
    lives = [key.expires_at - key.created_at for key in (new, old.key) if key.expires_at]
    assert len(lives) == 2
    assert abs(lives[0] - lives[1]) < timedelta(hours=1)
    pairs = (old, IssuedKey(new, secret))
    assert [api_client(pair).call("GET", "/payments").status_code for pair in pairs] == [200, 200]
    assert "Replaced by a new pair" in client.get("/dashboard/keys").text

    ApiKey.objects.filter(pk=old.key.pk).update(retires_at=timezone.now())
    replies = [api_client(pair).call("GET", "/payments") for pair in pairs]
    assert [reply.status_code for reply in replies] == [401, 200]
    assert replies[0].json()["error"]["code"] == "key_expired"
    assert "no longer works" in client.get(f"/dashboard/keys/{old.key.public_id}/rotate").text


def test_a_replaced_pair_is_kept_or_ended_at_once(client: Client, member: Member) -> None:
    old = make_key(member.merchant, name="Web shop")
    rotate(client, old.key, "1")
    assert not SECRET.search(rotate(client, old.key, "1"))  # it was replaced already
    assert ApiKey.objects.count() == 2
    client.post(f"/dashboard/keys/{old.key.public_id}/keep")
    assert ApiKey.objects.get(pk=old.key.pk).ends_at is None
    refused = client.post(f"/dashboard/keys/{old.key.public_id}/keep", follow=True)
    assert "is not about to end because of a new one" in refused.text

    rotate(client, old.key, "0")
    assert api_client(old).call("GET", "/payments").status_code == 401
    assert ApiKey.objects.filter(revoked_at__isnull=True).count() == 2


def test_the_list_says_where_a_pair_was_used(client: Client, member: Member) -> None:
    issued = make_key(member.merchant)
    api_client(issued).call("GET", "/payments", REMOTE_ADDR="203.0.113.9")
    assert "from 203.0.113.9" in client.get("/dashboard/keys").text
