"""Stellar keeps the contract of every chain adapter, on a network of our own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.chains.contract import AddressContract, CursorContract, ReadingContract, ReorgContract, scene
from tests.chains.fees import FeeContract, ReplacingContract
from tests.chains.harness import Harness
from tests.chains.outgoing import OutgoingContract
from tests.chains.recipients import RecipientContract
from tests.chains.sending import SendingContract, till
from tests.chains.sweeping import SweepContract, deposits
from tests.stellar.harness import LocalHarness

__all__ = ["deposits", "scene", "till"]


@pytest.fixture
def harness() -> Iterator[Harness]:
    found = LocalHarness()
    yield found
    found.stop()


class TestStellar(
    AddressContract,
    ReadingContract,
    CursorContract,
    ReorgContract,
    SendingContract,
    OutgoingContract,
    RecipientContract,
    FeeContract,
    ReplacingContract,
    SweepContract,
):
    pass
