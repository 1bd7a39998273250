"""Random reorganisations, as deep as unfinished blocks go; `python -m tests.evm.reorgs` plays many more."""

from __future__ import annotations

import pytest

from tests.evm.harness import prepared
from tests.evm.reorgs import EPOCH_BLOCKS, Play

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("network", EPOCH_BLOCKS)
def test_whatever_is_undone_the_adapter_tells_what_the_chain_holds(network: str) -> None:
    with prepared(network, EPOCH_BLOCKS[network]).node.put_back():
        play = Play(network, seed=7)
        for _ in range(12):
            play.round()
