"""The moved clock is no door of production: its code refuses to run anywhere but in a sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ballast_sandbox
import pytest

MOVED_CLOCK = Path(ballast_sandbox.__file__).parent / "moved_clock"


@pytest.mark.parametrize(
    "settings",
    [{}, {"BALLAST_MODE": "production"}, {"BALLAST_MODE": "embedded", "DATABASE_URL": "postgres://db/ballast"}],
)
def test_the_clock_is_moved_in_a_sandbox_alone(tmp_path: Path, settings: dict[str, str]) -> None:
    clock = tmp_path / "clock"
    clock.write_text("90000".rjust(20))
    moved = {"PATH": os.environ["PATH"], "PYTHONPATH": str(MOVED_CLOCK), "BALLAST_SANDBOX_CLOCK": str(clock)}

    def ahead(settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
        look = "import time; print(time.time_ns() // 10**9 - int(time.time()))"
        return subprocess.run([sys.executable, "-c", look], env=moved | settings, capture_output=True, text=True)

    assert int(ahead({"BALLAST_MODE": "embedded"}).stdout) in (90000, 90001)
    refused = ahead(settings)
    assert refused.returncode != 0
    assert "moves the clock of a sandbox alone" in refused.stderr
