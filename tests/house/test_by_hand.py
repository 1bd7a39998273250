"""What was sent from a hot wallet by hand is explained by two people, and stays explained."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.installation.database_roles import WEB
from merchants.four_eyes.models import Proposal, ProposalStatus
from merchants.four_eyes.services import AnotherMustAgree, agree
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Stop
from payments.chains import registry
from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.simulated import control
from payments.transfers.models import Payout, Transfer
from payments.treasury.house.manual_transfers import NotSentByHand, SentByHand, find_sent, propose_booking
from payments.treasury.house.models import Withdrawal
from tests import stopping
from tests.agreeing import agree_to_what_waits
from tests.house.scenes import COIN, People, held_in, house, its_address, leave, reconcile, run, unit, withdraw
from tests.journeys.test_database_roles import acting_as
from tests.payments.scenes import findings
from tests.transfers.scenes import (
    ETHEREUM,
    SANDBOX,
    STELLAR,
    drive,
    hot,
    somebody,
    stock,
    thaw_by_two,
    why_frozen,
)


def send_by_hand(network: str, *coins: int, to: str = "a friend", is_final: bool = True) -> str:
    """Somebody with the key pays each so many coins; returns the transaction's hash."""
    chain = registry.chain(SANDBOX, network)
    asset = registry.asset(SANDBOX, network, "USDC")
    parts = tuple(
        PayoutInstruction(asset, each * unit(network), somebody(network, f"{to} {place}"))
        for place, each in enumerate(coins)
    )
    sender = chain.payout_address()
    signed = chain.sending.sign(parts, sender=sender, sequence=chain.hot_wallet.next_sequence(sender))
    chain.sending.broadcast(signed)
    control.mine(network, control.deepest_reorg(network) + 1 if is_final else 1)
    return signed.transaction_hash


def take_over(network: str) -> None:
    with pytest.raises(CommandError, match="book_sent"):
        call_command("thaw_wallet", "--env", SANDBOX, "--network", network, stdout=StringIO())


def explain(network: str, transaction_hash: str, people: People, *, is_lost: bool = False) -> Proposal:
    """The worker takes it over, one says what it was, another agrees."""
    take_over(network)
    return say(network, transaction_hash, people, is_lost=is_lost)


def taken_over(network: str, *coins: int) -> SentByHand:
    sent = send_by_hand(network, *coins)
    take_over(network)
    return find_sent(SANDBOX, network, sent)


def say(network: str, transaction_hash: str, people: People, *, is_lost: bool = False) -> Proposal:
    sent = find_sent(SANDBOX, network, transaction_hash)
    return agree(propose_booking(sent, is_lost=is_lost, reason="rent", by=people[0]), by=people[1])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("network", [ETHEREUM, STELLAR])
def test_from_the_frozen_wallet_back_to_clean_books(network: str, people: People) -> None:
    stock(network, 50 * unit(network))
    address = its_address(people, network)
    sent = send_by_hand(network, 3)
    waits = withdraw(address, 5, people)
    drive(network)
    assert why_frozen(network)
    assert reconcile() == 2
    assert stopping.stands(environment=SANDBOX, network=network)

    assert explain(network, sent, people).status == ProposalStatus.DONE
    booked = Withdrawal.objects.get(address=None)
    assert (booked.status, int(booked.amount), booked.recipient) == (
        *("completed", 3 * unit(network), somebody(network, "a friend 0")),
    )
    assert booked.transaction_hash == Transfer.objects.get().transaction_hash == sent
    assert hot(network) == 47 * unit(network)
    thaw_by_two(network=network)
    assert not why_frozen(network)
    [stop] = Stop.objects.standing().filter(network=network)
    run("stops", "--lift", str(stop.pk), "--by", people[0].email)
    agree_to_what_waits(people[1])
    assert reconcile() == 0

    leave(network)
    waits.refresh_from_db()
    assert waits.status == "completed"
    assert reconcile() == 0, "it stays explained"
    assert not stopping.stands(environment=SANDBOX, network=network)


