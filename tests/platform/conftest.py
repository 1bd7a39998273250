"""A run of its own for each test that asks for one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embedded.postgres import EmbeddedPostgres
from tests.platform.runs import Run, free_port


@pytest.fixture
def var() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ballast-run-"))
    folder.chmod(0o755)
    yield folder
    EmbeddedPostgres(folder).stop_left_over()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def run(var: Path) -> Iterator[Run]:
    started = Run(var, free_port())
    yield started
    if started.process.poll() is None:
        started.stop()
    for process in started.family():
        process.kill()
