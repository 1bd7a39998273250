"""The contract of every chain adapter: whom it refuses to pay, and what happens to those who refuse money."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from payments.chains.errors import ChainUnavailable, RecipientProblem, RecipientRefused, SendingBlocked
from payments.chains.protocol.payouts import PayoutInstruction
from tests.chains.harness import payout
from tests.chains.sending import STOCK, Till

ZERO_ADDRESS = "0x" + "0" * 40
UNKNOWN = ("0" * 64, 0)
"""The identity of no transfer."""


def problem_of(till: Till, wanted: PayoutInstruction) -> str:
    with pytest.raises(RecipientRefused) as refusal:
        till.chain.hot_wallet.check_recipient(wanted)
    assert str(refusal.value).endswith(".")  # a sentence for the person who named the address
    return refusal.value.problem


def blocked(till: Till, wanted: PayoutInstruction) -> str:
    """Why the coin can be sent to nobody, said alike of this payout and of the coin."""
    with pytest.raises(SendingBlocked) as of_payout:
        till.chain.hot_wallet.check_recipient(wanted)
    with pytest.raises(SendingBlocked) as of_coin:
        till.chain.hot_wallet.check_sending(wanted.asset)
    assert of_payout.value.problem == of_coin.value.problem
    return of_payout.value.problem


def make_refuse(till: Till, problem: RecipientProblem, address: str | None = None) -> None:
    if not till.harness.refuse(address or till.recipient, problem):
        pytest.skip(f"{problem} does not happen on this network")
    till.harness.mine()


class RecipientContract:
    def test_an_ordinary_account_can_be_paid(self, till: Till) -> None:
        for code in till.chain.profile.assets:
            till.chain.hot_wallet.check_recipient(payout(till.chain, till.recipient, 1, code=code))

    @pytest.mark.parametrize("text", ["", "nonsense", ZERO_ADDRESS])
    def test_what_is_nobodys_address_is_refused(self, till: Till, text: str) -> None:
        assert problem_of(till, payout(till.chain, text, 1)) == "destination_invalid"

    def test_our_own_wallet_and_contracts_are_refused(self, till: Till) -> None:
        for address in (till.sender, *till.harness.own_contracts()):
            assert problem_of(till, payout(till.chain, address, 1)) == "destination_invalid"

    def test_our_own_wallet_is_refused_under_every_name(self, till: Till) -> None:
        place = till.chain.deposit_address(7)
        if place.muxed is None:
            pytest.skip("deposits on this network have an address each")
        for address, memo in ((place.muxed, None), (place.address, place.memo)):
            assert problem_of(till, payout(till.chain, address, 1, memo=memo)) == "destination_invalid"

    def test_where_a_token_comes_from_is_refused(self, till: Till) -> None:
        for asset in till.chain.profile.assets.values():
            address = asset.contract.rpartition(":")[2]
            assert problem_of(till, payout(till.chain, address, 1)) == "destination_invalid"

    @pytest.mark.parametrize("problem", ["destination_invalid", "no_trustline", "destination_refused"])
    def test_an_account_that_refuses_is_told_before_it_is_paid(self, till: Till, problem: RecipientProblem) -> None:
        make_refuse(till, problem)
        assert problem_of(till, payout(till.chain, till.recipient, 1)) == problem
        till.chain.hot_wallet.check_recipient(payout(till.chain, till.harness.stranger(2), 1))

    def test_a_coin_that_is_paused_is_no_fault_of_the_recipient(self, till: Till) -> None:
        wanted = payout(till.chain, till.recipient, 1)
        for is_paused in (True, False):
            if not till.harness.pause("USDC", is_paused=is_paused):
                pytest.skip("nobody can pause a coin on this network")
            till.harness.mine()
            if is_paused:
                assert blocked(till, wanted) == "coin_paused"
            till.chain.hot_wallet.check_recipient(payout(till.chain, till.recipient, 1, code="USDT"))
        till.chain.hot_wallet.check_recipient(wanted)
        till.chain.hot_wallet.check_sending(wanted.asset)

    def test_a_wallet_of_ours_that_is_blocked_is_no_fault_of_the_recipient(self, till: Till) -> None:
        make_refuse(till, "destination_refused", till.sender)
        assert blocked(till, payout(till.chain, till.recipient, 1)) == "hot_wallet_blocked"

    def test_an_account_of_many_people_needs_a_memo(self, till: Till) -> None:
        make_refuse(till, "memo_required")
        without = payout(till.chain, till.recipient, 1)
        assert problem_of(till, without) == "memo_required"
        till.chain.hot_wallet.check_recipient(replace(without, memo="42"))
        till.chain.hot_wallet.check_recipient(replace(without, recipient=till.harness.muxed(till.recipient, 42)))

    def test_checking_changes_nothing(self, till: Till) -> None:
        before = (till.held(till.sender), till.chain.hot_wallet.next_sequence(till.sender), till.chain.reading.head())
        till.chain.hot_wallet.check_recipient(payout(till.chain, till.recipient, 1))
        assert (
            till.held(till.sender),
            till.chain.hot_wallet.next_sequence(till.sender),
            till.chain.reading.head(),
        ) == before

    def test_an_outage_is_no_refusal(self, till: Till) -> None:
        contract = till.harness.contract()
        height = till.chain.reading.head().height
        till.harness.break_down()
        questions: list[Callable[[], object]] = [
            lambda: till.chain.hot_wallet.check_recipient(payout(till.chain, till.recipient, 1)),
            lambda: till.chain.hot_wallet.pay_back_address(UNKNOWN, contract),
            lambda: till.chain.reading.outgoing(till.sender, first_height=0, last_height=height),
            lambda: till.chain.reading.cursor_at(height),
            lambda: till.chain.reading.balance(till.sender, till.chain.profile.native),
        ]
        for question in questions:
            with pytest.raises(ChainUnavailable):
                question()

    def test_what_came_out_of_a_contract_is_paid_back_to_nobody(self, till: Till) -> None:
        if till.chain.profile.shares_account:
            pytest.skip("contracts pay nobody on this network")
        contracts = [till.harness.contract(), *till.harness.own_contracts()]
        assert [till.chain.hot_wallet.pay_back_address(UNKNOWN, contract) for contract in contracts] == [None] * len(
            contracts
        )
        for account in (till.recipient, till.sender):
            assert till.chain.hot_wallet.pay_back_address(UNKNOWN, account) == account

    def test_what_may_come_out_of_a_shared_account_is_paid_back_in_the_name_of_one_person_only(
        self, till: Till
    ) -> None:
        place = till.chain.deposit_address(7)
        if place.muxed is None:
            pytest.skip("accounts on this network belong to one person each")
        own, shared = till.harness.stranger(2), till.harness.stranger(3)
        customer = till.harness.muxed(shared, 42)
        for account in (own, shared):
            till.harness.fund(account, "USDC", 1_000)
        till.harness.mine()
        if till.harness.refuse(shared, "memo_required"):
            till.harness.mine()
        came: list[tuple[str, str, str | None, str | None]] = [
            (own, place.muxed, None, own),
            (own, place.address, place.memo, None),
            (own, place.muxed, "99", None),
            (own, place.address, None, None),
            (shared, place.muxed, None, None),
            (customer, place.muxed, None, customer),
            (customer, place.address, place.memo, customer),
        ]
        for sender, recipient, memo, expected in came:
            paid = till.harness.pay((till.usdc.contract, 5, recipient, memo), sender=sender)
            till.harness.mine()
            [transfer] = till.chain.reading.find_transfers(paid)
            assert transfer.sender == sender
            assert transfer.conflicting_memo == ("99" if memo == "99" else None)
            assert till.chain.hot_wallet.pay_back_address(transfer.identity, sender) == expected, (
                sender,
                recipient,
                memo,
            )

    def test_a_network_that_keeps_nothing_back_says_so(self, till: Till) -> None:
        if not till.chain.profile.shares_account:
            assert till.chain.reserves is None

    @pytest.mark.parametrize("problem", ["no_trustline", "destination_refused"])
    def test_one_account_that_refuses_undoes_the_whole_transfer(self, till: Till, problem: RecipientProblem) -> None:
        number = till.chain.profile.payouts_per_transfer
        others = tuple(payout(till.chain, till.harness.stranger(other), 5) for other in range(2, min(number, 4) + 1))
        batch = (*others, payout(till.chain, till.recipient, 5))
        sequence = till.chain.hot_wallet.next_sequence(till.sender)
        for wanted in batch:
            till.chain.hot_wallet.check_recipient(wanted)
        transfer = till.chain.sending.sign(batch, sender=till.sender, sequence=sequence)
        make_refuse(till, problem)  # after it was asked
        till.chain.sending.broadcast(transfer)
        till.harness.mine()
        status = till.chain.sending.status(transfer)
        assert (status.state, status.height) == ("failed", till.chain.reading.head().height)
        assert status.error is not None
        assert status.refused == ({number_of_it: problem} if (number_of_it := len(batch) - 1) else {})
        assert 0 < status.fee_units <= transfer.fee_limit_units
        assert [till.held(wanted.recipient) for wanted in batch] == [0] * len(batch)
        assert till.held(till.sender) == STOCK
        assert till.chain.hot_wallet.next_sequence(till.sender) == sequence + 1
        assert till.chain.reading.find_transfers(transfer.transaction_hash) == ()
