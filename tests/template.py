"""The database that every test database is copied from: migrated once, and kept until a migration changes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from django.apps import apps

from config.embedded.postgres import DATABASE, EmbeddedPostgres

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = "migrated"
KEPT = ROOT / ".pytest_cache/d/postgres"
"""Where servers' data with a migrated database are kept."""


def start_server(var: Path) -> EmbeddedPostgres:
    """A running server whose migrated database has the name TEMPLATE."""
    server = EmbeddedPostgres(var, durable=False)
    if not lay_migrated(server):
        server.start()
        subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity=0"], cwd=ROOT, check=True)
        server.stop()
        _keep(server)
    server.start()
    with server.connect("postgres") as connection:
        connection.execute(f"ALTER DATABASE {DATABASE} RENAME TO {TEMPLATE}")
    return server


def lay_migrated(server: EmbeddedPostgres) -> bool:
    """Give a server without data a copy of the kept ones: what it would make and migrate itself. False without any."""
    copy = KEPT / digest_of_what_makes_it()
    if not copy.exists():
        return False
    server.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.chown(server.home, copy.stat().st_uid, copy.stat().st_gid)
    copy_folder(copy, server.data)
    return True


def _keep(server: EmbeddedPostgres) -> None:
    shutil.rmtree(KEPT, ignore_errors=True)  # those of other migrations
    KEPT.mkdir(parents=True, exist_ok=True)
    unfinished = KEPT / f"unfinished-{os.getpid()}"
    copy_folder(server.data, unfinished)
    with suppress(OSError):  # another run was quicker
        unfinished.rename(KEPT / digest_of_what_makes_it())


def digest_of_what_makes_it() -> str:
    """Of every app's migrations, the modules of ours that they import, what makes the server, and all versions."""
    found = [path for app in apps.get_app_configs() for path in Path(app.path, "migrations").glob("*.py")]
    imported = {
        ROOT.joinpath(*name.split(".")).with_suffix(".py")
        for path in found
        for name in re.findall(r"^(?:from|import) ([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    makers = (
        "requirements.txt",
        "config/admin/roles.py",
        "config/embedded/postgres.py",
        "merchants/ledger/chart.py",
        "merchants/ledger/kinds.py",
        "tests/template.py",
    )
    found += [*(ROOT / name for name in makers), *filter(Path.exists, imported)]
    digest = hashlib.sha256()
    for path in sorted(found):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def copy_folder(source: Path, target: Path) -> None:
    """With owners and modes: under root the files belong to the account that the server runs as."""
    subprocess.run(["cp", "-a", source, target], check=True)


def stop_left_over(server: EmbeddedPostgres) -> None:
    """Stop the server of a process that died, if no other process uses it."""
    if server.is_running():
        server.start()
        server.stop()
