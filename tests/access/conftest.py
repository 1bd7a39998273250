"""Every test of access begins with whole request budgets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from merchants.access import throttling


@pytest.fixture(autouse=True)
def fresh_budgets(settings: Settings) -> Iterator[None]:
    """Every test begins with nothing counted, in its own process: tests of Redis start one of their own."""
    settings.REDIS_URL = ""
    throttling.log.cache_clear()
    yield
    throttling.log.cache_clear()
