"""Days of a network that were never played: it begins anew, and answers of several channels are lost."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from payments.chains.errors import ChainUnavailable, FinalityViolation
from tests.chains.harness import Watched
from tests.stellar.place import STOCK, WALLET, Place

CHANNELS, ROUNDS = 4, 5


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place(channels=CHANNELS)
    yield made
    made.stop()


def test_a_network_that_begins_anew_is_read_no_further(place: Place) -> None:
    """As the public test network does every few months: same passphrase, other ledgers from 1 on."""
    for _ in range(10):
        place.local.close_ledger()
    place.chain._reading._poll_seconds = 0
    watched = Watched(WALLET.public_key)
    cursor = place.chain.scan(None, watched).cursor
    height = place.chain.head().height
    place.local.close_ledger()
    cursor = place.chain.scan(cursor, watched).cursor
    fresh = Place(channels=CHANNELS)
    fresh.local.mint("USDC", WALLET.public_key, 24)  # without that, its ledgers would have the same hashes
    try:
        for front in place.fronts:
            front._url = httpx.URL(fresh.local.url)
        assert fresh.chain.head().height < height
        with pytest.raises(ChainUnavailable, match="behind what has been read"):
            place.chain.scan(cursor, watched)
        while fresh.local.network.state.ledger <= height + 10:
            fresh.local.close_ledger()
        fresh.local.mint("USDC", WALLET.public_key, 25)
        with pytest.raises(FinalityViolation, match="is another one now"):
            place.chain.scan(cursor, watched)
    finally:
        fresh.stop()


def test_channels_whose_answers_are_lost_pay_each_once(place: Place) -> None:
    paid = 0
    for number in range(ROUNDS):
        transfers = [place.sign(*place.pay(7 + number), channel=each) for each in range(CHANNELS)]
        for each in (place.local, place.other):
            each.pause_ingestion()
        for lost, transfer in enumerate(transfers):
            for each in (place.local, place.other):
                each.drop_after_accept(2 if lost % 2 else 0)
            if lost % 2:
                with pytest.raises(ChainUnavailable):
                    place.chain.broadcast(transfer)
            else:
                place.chain.broadcast(transfer)
        place.local.close_ledger()
        assert {place.state(transfer) for transfer in transfers} == {"unknown"}
        for each in (place.local, place.other):
            each.resume_ingestion()
        assert {place.state(transfer) for transfer in transfers} == {"included"}
        paid += CHANNELS * (7 + number)
        assert (place.held(WALLET), place.held(place.recipient())) == (STOCK - paid, paid)
