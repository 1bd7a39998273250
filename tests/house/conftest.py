"""What every test of the house's own money runs on."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from merchants.models import User
from tests.factories import make_user


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    """Blocks appear only when a test mines them."""
    settings.SIMULATED_BLOCK_SECONDS = 0


@pytest.fixture
def people() -> tuple[User, User]:
    """Two operators whose word counts."""
    ada, bob = (make_user(f"{name}@example.com", is_staff=True, is_superuser=True) for name in ("ada", "bob"))
    return ada, bob
