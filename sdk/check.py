"""`make sdk`: builds each client, and runs it against one real sandbox. `python -m sdk.check [LANGUAGE …]`.

A language is a folder of sdk/ with executable scripts. `build` builds the package as its registry expects, runs its
unit tests, and installs what it built into a clean environment below $SDK_WORK; `check` then uses that one, beside the
checks of others; `alone` runs after all of them, because it reorganises networks and stops them, which others would
feel. README.md of the generator says what they get from their environment.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / ".sdk"
START_SECONDS = 120
BLOCK_SECONDS = 0.25
AT_ONCE = (os.cpu_count() or 1) + 2
"""They wait for networks more than they compute."""
BY_ITSELF = "sandbox"
"""It starts sandboxes of its own, and waits for no other build."""
LONGEST = ("sandbox", "examples", "typescript", "python")
"""The longest begin first, so that none is left at the end."""
CREATES = 1000 if os.environ.get("LONG") else 100


def main(languages: list[str]) -> int:
    found = sorted({path.parent.name for name in ("check", "alone") for path in (ROOT / "sdk").glob(f"*/{name}")})
    wrong = set(languages) - set(found)
    if wrong:
        print(f"no sdk/<language>/check for {', '.join(sorted(wrong))}; there are: {', '.join(found)}", file=sys.stderr)
        return 2
    languages = languages or found
    try:
        check(languages)
    except subprocess.CalledProcessError as error:
        print(f"{error.cmd[0]} failed", file=sys.stderr)
        return 1
    return 0


def check(languages: list[str]) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    WORK.mkdir(exist_ok=True)
    languages = sorted(languages, key=lambda name: (LONGEST.index(name) if name in LONGEST else len(LONGEST), name))
    with sandbox(port) as server, ThreadPoolExecutor(AT_ONCE) as pool:
        operations()
        by_itself = [pool.submit(build_and_check, name) for name in languages if name == BY_ITSELF]
        languages = [name for name in languages if name != BY_ITSELF]
        together([pool.submit(run, language, "build", {}) for language in languages])
        values = demo(server)
        pairs = merchants(languages)
        with flaky(url) as flaky_url:
            common = {**values, "BALLAST_FLAKY_URL": flaky_url, "BALLAST_CREATES": str(CREATES)}
            environments = {}
            for language in languages:
                environment = {**common, **pairs[language]}
                environment["BALLAST_WEBHOOK_SECRET"] = account_secret(environment)
                environments[language] = environment
            together([pool.submit(run, name, "check", each) for name, each in environments.items()])
            for name, each in environments.items():
                run(name, "alone", each)
        together(by_itself)


def together(works: Sequence[Future[None]]) -> None:
    """All of them are done before the first failure is raised."""
    wait(works)
    for work in works:
        work.result()


def build_and_check(language: str) -> None:
    run(language, "build", {})
    run(language, "check", {})


def run(language: str, script: str, environment: dict[str, str]) -> None:
    path = ROOT / "sdk" / language / script
    if not path.exists():
        return
    work = WORK / language
    work.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    done = subprocess.run(
        [path],
        cwd=path.parent, check=False, timeout=1800, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={
            **os.environ, **environment, "SDK_WORK": str(work), "PYTHON": sys.executable, "BALLAST_ROOT": str(ROOT),
            "BALLAST_OPERATIONS": str(operations()),
        },
    )  # fmt: skip
    sys.stdout.write(f"=== {language}: {script}, {time.monotonic() - began:.1f} s\n{done.stdout.strip()}\n")
    sys.stdout.flush()
    done.check_returncode()


@cache
def operations() -> Path:
    """The file of the API's operations, by which a check counts what it called."""
    path = WORK / "operations.json"
    path.write_bytes(subprocess.check_output([sys.executable, "-m", "sdk.generator.operations"], cwd=ROOT))
    return path


