"""Random histories of a hot wallet: whatever happens, each sequence is used once and no unit appears or vanishes."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from payments.chains.errors import ChainUnavailable, FeesAboveCap, TransferRefused
from payments.chains.networks import NETWORKS
from payments.chains.protocol.chain import sweeps_of
from payments.chains.protocol.payouts import SignedTransfer, TransactionStatus
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedTransaction
from payments.chains.simulated.networks import mint
from tests.chains.fees import native
from tests.chains.harness import payout
from tests.chains.sending import STOCK, Till
from tests.chains.simulation import Simulation
from tests.networks import ETHEREUM

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stopped_clock"), pytest.mark.slow]

NUMBERS = (1, 2, 3)
"""The payments whose addresses are swept."""

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pay"), st.integers(1, 50)),
        st.tuples(st.just("sweep"), st.just(0)),
        st.tuples(st.just("deposit"), st.integers(1, 50)),
        st.tuples(st.just("bump"), st.integers(0, 9)),
        st.tuples(st.just("send"), st.integers(0, 9)),
        st.tuples(st.just("mine"), st.integers(1, 3)),
        st.tuples(st.just("fees"), st.integers(1, 6)),
        st.tuples(st.just("reorg"), st.tuples(st.integers(1, 6), st.sampled_from(["moved", "kept", "dropped"]))),
        st.tuples(st.sampled_from(["lose", "time_out", "evict", "refuse", "accept"]), st.just(0)),
        st.tuples(st.just("revive"), st.integers(0, 9)),
    ),
    max_size=20,
)


class Wallet:
    """A careful sender: it gives every sequence once, to one thing, and keeps every version of it."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.till = Till(simulation)
        self.chain = self.till.chain
        self.stock_of_native = native(self.till)
        self.first = self.chain.hot_wallet.next_sequence(self.till.sender)
        self.versions: list[list[SignedTransfer]] = []
        self.amounts: list[int] = []
        """What each sequence pays; 0 for a sweep."""
        self.deposited = 0

    def sign(self, sequence: int, *replacing: SignedTransfer) -> SignedTransfer:
        sender, amount = self.till.sender, self.amounts[sequence - self.first]
        if not amount:
            return sweeps_of(self.chain).sign(
                self.till.usdc, NUMBERS, sender=sender, sequence=sequence, replacing=replacing
            )
        payouts = (payout(self.chain, self.till.recipient, amount),)
        return self.chain.sending.sign(payouts, sender=sender, sequence=sequence, replacing=replacing)

    def begin(self, amount: int) -> None:
        self.amounts.append(amount)
        self.versions.append([self.sign(self.first + len(self.versions))])
        self.send(self.versions[-1][0])

    def send(self, version: SignedTransfer) -> None:
        with suppress(TransferRefused, ChainUnavailable):
            self.chain.sending.broadcast(version)

    def act(self, step: str, argument: Any) -> None:
        network = self.simulation.network
        every = [version for versions in self.versions for version in versions]
        if step == "pay":
            self.begin(argument)
        elif step == "sweep" and not self.chain.profile.shares_account:
            self.begin(0)
        elif step == "deposit" and not self.chain.profile.shares_account:
            address = self.chain.deposit_address(NUMBERS[argument % len(NUMBERS)]).address
            self.simulation.pay((self.till.usdc.contract, argument, address, None))
            self.deposited += argument
        elif step == "bump" and every and self.chain.profile.can_replace:
            versions = self.versions[argument % len(self.versions)]
            with suppress(FeesAboveCap):
                versions.append(self.sign(versions[0].sequence, *versions))
                self.send(versions[-1])
        elif step == "send" and every:
            self.send(every[argument % len(every)])
        elif step == "mine":
            self.simulation.mine(argument)
        elif step == "fees":
            control.set_fee_level(network, argument)
        elif step == "reorg":
            depth = min(argument[0], self.simulation.deepest_reorg, self.chain.reading.head().height - 1)
            if depth > 0:
                # A payer whose deposit is undone sends it again at once; ours stay forgotten.
                ours = [version.transaction_hash for version in every]
                control.reorg(network, depth, argument[1], only=ours)
        elif step == "lose":
            control.lose_broadcasts(network, 1)
        elif step == "time_out":
            control.time_out_broadcasts(network, 1)
        elif step == "evict":
            control.evict_waiting(network)
        elif step in ("refuse", "accept"):
            control.describe_account(
                network, self.till.recipient, refuses="destination_refused" if step == "refuse" else ""
            )
        elif step == "revive" and every:
            with suppress(ValueError, SimulatedTransaction.DoesNotExist):
                control.revive(network, every[argument % len(every)].transaction_hash)

    def settle(self) -> None:
        """Send the best version of everything until all of it is in a block."""
        control.set_fee_level(self.simulation.network, 1)
        control.lose_broadcasts(self.simulation.network, 0)
        control.time_out_broadcasts(self.simulation.network, 0)
        for versions in self.versions:
            self.send(versions[-1])
            if self.chain.profile.transfers_in_flight == 1:
                self.simulation.mine()
        self.simulation.mine()

    def check(self) -> list[int]:
        """The sequences that are in a block."""
        till, head = self.till, self.chain.reading.head().height
        used: list[int] = []
        fees = paid = swept = 0
        left: dict[str, int] = {}
        for sequence, versions in enumerate(self.versions):
            statuses = [self.chain.sending.status(version) for version in versions]
            mined = {
                status.included_as or version.transaction_hash: status
                for version, status in zip(versions, statuses, strict=True)
                if status.state in ("included", "failed")
            }
            assert len(mined) <= 1, "two versions of one sequence are in a block"
            limits = {version.transaction_hash: version.fee_limit_units for version in versions}
            for transaction_hash, status in mined.items():
                used.append(sequence)
                fees += status.fee_units
                assert 0 < status.fee_units <= limits[transaction_hash]
                moved = sum(transfer.amount for transfer in self.chain.reading.find_transfers(transaction_hash))
                if status.state == "failed":
                    assert moved == 0
                elif self.amounts[sequence]:
                    assert moved == self.amounts[sequence]
                    left[transaction_hash] = moved
                    paid += moved
                else:
                    swept += moved
            self.assert_told_alike(statuses)
        assert used == list(range(self.chain.hot_wallet.next_sequence(till.sender) - self.first))
        assert native(till) == self.stock_of_native - fees
        assert till.held(till.recipient) == paid
        assert till.held(till.sender) == STOCK - paid + swept
        told = self.chain.reading.outgoing(till.sender, first_height=0, last_height=head)
        assert Counter({transfer.transaction_hash: transfer.amount for transfer in told}) == Counter(left)
        deposits = {self.chain.deposit_address(number).address for number in NUMBERS} - {till.sender}
        assert sum(map(till.held, deposits)) <= self.deposited - swept
        supply = -till.held(mint(self.simulation.network))
        assert supply == till.held(till.sender) + till.held(till.recipient) + sum(map(till.held, deposits))
        return used

    def assert_told_alike(self, statuses: list[TransactionStatus]) -> None:
        """All versions of a sequence agree on the one that is in a block."""
        heights = {status.height for status in statuses if status.state in ("included", "failed", "replaced")}
        assert len(heights) <= 1
        if heights:
            assert {status.state for status in statuses} <= {"included", "failed", "replaced"}


@pytest.mark.parametrize("network", NETWORKS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_every_sequence_is_used_once_and_every_unit_is_somewhere(network: str, steps: list[tuple[str, Any]]) -> None:
    with transaction.atomic():
        wallet = Wallet(Simulation(network))
        for step, argument in steps:
            wallet.act(step, argument)
            if step == "reorg":
                wallet.check()
        wallet.settle()
        assert wallet.check() == list(range(len(wallet.versions)))
        transaction.set_rollback(True)


def test_a_careless_wallet_is_caught() -> None:
    """It gives the same payment a second sequence: the very mistake that pays twice."""
    wallet = Wallet(Simulation(ETHEREUM))
    wallet.begin(10)
    payouts = (payout(wallet.chain, wallet.till.recipient, 10),)
    again = wallet.chain.sending.sign(payouts, sender=wallet.till.sender, sequence=1)
    wallet.versions[0].append(again)
    wallet.send(again)
    wallet.simulation.mine()
    with pytest.raises(AssertionError, match="two versions of one sequence"):
        wallet.check()
