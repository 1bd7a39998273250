"""Every test of the API begins with whole request budgets."""

from __future__ import annotations

import pytest

from merchants.access import throttling


@pytest.fixture(autouse=True)
def fresh_budgets() -> None:
    """Where a test before could not reach Redis, requests are counted in the process for a while, and then in Redis."""
    throttling.log.cache_clear()