MERCHANTS = """
import json, sys
from config.environments import Environment
from merchants.models import User
from merchants.services import issue_api_key, open_merchant
pairs = {}
for language in sys.argv[1].split(","):
    email = f"{language}@ballast.example"
    owner = User.objects.filter(email=email).first() or User.objects.create_user(email)
    member = owner.memberships.first()
    merchant = member.merchant if member else open_merchant(name=language, email=email, owner=owner)
    issued = issue_api_key(merchant=merchant, environment=Environment.SANDBOX, name="Check", created_by=owner)
    pairs[language] = {"BALLAST_PUBLIC_KEY": issued.key.public_key, "BALLAST_SECRET_KEY": issued.secret}
print(json.dumps(pairs))
"""


def merchants(languages: list[str]) -> dict[str, dict[str, str]]:
    """A merchant and a pair of keys for each: the checks run side by side, and each replaces its account's secret."""
    script = MERCHANTS.replace("sys.argv[1]", repr(",".join(languages)))
    output = subprocess.check_output(
        [sys.executable, "-m", "config.embedded", "manage", "shell", "--verbosity", "0", "-c", script],
        cwd=ROOT, text=True, env={**os.environ, "BALLAST_MODE": "embedded", "BALLAST_VAR": str(WORK / "var")},
    )  # fmt: skip
    pairs: dict[str, dict[str, str]] = json.loads(output.splitlines()[-1])
    return pairs


@contextmanager
def sandbox(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """`make run` with a folder and a port of its own, and a budget of requests that a test cannot use up."""
    environment = {
        **os.environ, "BALLAST_MODE": "embedded", "BALLAST_VAR": str(WORK / "var"), "BALLAST_PORT": str(port),
        "PUBLIC_URL": f"http://127.0.0.1:{port}", "SIMULATED_BLOCK_SECONDS": str(BLOCK_SECONDS),
        "SANDBOX_REQUESTS_PER_MINUTE": "1000000",
    }  # fmt: skip
    for name in ("DATABASE_URL", "REDIS_URL"):
        environment.pop(name, None)
    with (WORK / "sandbox.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "config.embedded", "run"], cwd=ROOT, env=environment, stdout=log, stderr=log
        )
        try:
            yield server
        finally:
            stop(server)


def demo(server: subprocess.Popen[bytes]) -> dict[str, str]:
    """The keys and addresses of the demo's merchant, once the sandbox is ready."""
    ends_at = time.monotonic() + START_SECONDS
    while "Ballast is ready" not in (WORK / "sandbox.log").read_text(errors="replace"):
        if server.poll() is not None or time.monotonic() > ends_at:
            raise SystemExit(f"The sandbox did not start; {WORK / 'sandbox.log'} says why.")
        time.sleep(0.1)
    script = '. "$0" && env'
    text = subprocess.check_output(["/bin/sh", "-c", script, str(WORK / "var" / "demo.env")], text=True, env={})
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, _, value in pairs if name.startswith("BALLAST_")}


@contextmanager
def flaky(url: str) -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-m", "sdk.flaky", url], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as proxy:
        assert proxy.stdout is not None
        try:
            yield proxy.stdout.readline().strip()
        finally:
            proxy.send_signal(signal.SIGTERM)
            print(f"The flaky proxy: {proxy.stdout.read().strip()}", flush=True)


def account_secret(values: dict[str, str]) -> str:
    """The secret by which events go to a payment's own webhookUrl; new for each client, since each may rotate it."""
    request = urllib.request.Request(
        f"{values['BALLAST_SANDBOX_BASE_URL']}/webhooks/signing-secret/rotate", method="POST", data=b"{}",
        headers={
            "Authorization": f"Bearer {values['BALLAST_PUBLIC_KEY']}", "X-Api-Secret": values["BALLAST_SECRET_KEY"],
            "Content-Type": "application/json",
        },
    )  # fmt: skip
    with urllib.request.urlopen(request, timeout=30) as reply:
        secret: str = json.load(reply)["secret"]
    return secret


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(30)
    except subprocess.TimeoutExpired:
        server.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
