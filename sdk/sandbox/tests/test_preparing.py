"""The cache that starts are made from, and the end of a start that still fills it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ballast_sandbox import preparing


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source that needs nothing."""
    monkeypatch.delenv("BALLAST_SANDBOX_PYTHON", raising=False)
    folder = tmp_path / "source"
    for name in preparing.OF_A_SOURCE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_a_python_of_the_cache_is_of_the_one_that_runs(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed: list[list[str]] = []
    monkeypatch.setattr(preparing, "_run", installed.append)
    monkeypatch.setattr(preparing.shutil, "which", lambda _: "uv")
    first = preparing.find_python(source, tmp_path)
    assert preparing.find_python(source, tmp_path) == first
    assert len(installed) == 1

    first.unlink()
    first.symlink_to(tmp_path / "removed")  # what is left of it when its Python is removed
    assert preparing.find_python(source, tmp_path) == first
    assert first.exists()

    monkeypatch.setattr(sys, "version", sys.version + " patched")
    assert preparing.find_python(source, tmp_path) != first


def test_as_root_a_folder_that_postgresql_cannot_pass_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(preparing.tempfile, "tempdir", str(tmp_path))
    tmp_path.chmod(0o700)
    with pytest.raises(preparing.CannotPrepare, match="TMPDIR"), preparing.new_folder():
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, None])
def test_a_start_that_fills_the_cache_can_be_stopped(source: Path, tmp_path: Path, by: signal.Signals | None) -> None:
    began, uv = tmp_path / "began", tmp_path / "uv"
    uv.write_text(f"#!/bin/sh\ntouch {began}\nexec sleep 60\n")
    uv.chmod(0o755)
    environment = {
        **os.environ, "BALLAST_SOURCE": str(source), "BALLAST_SANDBOX_CACHE": str(tmp_path / "cache"),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
    }  # fmt: skip
    command = [sys.executable, "-m", "ballast_sandbox", "run", "--until-stdin-ends"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE) as process:
        try:
            ends_at = time.monotonic() + 30
            while not began.exists():
                assert time.monotonic() < ends_at
                assert process.poll() is None
                time.sleep(0.05)
            if by:
                process.send_signal(by)
            else:
                process.stdin.close()
            assert process.wait(10) == 0
        finally:
            process.kill()
