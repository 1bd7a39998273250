"""The fixtures for pytest. A session has one sandbox: that of BALLAST_SANDBOX, or one of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ballast_sandbox.sandbox import Sandbox


@pytest.fixture(scope="session")
def ballast_sandbox() -> Iterator[Sandbox]:
    """The sandbox of the session, with what all of its tests left there."""
    with Sandbox.start() as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(ballast_sandbox: Sandbox) -> Sandbox:
    """The sandbox, with no webhooks collected yet. Payments of earlier tests stay: look for your own."""
    ballast_sandbox.webhooks.clear()
    return ballast_sandbox
