"""One rule for everything that two people decide: a table of kinds, and what holds for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.four_eyes.people import RESET_WAIT, NotEligible, note_reset
from merchants.four_eyes.services import (
    AnotherMustAgree,
    NotPermitted,
    ProposalDecided,
    ProposerDoesNotCount,
    agree,
    withdraw,
)
from merchants.ledger.models import Stop
from merchants.ledger.stops import propose_lifting, stop
from merchants.models import Member, Merchant, User
from merchants.people.operator_rights import Terms, propose_member, propose_rights, set_terms
from payments.chains import registry
from payments.models import Discrepancy
from payments.screening.matching import is_released
from payments.suspense.acceptance import propose_acceptance
from payments.suspense.attribution import propose_attribution
from payments.suspense.review import propose_release
from payments.suspense.sender_returns import propose_return
from payments.transfers.models import PayoutPolicy, approval_count
from payments.transfers.payouts import approve_payout, policy_of
from payments.transfers.policy_changes import propose_policy
from payments.transfers.services import freeze_wallet
from payments.transfers.wallets import wallet_of
from payments.treasury.house.addresses import allow_address
from payments.treasury.house.fundings import propose_funding
from payments.treasury.house.models import AllowedAddress, Funding, Withdrawal
from payments.treasury.house.withdrawals import propose_withdrawal
from payments.treasury.losses.models import Bearer
from payments.treasury.losses.services import propose_loss
from tests.factories import make_merchant, make_user
from tests.losses.scenes import destroy, look, open_missing
from tests.networks import ETHEREUM, STELLAR
from tests.payments.scenes import SANDBOX, discrepancy, end_window, make_payment, pay_and_confirm
from tests.payments.test_attribution import arrive
from tests.payments.test_giving_back import come, prove
from tests.transfers import scenes as transfers
from tests.transfers.scenes import COIN, somebody, stock

pytestmark = pytest.mark.django_db

Kind = ProposalKind


@dataclass(frozen=True)
class Scene:
    propose: Callable[[User], Proposal | None]
    state: Callable[[], object]
    """What it changes once two have agreed."""


def _status(row: Discrepancy) -> str:
    return Discrepancy.objects.get(pk=row.pk).status


def accepting() -> Scene:
    payment = make_payment(ETHEREUM, "USDC", "25")
    pay_and_confirm(payment, "12.5")
    end_window(payment)
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(approval_above=12)
    row = discrepancy(payment)
    return Scene(lambda who: propose_acceptance(row, by=who, reason=f"a voucher, {who}"), lambda: _status(row))


def attributing() -> Scene:
    payment = make_payment(STELLAR)
    row = arrive(payment)
    named = payment.public_id
    return Scene(
        lambda who: propose_attribution(row, payment_id=named, by=who, reason=f"shown to {who}"), lambda: _status(row)
    )


def giving_back() -> Scene:
    returned = prove(come(STELLAR))
    row = Discrepancy.objects.get()
    return Scene(lambda who: propose_return(returned, by=who, reason="nobody lacks it"), lambda: _status(row))


def losing() -> Scene:
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100"))
    destroy(payment, "30")
    look()
    row = open_missing(payment)
    return Scene(
        lambda who: propose_loss(row, bearer=Bearer.HOUSE, reason=f"destroyed, says {who}", by=who),
        lambda: type(row).objects.get().status,
    )


def paying() -> Scene:
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(approval_above=2)
    stock(ETHEREUM, 100 * COIN)
    payout = transfers.ask(ETHEREUM, 3 * COIN)
    transfers.drive(ETHEREUM)
    return Scene(lambda who: approve_payout(payout, by=who), lambda: approval_count(payout) >= 1)


def releasing() -> Scene:
    stock(ETHEREUM, COIN)
    payout = transfers.ask(ETHEREUM)
    type(payout).objects.update(evidence="A list names it")
    return Scene(
        lambda who: propose_release(payout, f"somebody else, says {who}", who),
        lambda: is_released(payout),
    )


def raising_a_limit() -> Scene:
    return Scene(
        lambda who: propose_policy(SANDBOX, {"daily_limit": None}, by=who), lambda: policy_of(SANDBOX).daily_limit
    )


def lifting_a_stop() -> Scene:
    return _lifting(ETHEREUM)


def letting_an_environment_go_on() -> Scene:
    return _lifting("")


def _lifting(network: str) -> Scene:
    stop(environment=SANDBOX, network=network, reason="I11")
    return Scene(lambda who: propose_lifting(Stop.objects.get(), by=who), lambda: Stop.objects.get().lifted_at is None)


def thawing() -> Scene:
    stock(ETHEREUM, COIN)
    wallet = wallet_of(SANDBOX, ETHEREUM, registry.chain(SANDBOX, ETHEREUM))
    freeze_wallet(wallet, reason="odd")
    return Scene(lambda who: propose_lifting(Stop.objects.get(), by=who), lambda: Stop.objects.get().lifted_at is None)


def _listed() -> AllowedAddress:
    return AllowedAddress.objects.create(
        environment=SANDBOX,
        network=ETHEREUM,
        address=somebody(ETHEREUM, "the house"),
        label="The house",
        added_by=make_user(),
    )


def allowing_an_address() -> Scene:
    listed = _listed()
    return Scene(
        lambda who: allow_address(AllowedAddress.objects.get(pk=listed.pk), by=who),
        lambda: AllowedAddress.objects.get().allowed_at,
    )


def withdrawing() -> Scene:
    stock(ETHEREUM, 5 * COIN)
    listed = _listed()
    AllowedAddress.objects.update(allowed_at=timezone.now(), allowed_by="two")
    return Scene(
        lambda who: propose_withdrawal(listed, code="USDC", amount=COIN, reason="rent", by=who),
        lambda: Withdrawal.objects.count(),
    )


def funding() -> Scene:
    coin = registry.asset(SANDBOX, ETHEREUM, "USDC")
    return Scene(
        lambda who: propose_funding(SANDBOX, coin, amount=COIN, reason="stock", by=who), lambda: Funding.objects.count()
    )


def joining() -> Scene:
    merchant, taker = make_merchant(), make_user()
    return Scene(
        lambda who: propose_member(merchant=merchant, user=taker, role="owner", by=who), lambda: Member.objects.count()
    )


def raising_a_fee() -> Scene:
    merchant = make_merchant()
    terms = Terms(plan=merchant.plan, requests_per_minute=None, fee_bps=2000)

    return Scene(
        lambda who: set_terms(merchant=Merchant.objects.get(), terms=terms, by=who),
        lambda: Merchant.objects.get().fee_bps,
    )


def becoming_an_operator() -> Scene:
    friend = make_user()
    return Scene(
        lambda who: propose_rights(friend, {"is_staff": True}, by=who), lambda: User.objects.get(pk=friend.pk).is_staff
    )


SCENES: dict[Kind, Callable[[], Scene]] = {
    Kind.ACCEPT: accepting,
    Kind.ADDRESS: allowing_an_address,
    Kind.ATTRIBUTE: attributing,
    Kind.BREAKER: lifting_a_stop,
    Kind.SWITCH: letting_an_environment_go_on,
    Kind.FEE: raising_a_fee,
    Kind.FUNDING: funding,
    Kind.LOSS: losing,
    Kind.MEMBER: joining,
    Kind.OPERATOR: becoming_an_operator,
    Kind.PAYOUT: paying,
    Kind.POLICY: raising_a_limit,
    Kind.RETURN: giving_back,
    Kind.SCREENING: releasing,
    Kind.THAW: thawing,
    Kind.WITHDRAWAL: withdrawing,
}

ELSEWHERE = {
    Kind.BY_HAND: "tests/house/test_by_hand.py",
    Kind.COLD_MOVE: "tests/house/test_cold_wallet.py",
    Kind.DEBT: "tests/settlements/test_debts_ended.py",
    Kind.FINDING: "tests/ledger/test_explained_findings.py",
    Kind.HALT: "tests/payments/test_finality_halts.py",
    Kind.SKIM: "tests/house/test_cold_wallet.py",
}
"""Kinds whose scene is long: they go through the same two functions, and their own tests decide them by two people."""


@pytest.fixture(params=SCENES)
def scene(request: pytest.FixtureRequest, settings: Settings) -> Scene:
    settings.OPERATORS_TO_DECIDE = settings.SANDBOX_OPERATORS_TO_DECIDE = 2
    settings.SIMULATED_BLOCK_SECONDS = 0
    scene_of: Callable[[], Scene] = SCENES[request.param]
    return scene_of()


@pytest.fixture
def people() -> list[User]:
    return [make_user(is_staff=True, is_superuser=True) for _ in range(3)]


def proposed(scene: Scene, by: User) -> Proposal:
    proposal = scene.propose(by)
    assert proposal is not None
    return proposal


def test_every_kind_is_in_the_table() -> None:
    assert set(SCENES) | set(ELSEWHERE) == set(Kind)


def test_one_alone_changes_nothing_and_another_agrees_once(scene: Scene, people: list[User]) -> None:
    ada, ben, eve = people
    before = scene.state()
    proposal = proposed(scene, ada)
    assert proposed(scene, ada).pk == proposal.pk
    with pytest.raises(AnotherMustAgree):
        agree(proposal, by=ada)
    assert (proposal.status, scene.state()) == (ProposalStatus.WAITING, before)
    client = Client()
    client.force_login(ben)
    page = reverse("admin:four_eyes_proposal_changelist")
    answer = {"action": "agree", "_selected_action": [proposal.pk], "confirmed": "yes"}
    assert "Done" in client.post(page, answer, follow=True).text
    assert scene.state() != before
    assert Proposal.objects.get(pk=proposal.pk).people == f"{ada.email}, {ben.email}"
    with pytest.raises(ProposalDecided):
        agree(proposal, by=eve)


def test_who_does_the_same_agrees(scene: Scene, people: list[User]) -> None:
    before = scene.state()
    proposal = proposed(scene, people[0])
    assert proposed(scene, people[1]).pk == proposal.pk
    assert scene.state() != before


def be_dismissed(person: User) -> None:
    User.objects.filter(pk=person.pk).update(is_active=False)


def be_no_operator(person: User) -> None:
    User.objects.filter(pk=person.pk).update(is_staff=False)


def be_reset(person: User) -> None:
    note_reset(person, is_password_known=False)


def have_a_known_password(person: User) -> None:
    User.objects.filter(pk=person.pk).update(is_password_known=True)


def test_the_word_of_an_operator_falls_with_the_right_to_decide(scene: Scene, people: list[User]) -> None:
    ada, ben, eve = people
    before = scene.state()
    proposal = proposed(scene, ada)
    for fall in (be_dismissed, be_no_operator, be_reset, have_a_known_password):
        with transaction.atomic():
            proposer = User.objects.get(pk=ada.pk)
            fall(proposer)
            with pytest.raises(NotEligible):
                scene.propose(proposer)
            with pytest.raises(ProposerDoesNotCount):
                agree(Proposal.objects.get(pk=proposal.pk), by=ben)
            assert proposed(scene, ben).status == ProposalStatus.WAITING
            assert scene.state() == before
            assert proposed(scene, eve).status == ProposalStatus.DONE
            assert scene.state() != before
            transaction.set_rollback(True)


def test_whoever_is_an_operator_again_must_say_it_again(scene: Scene, people: list[User]) -> None:
    ada, ben, _ = people
    before = scene.state()
    proposal = proposed(scene, ada)
    reset_at = timezone.now() - RESET_WAIT - timedelta(seconds=1)
    User.objects.filter(pk=ada.pk).update(credentials_reset_at=reset_at)
    Proposal.objects.filter(pk=proposal.pk).update(proposed_at=reset_at - timedelta(seconds=1))
    with pytest.raises(ProposerDoesNotCount):
        agree(proposal, by=ben)
    assert proposed(scene, ada).pk != proposal.pk
    assert scene.state() == before
    assert proposed(scene, ben).status == ProposalStatus.DONE


def test_who_may_not_do_it_cannot_agree(scene: Scene, people: list[User]) -> None:
    before = scene.state()
    proposal = proposed(scene, people[0])
    with pytest.raises(NotPermitted):
        agree(proposal, by=make_user(is_staff=True))
    assert scene.state() == before


def test_what_is_withdrawn_does_nothing(scene: Scene, people: list[User]) -> None:
    before = scene.state()
    proposal = proposed(scene, people[0])
    withdraw(proposal, by=people[1])
    with pytest.raises(ProposalDecided):
        agree(proposal, by=people[1])
    assert scene.state() == before


TOLD_BEFORE = {Kind.BREAKER, Kind.FEE, Kind.MEMBER, Kind.OPERATOR, Kind.POLICY, Kind.SWITCH, Kind.THAW}
"""Kinds that register no words: they compare what was there before."""


@pytest.mark.parametrize("scene", [kind for kind in SCENES if kind not in TOLD_BEFORE], indirect=True)
def test_what_people_have_not_read_is_not_done(scene: Scene, people: list[User]) -> None:
    before = scene.state()
    proposal = proposed(scene, people[0])
    Proposal.objects.filter(pk=proposal.pk).update(told="Something else")
    assert agree(proposal, by=people[1]).status == ProposalStatus.FALLEN
    assert scene.state() == before


def test_one_is_enough_where_the_operator_says_so(scene: Scene, people: list[User], settings: Settings) -> None:
    settings.OPERATORS_TO_DECIDE = settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    before = scene.state()
    note_reset(people[0])
    assert proposed(scene, people[0]).status == ProposalStatus.DONE
    assert scene.state() != before


def test_what_waits_is_agreed_to_alone_once_one_is_enough(scene: Scene, people: list[User], settings: Settings) -> None:
    proposal = proposed(scene, people[0])
    settings.OPERATORS_TO_DECIDE = settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    assert agree(proposal, by=people[0]).status == ProposalStatus.DONE
