"""What every test of wallets runs on."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    """Blocks appear only when a test mines them."""
    settings.SIMULATED_BLOCK_SECONDS = 0
