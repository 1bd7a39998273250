"""Clients that three generators make of docs/openapi.json compile strictly, and take the README's walk.

What they need is fetched once into `.clients`, by npm and uv. Where npm is absent these tests are skipped; in CI it
must be there. `uv` is one of the tools of development.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from config.environments import Environment
from config.pages.samples import SANDBOX_WALLET
from refunds.models import Refund
from settlements.models import Settlement
from tests.factories import make_key
from tests.networks import POLYGON
from tests.payments.scenes import mine_and_watch

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCUMENT = ROOT / "docs" / "openapi.json"
OLDEST_NODE = 20
PYTHON_GENERATOR = "openapi-python-client==0.29.1"
TYPESCRIPT = (
    "--strict", "--noUncheckedIndexedAccess", "--skipLibCheck", "--target", "es2022", "--module", "commonjs",
    "--moduleResolution", "node10", "--types", "node", "--outDir", "out",
)  # fmt: skip
"""The strictness is for what is generated, which is no library here."""

STRICT_MYPY = "[mypy]\nstrict = True\n[mypy-ballast_client.client]\nignore_errors = True\n"
"""But for the generator's own frame, which is the same whatever the document says."""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def tools() -> Path:
    """A folder with the generators of TypeScript clients."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        missing = "npm is not installed (Debian: apt install npm)"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    version = run(node, "--version", cwd=ROOT).strip().removeprefix("v")
    if int(version.partition(".")[0]) < OLDEST_NODE:
        pytest.skip(f"the generators need Node {OLDEST_NODE} or newer, and this is {version}")
    digest = hashlib.sha256((HERE / "package.json").read_bytes()).hexdigest()[:12]
    folder = ROOT / ".clients" / digest
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "package.json", folder)
        run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", cwd=folder)
        (folder / "complete").touch()
    return folder


@pytest.fixture
def work(tools: Path, tmp_path: Path) -> Path:
    """An empty folder in which Node finds the tools."""
    (tmp_path / "node_modules").symlink_to(tools / "node_modules")
    return tmp_path


@pytest.fixture
def shop(live_server: LiveServer, settings: Settings) -> dict[str, str]:
    """A merchant's environment, as demo.env has it."""
    settings.SIMULATED_BLOCK_SECONDS = 0
    issued = make_key(environment=Environment.SANDBOX)
    return {
        "BALLAST_SANDBOX_BASE_URL": f"{live_server.url}/sandbox/v1",
        "BALLAST_PUBLIC_KEY": issued.key.public_key,
        "BALLAST_SECRET_KEY": issued.secret,
        "BALLAST_WALLET": SANDBOX_WALLET,
    }


def walk(*command: str | Path, cwd: Path, shop: dict[str, str]) -> dict[str, Any]:
    """What the client printed at its end. Meanwhile blocks are made, and after its refund the rest is settled."""
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd, env={**os.environ, **shop}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    ends_at = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < ends_at:
        mine_and_watch(POLYGON)
        if Refund.objects.exists() and not Settlement.objects.exists():
            call_command("run_settlements", "--now", stdout=StringIO())
        time.sleep(0.1)
    process.kill()
    printed, complaints = process.communicate()
    assert process.returncode == 0, printed + complaints
    found: dict[str, Any] = json.loads(printed)
    return found


def assert_it_walked(found: dict[str, Any]) -> None:
    told = {words.partition(" ")[0]: words.partition(" ")[2] for words in found["told"]}
    assert told["refund.created"] == found["payment"]
    assert told["payment.completed"].count(".") == 1
    assert {"payment.created", "settlement.created"} <= told.keys()
    assert found["settled"] == Settlement.objects.get().public_id


def openapi_typescript(tools: Path, work: Path) -> None:
    run(tools / "node_modules/.bin/openapi-typescript", DOCUMENT, "-o", "schema.ts", cwd=work)


def hey_api(tools: Path, work: Path) -> None:
    run(tools / "node_modules/.bin/openapi-ts", "-i", DOCUMENT, "-o", "hey", "-c", "@hey-api/client-fetch", cwd=work)


@pytest.mark.parametrize("generate", [openapi_typescript, hey_api])
def test_a_typescript_client_compiles_strictly_and_walks(
    tools: Path, work: Path, shop: dict[str, str], generate: Callable[[Path, Path], None]
) -> None:
    generate(tools, work)
    name = f"walk_{generate.__name__}"
    shutil.copy(HERE / f"{name}.ts", work)
    run(tools / "node_modules/.bin/tsc", *TYPESCRIPT, f"{name}.ts", cwd=work)
    assert_it_walked(walk("node", f"out/{name}.js", cwd=work, shop=shop))


def test_a_python_client_is_strictly_typed_and_walks(tools: Path, tmp_path: Path, shop: dict[str, str]) -> None:
    uv = Path(sys.executable).with_name("uv")
    generator = (uv, "tool", "run", "--quiet", "--from", PYTHON_GENERATOR, "openapi-python-client", "generate")
    run(*generator, "--path", DOCUMENT, "--output-path", "client", "--meta", "none", cwd=tmp_path)
    package = tmp_path / "client"
    package.rename(tmp_path / "ballast_client")
    shutil.copy(HERE / "walk_python.py", tmp_path)
    (tmp_path / "mypy.ini").write_text(STRICT_MYPY)
    run(sys.executable, "-m", "mypy", f"--cache-dir={ROOT / '.clients' / 'mypy'}", "walk_python.py", cwd=tmp_path)
    assert_it_walked(walk(sys.executable, "walk_python.py", cwd=tmp_path, shop=shop))
