"""A wallet whose key is lost: what was to go to it is kept, and goes to the merchant's other wallet after the wait."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from config.errors import DomainError
from merchants.audit.models import LoggedAction
from merchants.models import Member
from merchants.people.models import Mail
from merchants.roles import Action, Role
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.services import apply_due, cancel_change
from settlements.models import Settlement
from settlements.plans.planning import CarryReason
from settlements.plans.reading import wallets_with_money
from settlements.services import CalledBack, declare_wallet_lost, redirect_failed
from settlements.states import SettlementProblem
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant
from tests.merchant_wallets.scenes import make_owner, name, wait_is_over
from tests.settlements.scenes import (
    ETHEREUM,
    OTHER_WALLETS,
    POLYGON,
    SANDBOX,
    WALLETS,
    advance,
    assert_all_is_well,
    carried,
    earn,
    events,
    fresh,
    owed,
    pay_out,
    settle,
    settle_one,
    stock_treasury,
    units,
)
from tests.transfers import scenes as transfers

pytestmark = pytest.mark.django_db

LOST, OTHER = WALLETS[ETHEREUM], OTHER_WALLETS[ETHEREUM]


@pytest.fixture(autouse=True)
def _waiting(settings: Settings) -> None:
    settings.SANDBOX_WALLET_CHANGE_WAIT_HOURS = 24


@pytest.fixture
def owner() -> Member:
    """Of a merchant whose payments name a wallet, and who has named another one for the network."""
    owner = make_owner()
    name(owner, OTHER, network=ETHEREUM)
    Mail.objects.all().delete()
    return owner


def lose(by: Member, address: str = LOST, network: str = ETHEREUM) -> CalledBack:
    return declare_wallet_lost(network=network, address=address, environment=SANDBOX, by=by)


def test_what_waits_is_kept_for_a_day_and_then_goes_to_the_other_wallet(owner: Member) -> None:
    earn(owner.merchant, "100")
    lost = lose(owner).wallet
    assert carried(settle(owner.merchant)) == [("USDC", "100000000", CarryReason.WALLET_LOST)]
    assert apply_due(lost.takes_effect_at - timedelta(seconds=1)) == 0
    assert carried(settle(owner.merchant)) == [("USDC", "100000000", CarryReason.WALLET_LOST)]
    assert wait_is_over(lost) == 1
    assert wait_is_over(lost) == 0
    earn(owner.merchant, "5")  # of a payment that still names the lost one
    settlement = settle_one(owner.merchant)
    assert (settlement.destination, settlement.amount) == (OTHER, units("105"))
    stock_treasury("105")
    assert pay_out(settlement).status == "completed"
    assert owed(owner.merchant) == 0
    assert_all_is_well()


def test_settlements_that_are_not_signed_yet_are_called_back(owner: Member) -> None:
    merchant = owner.merchant
    earn(merchant, "100")
    unsent = settle_one(merchant)
    earn(merchant, "30", wallet=OTHER)
    elsewhere = settle_one(merchant)
    earn(merchant, "20")
    handed_over = advance(settle_one(merchant))
    assert handed_over.payout is not None
    done = lose(owner, LOST.lower())
    assert ([each.pk for each in done.back], list(done.gone)) == ([unsent.pk, handed_over.pk], [])
    for each in (unsent, handed_over):
        assert (fresh(each).status, fresh(each).failure_code) == ("failed", SettlementProblem.WALLET_LOST)
        assert events(each)[-1] == ("settlement.failed", 2)
    handed_over.payout.refresh_from_db()
    assert handed_over.payout.status == "cancelled"
    assert (fresh(elsewhere).status, owed(merchant)) == ("pending", units("120"))
    assert_all_is_well()
    wait_is_over(done.wallet)
    settlement = settle_one(merchant)
    assert (settlement.destination, settlement.amount) == (OTHER, units("120"))
    assert_all_is_well()


def test_what_is_signed_cannot_be_called_back_and_is_said_to_be_gone(owner: Member) -> None:
    stock_treasury("100")
    earn(owner.merchant, "100")
    sent = advance(settle_one(owner.merchant))
    transfers.drive(ETHEREUM)
    done = lose(owner)
    assert (list(done.back), [each.pk for each in done.gone]) == ([], [sent.pk])
    assert pay_out(sent).status == "completed"
    assert_all_is_well()


def test_whoever_cancels_in_time_has_it_paid_as_before(owner: Member) -> None:
    admin = make_owner(owner.merchant, role=Role.ADMIN)
    earn(owner.merchant, "100")
    lost = lose(owner).wallet
    cancel_change(lost, by=admin.user)
    assert settle_one(owner.merchant).destination == LOST
    assert wait_is_over(lost) == 0
    with pytest.raises(DomainError, match="no longer waiting"):
        cancel_change(lost, by=admin.user)


def test_the_wallet_in_use_can_be_lost_once_another_one_waits() -> None:
    owner = make_owner()
    name(owner, LOST, network=ETHEREUM)
    earn(owner.merchant, "100")
    with pytest.raises(DomainError, match="Add another wallet"):
        lose(owner)
    change = name(owner, OTHER, network=ETHEREUM)
    lost = lose(owner).wallet
    assert carried(settle(owner.merchant)) == [("USDC", "100000000", CarryReason.WALLET_LOST)]
    with pytest.raises(DomainError, match="already reported that the key"):
        lose(owner)
    cancel_change(change, by=owner.user)
    assert wait_is_over(lost) == 0, "there is no other wallet to stand for it"
    assert carried(settle(owner.merchant)) == [("USDC", "100000000", CarryReason.WALLET_LOST)]
    change = name(owner, OTHER, network=ETHEREUM)
    assert wait_is_over(change) == 2
    assert settle_one(owner.merchant).destination == OTHER


def test_a_failed_settlement_is_not_redirected_to_it(owner: Member) -> None:
    elsewhere = address_named(ETHEREUM, "elsewhere")
    earn(owner.merchant, "100", wallet=elsewhere)
    control.describe_account(ETHEREUM, elsewhere, refuses="destination_invalid")
    refused = advance(settle_one(owner.merchant))
    lose(owner)
    with pytest.raises(DomainError, match="key of this wallet is lost"):
        redirect_failed(refused, wallet=LOST, requested_by="somebody")
    assert carried(settle(owner.merchant)) == [("USDC", "100000000", CarryReason.WALLET_BLOCKED)]


def test_a_wallet_that_waits_to_be_used_is_cancelled_instead(owner: Member) -> None:
    name(owner, LOST, network=ETHEREUM)
    with pytest.raises(DomainError, match="Cancel it"):
        lose(owner)


def test_a_lost_wallet_is_not_named_again_by_mistake(owner: Member) -> None:
    lost = lose(owner).wallet
    with pytest.raises(DomainError, match="Cancel that first"):
        name(owner, LOST, network=ETHEREUM)
    wait_is_over(lost)
    with pytest.raises(DomainError, match="already goes to your wallet in use"):
        lose(owner)


def test_it_holds_for_its_network_and_merchant_alone(owner: Member) -> None:
    other = make_merchant()
    lose(owner)
    earn(other, "7")
    earn(owner.merchant, "9", network=POLYGON, wallet=LOST)
    assert settle_one(other).destination == LOST
    assert settle_one(owner.merchant).network == POLYGON


@pytest.mark.parametrize(
    ("network", "address"), [("nowhere", LOST), (ETHEREUM, "0x12"), (POLYGON, LOST)], ids=["network", "address", "none"]
)
def test_what_cannot_be_lost_is_refused(owner: Member, network: str, address: str) -> None:
    with pytest.raises(DomainError):
        lose(owner, address, network)
    assert not MerchantWallet.objects.filter(status="lost").exists()
    assert not Mail.objects.exists()


def test_all_members_are_told(owner: Member) -> None:
    everybody = {owner.user.email} | {make_member(owner.merchant, role=role).user.email for role in Role}
    lost = lose(owner).wallet
    cancel_change(lost, by=owner.user)
    wait_is_over(lose(owner).wallet)
    subjects = [
        "Harbour Coffee: the key of a wallet on Ethereum is lost (sandbox)",
        "Harbour Coffee: a wallet on Ethereum is paid again (sandbox)",
        "Harbour Coffee: the key of a wallet on Ethereum is lost (sandbox)",
        "Harbour Coffee: another wallet on Ethereum replaces a lost one (sandbox)",
    ]
    for email in everybody:
        assert list(Mail.objects.filter(to=email).order_by("id").values_list("subject", flat=True)) == subjects
    assert Mail.objects.count() == len(everybody) * len(subjects)


def test_wallets_are_offered_once_that_money_may_go_to(owner: Member) -> None:
    earn(owner.merchant, "10")
    earn(owner.merchant, "10", network=POLYGON)
    assert wallets_with_money(owner.merchant, SANDBOX) == sorted(
        [(ETHEREUM, LOST), (ETHEREUM, OTHER), (POLYGON, WALLETS[POLYGON])]
    )
    lose(owner)
    assert (ETHEREUM, LOST) not in wallets_with_money(owner.merchant, SANDBOX)
    assert wallets_with_money(make_merchant(), SANDBOX) == []


def press(client: Client, wallet: str) -> str:
    return client.post(reverse("dashboard_lose_wallet"), {"wallet": wallet}, follow=True).text


def test_a_member_says_so_on_a_page_and_takes_it_back(owner: Member) -> None:
    client = browser_of(owner)
    earn(owner.merchant, "100")
    settle_one(owner.merchant)
    assert f"{ETHEREUM} {LOST}" in client.get(reverse("dashboard_lose_wallet")).text
    assert "Select a valid choice" in press(client, f"{ETHEREUM} 0x0")
    assert not MerchantWallet.objects.filter(status="lost").exists()
    shown = press(client, f"{ETHEREUM} {LOST}")
    assert "1 settlement to it was called back." in shown
    assert "Nothing is paid to a wallet whose key is lost" in shown
    logged = LoggedAction.objects.get(action=Action.LOSE_WALLET)
    assert logged.after["settlements"] == [Settlement.objects.get().public_id]
    lost = MerchantWallet.objects.get(status="lost")
    shown = client.post(reverse("dashboard_cancel_wallet", args=[lost.public_id]), follow=True).text
    assert "The wallet is paid again." in shown
    assert settle_one(owner.merchant).destination == LOST
