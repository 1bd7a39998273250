"""`make run` for real: ready, usable by what it wrote and printed, and gone without a trace when it is told to stop."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import pytest

from tests.patience import until
from tests.platform.runs import READY_SECONDS, ROOT, Run, demo
from tests.ports import free_port

pytestmark = pytest.mark.slow


def test_one_command_serves_works_and_leaves_nothing_behind(run: Run) -> None:
    run.wait_until("Ctrl-C stops everything.")

    # What it wrote is private, complete, and works in a shell.
    for name in ("demo.env", "secrets.env"):
        assert stat.S_IMODE((run.var / name).stat().st_mode) == 0o600
    values = demo(run.var)
    assert values["BALLAST_URL"] == f"http://127.0.0.1:{run.port}"
    assert values["BALLAST_SANDBOX_BASE_URL"] == f"http://127.0.0.1:{run.port}/sandbox/v1"
    assert values["BALLAST_PUBLIC_KEY"].startswith("pk_test_")
    assert values["BALLAST_SECRET_KEY"] not in run.printed

    # The line it printed creates a payment when it is pasted.
    pasted = re.search(r"^  (\. .*?\n(?:    .*\n)*)", run.printed, re.MULTILINE)
    assert pasted is not None
    answer = subprocess.run(["bash", "-c", pasted.group(1)], capture_output=True, text=True, check=True)
    assert '"status":"created"' in answer.stdout.replace(" ", "")

    # The schedule runs, in a process that shares nothing with the web process but the database.
    until(lambda: (health(values).json()["beatHeartbeatAgeSeconds"] or 1000) < 30)

    # Management commands run beside it, on the same data, and leave its database running.
    counted = run.manage(
        "shell", "-v", "0", "-c", "from payments.models import Payment; print(Payment.objects.count())"
    )
    assert counted.stdout.split()[-1] == "1", counted.stderr
    assert health(values).status_code == 200

    # A second one on the same folder, or on the same port, says why it does not start.
    second = Run(run.var, free_port())
    assert second.process.wait(120) == 1
    assert f"already running with {run.var}" in second.printed
    with tempfile.TemporaryDirectory() as other:
        third = Run(Path(other), run.port)
        assert third.process.wait(120) == 1
        assert f"Port {run.port} is not free" in third.printed
        assert f"PORT={run.port + 1}" in third.printed

    assert run.stop() == 0
    assert run.family() == []


def health(values: dict[str, str]) -> httpx.Response:
    return httpx.get(f"{values['BALLAST_URL']}/health/ready", timeout=READY_SECONDS)


def test_a_killed_run_is_cleaned_up_and_resumed(run: Run, var: Path) -> None:
    run.wait_until("Ctrl-C stops everything.")
    before = demo(var)
    run.stop(signal.SIGKILL)
    assert run.family() != []

    with Run(var, run.port) as again:
        again.wait_until("Ctrl-C stops everything.")
        assert "Stopped 2 processes that a killed run had left behind." in again.printed
        assert demo(var) == before
        assert again.stop(signal.SIGINT) == 0
        assert again.family() == []


@pytest.mark.parametrize("port", ["eighty", "65536"])
def test_a_port_that_is_none_is_refused_in_one_sentence(var: Path, port: str) -> None:
    environment = {**os.environ, "BALLAST_VAR": str(var), "BALLAST_PORT": port, "BALLAST_MODE": "embedded"}
    for command in (["run"], ["manage", "check"]):
        ended = subprocess.run(
            [sys.executable, "-m", "config.embedded", *command], cwd=ROOT, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ended.returncode == 1
        assert "BALLAST_PORT" in ended.stderr
        assert "Traceback" not in ended.stderr


def test_a_setting_that_is_refused_ends_the_run_and_is_said_once(var: Path) -> None:
    with Run(var, free_port(), RATE_SOURCE_URLS="ecb=http://mirror.example.com") as refused:
        assert refused.process.wait(120) == 1
        assert refused.printed.count("RATE_SOURCE_URLS has an entry that is no https address") == 1
        assert refused.family() == []
