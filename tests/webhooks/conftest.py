from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.webhooks.receivers import Shop


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Shop() as running:
        yield running
