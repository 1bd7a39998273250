"""The contract of every chain adapter: what it says of money that left an address."""

from __future__ import annotations

import pytest

from payments.chains.errors import ChainUnavailable
from payments.chains.protocol.chain import sweeps_of
from tests.chains.harness import payout
from tests.chains.sending import STOCK, Till


class OutgoingContract:
    def test_what_left_is_told_with_all_its_facts(self, till: Till) -> None:
        memo = "17" if till.chain.profile.takes_memos else None
        sequence = till.chain.hot_wallet.next_sequence(till.sender)
        wanted = payout(till.chain, till.recipient, 100, memo=memo)
        transfer = till.chain.sending.sign((wanted,), sender=till.sender, sequence=sequence)
        till.chain.sending.broadcast(transfer)
        till.harness.mine()
        height = till.chain.reading.head().height
        (left,) = till.chain.reading.outgoing(till.sender, first_height=0, last_height=height)
        assert (left.transaction_hash, left.ordinal, left.height) == (transfer.transaction_hash, 0, height)
        assert (left.contract, left.amount, left.recipient, left.memo) == (
            till.usdc.contract,
            100,
            till.recipient,
            memo,
        )

    def test_only_the_blocks_asked_for_are_told_of_in_their_order(self, till: Till) -> None:
        heights = []
        for amount in (1, 2, 3, 4):
            till.send(amount)
            heights.append(till.chain.reading.head().height)
        left = till.chain.reading.outgoing(till.sender, first_height=heights[1], last_height=heights[2])
        assert [(transfer.height, transfer.amount) for transfer in left] == [(heights[1], 2), (heights[2], 3)]
        assert till.chain.reading.outgoing(till.sender, first_height=heights[3] + 1, last_height=heights[3]) == ()
        assert till.chain.reading.outgoing(till.recipient, first_height=0, last_height=heights[3]) == ()

    def test_what_failed_or_waits_did_not_leave(self, till: Till) -> None:
        till.send(STOCK + 1)
        till.chain.sending.broadcast(till.sign(1))
        assert (
            till.chain.reading.outgoing(till.sender, first_height=0, last_height=till.chain.reading.head().height) == ()
        )

    def test_what_somebody_else_had_sent_is_told_too(self, till: Till) -> None:
        if till.chain.profile.shares_account:
            pytest.skip("deposits on this network arrive where payouts leave from")
        address = till.chain.deposit_address(1).address
        till.harness.pay((till.usdc.contract, 9, address, None))
        till.harness.mine()
        sequence = till.chain.hot_wallet.next_sequence(till.sender)
        sweep = sweeps_of(till.chain).sign(till.usdc, (1,), sender=till.sender, sequence=sequence)
        till.chain.sending.broadcast(sweep)
        till.harness.mine()
        height = till.chain.reading.head().height
        (left,) = till.chain.reading.outgoing(address, first_height=height, last_height=height)
        assert (left.transaction_hash, left.amount, left.recipient) == (sweep.transaction_hash, 9, till.sender)
        assert till.chain.reading.outgoing(till.sender, first_height=height, last_height=height) == ()

    def test_blocks_to_come_are_not_told_of(self, till: Till) -> None:
        with pytest.raises(ChainUnavailable):
            till.chain.reading.outgoing(till.sender, first_height=0, last_height=till.chain.reading.head().height + 1)

    def test_what_an_account_sent_is_told_whether_or_not_it_moved_anything(self, till: Till) -> None:
        """Also what nobody names: by its sequence alone."""
        sent, first = [], till.chain.hot_wallet.next_sequence(till.sender)
        for amount in (1, STOCK + 1, 2):
            sent.append(till.sign(amount))
            till.chain.sending.broadcast(sent[-1])
            till.harness.mine()
        wanted = {"first_height": 1, "last_height": till.chain.reading.head().height}
        found = till.chain.hot_wallet.sent_by(till.sender, **wanted, first_sequence=first, hashes=[])
        assert [(each.transaction_hash, each.sequence, each.succeeded) for each in found] == [
            (each.transaction_hash, each.sequence, is_good)
            for each, is_good in zip(sent, (True, False, True), strict=True)
        ]
        assert [each.fee_units for each in found] == [till.chain.sending.status(each).fee_units for each in sent]
        named = till.chain.hot_wallet.sent_by(
            till.sender, **wanted, first_sequence=first + 9, hashes=[sent[0].transaction_hash]
        )
        assert [each.transaction_hash for each in named] == [sent[0].transaction_hash]
