"""Opening merchants, naming members, changing plans."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.environments import Environment
from config.errors import InvalidParameter
from merchants.models import Merchant, MerchantSettings, Plan
from merchants.roles import Role
from merchants.services import (
    change_fee,
    change_plan,
    fee_bps_of,
    open_merchant,
    rename_merchant,
    update_settings,
)
from merchants.wallets import ANY_WALLET, WalletRules
from tests.factories import make_merchant, make_user

pytestmark = pytest.mark.django_db


def test_a_new_merchant_has_an_owner_and_settings_in_both_environments() -> None:
    owner = make_user()
    merchant = open_merchant(name=" Corner Shop ", email="shop@example.com", owner=owner)
    assert (merchant.name, merchant.plan, merchant.is_active) == ("Corner Shop", Plan.STARTER, True)
    assert [(member.user, member.role) for member in merchant.members.all()] == [(owner, Role.OWNER)]
    environments = MerchantSettings.objects.filter(merchant=merchant).values_list("environment", flat=True)
    assert sorted(environments) == sorted(Environment.values)


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 121}, "name"),
        ({"name": "a\u202eb"}, "name"),
        ({"email": "nobody"}, "email"),
        ({"plan": "gold"}, "plan"),
    ],
)
def test_a_merchant_that_cannot_be_is_refused_by_name_and_leaves_nothing(wrong: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        open_merchant(**{"name": "Shop", "email": "shop@example.com", **wrong})
    assert refusal.value.param == param
    assert not Merchant.objects.exists()


def test_a_plan_sets_the_budget_of_an_enterprise_merchant_only() -> None:
    merchant = make_merchant()
    change_plan(merchant=merchant, plan=Plan.ENTERPRISE, requests_per_minute=9000)
    for plan, own in ((Plan.BUSINESS, 9000), (Plan.ENTERPRISE, 0), (Plan.ENTERPRISE, 1_000_001), ("gold", None)):
        with pytest.raises(InvalidParameter):
            change_plan(merchant=merchant, plan=plan, requests_per_minute=own)
    stored = Merchant.objects.get()
    assert (stored.plan, stored.requests_per_minute) == (Plan.ENTERPRISE, 9000)
    change_plan(merchant=merchant, plan=Plan.BUSINESS)
    assert Merchant.objects.get().requests_per_minute is None


def test_a_merchant_is_renamed() -> None:
    rename_merchant(merchant=make_merchant(), name="Other")
    assert Merchant.objects.get().name == "Other"


def test_an_operator_gives_a_merchant_a_fee_of_its_own(settings: Settings) -> None:
    settings.FEE_BPS = {"starter": 50}
    merchant = make_merchant()
    assert fee_bps_of(merchant) == 50
    for own in (0, 9_999):
        change_fee(merchant=merchant, fee_bps=own)
        assert fee_bps_of(Merchant.objects.get()) == own
    for wrong in (-1, 10_000):
        with pytest.raises(InvalidParameter):
            change_fee(merchant=merchant, fee_bps=wrong)
    change_fee(merchant=merchant, fee_bps=None)
    assert fee_bps_of(Merchant.objects.get()) == 50


def test_a_wallet_keeps_the_instant_it_came_onto_the_allow_list() -> None:
    merchant = make_merchant()
    one, other = (f"0x{digit * 40}" for digit in "12")

    def allow(*wallets: str) -> dict[str, str]:
        changed = update_settings(
            merchant=merchant, environment=Environment.SANDBOX, changes={"wallet_allow_list": wallets}
        )
        return dict(changed.wallets_allowed_at)

    before = timezone.now()
    first = allow(one)
    assert first.keys() == {one}
    assert before <= datetime.fromisoformat(first[one]) <= timezone.now()
    second = allow(other, one)
    assert second[one] == first[one]
    assert second[other] > first[one]
    assert allow(other) == {other: second[other]}
    given_up = allow()
    assert given_up.keys() == {other, ANY_WALLET}  # any other wallet cools off now
    assert given_up[other] == second[other]
    assert allow() == given_up
    assert allow(one)[one] > given_up[ANY_WALLET]  # taken off and put on again: it cools off anew


def test_the_case_of_an_evm_address_does_not_matter_to_the_allow_list() -> None:
    written = "0x52908400098527886E0F7030069857D2E4169EE7"
    rules = WalletRules.of([written.lower()], {})
    assert rules.allows(written)
    assert not rules.allows(f"0x{'1' * 40}")
    account = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
    assert not WalletRules.of([account], {}).allows(account.lower())


def test_wallets_allowed_before_instants_were_kept_have_cooled_off() -> None:
    merchant = make_merchant()
    old, new = (f"0x{digit * 40}" for digit in "12")
    chosen = MerchantSettings.objects.filter(merchant=merchant, environment=Environment.SANDBOX)
    chosen.update(wallet_allow_list=[old], wallets_allowed_at={})
    update_settings(merchant=merchant, environment=Environment.SANDBOX, changes={"wallet_allow_list": [old, new]})
    assert not WalletRules.of([old, new], chosen.get().wallets_allowed_at).is_cooling_off(old, timezone.now())
    assert WalletRules.of([old, new], chosen.get().wallets_allowed_at).is_cooling_off(new, timezone.now())
