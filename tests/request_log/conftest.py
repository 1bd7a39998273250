"""Every test begins with nothing that waits to be written, and with whole request budgets."""

from __future__ import annotations

import pytest

from merchants.access import throttling
from merchants.request_log.recording import RECORDER


@pytest.fixture(autouse=True)
def nothing_waits() -> None:
    while RECORDER._taken():
        pass
    throttling.log.cache_clear()
