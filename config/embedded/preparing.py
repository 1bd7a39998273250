"""What a run does before it serves: the database schema, and a demo merchant. A file says how far it is."""

from __future__ import annotations

import time
from io import StringIO
from pathlib import Path

from config.process.exits import ending_in_a_line

_LOADING, _DONE = "loading", "done"


def begin(var: Path) -> None:
    """Note that the run of this folder is not prepared yet, before its processes start."""
    _file(var).unlink(missing_ok=True)


def is_done(var: Path) -> bool:
    file = _file(var)
    return file.exists() and file.read_text() == _DONE


def wait_until_loading(var: Path) -> None:
    """Wait until the background process has read the settings: of a fault in them, it alone says why."""
    while not _file(var).exists():
        time.sleep(0.02)


def wait_until_done(var: Path) -> None:
    while not is_done(var):
        time.sleep(0.02)


def note_loading() -> None:
    """Note that the settings could be read."""
    file = _file(_var())
    if not file.exists():  # else this process was started again
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_LOADING)


def prepare() -> None:
    """Prepare this run, unless its process was started again since. A migration may take as long as it needs."""
    import django

    with ending_in_a_line():
        django.setup()
        from django.core.management import call_command
        from django.db import connection

        from config.installation.checks import require_tables_of_release

        if is_done(_var()):
            return
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
        require_tables_of_release()
        call_command("migrate", interactive=False, verbosity=0)
        call_command("create_demo")
        call_command("stock_sandbox", verbosity=0, stdout=StringIO())
        connection.close()
    _file(_var()).write_text(_DONE)


def _file(var: Path) -> Path:
    return var / "prepared"


def _var() -> Path:
    from django.conf import settings

    return Path(settings.VAR_DIR)
