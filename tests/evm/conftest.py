"""What every test of the evm networks stands on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.evm.node import ETHEREUM_ID, TestNode, running_node, stop_nodes


@pytest.fixture(scope="session", autouse=True)
def nodes_end_with_the_run() -> Iterator[None]:
    yield
    stop_nodes()


@pytest.fixture
def node() -> Iterator[TestNode]:
    """An ethereum where blocks appear when they are asked for."""
    found = running_node(ETHEREUM_ID)
    with found.put_back():
        yield found
