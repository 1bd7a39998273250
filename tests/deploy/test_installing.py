"""`deploy/install` makes an installation on real servers, changes nothing the second time, upgrades, and goes back."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import psycopg
import pytest

from deploy.installer import env_files
from tests.access.redis_server import BINARY, RedisServer
from tests.deploy.processes import ROOT
from tests.patience import until
from tests.ports import free_port

pytestmark = pytest.mark.slow

ADMINISTRATOR = "an administrator of PostgreSQL"
HOST = "pay.example.com"
FILES = {"ballast.env", "database-owner.env", "database-web.env", "database-worker.env", "first-password"}


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """Debian's server, which asks everybody for a password; the address of its administrator."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not found or os.geteuid() != 0:
        pytest.skip("there is no PostgreSQL of Debian, or nobody may become its user")
    programs, port = found[-1], free_port()
    folder = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    (folder / "password").write_text(ADMINISTRATOR)
    shutil.chown(folder, "postgres")
    shutil.chown(folder / "password", "postgres")
    as_postgres = ["runuser", "-u", "postgres", "--"]
    initdb = [*as_postgres, str(programs / "initdb"), "--no-sync", "-D", f"{folder}/data", "-U", "postgres"]
    subprocess.run(
        [*initdb, "--auth=scram-sha-256", f"--pwfile={folder}/password"], cwd="/", check=True, capture_output=True
    )
    control = [*as_postgres, str(programs / "pg_ctl"), "-s", "-w", "-D", f"{folder}/data"]
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    subprocess.run([*control, "start", "-l", f"{folder}/log", "-o", options], cwd="/", check=True)
    yield f"postgres://postgres:{ADMINISTRATOR.replace(' ', '%20')}@127.0.0.1:{port}/ballast"
    subprocess.run([*control, "stop", "-m", "immediate"], cwd="/", check=True)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    if BINARY is None:
        pytest.skip("there is no redis-server")
    server = RedisServer(password="of Redis")
    server.start()
    yield server
    server.remove()


def answers(folder: Path, **given: str) -> Path:
    path = folder / "answers"
    env_files.write(path, "", given)
    return path


