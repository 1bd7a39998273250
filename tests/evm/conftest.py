"""What every test of the evm networks stands on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import override_settings
from pytest_django.fixtures import Settings

from tests.evm.harness import NodeHarness, prepared, profile_of
from tests.evm.mainnet import settings_for
from tests.evm.node import ETHEREUM_ID, TestNode, running_node, stop_nodes
from tests.evm.street import Street, open_street
from tests.networks import put_profile


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


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> Iterator[NodeHarness]:
    """Polygon in production on a real node, the simulated networks in the sandbox."""
    found = prepared("polygon")
    put_profile(monkeypatch, profile_of("polygon"))
    with (
        found.node.put_back(),
        override_settings(**settings_for({"polygon": [found.node.url]})),
    ):
        harness = NodeHarness("polygon")
        harness.mine()  # a head of just now
        yield harness


@pytest.fixture
def street(settings: Settings) -> Iterator[Street]:
    with open_street(settings) as found:
        yield found
