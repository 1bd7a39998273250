"""What every test of a chain runs on."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings


@pytest.fixture
def stopped_clock(settings: Settings) -> None:
    """Blocks appear only when a test asks for them."""
    settings.SIMULATED_BLOCK_SECONDS = 0