@pytest.mark.django_db
class TestRules:
    def test_one_person_alone_explains_nothing(self, people: People) -> None:
        stock(ETHEREUM, 50 * COIN)
        sent = taken_over(ETHEREUM, 3)
        proposal = propose_booking(sent, is_lost=False, reason="rent", by=people[0])
        with pytest.raises(AnotherMustAgree):
            agree(proposal, by=people[0])
        assert not Withdrawal.objects.exists()
        assert held_in(AccountKind.LOSS) == 3 * COIN, "the house bears it as long as nobody has said what it was"

    def test_several_payments_of_one_transaction(self, people: People) -> None:
        stock(STELLAR, 50 * unit(STELLAR))
        explain(STELLAR, send_by_hand(STELLAR, 3, 4), people)
        assert sorted(int(each.amount) for each in Withdrawal.objects.all()) == [3 * unit(STELLAR), 4 * unit(STELLAR)]
        assert Transfer.objects.get().lines.count() == 2
        assert findings(without=["I15t"]) == {}

    def test_what_is_lost_is_a_loss_and_no_withdrawal(self, people: People) -> None:
        stock(ETHEREUM, 50 * COIN)
        explain(ETHEREUM, send_by_hand(ETHEREUM, 3), people, is_lost=True)
        assert (held_in(AccountKind.LOSS), held_in(AccountKind.WITHDRAWN), house().own) == (3 * COIN, 0, 47 * COIN)
        assert findings() == {}

    def test_beyond_what_the_house_had_it_is_asked_for(self, people: People) -> None:
        """Ten of it were a merchant's: booked all the same, and to be put back."""
        stock(ETHEREUM, 50 * COIN)
        Payout.objects.filter(pk=withdraw(its_address(people), 10, people).payout_id).update(
            next_attempt_at=timezone.now() + timedelta(days=1)
        )
        explain(ETHEREUM, send_by_hand(ETHEREUM, 45), people)
        assert (house().own, house().stock, hot(ETHEREUM)) == (-5 * COIN, 0, 5 * COIN)
        assert list(findings()) == ["I14"]

    def test_a_second_time_it_is_known(self, people: People) -> None:
        stock(ETHEREUM, 50 * COIN)
        sent = send_by_hand(ETHEREUM, 3)
        take_over(ETHEREUM)
        found = find_sent(SANDBOX, ETHEREUM, sent)
        late = propose_booking(found, is_lost=False, reason="rent", by=people[0])
        agree(propose_booking(found, is_lost=False, reason="salary", by=people[1]), by=people[0])
        late.refresh_from_db()
        assert late.status == ProposalStatus.WITHDRAWN, "what another says of it takes its place"
        assert Withdrawal.objects.get().reason == "salary"
        with pytest.raises(NotSentByHand, match="in the ledger already"):
            find_sent(SANDBOX, ETHEREUM, sent)

    def test_what_ballast_has_sent_is_no_booking_by_hand(self, people: People) -> None:
        stock(ETHEREUM, 50 * COIN)
        withdraw(its_address(people), 5, people)
        leave()
        with pytest.raises(NotSentByHand, match="in the ledger already"):
            find_sent(SANDBOX, ETHEREUM, Transfer.objects.get().transaction_hash)

    def test_what_is_not_final_or_not_ours_waits_or_is_refused(self) -> None:
        stock(ETHEREUM, 50 * COIN)
        sent = send_by_hand(ETHEREUM, 3, is_final=False)
        with pytest.raises(CommandError, match="not final yet"):
            call_command("thaw_wallet", "--env", SANDBOX, "--network", ETHEREUM, stdout=StringIO())
        with pytest.raises(NotSentByHand, match="thaw_wallet first"):
            find_sent(SANDBOX, ETHEREUM, sent)
        with pytest.raises(NotSentByHand, match="no such transaction"):
            find_sent(SANDBOX, ETHEREUM, "0x" + "0" * 64)
        funded = control.fund(ETHEREUM, address=somebody(ETHEREUM), code="USDC", amount=COIN)
        control.mine(ETHEREUM, control.deepest_reorg(ETHEREUM) + 1)
        with pytest.raises(NotSentByHand, match="thaw_wallet first"):
            find_sent(SANDBOX, ETHEREUM, funded)

    def test_a_proposal_that_is_not_what_was_read_falls(self, people: People) -> None:
        stock(ETHEREUM, 50 * COIN)
        sent = taken_over(ETHEREUM, 3)
        proposal = propose_booking(sent, is_lost=False, reason="rent", by=people[0])
        Proposal.objects.filter(pk=proposal.pk).update(after={**proposal.after, "lost": True})
        assert agree(proposal, by=people[1]).status == ProposalStatus.FALLEN
        assert not Withdrawal.objects.exists()

    def test_in_the_admin_and_by_the_command(self, people: People) -> None:
        stock(ETHEREUM, 50 * COIN)
        sent = send_by_hand(ETHEREUM, 3)
        take_over(ETHEREUM)
        client, page = Client(), reverse("admin:house_withdrawal_by_hand")
        client.force_login(people[0])
        form = {"place": "sandbox:ethereum", "transaction_hash": "0x12", "what": "taken", "reason": "rent"}
        assert "no such transaction" in client.post(page, form).text
        reply = client.post(page, {**form, "transaction_hash": sent}, follow=True)
        assert "another operator must agree" in reply.text
        assert "3.00 USDC to" in reply.text
        asked = {"env": SANDBOX, "network": ETHEREUM, "hash": sent, "reason": "rent"}
        assert run("book_sent", **asked, by="bob@example.com")[0] == 1
        agree_to_what_waits(people[1])
        assert "by hand to" in client.get(reverse("admin:house_withdrawal_changelist")).text
        assert run("book_sent", **asked, by="bob@example.com")[0] == 1
        assert (house().stock, held_in(AccountKind.TREASURY)) == (47 * COIN, 47 * COIN)


@pytest.mark.django_db(transaction=True)
def test_the_web_which_may_record_no_transfer_books_what_thaw_wallet_has_taken_over(people: People) -> None:
    call_command("database_roles", stdout=StringIO())
    stock(ETHEREUM, 50 * unit(ETHEREUM))
    sent = send_by_hand(ETHEREUM, 3)
    withdraw(its_address(people, ETHEREUM), 5, people)
    drive(ETHEREUM)
    with acting_as(WEB), pytest.raises(NotSentByHand, match="thaw_wallet first"):
        find_sent(SANDBOX, ETHEREUM, sent)
    take_over(ETHEREUM)
    with acting_as(WEB):
        assert say(ETHEREUM, sent, people).status == ProposalStatus.DONE
    assert Withdrawal.objects.get(address=None).status == "completed"
