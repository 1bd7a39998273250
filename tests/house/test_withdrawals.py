"""What the house has earned leaves: its own alone, to addresses of its list, when two people have agreed."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from pytest_django.fixtures import Settings

from config.errors import InvalidParameter
from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.four_eyes.services import AnotherMustAgree, NotPermitted, agree
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef, Line, post
from merchants.models import Merchant
from payments.chains import registry
from payments.chains.simulated import control
from payments.transfers.models import Payout, PayoutPolicy, Transfer, approval_count
from payments.transfers.owners import follow_payouts
from payments.transfers.payouts import PayoutNotCancellable, policy_of
from payments.transfers.states import PayoutStatus
from payments.treasury.house.addresses import AddressListed, add_address
from payments.treasury.house.models import AllowedAddress, Withdrawal
from payments.treasury.house.withdrawals import (
    AddressNotAllowed,
    MoreThanOwn,
    cancel_withdrawal,
    propose_withdrawal,
    remove_address,
)
from tests import stopping
from tests.factories import make_merchant, make_user
from tests.house.scenes import (
    COIN,
    FEE,
    People,
    earn_fee,
    held_in,
    house,
    its_address,
    leave,
    propose,
    run,
    unit,
    withdraw,
)
from tests.payments.scenes import assert_all_is_well, findings, make_payment, pay_and_confirm
from tests.settlements.scenes import available
from tests.settlements.test_debt_offsets import owe
from tests.transfers.scenes import (
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    ask,
    drive,
    hot,
    on_chain,
    somebody,
    stock,
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("network", [ETHEREUM, POLYGON, STELLAR])
def test_a_fee_that_was_earned_leaves_on_every_network(network: str, people: People) -> None:
    earn_fee(network)
    fee = FEE * unit(network)
    assert (house(network).withdrawable, house(network).stock) == (fee, 0)
    address = its_address(people, network)
    withdrawal = withdraw(address, FEE, people)
    assert (int(withdrawal.amount), int(withdrawal.own), int(withdrawal.of_stock)) == (fee, fee, 0)
    assert house(network).withdrawable == 0, "reserved at once"
    leave(network)
    withdrawal.refresh_from_db()
    assert (withdrawal.status, withdrawal.proposed_by, withdrawal.agreed_by) == ("completed", *people)
    assert withdrawal.transaction_hash == Transfer.objects.latest("pk").transaction_hash
    assert on_chain(network, address.address) == fee
    assert (held_in(AccountKind.WITHDRAWN, network), held_in(AccountKind.FEE_SERVICE, network)) == (fee, fee)
    assert (house(network).own, hot(network)) == (0, 0)
    assert_all_is_well()


def test_one_person_alone_is_refused(people: People) -> None:
    stock(ETHEREUM, 5 * COIN)
    ada, _ = people
    listed, waits = add_address(environment=SANDBOX, network=ETHEREUM, address=somebody(ETHEREUM), label="Mine", by=ada)
    with pytest.raises(AnotherMustAgree):
        agree(waits, by=ada)
    with pytest.raises(AddressNotAllowed):
        propose(listed, 1, by=ada)
    proposal = propose(its_address(people, name="the bank"), 1, by=ada)
    with pytest.raises(AnotherMustAgree):
        agree(proposal, by=ada)
    with pytest.raises(NotPermitted):
        agree(proposal, by=make_user(is_staff=True))
    assert not Withdrawal.objects.exists()
    assert not Payout.objects.exists()


def test_one_is_enough_where_the_operator_says_so(people: People, settings: Settings) -> None:
    settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    stock(ETHEREUM, 5 * COIN)
    ada, _ = people
    listed, _ = add_address(environment=SANDBOX, network=ETHEREUM, address=somebody(ETHEREUM), label="Mine", by=ada)
    assert propose(listed, 5, by=ada).status == ProposalStatus.DONE
    leave()
    assert Withdrawal.objects.get().status == "completed"


@pytest.mark.parametrize("coins", [FEE + 1, 10**12])
def test_what_is_somebody_elses_never_leaves(coins: int, people: People) -> None:
    """A payer's hundred are in the wallet beside the ten of the house."""
    earn_fee()
    pay_and_confirm(make_payment(ETHEREUM, amount="100"))
    address = its_address(people)
    with pytest.raises(MoreThanOwn, match=r"The house has 10\.00 USDC of its own on ethereum"):
        propose(address, coins, by=people[0])
    assert not Proposal.objects.filter(kind="withdrawal").exists()


