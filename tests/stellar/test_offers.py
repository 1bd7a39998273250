"""What an envelope says, what it offers, and how a higher offer takes its place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from payments.chains.errors import ChainUnavailable, FeesAboveCap
from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.stellar import addresses
from payments.chains.stellar.keys import envelopes
from tests.stellar.network import keys
from tests.stellar.place import STOCK, USDC, WALLET, XLM, Place

VALIDITY_SECONDS = 300


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    yield made
    made.stop()


@pytest.fixture
def channelled() -> Iterator[Place]:
    made = Place(channels=2)
    yield made
    made.stop()


def test_a_surge_is_outbid_by_an_envelope_around_the_same_transaction(place: Place) -> None:
    payouts = place.pay(7)
    first = place.sign(*payouts)
    place.local.surge(3_000)
    place.chain.sending.broadcast(first)
    place.local.close_ledger()
    assert place.state(first) == "unknown"
    second = place.sign(*payouts, replacing=(first,))
    assert second.transaction_hash != first.transaction_hash
    assert (second.sequence, second.valid_until) == (first.sequence, first.valid_until)
    place.chain.sending.broadcast(second)
    ledger = place.local.close_ledger()
    for version in (first, second):
        status = place.chain.sending.status(version)
        assert (status.state, status.height) == ("included", ledger)
        assert (status.included_as or version.transaction_hash) == second.transaction_hash
        assert status.fee_units == 2 * 3_000
    assert place.held(place.recipient()) == 7


def test_the_first_version_counts_for_the_later_ones_too(place: Place) -> None:
    payouts = place.pay(7)
    first = place.sign(*payouts)
    second = place.sign(*payouts, replacing=(first,))
    place.chain.sending.broadcast(first)
    place.local.close_ledger()
    status = place.chain.sending.status(second)
    assert (status.state, status.included_as) == ("included", first.transaction_hash)
    place.chain.sending.broadcast(second)
    assert place.held(place.recipient()) == 7


def test_somebody_elses_envelope_around_ours_pays_it_and_costs_us_nothing(place: Place) -> None:
    transfer = place.sign(*place.pay(7))
    stranger = place.recipient(9)
    theirs = envelopes.bump(transfer.raw, passphrase=keys.PASSPHRASE, payer=stranger, fee_per_operation=50_000)
    place.local.network.close_with(envelopes._envelope(theirs.raw, keys.PASSPHRASE))
    status = place.chain.sending.status(transfer)
    assert (status.state, status.included_as, status.fee_units) == ("included", theirs.transaction_hash, 0)


def test_each_version_offers_ten_times_more_up_to_the_cap(place: Place) -> None:
    payouts = place.pay(7)
    versions = [place.sign(*payouts)]
    with pytest.raises(FeesAboveCap, match="1000000 of 100000"):  # noqa: PT012 - each version counts
        while True:
            versions.append(place.sign(*payouts, replacing=tuple(reversed(versions))))
    offers = [envelopes.read(each.raw, passphrase=keys.PASSPHRASE) for each in versions]
    assert [offer.fee / offer.operations for offer in offers] == [1_000, 10_000, 100_000]
    assert all(later.fee * one.operations >= 10 * one.fee * later.operations for one, later in pairwise(offers))
    place.local.surge(100_001)
    with pytest.raises(FeesAboveCap, match="Fees are above the cap: 100001 of 100000 stroops"):
        place.sign(*payouts)


def test_one_horizon_that_lies_about_fees_neither_stops_payouts_nor_makes_them_dear(place: Place) -> None:
    place.fronts[0].spoil("/fee_stats", lambda said: said | {"last_ledger_base_fee": "100000000"})
    transfer = place.sign(*place.pay(7))
    assert transfer.fee_limit_units == 1_000
    assert place.chain.hot_wallet.costs().payout == 100
    place.fronts[1].spoil("/fee_stats", lambda said: said | {"last_ledger_base_fee": "100000000"})
    with pytest.raises(FeesAboveCap):
        place.sign(*place.pay(7))


def test_one_horizon_alone_says_no_price(place: Place) -> None:
    place.fronts[1].spoil("/fee_stats", lambda said: {})
    with pytest.raises(ChainUnavailable):
        place.chain.hot_wallet.costs()


def test_what_replaces_pays_the_same(place: Place) -> None:
    first = place.sign(*place.pay(7))
    with pytest.raises(ValueError, match="pays the same"):
        place.sign(*place.pay(8), replacing=(first,))


@pytest.mark.parametrize(
    ("payouts", "reason"),
    [
        ([], "1 to 100 payouts"),
        ([1] * 101, "1 to 100 payouts"),
        (["17", "18"], "different memos"),
        (["foreign"], "accepted coins"),
    ],
)
def test_what_cannot_share_an_envelope_is_refused(place: Place, payouts: list[int | str], reason: str) -> None:
    to = place.recipient().public_key
    foreign = place.chain.profile.native
    wanted = tuple(
        PayoutInstruction(
            foreign if each == "foreign" else USDC, 1, to, str(each) if reason == "different memos" else None
        )
        for each in payouts
    )
    with pytest.raises(ValueError, match=reason):
        place.sign(*wanted)


def test_channels_lend_their_sequences_and_the_wallet_pays_for_all_of_it(channelled: Place) -> None:
    place = channelled
    first, second = place.chain.channels()
    assert len({first, second, WALLET.public_key}) == 3
    fees_before = place.local.balance(WALLET.public_key, "XLM")
    muxed = addresses.mux(place.recipient(3).public_key, 99)
    transfers = [
        place.sign(*place.pay(7, 8), channel=0),
        place.sign(PayoutInstruction(USDC, 9, muxed), channel=1),
    ]
    wallet_sequence = place.chain.hot_wallet.next_sequence(WALLET.public_key)
    for transfer in transfers:
        place.chain.sending.broadcast(transfer)
    ledger = place.local.close_ledger()
    statuses = [place.chain.sending.status(transfer) for transfer in transfers]
    assert [(status.state, status.height) for status in statuses] == [("included", ledger)] * 2
    assert [status.fee_units for status in statuses] == [300, 200]
    assert [transfer.sender for transfer in transfers] == [first, second]
    assert place.held(WALLET) == STOCK - 24
    assert place.local.balance(WALLET.public_key, "XLM") == fees_before - 500
    assert [place.local.balance(channel, "XLM") for channel in (first, second)] == [XLM, XLM]
    assert place.chain.hot_wallet.next_sequence(WALLET.public_key) == wallet_sequence
    assert place.chain.hot_wallet.next_sequence(first) == transfers[0].sequence + 1
    with pytest.raises(ValueError, match="lends no sequences"):
        place.chain.sending.sign(place.pay(1), sender=WALLET.public_key, sequence=1)


def test_channels_are_the_same_for_the_same_key_and_others_for_any_other(channelled: Place) -> None:
    from payments.chains.stellar.keys.wallet_keys import Keys

    assert Keys(keys.HOT_WALLET_KEY, channels=3).channels[:2] == channelled.chain.channels()
    assert not set(Keys(keys.PAYER_KEY, channels=3).channels) & set(channelled.chain.channels())
    assert keys.HOT_WALLET_KEY not in repr(channelled.keys)
