"""Ethereum keeps the contract of every chain adapter, on a real node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chains.harness import Harness
from tests.evm.contract import EvmContract, deposits, scene, till
from tests.evm.harness import NodeHarness, prepared

pytestmark = pytest.mark.slow

__all__ = ["deposits", "scene", "till"]


@pytest.fixture
def harness() -> Iterator[Harness]:
    with prepared("ethereum").node.put_back():
        yield NodeHarness("ethereum")


class TestEthereum(EvmContract):
    pass
