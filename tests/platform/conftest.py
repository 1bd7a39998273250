"""A run of its own for each test that asks for one. Those of a file share a folder, and so its database."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded.postgres import EmbeddedPostgres
from tests.platform.runs import Run
from tests.ports import free_port
from tests.template import lay_migrated, stop_left_over


@pytest.fixture(scope="module")
def var() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ballast-run-"))
    folder.chmod(0o755)
    yield folder
    stop_left_over(EmbeddedPostgres(folder))
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def run(var: Path) -> Iterator[Run]:
    """Its database is migrated already: `test_pages_as_pasted` begins with an empty folder, as a person does."""
    server = EmbeddedPostgres(var)
    if not server.data.exists():
        lay_migrated(server)
    with Run(var, free_port()) as started:
        yield started
