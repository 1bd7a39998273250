"""What every test of the signer runs on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from payments.chains.signer import connection
from tests.signer.signer import OwnSigner


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine either side may be slow."""
    monkeypatch.setattr(connection, "SECONDS", 120.0)


@pytest.fixture
def signer() -> Iterator[OwnSigner]:
    """A signer whose clock stands still."""
    made = OwnSigner(now=datetime(2026, 11, 23, 12, tzinfo=UTC))
    yield made
    made.end()
