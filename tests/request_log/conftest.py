"""Every test begins with whole request budgets."""

from __future__ import annotations

import pytest

from merchants.access import throttling


@pytest.fixture(autouse=True)
def whole_budgets() -> None:
    throttling.log.cache_clear()
