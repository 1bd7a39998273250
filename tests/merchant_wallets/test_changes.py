"""The wallet of a network: named, replaced after a wait, cancelled, and who is told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from pytest_django.fixtures import Settings

from config.environments import Environment
from config.errors import DomainError
from config.installation.models import Installation
from merchants.people.models import Mail
from merchants.roles import Role
from merchants.services import update_settings
from payments.links.known_wallets import known_wallets
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.proving import simulate_proof
from payments.merchant_wallets.routing import requires_proof, routing_of
from payments.merchant_wallets.services import cancel_change, wait_of
from tests.factories import make_member, make_merchant
from tests.merchant_wallets.scenes import (
    FIRST,
    SANDBOX,
    SECOND,
    THIRD,
    fresh,
    hours_from_now,
    just_before_its_end,
    make_owner,
    name,
    statuses,
    wait_is_over,
)
from tests.networks import ETHEREUM, POLYGON, STELLAR

PRODUCTION = Environment.PRODUCTION

pytestmark = pytest.mark.django_db


@pytest.fixture
def _waiting(settings: Settings) -> None:
    settings.SANDBOX_WALLET_CHANGE_WAIT_HOURS = 24


def told() -> list[tuple[str, str]]:
    """To whom mails were written, and their subjects, since this was last asked."""
    mails = [(mail.to, mail.subject) for mail in Mail.objects.order_by("id")]
    Mail.objects.all().delete()
    return mails


def test_a_change_waits_a_day_in_production_and_not_in_the_sandbox() -> None:
    assert wait_of(Environment.PRODUCTION) == timedelta(hours=24)
    assert wait_of(SANDBOX) == timedelta()


@pytest.mark.usefixtures("_waiting")
class TestWaiting:
    def test_the_first_wallet_of_a_network_is_in_use_at_once_and_another_one_waits(self) -> None:
        owner = make_owner()
        name(owner, FIRST, label="Treasury")
        second = name(owner, SECOND)
        assert statuses(owner.merchant) == {FIRST: "in_use", SECOND: "waiting"}
        assert hours_from_now(second) == 24
        assert just_before_its_end(second) == 0
        assert statuses(owner.merchant)[FIRST] == "in_use"
        assert wait_is_over(second) == 1
        assert wait_is_over(second) == 0
        assert statuses(owner.merchant) == {FIRST: "replaced", SECOND: "in_use"}

    def test_owners_and_admins_are_told_when_it_is_asked_for_cancelled_and_done(self) -> None:
        owner = make_owner()
        admin = make_owner(owner.merchant, role=Role.ADMIN)
        for role in (Role.DEVELOPER, Role.SUPPORT, Role.VIEWER):
            make_member(owner.merchant, role=role)
        leading = [owner.user.email, admin.user.email]
        steps: list[tuple[Callable[[], object], str]] = [
            (lambda: name(owner, FIRST), "Harbour Coffee: a wallet on Polygon was added (sandbox)"),
            (lambda: name(admin, SECOND), "Harbour Coffee: your wallet on Polygon will change (sandbox)"),
            (
                lambda: cancel_change(MerchantWallet.objects.get(address=SECOND), by=owner.user),
                "Harbour Coffee: the change of the wallet on Polygon is cancelled (sandbox)",
            ),
            (lambda: name(owner, THIRD), "Harbour Coffee: your wallet on Polygon will change (sandbox)"),
            (
                lambda: wait_is_over(MerchantWallet.objects.get(address=THIRD)),
                "Harbour Coffee: your wallet on Polygon has changed (sandbox)",
            ),
        ]
        for act, subject in steps:
            act()
            assert told() == [(email, subject) for email in leading]

    def test_a_cancelled_change_never_takes_effect(self) -> None:
        owner = make_owner()
        name(owner, FIRST)
        second = name(owner, SECOND)
        cancel_change(second, by=owner.user)
        assert wait_is_over(second) == 0
        assert statuses(owner.merchant) == {FIRST: "in_use", SECOND: "cancelled"}
        with pytest.raises(DomainError, match="no longer waiting"):
            cancel_change(fresh(second), by=owner.user)
        assert name(owner, THIRD).status == "waiting"

    def test_one_change_of_a_network_waits_at_a_time(self) -> None:
        owner = make_owner()
        name(owner, FIRST)
        name(owner, SECOND)
        with pytest.raises(DomainError, match="is already waiting"):
            name(owner, THIRD)
        assert statuses(owner.merchant) == {FIRST: "in_use", SECOND: "waiting"}

    def test_another_label_changes_no_wallet(self) -> None:
        owner = make_owner()
        first = name(owner, FIRST, label="Old")
        told()
        assert name(owner, FIRST.lower(), label="Treasury") == first
        assert (fresh(first).label, statuses(owner.merchant), told()) == ("Treasury", {FIRST: "in_use"}, [])

    def test_where_only_proven_wallets_are_paid_a_change_waits_for_its_proof_as_well(self, settings: Settings) -> None:
        settings.REQUIRE_PROVEN_WALLETS = True
        owner = make_owner()
        name(owner, FIRST)
        second = name(owner, SECOND)
        assert wait_is_over(second) == 0
        simulate_proof(second)
        assert just_before_its_end(second) == 0
        assert wait_is_over(second) == 1
        assert statuses(owner.merchant) == {FIRST: "replaced", SECOND: "in_use"}

    def test_an_installation_that_began_with_it_pays_proven_wallets_alone_in_production(
        self, settings: Settings
    ) -> None:
        settings.REQUIRE_PROVEN_WALLETS = None
        Installation.objects.all().delete()
        assert not requires_proof(PRODUCTION)
        row = Installation.objects.create(database_oid=1, table_oid=1)
        row.refresh_from_db()
        assert row.requires_proven_wallets, "there was no merchant when the tables were made"
        assert requires_proof(PRODUCTION)
        assert not requires_proof(SANDBOX)
        owner = make_owner()
        routing = routing_of(owner.merchant.pk, PRODUCTION)
        assert routing.lacks_proof(ETHEREUM, FIRST)
        settings.REQUIRE_PROVEN_WALLETS = False
        assert not requires_proof(PRODUCTION)
        settings.REQUIRE_PROVEN_WALLETS = None


def test_without_a_wait_another_wallet_is_in_use_at_once() -> None:
    owner = make_owner()
    name(owner, FIRST)
    assert name(owner, SECOND).status == "in_use"
    assert statuses(owner.merchant) == {FIRST: "replaced", SECOND: "in_use"}


@pytest.mark.parametrize(
    ("network", "address", "words"),
    [
        (POLYGON, "0x12", "40 characters"),
        (STELLAR, FIRST, "starts with G or M"),
        ("solana", FIRST, "not available"),
    ],
)
def test_what_is_no_wallet_of_the_network_is_refused(network: str, address: str, words: str) -> None:
    owner = make_owner()
    with pytest.raises(DomainError, match=words):
        name(owner, address, network=network)
    assert statuses(owner.merchant) == {}


def test_a_wallet_that_is_not_on_the_allow_list_is_refused() -> None:
    owner = make_owner()
    update_settings(merchant=owner.merchant, environment=SANDBOX, changes={"wallet_allow_list": [FIRST]})
    with pytest.raises(DomainError, match="allow list"):
        name(owner, SECOND)
    assert name(owner, FIRST).status == "in_use"


def test_forms_begin_with_the_wallet_in_use_and_never_with_one_that_it_replaced() -> None:
    owner = make_owner()
    name(owner, FIRST)
    name(owner, SECOND)
    assert known_wallets(owner.merchant, SANDBOX)[POLYGON] == [SECOND]
    assert FIRST not in known_wallets(make_merchant(), SANDBOX)[POLYGON]
