from __future__ import annotations

from collections.abc import Iterator

import pytest

from merchants.models import Merchant
from tests.factories import make_merchant
from tests.sending.receivers import Shop


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Shop() as running:
        yield running


@pytest.fixture
def merchant() -> Merchant:
    return make_merchant()
