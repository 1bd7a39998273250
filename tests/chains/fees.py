"""The contract of every chain adapter: what sending costs, and how a transfer that waits is replaced."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest

from payments.chains.errors import FeesAboveCap, TransferRefused
from payments.chains.protocol.payouts import PayoutInstruction, SignedTransfer
from tests.chains.harness import Reader, payout
from tests.chains.sending import STOCK, Till

SPIKE = 3
"""More than an offer made before can bear."""

BEYOND = 5_000
"""More than any operator pays."""


def bump(till: Till, *replaced: SignedTransfer, amount: int = 100) -> SignedTransfer:
    """The same payout once more, in place of earlier versions of it."""
    payouts = (payout(till.chain, till.recipient, amount),)
    return till.chain.sending.sign(payouts, sender=till.sender, sequence=replaced[0].sequence, replacing=replaced)


def native(till: Till, at_height: int | None = None) -> int:
    return till.chain.reading.balance(till.sender, till.chain.profile.native, at_height=at_height)


def require_replacing(till: Till) -> None:
    if not till.chain.profile.can_replace:
        pytest.skip("a transfer that waits cannot be replaced on this network")


class FeeContract:
    def test_what_was_charged_is_told_and_stays_within_the_limit(self, till: Till) -> None:
        before = native(till)
        transfer = till.send(100)
        status = till.chain.sending.status(transfer)
        assert 0 < status.fee_units <= transfer.fee_limit_units
        assert native(till) == before - status.fee_units

    def test_what_a_payout_costs_is_known_roughly_before_it_is_signed(self, till: Till) -> None:
        told = till.chain.hot_wallet.costs().payout
        charged = till.chain.sending.status(till.send(100)).fee_units
        assert charged / 2 < told < charged * 2
        till.harness.raise_fees(SPIKE)
        till.harness.mine()
        assert till.chain.hot_wallet.costs().payout > told

    def test_a_failed_transfer_is_charged_too(self, till: Till) -> None:
        before = native(till)
        status = till.chain.sending.status(till.send(STOCK + 1))
        assert status.state == "failed"
        assert status.fee_units > 0
        assert native(till) == before - status.fee_units

    def test_past_balances_of_the_own_coin_are_told(self, till: Till) -> None:
        before, height = native(till), till.chain.reading.head().height
        till.send(100)
        assert native(till, height) == before > native(till)

    def test_what_waits_has_cost_nothing_yet(self, till: Till) -> None:
        before = native(till)
        till.chain.sending.broadcast(till.sign())
        assert native(till) == before

    def test_the_own_coin_arrives_and_is_no_deposit(self, till: Till) -> None:
        reader, before = Reader(till.chain, till.sender), native(till)
        reader.read()
        known = dict(reader.known)
        till.harness.fund_native(till.sender, 12_345)
        till.harness.mine()
        reader.read()
        assert native(till) == before + 12_345
        assert reader.known == known

    def test_nobody_is_paid_in_the_own_coin(self, till: Till) -> None:
        wanted = (PayoutInstruction(till.chain.profile.native, 1, till.recipient),)
        with pytest.raises(ValueError, match="accepted coins"):
            till.chain.sending.sign(wanted, sender=till.sender, sequence=0)

    def test_whoever_cannot_pay_the_fee_gets_into_no_block(self, till: Till) -> None:
        transfer = till.sign(100)
        till.harness.drain_native(till.sender)
        till.harness.mine()
        reserves = till.chain.reserves
        assert native(till) == (reserves.reserve(till.sender) if reserves else 0)
        with suppress(TransferRefused):  # some nodes say so at once, others let it wait
            till.chain.sending.broadcast(transfer)
        till.harness.mine()
        assert till.chain.sending.status(transfer).state in ("unknown", "pending")
        assert till.held(till.recipient) == 0
        till.harness.fund_native(till.sender, transfer.fee_limit_units)
        till.harness.mine()
        till.chain.sending.broadcast(transfer)
        till.harness.mine()
        assert till.chain.sending.status(transfer).state == "included"

    def test_a_transfer_that_offers_too_little_waits_for_cheaper_blocks(self, till: Till) -> None:
        transfer = till.sign(100)
        till.harness.raise_fees(SPIKE)
        till.chain.sending.broadcast(transfer)
        till.harness.mine(2)
        assert till.chain.sending.status(transfer).state == till.waiting
        assert till.chain.hot_wallet.next_sequence(till.sender) == transfer.sequence
        till.harness.raise_fees(1)
        till.harness.mine()
        assert till.chain.sending.status(transfer).state == "included"

    def test_what_is_signed_in_a_spike_fits_into_it(self, till: Till) -> None:
        calm = till.sign(100)
        till.harness.raise_fees(SPIKE)
        till.harness.mine()
        transfer = till.sign(100)
        assert transfer.fee_limit_units > calm.fee_limit_units
        till.chain.sending.broadcast(transfer)
        till.harness.mine()
        assert till.chain.sending.status(transfer).state == "included"

    def test_above_the_cap_nothing_is_signed_until_fees_come_down(self, till: Till) -> None:
        till.harness.raise_fees(BEYOND)
        till.harness.mine()
        with pytest.raises(FeesAboveCap, match="Fees are above the cap"):
            till.sign(100)
        till.harness.raise_fees(1)
        till.harness.mine(2)
        assert till.sign(100).fee_limit_units


class ReplacingContract:
    def test_where_nothing_can_be_replaced_signing_says_so(self, till: Till) -> None:
        first = till.sign(100)
        if till.chain.profile.can_replace:
            assert bump(till, first).sequence == first.sequence
            return
        with pytest.raises(ValueError, match="cannot be replaced"):
            bump(till, first)

    def test_a_higher_offer_takes_the_place_of_one_that_waits(self, till: Till) -> None:
        require_replacing(till)
        first = till.sign(100)
        till.harness.raise_fees(SPIKE)
        till.chain.sending.broadcast(first)
        till.harness.mine()
        second = bump(till, first)
        till.chain.sending.broadcast(second)
        assert till.chain.sending.status(second).state == till.waiting
        assert till.chain.sending.status(first).state == "unknown"
        till.harness.mine()
        states = [till.chain.sending.status(transfer).state for transfer in (first, second)]
        assert states == [till.beaten, "included"]
        assert till.held(till.recipient) == 100
        assert till.chain.hot_wallet.next_sequence(till.sender) == first.sequence + 1
        if not till.harness.versions_are_one:
            with pytest.raises(TransferRefused):
                till.chain.sending.broadcast(first)
        till.harness.mine(till.harness.deepest_reorg + 1)
        assert till.held(till.recipient) == 100
        status = till.chain.sending.status(first)
        assert (status.state, status.final) == (till.beaten, True)
        assert status.included_as == (second.transaction_hash if till.harness.versions_are_one else "")
        assert status.height == till.chain.sending.status(second).height

    def test_each_version_offers_an_eighth_more_than_every_one_before(self, till: Till) -> None:
        require_replacing(till)
        versions = [till.sign(100)]
        with suppress(FeesAboveCap):
            while len(versions) < 6:
                versions.append(bump(till, *reversed(versions)))
        assert len(versions) > 2
        limits = [version.fee_limit_units for version in versions]
        assert all(later * 8 >= earlier * 9 for earlier, later in pairwise(limits))
        assert len({version.transaction_hash for version in versions}) == len(versions)
        for version in versions:
            till.chain.sending.broadcast(version)
        till.harness.mine()
        states = [till.chain.sending.status(version).state for version in versions]
        assert states == [till.beaten] * (len(versions) - 1) + ["included"]
        assert till.held(till.recipient) == 100

    def test_an_offer_hardly_higher_is_underpriced_and_changes_nothing(self, till: Till) -> None:
        require_replacing(till)
        first, rival = till.sign(100), till.sign(200)
        till.chain.sending.broadcast(first)
        with pytest.raises(TransferRefused, match=None if till.harness.versions_are_one else "underpriced"):
            till.chain.sending.broadcast(rival)
        till.harness.mine()
        assert till.chain.sending.status(first).state == "included"
        assert till.held(till.recipient) == 100

    def test_a_version_that_was_beaten_does_not_come_back_by_being_sent_again(self, till: Till) -> None:
        require_replacing(till)
        first = till.sign(100)
        second = bump(till, first)
        till.chain.sending.broadcast(first)
        till.chain.sending.broadcast(second)
        with pytest.raises(TransferRefused, match="underpriced"):
            till.chain.sending.broadcast(first)
        till.harness.mine()
        assert till.chain.sending.status(second).state == "included"

    def test_the_earlier_version_is_mined_when_the_later_never_arrived(self, till: Till) -> None:
        require_replacing(till)
        first = till.sign(100)
        second = bump(till, first)
        till.chain.sending.broadcast(first)
        till.harness.lose_next_broadcast()
        till.chain.sending.broadcast(second)
        till.harness.mine()
        assert till.chain.sending.status(first).state == "included"
        status = till.chain.sending.status(second)
        assert (status.state, status.height) == (till.beaten, till.chain.sending.status(first).height)
        assert till.held(till.recipient) == 100

    def test_every_hash_of_a_transfer_finds_it(self, till: Till) -> None:
        require_replacing(till)
        if not till.harness.versions_are_one:
            pytest.skip("each version is a transaction of its own on this network")
        first = till.sign(100)
        second = bump(till, first)
        till.chain.sending.broadcast(first)
        till.chain.sending.broadcast(second)
        till.harness.mine()
        for version in (first, second):
            found = till.chain.reading.find_transaction(version.transaction_hash)
            assert found is not None
            assert (found.state, found.transaction_hash) == ("included", second.transaction_hash)
            (moved,) = till.chain.reading.find_transfers(version.transaction_hash)
            assert moved.transaction_hash == second.transaction_hash
        (left,) = till.chain.reading.outgoing(till.sender, first_height=0, last_height=till.chain.reading.head().height)
        assert left.transaction_hash == second.transaction_hash
        assert till.chain.sending.status(second).fee_units <= second.fee_limit_units

    def test_what_replaces_a_transfer_pays_the_same(self, till: Till) -> None:
        if not till.harness.versions_are_one:
            pytest.skip("a replacement may be another transaction on this network")
        with pytest.raises(ValueError, match="pays the same"):
            bump(till, till.sign(100), amount=200)

    def test_any_version_may_be_mined_once_all_were_forgotten(self, till: Till) -> None:
        require_replacing(till)
        first = till.sign(100)
        second = bump(till, first)
        till.chain.sending.broadcast(first)
        till.chain.sending.broadcast(second)
        till.harness.forget_waiting()
        till.harness.mine()
        assert [till.chain.sending.status(version).state for version in (first, second)] == ["unknown"] * 2
        till.chain.sending.broadcast(first)
        till.harness.mine()
        states = [till.chain.sending.status(version).state for version in (first, second)]
        assert states == ["included", till.beaten]
        assert till.held(till.recipient) == 100

    def test_a_reorg_lets_another_version_in(self, till: Till) -> None:
        require_replacing(till)
        if not till.harness.deepest_reorg:
            pytest.skip("every block of this network is final")
        first = till.send(100)
        second = bump(till, first)
        before = native(till)
        till.harness.reorg(1, "dropped")
        assert native(till) > before
        till.chain.sending.broadcast(second)
        till.harness.mine()
        states = [till.chain.sending.status(version).state for version in (first, second)]
        assert states == [till.beaten, "included"]
        assert till.held(till.recipient) == 100
