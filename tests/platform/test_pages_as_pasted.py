"""What README and the page on webhooks tell people to paste works as it stands, on a run of its own folder and port."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import textwrap
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import httpx
import pytest
from django.core.management import get_commands

from tests.platform.runs import READY_SECONDS, ROOT, Run, demo
from tests.ports import free_port

A_SHELL = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108 - as a person's

WAIT = """
until curl -s "$BALLAST_SANDBOX_BASE_URL/{path}" -H "Authorization: Bearer $BALLAST_PUBLIC_KEY" \
    -H "X-Api-Secret: $BALLAST_SECRET_KEY" | grep -q '"status":"{status}"'; do sleep 0.2; done
"""


@pytest.fixture(scope="module")
def run(var: Path) -> Iterator[Run]:
    """One for all tests of this file, with blocks that come four times as fast as a person's."""
    with Run(var, free_port(), SIMULATED_BLOCK_SECONDS="0.5") as started:
        yield started


def blocks(page: str, *headings: str) -> list[str]:
    """The indented blocks of these sections, as somebody would copy them."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for heading in headings:
        section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
        found += re.findall(r"(?:^|\n)\n((?: {4}[^\n]*\n|\n(?= {4}))+)", section)
    return [textwrap.dedent(block) for block in found]


def paste(script: str) -> str:
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=ROOT, env=A_SHELL, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_readme_and_the_page_on_webhooks_work_as_pasted(run: Run) -> None:
    run.wait_until("Ctrl-C stops everything.")
    source = f". {run.var}/demo.env"

    script = "\n".join(blocks("README.md", "Take a payment", "Give a part back, and have the rest settled"))
    assert ". var/demo.env" in script
    script = script.replace(". var/demo.env", source)
    for pasted, path, status in (
        ('-d \'{"scenario": "exact"}\'', "payments/$PAYMENT", "completed"),
        ("One mug arrived broken", "refunds", "completed"),
    ):
        line = next(line for line in script.splitlines() if pasted in line)
        script = script.replace(line, line + WAIT.format(path=path, status=status))
    printed = paste(script)
    assert printed.count("exit code 0") == 2
    assert '"error"' not in printed
    assert "closing_balance" in printed or "statement_version" in printed

    first, _, second = blocks("docs/webhooks.md", "In five minutes")  # the other is `ballast`, which `make sdk` runs
    assert '"secret": "whsec_' in paste(f"{source}\n{first}").replace('":"', '": "')
    port = str(free_port())
    listening = subprocess.Popen(
        ["bash", "-e", "-c", f"{source}\n{second.replace('9000', port)}"],
        cwd=ROOT, env=A_SHELL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert_it_listens(listening, run, port)
    finally:
        os.killpg(listening.pid, signal.SIGTERM)
        listening.wait(60)


def assert_it_listens(listening: subprocess.Popen[str], run: Run, port: str) -> None:
    assert listening.stdout is not None
    lines = iter(listening.stdout.readline, "")
    heard = "".join(islice(lines, 2))
    assert f"http://127.0.0.1:{port}/" in heard
    assert f"http://127.0.0.1:{run.port}/dashboard/webhooks/new" in heard + next(lines)
    values = demo(run.var)
    headers = {"Authorization": f"Bearer {values['BALLAST_PUBLIC_KEY']}", "X-Api-Secret": values["BALLAST_SECRET_KEY"]}
    with httpx.Client(base_url=values["BALLAST_SANDBOX_BASE_URL"], headers=headers, timeout=READY_SECONDS) as shop:
        found = shop.get("/webhooks").json()["data"]
        (webhook,) = [each["id"] for each in found if each["url"] == f"http://127.0.0.1:{port}/"]
        shop.post(f"/webhooks/{webhook}/test")
    ends = time.monotonic() + 60
    assert any("webhook.test" in line for line in lines if time.monotonic() < ends)


@pytest.mark.slow
def test_a_command_finds_the_running_ballast_by_itself_and_its_exit_code_arrives(run: Run, tmp_path: Path) -> None:
    run.wait_until("Ctrl-C stops everything.")

    def manage(*arguments: str, var: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = A_SHELL | ({} if var is None else {"BALLAST_VAR": str(var)})
        return subprocess.run(
            ["./manage.py", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    for arguments, code in ((("--full",), 0), (("--no-chain",), 1), (("--quick", "--since", "nonsense"), 3)):
        done = manage("reconcile", *arguments, var=run.var)
        assert done.returncode == code, done.stdout + done.stderr
    alone = manage("shell", "-v", "0", "-c", "from django.conf import settings; print(settings.PUBLIC_URL)")
    assert alone.stdout.strip() == f"http://127.0.0.1:{run.port}" or "Several Ballasts are running" in alone.stderr

    elsewhere = tmp_path / "elsewhere"
    none = manage("reconcile", "--full", var=elsewhere)
    assert (none.returncode, none.stdout) == (3, "")
    assert none.stderr.startswith(f"No Ballast is running with its data in {elsewhere}.")
    assert f"- {run.var} (process " in none.stderr
    by_make = subprocess.run(
        ["make", "manage", "CMD=reconcile", f"VAR={elsewhere}"], cwd=ROOT, env=A_SHELL | {"BALLAST_MODE": "embedded"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert f"There is no Ballast in {elsewhere}" in by_make.stderr
    assert not elsewhere.exists()


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))])
def test_every_command_of_the_pages_exists(page: str) -> None:
    named = re.findall(r"manage\.py ([a-z_]+)\b", (ROOT / page).read_text(encoding="utf-8"))
    assert set(named) <= {*get_commands(), "help"}