def test_what_merchants_owe_is_no_coin(people: People) -> None:
    earn_fee()
    stock(ETHEREUM, 5 * COIN)
    owe(make_merchant(), "12")
    assert (house().total, house().own) == (27 * COIN, 15 * COIN)
    with pytest.raises(MoreThanOwn):
        propose(its_address(people), 16, by=people[0])
    withdrawal = withdraw(its_address(people, name="another bank"), 15, people)
    assert int(withdrawal.of_stock) == 15 * COIN, "what was earned is owed: only the stock is there"


def test_what_was_earned_goes_before_the_stock(people: People) -> None:
    earn_fee()
    stock(ETHEREUM, 5 * COIN)
    withdrawal = withdraw(its_address(people), 12, people)
    assert int(withdrawal.of_stock) == 2 * COIN
    assert (house().stock, house().withdrawable) == (3 * COIN, 3 * COIN)
    cancel_withdrawal(withdrawal, by=people[0])
    assert (house().stock, house().withdrawable, held_in(AccountKind.WITHDRAWN)) == (5 * COIN, 15 * COIN, 0)


def test_the_database_itself_refuses_a_withdrawal_beyond_what_was_the_houses(people: People) -> None:
    stock(ETHEREUM, 5 * COIN)
    withdrawal = withdraw(its_address(people), 5, people)
    with pytest.raises(IntegrityError, match="withdrawal_within_own"), transaction.atomic():
        Withdrawal.objects.filter(pk=withdrawal.pk).update(amount=6 * COIN)


def test_only_what_is_left_when_the_second_person_agrees(people: People) -> None:
    ada, bob = people
    stock(ETHEREUM, 5 * COIN)
    one, other = its_address(people), its_address(people, name="another bank")
    first, second = propose(one, 3, by=ada), propose(other, 3, by=ada)
    agree(first, by=bob)
    with pytest.raises(MoreThanOwn, match=r"2\.00 USDC"):
        agree(second, by=bob)
    assert Withdrawal.objects.count() == 1
    second.refresh_from_db()
    assert second.status == ProposalStatus.WAITING


# --- what changes after it was agreed to -------------------------------------------------------------


@pytest.mark.parametrize("change", [{"address": "0x00000000000000000000000000000000000000aA"}, {"memo": "5"}], ids=str)
def test_a_listed_address_that_changed_is_not_paid(change: dict[str, str], people: People) -> None:
    stock(ETHEREUM, 5 * COIN)
    address = its_address(people)
    proposal = propose(address, 3, by=people[0])
    AllowedAddress.objects.filter(pk=address.pk).update(**change)
    assert agree(proposal, by=people[1]).status == ProposalStatus.FALLEN
    assert not Withdrawal.objects.exists()


def test_a_proposal_that_is_not_what_was_read_falls(people: People) -> None:
    stock(ETHEREUM, 5 * COIN)
    proposal = propose(its_address(people), 3, by=people[0])
    Proposal.objects.filter(pk=proposal.pk).update(after={**proposal.after, "amount": str(5 * COIN)})
    assert agree(proposal, by=people[1]).status == ProposalStatus.FALLEN
    assert not Withdrawal.objects.exists()


@pytest.mark.parametrize(
    "change", [{"recipient": "0x00000000000000000000000000000000000000aA"}, {"amount": 2 * COIN}], ids=str
)
def test_a_payout_that_changed_after_the_approvals_never_leaves(change: dict[str, object], people: People) -> None:
    """Whatever its amount: approvals are of an amount to a recipient, and the house's coins leave with them alone."""
    stock(ETHEREUM, 5 * COIN)
    withdrawal = withdraw(its_address(people), 3, people)
    Payout.objects.update(**change)
    leave()
    payout = Payout.objects.get()
    assert (payout.status, payout.hold_reason) == (PayoutStatus.HELD, "approval")
    assert not Transfer.objects.exists()
    assert "H1" in findings(without=["I18"])
    withdrawal.refresh_from_db()
    assert withdrawal.status == "pending"


def test_a_payout_of_the_house_that_nobody_agreed_to_is_held_and_found() -> None:
    stock(ETHEREUM, 5 * COIN)
    ask(ETHEREUM, 1 * COIN)
    Payout.objects.update(merchant=None)
    leave()
    assert Payout.objects.get().hold_reason == "approval"
    assert list(findings()) == ["H1"]


