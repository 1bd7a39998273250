"""Pairs of keys: how they are made, what is kept of them, and how one is issued and deleted."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client, override_settings
from django.utils import timezone

from config.environments import Environment
from config.errors import InvalidParameter
from merchants.access import keys
from merchants.models import ApiKey
from merchants.services import issue_api_key, revoke_api_key
from tests.factories import key_headers, make_key, make_merchant


@pytest.mark.parametrize(("environment", "infix"), [(Environment.PRODUCTION, "live"), (Environment.SANDBOX, "test")])
def test_a_pair_carries_its_environment_and_256_random_bits(environment: Environment, infix: str) -> None:
    pair = keys.generate_pair(environment)
    assert re.fullmatch(rf"pk_{infix}_[0-9A-Za-z]{{43}}", pair.public_key)
    assert re.fullmatch(rf"sk_{infix}_[0-9A-Za-z]{{43}}", pair.secret)
    assert keys.environment_of(pair.public_key) == environment
    assert pair.public_key[8:] != pair.secret[8:]
    assert pair.secret not in repr(pair)


def test_pairs_differ() -> None:
    pairs = [keys.generate_pair(Environment.SANDBOX) for _ in range(500)]
    assert len({pair.secret for pair in pairs} | {pair.public_key for pair in pairs}) == 1000


@pytest.mark.parametrize("text", ["", "pk_", "pk_prod_x", "sk_test_x", "PK_TEST_x", "xpk_test_"])
def test_other_text_names_no_environment(text: str) -> None:
    assert keys.environment_of(text) is None


def test_the_digest_depends_on_the_secret_and_on_the_pepper() -> None:
    first = keys.digest("sk_test_a")
    with override_settings(API_KEY_PEPPER="another"):
        other = keys.digest("sk_test_a")
    assert (len(first), first == keys.digest("sk_test_a"), first == keys.digest("sk_test_b"), first == other) == (
        32,
        True,
        False,
        False,
    )


@pytest.mark.django_db
def test_the_pepper_is_replaced_and_every_pair_goes_on(settings: Any, capsys: Any) -> None:
    used, unused, earlier = make_key(), make_key(name="Of a nightly job"), settings.API_KEY_PEPPER
    settings.API_KEY_PEPPER, settings.API_KEY_PEPPER_FALLBACKS = "the next pepper", ["an even older one", earlier]

    assert not keys.secret_matches(used.key, unused.secret)
    with pytest.raises(CommandError, match="2 pairs are under an earlier pepper"):
        call_command("api_key_pepper")
    assert Client().get("/sandbox/v1/payments", headers=key_headers(used)).status_code == 200
    with pytest.raises(CommandError, match="1 pairs"):
        call_command("api_key_pepper")
    assert "Of a nightly job" in capsys.readouterr().out.splitlines()[-1]

    settings.API_KEY_PEPPER_FALLBACKS = []
    assert Client().get("/sandbox/v1/payments", headers=key_headers(used)).status_code == 200
    assert Client().get("/sandbox/v1/payments", headers=key_headers(unused)).status_code == 401
    revoke_api_key(key=unused.key)
    call_command("api_key_pepper")


@pytest.mark.django_db
class TestIssuing:
    def test_only_the_digest_of_the_secret_is_stored(self) -> None:
        issued = make_key()
        row: dict[str, Any] = dict(ApiKey.objects.values().get())
        assert bytes(row.pop("secret_digest")) == keys.digest(issued.secret)
        assert issued.secret not in str(row)
        assert issued.secret not in repr(issued)
        assert keys.secret_matches(issued.key, issued.secret)
        assert not keys.secret_matches(issued.key, issued.secret[:-1])

    def test_nothing_matches_a_key_that_does_not_exist(self) -> None:
        assert not keys.secret_matches(None, "sk_test_a")

    def test_several_pairs_live_side_by_side(self) -> None:
        merchant = make_merchant()
        first, second = make_key(merchant, name="Old"), make_key(merchant, name="New")
        revoke_api_key(key=first.key)
        assert list(ApiKey.objects.of(merchant, "sandbox").live()) == [second.key]

    def test_revoking_twice_keeps_the_first_time(self) -> None:
        key = make_key().key
        revoke_api_key(key=key)
        first = key.revoked_at
        revoke_api_key(key=key)
        assert ApiKey.objects.get().revoked_at == first is not None

    def test_scopes_are_stored_once_each_and_networks_in_their_short_form(self) -> None:
        issued = make_key(
            scopes=["refunds:write", "payments:read", "refunds:write"],
            allowed_networks=[" 192.0.2.7 ", "2001:DB8::/32", "192.0.2.7/32"],
        )
        assert issued.key.scopes == ["payments:read", "refunds:write"]
        assert issued.key.allowed_networks == ["192.0.2.7/32", "2001:db8::/32"]

    @pytest.mark.parametrize(
        ("wrong", "param"),
        [
            ({"name": "  "}, "name"),
            ({"name": "x" * 81}, "name"),
            ({"name": "two\nlines"}, "name"),
            ({"name": "nul\0"}, "name"),
            ({"scopes": ["payments:delete"]}, "scopes"),
            ({"scopes": ["payments:read", "*"]}, "scopes"),
            ({"expires_at": timezone.now() - timedelta(seconds=1)}, "expires_at"),
            ({"allowed_networks": ["192.0.2.0/33"]}, "allowed_networks"),
            ({"allowed_networks": ["192.0.2.1/24"]}, "allowed_networks"),
            ({"allowed_networks": ["example.com"]}, "allowed_networks"),
            ({"allowed_networks": [""]}, "allowed_networks"),
            ({"allowed_networks": ["192.0.2.1"] * 101}, "allowed_networks"),
        ],
    )
    def test_a_bad_wish_is_refused_by_name_and_makes_no_key(self, wrong: dict[str, object], param: str) -> None:
        wishes: dict[str, object] = {"merchant": make_merchant(), "environment": Environment.SANDBOX, "name": "Key"}
        with pytest.raises(InvalidParameter) as refusal:
            issue_api_key(**{**wishes, **wrong})  # type: ignore[arg-type]  # the point is that they are wrong
        assert refusal.value.param == param
        assert not ApiKey.objects.exists()
