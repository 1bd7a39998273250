"""What operators see of money leaving, what they decide, and that they change nothing else."""

from __future__ import annotations

import html
import io

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from merchants.four_eyes.models import Proposal, ProposalStatus
from merchants.four_eyes.services import agree
from merchants.ledger.models import Stop
from merchants.ledger.stops import propose_lifting
from merchants.models import User
from payments.chains import registry
from payments.chains.simulated import control
from payments.transfers import services
from payments.transfers.audit import adopt_unknown
from payments.transfers.models import Payout, PayoutPolicy, Transfer
from payments.transfers.payouts import approve_payout, policy_of
from payments.transfers.states import PayoutStatus
from tests.factories import make_user
from tests.transfers.scenes import (
    COIN,
    ETHEREUM,
    SANDBOX,
    ask,
    drive,
    finish,
    fresh,
    somebody,
    stock,
    the_wallet,
    why_frozen,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0


def operator(*permissions: str) -> tuple[Client, User]:
    """Somebody of the staff who may do this; everything, when nothing is said."""
    user = make_user(is_staff=True, is_superuser=not permissions)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client, user


def page(client: Client, name: str, *arguments: object, **query: str) -> str:
    response = client.get(reverse(f"admin:transfers_{name}", args=arguments), query)
    assert response.status_code == 200
    return response.text


def act(client: Client, action: str, row: Model, **answer: str) -> str:
    chosen = {"action": action, "_selected_action": [row.pk], **answer}
    response = client.post(reverse(f"admin:transfers_{row._meta.model_name}_changelist"), chosen, follow=True)
    assert response.status_code == 200
    return response.text


@pytest.fixture
def held() -> Payout:
    """A payout that two people must approve."""
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(approval_above=2)
    stock(ETHEREUM, 100 * COIN)
    payout = ask(ETHEREUM, 3 * COIN)
    drive(ETHEREUM)
    assert fresh(payout).hold_reason == "approval"
    return fresh(payout)


class TestDeciding:
    def test_two_people_approve_and_it_leaves(self, held: Payout) -> None:
        (first, ada), (second, _) = operator(), operator()
        asked = act(first, "approve", held)
        assert "Approve these payouts?" in asked
        assert str(held) in asked
        assert not Proposal.objects.exists()
        assert "another operator must agree, under Proposals" in act(
            first, "approve", held, confirmed="yes", note="In order"
        )
        assert "another operator must agree" in act(first, "approve", held, confirmed="yes", note="In order")
        drive(ETHEREUM)
        assert fresh(held).status == PayoutStatus.HELD
        assert f"Waits for another operator: Pay {held}" in html.unescape(page(first, "payout_change", held.pk))
        act(second, "approve", held, confirmed="yes", note="In order")
        finish(ETHEREUM)
        assert fresh(held).status == PayoutStatus.PAID
        assert Proposal.objects.get().proposed_by == ada
        logged = {*LogEntry.objects.filter(user=ada).values_list("change_message", flat=True)}
        assert logged == {f"Waits for another operator: {Proposal.objects.get()} In order"}

    def test_one_person_rejects_and_says_why(self, held: Payout) -> None:
        client, _ = operator()
        assert "Why? The merchant is shown it." in act(client, "reject", held)
        assert "Why? The merchant is shown it." in act(client, "reject", held, confirmed="yes", note="  ")
        assert fresh(held).status == PayoutStatus.HELD
        act(client, "reject", held, confirmed="yes", note="Not our merchant.")
        rejected = fresh(held)
        assert (rejected.status, rejected.failure_code, rejected.failure_message) == (
            PayoutStatus.FAILED,
            "rejected",
            "Not our merchant.",
        )
        assert "Only a payout that is held" in act(client, "approve", held, confirmed="yes", note="In order")

    @pytest.mark.parametrize("action", ["approve", "reject"])
    def test_whoever_may_only_look_decides_nothing(self, held: Payout, action: str) -> None:
        client, _ = operator("view_payout")
        act(client, action, held, confirmed="yes", note="No.")
        assert fresh(held).status == PayoutStatus.HELD
        assert not Proposal.objects.exists()
        assert act(operator("view_payout", "change_payout")[0], action, held, confirmed="yes", note="No.")
        assert fresh(held).status == PayoutStatus.FAILED or Proposal.objects.get().subject == str(held.pk)


class TestPolicy:
    def test_limits_can_be_set_before_there_is_a_payout(self) -> None:
        client, _ = operator()
        assert page(client, "payoutpolicy_changelist").count("/change/") == 2
        policy = PayoutPolicy.objects.get(environment="production")
        limits = {
            "approval_above": "",
            "transfer_limit": "7",
            "daily_limit": "500000",
            "merchant_daily_limit": "100000",
        }
        change = reverse("admin:transfers_payoutpolicy_change", args=[policy.pk])
        assert client.post(change, limits).status_code == 302
        policy.refresh_from_db()
        assert (policy.approval_above, policy.transfer_limit) == (10_000, 7)
        assert policy.environment == "production"
        told = LogEntry.objects.get().change_message
        assert told == "proposed approval_above: 10000 → None; transfer_limit: 100000 → 7"

    def test_policies_are_neither_added_nor_removed(self) -> None:
        client, _ = operator()
        policy = policy_of(SANDBOX)
        assert client.get(reverse("admin:transfers_payoutpolicy_add")).status_code == 403
        assert client.post(reverse("admin:transfers_payoutpolicy_delete", args=[policy.pk])).status_code == 403


def thaw(client: Client) -> str:
    asked = {"action": "lift", "confirmed": "yes", "note": "Looked."}
    asked |= {"_selected_action": str(Stop.objects.latest("pk").pk)}
    return client.post(reverse("admin:ledger_stop_changelist"), asked, follow=True).text


class TestWallets:
    @pytest.fixture(autouse=True)
    def used(self) -> None:
        stock(ETHEREUM, 100 * COIN)
        ask(ETHEREUM)
        finish(ETHEREUM)

    def test_a_person_freezes_and_thaws(self) -> None:
        client, user = operator()
        wallet = the_wallet(ETHEREUM)
        assert "Freeze these wallets?" in act(client, "freeze", wallet)
        act(client, "freeze", wallet, confirmed="yes", note="looks odd")
        assert why_frozen(ETHEREUM) == f"looks odd ({user})"
        for _ in range(2):
            assert "another operator must agree" in thaw(client)
            assert why_frozen(ETHEREUM)
        assert f"{wallet}: goes on." in thaw(operator()[0])
        assert not why_frozen(ETHEREUM)
        messages = list(LogEntry.objects.order_by("id").values_list("change_message", flat=True))
        assert messages == ["Frozen: looks odd", *["Proposed to lift it: Looked."] * 2, "Lifted: Looked."]

    def test_what_is_agreed_is_of_the_wallet_as_it_was(self) -> None:
        """A thaw falls when the wallet was frozen anew since, or has sent what the ledger lacks."""
        wallet, (_, ada), (_, bob) = the_wallet(ETHEREUM), operator(), operator()
        services.freeze_wallet(wallet, reason="odd")
        first = propose_lifting(Stop.objects.get(), by=ada)
        services.thaw_wallet(wallet, {}, thawed_by="two others")
        services.freeze_wallet(wallet, reason="odd again")
        assert agree(first, by=bob).status == ProposalStatus.FALLEN
        frozen = Stop.objects.standing().get()
        second = propose_lifting(frozen, by=ada)
        asset = registry.asset(SANDBOX, ETHEREUM, "USDC")
        thief = somebody(ETHEREUM, "a thief")
        control.pay(ETHEREUM, sender=wallet.address, recipient=thief, contract=asset.contract, amount=5)
        control.mine(ETHEREUM, 1 + control.deepest_reorg(ETHEREUM))
        assert agree(second, by=bob).status == ProposalStatus.FALLEN
        assert why_frozen(ETHEREUM)
        third = adopt_unknown.propose_thaw(frozen, adopt_unknown.unknown_transfers(wallet), by=ada)
        assert agree(third, by=bob).status == ProposalStatus.DONE
        assert not why_frozen(ETHEREUM)

    def test_one_is_enough_to_thaw_where_the_operator_says_so(self, settings: Settings) -> None:
        settings.SANDBOX_OPERATORS_TO_DECIDE = 1
        wallet = the_wallet(ETHEREUM)
        services.freeze_wallet(wallet, reason="odd")
        assert "goes on" in thaw(operator()[0])
        services.freeze_wallet(wallet, reason="odd")
        call_command("thaw_wallet", env=SANDBOX, network=ETHEREUM, stdout=io.StringIO())
        assert not why_frozen(ETHEREUM)

    def test_a_wallet_that_sent_more_than_the_books_know_stays_frozen(self) -> None:
        client, _ = operator()
        wallet = the_wallet(ETHEREUM)
        asset = registry.asset(SANDBOX, ETHEREUM, "USDC")
        control.pay(
            ETHEREUM, sender=wallet.address, recipient=somebody(ETHEREUM, "a thief"), contract=asset.contract, amount=5
        )
        control.mine(ETHEREUM, 1 + control.deepest_reorg(ETHEREUM))
        services.freeze_wallet(wallet, reason="odd")
        assert "manage.py thaw_wallet --env sandbox --network ethereum" in thaw(client)
        assert why_frozen(ETHEREUM)

    def test_a_network_that_does_not_answer_thaws_nothing(self) -> None:
        client, _ = operator()
        services.freeze_wallet(the_wallet(ETHEREUM), reason="odd")
        control.outage(ETHEREUM, 60)
        assert "must answer before the wallet signs again" in thaw(client)
        assert why_frozen(ETHEREUM)

    def test_whoever_may_only_look_freezes_nothing_and_whoever_lifts_other_stops_thaws_nothing(self) -> None:
        client, _ = operator("view_wallet")
        act(client, "freeze", the_wallet(ETHEREUM), confirmed="yes", note="x")
        assert not why_frozen(ETHEREUM)
        services.freeze_wallet(the_wallet(ETHEREUM), reason="odd")
        client, _ = operator("change_payoutpolicy")
        assert "You may not do this yourself" in thaw(client)
        assert not Proposal.objects.exists()


def test_payouts_and_transfers_are_found_by_any_hash(held: Payout) -> None:
    client, _ = operator()
    for _ in range(2):
        approve_payout(held, by=make_user(is_staff=True, is_superuser=True))
    finish(ETHEREUM)
    transfer = Transfer.objects.get()
    transaction_hash = transfer.envelopes.get().transaction_hash
    for name in ("payout", "transfer"):
        assert "1 result" in page(client, f"{name}_changelist", q=transaction_hash)
        assert "0 results" in page(client, f"{name}_changelist", q="0xabc")
        assert "1 result" in page(client, f"{name}_changelist", q=held.reference)
    assert "3.00 USDC on ethereum" in page(client, "payout_changelist")
    assert transaction_hash in page(client, "payout_change", held.pk)
    shown = page(client, "transfer_change", transfer.pk)
    assert transaction_hash in shown
    assert held.recipient in shown
    assert "nobody is asked on a simulated network" in shown
    for said_by, words in ((None, "not recorded"), (["one.example", "two.example"], "one.example, two.example")):
        Transfer.objects.update(said_by=said_by)
        assert words in page(client, "transfer_change", transfer.pk)


def test_nobody_adds_changes_or_deletes(held: Payout) -> None:
    client, _ = operator()
    drive(ETHEREUM)
    for row in (held, the_wallet(ETHEREUM)):
        name = f"admin:transfers_{row._meta.model_name}"
        assert client.get(reverse(f"{name}_add")).status_code == 403
        assert client.post(reverse(f"{name}_change", args=[row.pk]), {"status": "paid"}).status_code == 403
        assert client.post(reverse(f"{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    assert client.get(reverse("admin:transfers_transfer_add")).status_code == 403