def install(source: Path, root: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    options = ("--root", root, "--environment", sys.prefix, *arguments)
    command = [sys.executable, *map(str, (source / "deploy" / "install", *options))]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file with its mode, what it is and when it was written."""
    found = {}
    for path in sorted(root.rglob("*")):
        about = path.lstat()
        content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        if "__pycache__" not in path.parts:
            found[str(path.relative_to(root))] = (about.st_mode, about.st_mtime_ns if path.is_file() else 0, content)
    return found  # type: ignore[return-value]


class Unit:
    """A process as systemd would start it: with what its unit says, below another root and without the sandbox."""

    def __init__(self, root: Path, name: str, instance: str = "") -> None:
        folder = root / "etc" / "systemd" / "system"
        text = (folder / name).read_text() + (folder / "ballast-.service.d" / "sandbox.conf").read_text()
        text = re.sub(r"/(srv/ballast|etc/ballast|run/ballast|var/lib/ballast)", rf"{root}/\1", text).replace(
            "%i", instance
        )
        lines = re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)
        values = {kind: [value for name, value in lines if name == kind] for kind, _ in lines}
        self.environment = {"PATH": "/usr/bin:/bin"}
        for pair in (pair for value in values["Environment"] for pair in shlex.split(value)):
            self.environment[pair.partition("=")[0]] = pair.partition("=")[2]
        for path in values["EnvironmentFile"]:
            self.environment |= env_files.read(Path(path))
        for secret in (secret for value in values["UnsetEnvironment"] for secret in value.split()):
            self.environment.pop(secret, None)
        [command] = values["ExecStart"]
        self.command = [
            re.sub(r"\$\{(\w+)\}", lambda found: self.environment[found[1]], word) for word in shlex.split(command)
        ]
        self.folder = root / "srv" / "ballast" / "current"

    def start(self) -> subprocess.Popen[bytes]:
        if "ALIVE_FILE" in self.environment:
            Path(self.environment["ALIVE_FILE"]).parent.mkdir(parents=True)
        return subprocess.Popen(self.command, env=self.environment, cwd=self.folder, stderr=subprocess.DEVNULL)


def assert_it_serves(root: Path) -> None:
    """Each unit starts its process with its own secrets alone, all work is done, and a backup can be made."""
    port = str(free_port())
    units = [Unit(root, f"ballast-{role}.service") for role in ("chain", "money", "webhooks", "reports", "beat")]
    units.append(Unit(root, "ballast-web@.service", port))
    with ExitStack() as stack:
        for unit in units:
            process = stack.enter_context(unit.start())
            stack.callback(process.terminate)
        page = f"http://127.0.0.1:{port}/health/work"
        until(lambda: _replies(page) == 200, 300)
    (root / "var/lib/ballast-backups").mkdir(parents=True)
    unit = Unit(root, "ballast-backup.service")
    made = subprocess.run(
        unit.command, env=unit.environment, cwd=unit.folder, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert len(list((root / "var/lib/ballast-backups").iterdir())) == 1


def _replies(page: str) -> int:
    with suppress(httpx.TransportError):
        return httpx.get(page, headers={"Host": HOST}, timeout=5).status_code
    return 0


def test_it_installs_once_upgrades_and_goes_back(tmp_path: Path, postgresql: str, redis: RedisServer) -> None:
    root = tmp_path / "root"
    root.mkdir()
    given = {"host": HOST, "database": postgresql, "REDIS_URL": redis.url, "proxy": "caddy"}
    given |= {"operator": "ada@example.com", "OPERATOR_EMAILS": "ada@example.com"}
    file = answers(tmp_path, **given)

    first = install(ROOT, root, "--answers", file)
    assert first.returncode == 0, first.stdout + first.stderr
    etc = root / "etc" / "ballast"
    assert {path.name for path in etc.iterdir()} == {*FILES, "keys"}
    assert {stat.S_IMODE((etc / name).stat().st_mode) for name in FILES} == {0o600}
    assert stat.S_IMODE(etc.stat().st_mode) == 0o700
    values = env_files.read(etc / "ballast.env")
    assert values["PUBLIC_URL"] == f"https://{HOST}"
    assert len({values[name] for name in ("SECRET_KEY", "API_KEY_PEPPER", "WEBHOOK_ENCRYPTION_KEY")}) == 3
    said = first.stdout + first.stderr
    assert not [value for value in (*values.values(), ADMINISTRATOR) if len(value) > 30 and value in said]
    assert HOST in (root / "etc" / "caddy" / "ballast.caddy").read_text()
    units = {path.name for path in (root / "etc/systemd/system").iterdir()}
    assert units == {path.name for path in (ROOT / "deploy/systemd").iterdir()} - {"journald.conf"}
    with psycopg.connect(env_files.read(etc / "database-web.env")["DATABASE_URL"]) as database:
        people = database.execute("SELECT email, is_superuser FROM merchants_user").fetchall()
    assert people == [("ada@example.com", True)]

    before = tree(root)
    second = install(ROOT, root)  # nobody is asked again
    assert (second.returncode, "Nothing was left to do." in second.stdout) == (0, True), second.stdout + second.stderr
    assert tree(root) == before

    assert_it_serves(root)

    newer = tmp_path / "newer"
    subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, newer], check=True)
    (newer / "CHANGELOG.md").write_text("A newer release\n")
    was = os.readlink(root / "srv/ballast/current")
    upgraded = install(newer, root)
    assert upgraded.returncode == 0, upgraded.stdout + upgraded.stderr
    assert (root / "srv/ballast/current/CHANGELOG.md").read_text() == "A newer release\n"
    assert os.readlink(root / "srv/ballast/previous") == was
    assert {name: part for name, part in tree(root).items() if name.startswith("etc/ballast")} == {
        name: part for name, part in before.items() if name.startswith("etc/ballast")
    }

    assert install(newer, root, "--back").returncode == 0
    assert os.readlink(root / "srv/ballast/current") == was
    environment = {"BALLAST_ROOT": str(root), "PATH": os.environ["PATH"]}
    named = subprocess.run(
        [root / "srv/ballast/current/deploy/ballast", "stops"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert named.returncode == 0, named.stdout + named.stderr


def test_it_changes_nothing_where_something_is_missing(tmp_path: Path, redis: RedisServer) -> None:
    root = tmp_path / "root"
    root.mkdir()
    nowhere = f"postgres://postgres:secret@127.0.0.1:{free_port()}/ballast"
    given = {"host": HOST, "database": nowhere, "REDIS_URL": redis.url.replace("of%20Redis", "wrong")}
    people = {"operator": "ada@example.com"}
    refused = install(ROOT, root, "--answers", answers(tmp_path, **given, **people))
    assert refused.returncode == 1
    failed = [line.split()[1] for line in refused.stdout.splitlines() if "FAIL" in line]
    assert failed == ["postgresql", "certificate", "redis"]
    for wrong, message in (
        (given, "operator is not in the file of answers"),
        ({**given, **people, "SECRT_KEY": "x"}, "nobody asks for: SECRT_KEY"),
    ):
        refused = install(ROOT, root, "--answers", answers(tmp_path, **wrong))
        assert (refused.returncode, message in refused.stderr) == (1, True), refused.stderr
    (tmp_path / "answers").chmod(0o644)
    assert "chmod 600" in install(ROOT, root, "--answers", tmp_path / "answers").stderr
    assert list(root.iterdir()) == []