# --- limits, switches, and what becomes of it --------------------------------------------------------


def test_limits_and_switches_hold_for_the_house_too(people: People) -> None:
    stock(ETHEREUM, 50 * COIN)
    policy_of(SANDBOX)
    PayoutPolicy.objects.update(transfer_limit=20)
    stopping.stop_payouts(environment=SANDBOX, reason="a test")
    withdrawal = withdraw(its_address(people), 30, people)
    leave()
    assert not Transfer.objects.exists()
    stopping.lift(environment=SANDBOX)
    leave()
    assert Payout.objects.get().hold_reason == "over_limit"
    PayoutPolicy.objects.update(transfer_limit=100)
    leave()
    withdrawal.refresh_from_db()
    assert withdrawal.status == "completed"


def test_the_merchants_limit_of_a_day_is_not_the_houses(people: People) -> None:
    stock(ETHEREUM, 50 * COIN)
    policy_of(SANDBOX)
    PayoutPolicy.objects.update(merchant_daily_limit=1)
    withdrawal = withdraw(its_address(people), 30, people)
    leave()
    withdrawal.refresh_from_db()
    assert withdrawal.status == "completed"


def test_what_fails_on_the_network_is_the_houses_again(people: People) -> None:
    earn_fee(STELLAR)
    address = its_address(people, STELLAR)
    withdrawal = withdraw(address, 8, people)
    drive(STELLAR)
    assert Transfer.objects.latest("pk").status == "sent"
    control.describe_account(STELLAR, address.address, refuses="destination_refused")
    leave(STELLAR)
    withdrawal.refresh_from_db()
    assert (withdrawal.status, withdrawal.failure_code) == ("failed", "destination_refused")
    assert Transfer.objects.latest("pk").status == "failed"
    assert (house(STELLAR).own, held_in(AccountKind.WITHDRAWN, STELLAR)) == (FEE * unit(STELLAR), 0)
    assert on_chain(STELLAR, address.address) == 0
    assert_all_is_well()


@pytest.mark.parametrize("outcome", ["moved", "dropped"])
def test_a_reorganisation_does_not_pay_it_twice(outcome: control.Outcome, people: People) -> None:
    stock(ETHEREUM, 50 * COIN)
    control.mine(ETHEREUM, 10)
    address = its_address(people)
    withdrawal = withdraw(address, 30, people)
    drive(ETHEREUM)
    control.mine(ETHEREUM, 2)
    drive(ETHEREUM)
    control.reorg(ETHEREUM, 2, outcome)
    leave()
    leave()
    withdrawal.refresh_from_db()
    assert withdrawal.status == "completed"
    assert (on_chain(ETHEREUM, address.address), house().own) == (30 * COIN, 20 * COIN)
    assert_all_is_well()


def test_a_reorganisation_that_undoes_a_fee_after_it_was_withdrawn_is_shown(people: People) -> None:
    earn_fee()
    withdraw(its_address(people), FEE, people)
    leave()
    with transaction.atomic():
        lines = [Line(AccountRef(ETHEREUM, "USDC", AccountKind.FEE_SERVICE), FEE * COIN)]
        lines.append(Line(available(Merchant.objects.get()), -FEE * COIN))
        post(height=1, environment=SANDBOX, kind="undone", reference="a test", lines=lines)
    assert (house().own, house().withdrawable) == (-FEE * COIN, 0)
    assert "I14" in findings(without=["I9"])


def test_it_can_be_called_back_until_it_is_signed(people: People) -> None:
    stock(ETHEREUM, 50 * COIN)
    address = its_address(people)
    first = withdraw(address, 10, people)
    cancel_withdrawal(first, by=people[1])
    cancel_withdrawal(first, by=people[1])
    first.refresh_from_db()
    assert (first.status, first.failure_code, house().own) == ("failed", "cancelled", 50 * COIN)
    second = withdraw(address, 20, people)
    drive(ETHEREUM)
    with pytest.raises(PayoutNotCancellable):
        cancel_withdrawal(second, by=people[1])
    leave()
    assert on_chain(ETHEREUM, address.address) == 20 * COIN
    assert_all_is_well()


