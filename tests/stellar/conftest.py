"""What every test of stellar stands on: a network of our own whose ledgers close when they are told to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stellar.network.horizon import LocalHorizon


@pytest.fixture
def horizon() -> Iterator[LocalHorizon]:
    with LocalHorizon() as found:
        yield found
