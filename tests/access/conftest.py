from __future__ import annotations

from collections.abc import Iterator

import pytest

from merchants.access import throttling


@pytest.fixture(autouse=True)
def fresh_budgets() -> Iterator[None]:
    """Every test begins with nothing counted, and with the limiter its settings ask for."""
    throttling.log.cache_clear()
    yield
    throttling.log.cache_clear()