def test_removing_an_address_calls_back_what_waits_for_it(people: People) -> None:
    ada, bob = people
    stock(ETHEREUM, 50 * COIN)
    address = its_address(people)
    sent = withdraw(address, 10, people)
    drive(ETHEREUM)
    waits = withdraw(address, 5, people)
    proposal = propose(address, 4, by=ada)
    assert remove_address(address, by=bob) == [sent]
    waits.refresh_from_db()
    assert waits.status == "failed"
    assert agree(proposal, by=bob).status == ProposalStatus.FALLEN
    leave()
    assert on_chain(ETHEREUM, address.address) == 10 * COIN
    assert house().own == 40 * COIN


# --- the list ----------------------------------------------------------------------------------------


def test_what_cannot_be_in_the_list(people: People) -> None:
    payment = make_payment(ETHEREUM)
    ours = registry.chain(SANDBOX, ETHEREUM).payout_address()
    for wrong in (payment.deposit_address, ours, "0x12", ""):
        with pytest.raises(InvalidParameter):
            add_address(environment=SANDBOX, network=ETHEREUM, address=wrong, label="Bank", by=people[0])
    listed = its_address(people)
    with pytest.raises(AddressListed):
        add_address(environment=SANDBOX, network=ETHEREUM, address=listed.address, label="Bank", by=people[1])
    assert AllowedAddress.objects.count() == 1


def test_a_memo_goes_along(people: People) -> None:
    stock(STELLAR, 5 * unit(STELLAR))
    address, proposal = add_address(
        environment=SANDBOX, network=STELLAR, address=somebody(STELLAR), memo="4711", label="Exchange", by=people[0]
    )
    agree(proposal, by=people[1])
    withdraw(address, 5, people)
    leave(STELLAR)
    payout = Payout.objects.get()
    assert (payout.status, payout.memo, payout.memo_type) == (PayoutStatus.PAID, "4711", "id")
    assert_all_is_well()


def test_approvals_are_kept_of_both(people: People) -> None:
    stock(ETHEREUM, 5 * COIN)
    withdrawal = withdraw(its_address(people), 5, people)
    approval = Proposal.objects.get(kind=ProposalKind.PAYOUT, subject=str(withdrawal.payout_id))
    assert (approval.proposed_by, approval.decided_by) == people
    assert approval.after == {"amount": str(5 * COIN), "recipient": withdrawal.recipient, "memo": ""}
    assert approval_count(withdrawal.payout) == 2


@pytest.mark.parametrize(("amount", "reason"), [(0, "rent"), (-5, "rent"), (5, " ")])
def test_an_amount_and_a_reason_are_needed(amount: int, reason: str, people: People) -> None:
    stock(ETHEREUM, 5 * COIN)
    with pytest.raises(InvalidParameter):
        propose_withdrawal(its_address(people), code="USDC", amount=amount, reason=reason, by=people[0])


def test_the_command_proposes_and_another_agrees_in_the_admin(people: People) -> None:
    stock(ETHEREUM, 5 * COIN)
    address = its_address(people)
    code, said = run("withdraw", env=SANDBOX)
    assert (code, "5.00 USDC  on ethereum" in said, f"--to {address.address}" in said) == (0, True, True)
    asked = {"env": SANDBOX, "network": ETHEREUM, "asset": "usdc", "amount": Decimal("2.5"), "reason": "rent"}
    asked["to"] = address.address.lower()
    assert "is no operator" in run("withdraw", **asked, by="eve@example.com")[1]
    assert "Another operator must agree" in run("withdraw", **asked, by="ada@example.com")[1]
    assert "Another operator must agree" in run("withdraw", **asked, by="ada@example.com")[1]
    assert "agree in the admin" in run("withdraw", **asked, by="BOB@example.com")[1]
    assert not Withdrawal.objects.exists()
    agree(Proposal.objects.get(status="waiting"), by=people[1])
    assert int(Withdrawal.objects.get().amount) == 2_500_000
    for wrong in ({"to": somebody(ETHEREUM, "a thief")}, {"amount": Decimal("0.0000001")}, {"reason": ""}):
        assert run("withdraw", **{**asked, **wrong}, by="ada@example.com")[0] == 1
    assert Withdrawal.objects.count() == 1


def test_nothing_is_done_for_a_withdrawal_whose_payout_has_not_ended(people: People) -> None:
    stock(ETHEREUM, 5 * COIN)
    withdraw(its_address(people), 5, people)
    assert follow_payouts() == 0
