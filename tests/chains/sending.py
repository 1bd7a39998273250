"""The contract of every chain adapter: what it sends, and what it says of what was sent."""

from __future__ import annotations

from contextlib import suppress

import pytest

from payments.chains.errors import ChainUnavailable, TransferRefused
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.payouts import SignedTransfer
from tests.chains.harness import Harness, Outcome, Reader, payout

STOCK = 1_000_000_000


class Till:
    """A funded hot wallet and somebody to pay."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.chain: Chain = harness.chain
        self.usdc = self.chain.profile.assets["USDC"]
        self.sender = self.chain.payout_address()
        self.recipient = harness.stranger(1)
        harness.fund(self.sender, "USDC", STOCK)
        harness.mine()

    @property
    def waiting(self) -> str:
        """What is told of a transfer that waits for a block."""
        return "pending" if self.harness.shows_waiting else "unknown"

    @property
    def beaten(self) -> str:
        """What is told of a version in whose place another one is in a block."""
        return "included" if self.harness.versions_are_one else "replaced"

    def sign(self, amount: int = 100, sequence: int | None = None) -> SignedTransfer:
        number = self.chain.hot_wallet.next_sequence(self.sender) if sequence is None else sequence
        return self.chain.sending.sign(
            (payout(self.chain, self.recipient, amount),), sender=self.sender, sequence=number
        )

    def send(self, amount: int = 100) -> SignedTransfer:
        transfer = self.sign(amount)
        self.chain.sending.broadcast(transfer)
        self.harness.mine()
        return transfer

    def held(self, address: str, at_height: int | None = None) -> int:
        return self.chain.reading.balance(address, self.usdc, at_height=at_height)


@pytest.fixture
def till(harness: Harness) -> Till:
    return Till(harness)


class SendingContract:
    def test_signing_sends_nothing(self, till: Till) -> None:
        transfer = till.sign()
        till.harness.mine()
        assert till.chain.sending.status(transfer).state == "unknown"
        assert till.chain.hot_wallet.next_sequence(till.sender) == transfer.sequence
        assert till.held(till.recipient) == 0

    def test_a_transfer_waits_then_moves_money_then_is_final(self, till: Till) -> None:
        transfer = till.sign(100)
        till.chain.sending.broadcast(transfer)
        assert till.chain.sending.status(transfer).state == till.waiting
        assert till.held(till.recipient) == 0
        till.harness.mine()
        head = till.chain.reading.head()
        status = till.chain.sending.status(transfer)
        assert (status.state, status.height, status.block_hash, status.confirmations) == (
            "included",
            head.height,
            head.block_hash,
            1,
        )
        assert status.fee_units > 0
        assert status.final == (till.harness.deepest_reorg == 0)
        assert (till.held(till.recipient), till.held(till.sender)) == (100, STOCK - 100)
        assert till.chain.hot_wallet.next_sequence(till.sender) == transfer.sequence + 1
        till.harness.mine(till.harness.deepest_reorg + 1)
        assert till.chain.sending.status(transfer).final

    def test_an_outgoing_transfer_is_found_like_any_other(self, till: Till) -> None:
        transfer = till.send(100)
        (found,) = till.chain.reading.find_transfers(transfer.transaction_hash)
        assert (found.sender, found.recipient, found.amount) == (till.sender, till.recipient, 100)

    def test_every_channel_lends_its_sequence_and_the_hot_wallet_pays(self, till: Till) -> None:
        till.harness.mine()
        for number, channel in enumerate(channels := till.chain.channels(), 1):
            sequence = till.chain.hot_wallet.next_sequence(channel)
            wanted = (payout(till.chain, till.recipient, 100),)
            transfer = till.chain.sending.sign(wanted, sender=channel, sequence=sequence)
            till.chain.sending.broadcast(transfer)
            till.harness.mine()
            assert (transfer.sender, till.chain.hot_wallet.next_sequence(channel)) == (channel, sequence + 1)
            assert (till.held(till.recipient), till.held(till.sender)) == (100 * number, STOCK - 100 * number)
            prepared = till.chain.preparations
            assert not (prepared and prepared.only_set_up(channel, 0, sequence))
        left = till.chain.reading.outgoing(till.sender, first_height=0, last_height=till.chain.reading.head().height)
        assert [each.channel or till.sender for each in left] == list(channels)
        assert all(each.sequence is not None for each in left)
        assert set(channels) <= till.chain.hot_wallet.own_accounts()

    def test_the_same_bytes_again_change_nothing(self, till: Till) -> None:
        transfer = till.sign(100)
        till.chain.sending.broadcast(transfer)
        till.chain.sending.broadcast(transfer)
        till.harness.mine()
        till.chain.sending.broadcast(transfer)
        till.harness.mine()
        assert till.held(till.recipient) == 100
        assert till.chain.hot_wallet.next_sequence(till.sender) == transfer.sequence + 1

    def test_other_bytes_cannot_use_a_sequence_again(self, till: Till) -> None:
        first = till.sign(100)
        till.chain.sending.broadcast(first)
        second = till.sign(200, sequence=first.sequence)
        assert second.transaction_hash != first.transaction_hash
        for _ in range(2):  # while the first waits, and once it is in a block
            with pytest.raises(TransferRefused):
                till.chain.sending.broadcast(second)
            till.harness.mine()
        assert till.held(till.recipient) == 100
        status = till.chain.sending.status(second)
        assert (status.state, status.height) == ("replaced", till.chain.sending.status(first).height)

    def test_a_later_sequence_waits_for_the_one_before(self, till: Till) -> None:
        first = till.sign(1)
        second = till.sign(2, sequence=first.sequence + 1)
        if till.harness.takes_next_alone:
            with pytest.raises(TransferRefused):
                till.chain.sending.broadcast(second)
            return
        till.chain.sending.broadcast(second)
        till.harness.mine()
        assert till.chain.sending.status(second).state == "pending"
        till.chain.sending.broadcast(first)
        till.harness.mine()
        assert till.chain.sending.status(first).state == till.chain.sending.status(second).state == "included"
        assert till.held(till.recipient) == 3

    def test_too_little_money_fails_and_uses_up_the_sequence(self, till: Till) -> None:
        reader = Reader(till.chain, till.recipient)
        transfer = till.send(STOCK + 1)
        status = till.chain.sending.status(transfer)
        assert status.state == "failed"
        assert status.error is not None
        assert (till.held(till.recipient), till.held(till.sender)) == (0, STOCK)
        assert till.chain.hot_wallet.next_sequence(till.sender) == transfer.sequence + 1
        assert till.chain.reading.find_transfers(transfer.transaction_hash) == ()
        assert reader.read().transfers == ()

    def test_an_answer_that_never_came_may_still_have_arrived(self, till: Till) -> None:
        transfer = till.sign(100)
        till.harness.time_out_next_broadcast()
        with pytest.raises(ChainUnavailable):
            till.chain.sending.broadcast(transfer)
        till.harness.mine()
        assert till.chain.sending.status(transfer).state == "included"

    def test_a_lost_broadcast_is_unknown_and_can_be_sent_again(self, till: Till) -> None:
        transfer = till.sign(100)
        till.harness.lose_next_broadcast()
        till.chain.sending.broadcast(transfer)
        till.harness.mine()
        assert till.chain.sending.status(transfer).state == "unknown"
        till.chain.sending.broadcast(transfer)
        till.harness.mine()
        assert till.chain.sending.status(transfer).state == "included"
        assert till.held(till.recipient) == 100

    def test_an_outage_leaves_everything_as_it_was(self, till: Till) -> None:
        transfer = till.sign(100)
        till.harness.break_down()
        for question in (
            lambda: till.chain.sending.broadcast(transfer),
            lambda: till.chain.sending.status(transfer),
            lambda: till.chain.hot_wallet.next_sequence(till.sender),
            lambda: till.held(till.sender),
        ):
            with pytest.raises(ChainUnavailable):
                question()
        till.harness.recover()
        assert till.chain.sending.status(transfer).state == "unknown"

    def test_an_expired_transfer_is_provably_dead_and_frees_its_sequence(self, till: Till) -> None:
        transfer = till.sign(100)
        if transfer.valid_until is None:
            pytest.skip("transfers on this network are good for ever")
        till.harness.lose_next_broadcast()
        till.chain.sending.broadcast(transfer)
        till.harness.let_time_pass(1_000)
        status = till.chain.sending.status(transfer)
        assert (status.state, status.final) == ("expired", True)
        again = till.sign(100)
        assert again.sequence == transfer.sequence

    def test_a_transfer_that_waited_too_long_never_gets_into_a_block(self, till: Till) -> None:
        transfer = till.sign(100)
        if transfer.valid_until is None:
            pytest.skip("transfers on this network are good for ever")
        with suppress(TransferRefused):  # one that offers too little need not be taken in at all
            till.harness.raise_fees(500)
            till.chain.sending.broadcast(transfer)
        till.harness.let_time_pass(1_000)
        assert till.chain.sending.status(transfer).state == "expired"
        with pytest.raises(TransferRefused):
            till.chain.sending.broadcast(transfer)
        assert till.held(till.recipient) == 0

    @pytest.mark.parametrize("outcome", ["moved", "dropped", "replaced"])
    def test_a_reorg_is_told_as_it_is(self, till: Till, outcome: Outcome) -> None:
        if not till.harness.deepest_reorg:
            pytest.skip("every block of this network is final")
        transfer = till.send(100)
        till.harness.reorg(1, outcome)
        states = [till.chain.sending.status(transfer).state]
        assert till.held(till.recipient) == 0
        assert till.chain.hot_wallet.next_sequence(till.sender) == transfer.sequence
        till.harness.mine()
        states.append(till.chain.sending.status(transfer).state)
        assert (
            states
            == {
                "moved": ["pending", "included"],
                "dropped": ["unknown", "unknown"],
                "replaced": ["unknown", "replaced"],
            }[outcome]
        )

    def test_dropped_bytes_sent_again_are_the_same_transfer(self, till: Till) -> None:
        if not till.harness.deepest_reorg:
            pytest.skip("every block of this network is final")
        transfer = till.send(100)
        till.harness.reorg(1, "dropped")
        till.chain.sending.broadcast(transfer)
        till.harness.mine()
        assert till.chain.sending.status(transfer).state == "included"
        assert till.held(till.recipient) == 100

    def test_payouts_share_a_transfer_where_the_network_can(self, till: Till) -> None:
        batch = tuple(payout(till.chain, till.harness.stranger(number), number) for number in (1, 2, 3))
        sequence = till.chain.hot_wallet.next_sequence(till.sender)
        if till.chain.profile.payouts_per_transfer == 1:
            with pytest.raises(ValueError, match="1 to 1 payouts"):
                till.chain.sending.sign(batch, sender=till.sender, sequence=sequence)
            return
        till.chain.sending.broadcast(till.chain.sending.sign(batch, sender=till.sender, sequence=sequence))
        till.harness.mine()
        assert [till.held(till.harness.stranger(number)) for number in (1, 2, 3)] == [1, 2, 3]
        memos = (payout(till.chain, till.recipient, 1, memo="1"), payout(till.chain, till.recipient, 1, memo="2"))
        with pytest.raises(ValueError, match="different memos"):
            till.chain.sending.sign(memos, sender=till.sender, sequence=sequence + 1)

    def test_balances_are_right_at_every_past_height(self, till: Till) -> None:
        expected = {till.chain.reading.head().height: (STOCK, 0)}
        for number in range(1, 4):
            till.send(number)
            expected[till.chain.reading.head().height] = (till.held(till.sender), till.held(till.recipient))
        assert [received for _, received in expected.values()] == [0, 1, 3, 6]
        for height, held in expected.items():
            assert (till.held(till.sender, height), till.held(till.recipient, height)) == held
        with pytest.raises(ChainUnavailable):
            till.held(till.sender, till.chain.reading.head().height + 1)
