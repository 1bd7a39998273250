"""What is asked of accounts while one Horizon has read more than the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from payments.chains.errors import ChainUnavailable
from tests.stellar.place import WALLET, XLM, Place, key_of


@pytest.fixture
def place() -> Iterator[Place]:
    found = Place()
    yield found
    found.stop()


def test_a_change_that_one_horizon_has_still_to_read_is_no_disagreement(place: Place) -> None:
    before = place.chain.next_sequence(WALLET.public_key)
    place.other.pause_ingestion()
    place.local.fund_native(key_of(7).public_key, 10 * XLM)
    place.chain.broadcast(place.sign(*place.pay(5)))
    place.local.close_ledger()
    with pytest.raises(ChainUnavailable):
        place.chain.next_sequence(WALLET.public_key)
    assert [dict(each.problems) for each in place.chain.provider_states()] == [{}, {}]
    place.other.resume_ingestion()
    assert place.chain.next_sequence(WALLET.public_key) == before + 1
