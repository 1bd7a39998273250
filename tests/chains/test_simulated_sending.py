"""What the simulated networks' handle does to money that leaves."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from payments.chains.errors import RecipientRefused
from payments.chains.protocol.chain import sweeps_of
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedAccount, SimulatedTransaction
from payments.chains.simulated.networks import NATIVE_ENDOWMENT
from payments.chains.stellar import addresses as stellar_addresses
from tests.chains.contract import Scene
from tests.chains.fees import bump, native
from tests.chains.harness import payout
from tests.chains.sending import Till
from tests.chains.simulation import Simulation
from tests.chains.sweeping import Deposits

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stopped_clock")]


@pytest.fixture
def till(stopped_clock: None) -> Till:
    return Till(Simulation("ethereum"))


@pytest.fixture
def deposits(stopped_clock: None) -> Deposits:
    return Deposits(Simulation("polygon"))


@pytest.mark.parametrize("network", ["ethereum", "polygon", "stellar"])
def test_a_hot_wallet_can_pay_fees_from_the_first_block(network: str) -> None:
    till = Till(Simulation(network))
    assert native(till) == NATIVE_ENDOWMENT * 10**till.chain.profile.native.decimals
    assert till.chain.reading.balance(till.recipient, till.chain.profile.native) == 0


class TestFeeLevel:
    def test_payers_notice_nothing_of_a_spike(self) -> None:
        scene = Scene(Simulation("ethereum"))
        control.set_fee_level("ethereum", 1_000)
        transaction_hash = scene.pay()
        scene.harness.mine()
        scene.reader.read()
        assert scene.reader.hashes() == [transaction_hash]

    def test_a_network_is_never_cheaper_than_usual(self) -> None:
        with pytest.raises(ValueError, match="never cheaper"):
            control.set_fee_level("ethereum", 0)

    def test_a_block_charges_its_own_price_not_the_offer(self, till: Till) -> None:
        calm = till.chain.sending.status(till.send()).fee_units
        dear = till.sign()
        control.set_fee_level("ethereum", 2)
        till.chain.sending.broadcast(dear)
        till.harness.mine()
        assert dear.fee_limit_units == 2 * calm
        assert till.chain.sending.status(dear).fee_units == 2 * calm

    def test_signing_reads_the_level_and_locks_nothing(self, till: Till) -> None:
        with CaptureQueriesContext(connection) as queries:
            till.chain.sending.sign((payout(till.chain, till.recipient, 1),), sender=till.sender, sequence=0)
        assert len(queries) == 1
        assert "FOR UPDATE" not in queries[0]["sql"]


class TestForgottenTransfers:
    def test_an_earlier_version_is_mined_after_the_bump(self, till: Till) -> None:
        first = till.sign(100)
        second = bump(till, first)
        till.chain.sending.broadcast(first)
        till.chain.sending.broadcast(second)
        control.revive("ethereum", first.transaction_hash)
        assert till.chain.sending.status(second).state == "unknown"
        till.harness.mine()
        assert [till.chain.sending.status(version).state for version in (first, second)] == ["included", "replaced"]
        assert till.held(till.recipient) == 100

    def test_nothing_is_revived_beside_what_is_in_a_block(self, till: Till) -> None:
        first = till.sign(100)
        second = bump(till, first)
        till.chain.sending.broadcast(first)
        till.chain.sending.broadcast(second)
        till.harness.mine()
        with pytest.raises(ValueError, match="is in a block"):
            control.revive("ethereum", first.transaction_hash)
        with pytest.raises(SimulatedTransaction.DoesNotExist):
            control.revive("ethereum", second.transaction_hash)

    def test_what_payers_sent_is_not_forgotten(self, till: Till) -> None:
        transfer = till.sign(100)
        till.chain.sending.broadcast(transfer)
        till.harness.pay((till.usdc.contract, 7, till.recipient, None))
        control.evict_waiting("ethereum")
        till.harness.mine()
        assert till.chain.sending.status(transfer).state == "unknown"
        assert till.held(till.recipient) == 7


class TestAccounts:
    def test_what_was_said_of_an_account_can_be_taken_back(self, till: Till) -> None:
        wanted = payout(till.chain, till.recipient, 100)
        control.describe_account("ethereum", till.recipient.lower(), refuses="destination_refused")
        with pytest.raises(RecipientRefused):
            till.chain.hot_wallet.check_recipient(wanted)
        control.describe_account("ethereum", till.recipient)
        till.chain.hot_wallet.check_recipient(wanted)
        till.send(100)
        assert till.held(till.recipient) == 100
        assert SimulatedAccount.objects.count() == 1

    def test_each_network_has_accounts_of_its_own(self, till: Till) -> None:
        control.describe_account("polygon", till.recipient, is_contract=True, refuses="destination_refused")
        till.chain.hot_wallet.check_recipient(payout(till.chain, till.recipient, 1))
        assert till.chain.hot_wallet.pay_back_address(("", 0), till.recipient) == till.recipient

    def test_a_muxed_address_stands_for_its_account(self) -> None:
        till = Till(Simulation("stellar"))
        muxed = stellar_addresses.mux(till.recipient, 7)
        control.describe_account("stellar", muxed, refuses="no_trustline")
        for address in (muxed, till.recipient):
            with pytest.raises(RecipientRefused, match="This account does not hold USDC yet"):
                till.chain.hot_wallet.check_recipient(payout(till.chain, address, 1))

    def test_the_network_itself_carries_money_without_a_memo(self) -> None:
        till = Till(Simulation("stellar"))
        control.describe_account("stellar", till.recipient, refuses="memo_required")
        till.send(100)
        assert till.held(till.recipient) == 100

    def test_whom_the_issuer_forbids_cannot_pay_either(self, till: Till) -> None:
        control.describe_account("ethereum", till.sender, refuses="destination_refused")
        status = till.chain.sending.status(till.send(100))
        assert (status.state, status.error) == ("failed", "transfer 0: the sender is forbidden to pay")

    def test_the_place_of_the_one_that_refused_is_told(self) -> None:
        till = Till(Simulation("stellar"))
        people = [till.harness.stranger(number) for number in range(5)]
        control.describe_account("stellar", people[3], refuses="no_trustline")
        batch = tuple(payout(till.chain, person, 1) for person in people)
        sequence = till.chain.hot_wallet.next_sequence(till.sender)
        transfer = till.chain.sending.sign(batch, sender=till.sender, sequence=sequence)
        till.chain.sending.broadcast(transfer)
        till.harness.mine()
        assert till.chain.sending.status(transfer).error == "transfer 3: no_trustline"


class TestSweeps:
    def test_an_address_that_is_forbidden_to_pay_is_passed_over(self, deposits: Deposits) -> None:
        deposits.deposit(10, 20, 30)
        control.describe_account("polygon", deposits.addresses[1], refuses="destination_refused")
        transfer = deposits.send()
        assert deposits.held() == [40, 0, 20, 0, 0]
        found = deposits.chain.reading.find_transfers(transfer.transaction_hash)
        assert [(moved.ordinal, moved.amount) for moved in found] == [(0, 10), (1, 30)]

    def test_nothing_moves_to_a_hot_wallet_that_is_forbidden(self, deposits: Deposits) -> None:
        deposits.deposit(10)
        control.describe_account("polygon", deposits.wallet, refuses="destination_refused")
        transfer = deposits.send()
        assert deposits.chain.sending.status(transfer).state == "included"
        assert deposits.held() == [0, 10, 0, 0, 0]

    def test_a_deposit_of_the_same_block_is_swept_when_it_came_first(self, deposits: Deposits) -> None:
        deposits.deposit(10)
        deposits.harness.pay((deposits.usdc.contract, 5, deposits.addresses[0], None))
        deposits.chain.sending.broadcast(deposits.sign())
        deposits.harness.pay((deposits.usdc.contract, 3, deposits.addresses[0], None))
        deposits.harness.mine()
        assert deposits.held() == [15, 3, 0, 0, 0]

    def test_the_largest_sweep_takes_few_statements(self, deposits: Deposits) -> None:
        most = deposits.chain.profile.sweeps_per_transfer
        addresses = [deposits.chain.deposit_address(number).address for number in range(most)]
        control.pay_together("polygon", [control.Part(deposits.usdc.contract, 1, address) for address in addresses])
        control.mine("polygon")
        transfer = sweeps_of(deposits.chain).sign(deposits.usdc, tuple(range(most)), sender=deposits.wallet, sequence=0)
        deposits.chain.sending.broadcast(transfer)
        with CaptureQueriesContext(connection) as queries:
            control.mine("polygon")
        assert len(queries) < 25
        assert deposits.chain.reading.balance(deposits.wallet, deposits.usdc) == most
