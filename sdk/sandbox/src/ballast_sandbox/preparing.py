"""What a start needs and later starts find in a cache: the source, its Python, and an initialised database."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pwd
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ballast_sandbox.running import CLOCK, Product

OF_A_SOURCE = ("manage.py", "requirements.txt", "config/embedded/__main__.py")
"""Files by which a folder is known for Ballast's source."""

ACCOUNT = "ballast"

CLOCK_SQL = f"""
CREATE SCHEMA sandbox_clock;
CREATE FUNCTION sandbox_clock.clock_timestamp() RETURNS timestamptz VOLATILE PARALLEL SAFE
    RETURN pg_catalog.clock_timestamp() + pg_read_file('{CLOCK.name}')::integer * interval '1 second';
CREATE FUNCTION sandbox_clock.statement_timestamp() RETURNS timestamptz STABLE PARALLEL SAFE
    RETURN pg_catalog.statement_timestamp() + pg_read_file('{CLOCK.name}')::integer * interval '1 second';
CREATE FUNCTION sandbox_clock.transaction_timestamp() RETURNS timestamptz STABLE PARALLEL SAFE
    RETURN pg_catalog.transaction_timestamp() + pg_read_file('{CLOCK.name}')::integer * interval '1 second';
CREATE FUNCTION sandbox_clock.now() RETURNS timestamptz STABLE PARALLEL SAFE
    RETURN pg_catalog.now() + pg_read_file('{CLOCK.name}')::integer * interval '1 second';
ALTER DATABASE ballast SET search_path = "$user", public, sandbox_clock, pg_catalog;
ALTER SYSTEM SET fsync = off;
ALTER SYSTEM SET synchronous_commit = off;
ALTER SYSTEM SET full_page_writes = off;
"""
"""The times of PostgreSQL, moved: functions of its own names that are found first. The rest only saves time."""


class CannotPrepare(Exception):
    """The sandbox cannot be prepared here; the message has the remedy."""


def cache_folder() -> Path:
    """The folder of everything that is kept; BALLAST_SANDBOX_CACHE names another, for the cache of a CI."""
    if named := os.environ.get("BALLAST_SANDBOX_CACHE"):
        return Path(named).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "ballast-sandbox"


def find_source(given: str | os.PathLike[str] | None, cache: Path) -> Path:
    """The source tree of Ballast: a folder as it is, a release's archive unpacked into the cache."""
    named = given or os.environ.get("BALLAST_SOURCE")
    if not named:
        raise CannotPrepare("Name Ballast's source, a folder or a release's .tar.gz: --source or BALLAST_SOURCE.")
    path = Path(named).resolve()
    if path.is_file():
        path = _unpacked(path, cache)
    if missing := [name for name in OF_A_SOURCE if not (path / name).exists()]:
        raise CannotPrepare(f"{path} is not Ballast's source: it has no {missing[0]}.")
    return path


def find_python(source: Path, cache: Path) -> Path:
    """A Python with what this source runs on: that of BALLAST_SANDBOX_PYTHON, or a virtual environment of the cache."""
    if named := os.environ.get("BALLAST_SANDBOX_PYTHON"):
        return Path(named).absolute()  # resolved, it would be the Python below the virtual environment
    requirements = source / "requirements.txt"
    # A virtual environment goes on with the Python that it was made of, which another version of it may replace.
    folder = cache / f"python-{_digest(requirements, text=sys.version + sys.base_prefix)}"
    python, is_ready = folder / "bin" / "python", folder / "ready"
    with _alone(folder):
        if not (is_ready.exists() and python.exists()):
            _say("Installing what Ballast runs on; later starts find it in the cache.")
            shutil.rmtree(folder, ignore_errors=True)
            uv = shutil.which("uv")
            venv.create(folder, with_pip=uv is None, symlinks=True)
            pip = (
                [uv, "pip", "install", "--compile-bytecode", "--python", str(python)]
                if uv
                else [str(python), "-m", "pip", "install"]
            )
            _run([*pip, "--quiet", "--require-hashes", "-r", str(requirements)])
            is_ready.touch()
    return python


def find_database(source: Path, python: Path, cache: Path) -> Path:
    """An archive of BALLAST_VAR as a first start leaves it: tables, the demo's merchant, keys, and the moved clock."""
    migrations = sorted(path for depth in ("*", "*/*", "*/*/*") for path in source.glob(f"{depth}/migrations/*.py"))
    archive = cache / f"database-{_digest(source / 'requirements.txt', *migrations, text=CLOCK_SQL)}.tar"
    with _alone(archive):
        if not archive.exists():
            _say("Making a database; later starts copy it.")
            with new_folder() as made:
                product = Product(source, python, made)
                try:
                    product.start(has_moved_clock=False)
                    product.manage("shell", "--verbosity=0", "-c", _EXECUTE.format(statements=CLOCK_SQL.split(";\n")))
                finally:
                    product.stop()
                (made / CLOCK).write_text("0".rjust(20))
                unfinished = archive.with_suffix(".unfinished")
                unfinished.unlink(missing_ok=True)
                unfinished.touch(mode=0o600)  # it has secrets
                _run(["tar", "-cf", str(unfinished), "-C", str(made), "."])
                unfinished.rename(archive)
    return archive


_EXECUTE = """
from django.db import connection
for statement in {statements!r}:
    if statement.strip():
        connection.cursor().execute(statement)
"""


def unpack_database(archive: Path, var: Path) -> None:
    """A copy of the database for one run."""
    _run(["tar", "-xpf", str(archive), "--no-same-owner", "-C", str(var)])
    if os.geteuid() == 0:
        # PostgreSQL does not run as root but as this account, whose number on another machine a cache does not know.
        try:
            account = pwd.getpwnam(ACCOUNT)
        except KeyError:
            _run(["useradd", "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", ACCOUNT])
            account = pwd.getpwnam(ACCOUNT)
        _run(["chown", "-R", f"{account.pw_uid}:{account.pw_gid}", str(var / "postgres")])


@contextmanager
def new_folder() -> Iterator[Path]:
    """A folder that is gone afterwards. Others may pass through it: under root, PostgreSQL runs as another account."""
    folder = Path(tempfile.mkdtemp(prefix="ballast-sandbox-")).resolve()
    try:
        folder.chmod(0o711)
        closed = [str(each) for each in folder.parents if not each.stat().st_mode & 0o001]
        if closed and os.geteuid() == 0:
            raise CannotPrepare(
                f"As root, PostgreSQL runs as the account {ACCOUNT}, which cannot pass {closed[0]}: set TMPDIR to a "
                "folder that others can pass, such as /tmp."
            )
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unpacked(archive: Path, cache: Path) -> Path:
    folder = cache / f"source-{_digest(archive)}"
    with _alone(folder):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=cache) as made:
                with tarfile.open(archive) as file:
                    file.extractall(made, filter="data")
                [unpacked] = Path(made).iterdir()
                unpacked.rename(folder)
    return folder


def _digest(*paths: Path, text: str = "") -> str:
    digest = hashlib.sha256(text.encode())
    for path in paths:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time makes something in the cache; the others wait and find it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotPrepare(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
