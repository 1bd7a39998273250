"""Polygon keeps the contract of every chain adapter, on a real node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chains.harness import Harness
from tests.evm.contract import EvmContract, deposits, scene, till
from tests.evm.harness import NodeHarness, prepared

__all__ = ["deposits", "scene", "till"]


@pytest.fixture
def harness() -> Iterator[Harness]:
    with prepared("polygon").node.put_back():
        yield NodeHarness("polygon")


class TestPolygon(EvmContract):
    pass
