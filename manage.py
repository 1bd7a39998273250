#!/usr/bin/env python3
"""Django's command line: `./manage.py help` lists the commands. It works on the Ballast that `make run` is running.

Where the environment names another one (DATABASE_URL, as in production), on that.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

OWN_PYTHON = Path(__file__).resolve().parent / ".venv" / "bin" / "python"
COULD_NOT_START = 3  # as reconcile says that it could not look: never to be read as clean, nor as a discrepancy


def main() -> None:
    if sys.argv[1:] in (["--version"], ["version"]):  # of Ballast, where Django would say its own
        from config.process.release import RELEASE

        sys.stdout.write(f"Ballast {RELEASE}\n")
        return
    _use_own_python()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    from config.embedded.finding import NoneFound, adopt
    from config.process.exits import ending_in_a_line

    try:
        adopt(next(iter(sys.argv[1:]), ""))
    except NoneFound as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(COULD_NOT_START)
    with ending_in_a_line():
        execute_from_command_line(sys.argv)


def _use_own_python() -> None:
    """Go on with the Python of `.venv` when this one has not what Ballast needs."""
    try:
        import django  # noqa: F401 - only whether it is there
        import psutil  # noqa: F401
    except ImportError:
        if not OWN_PYTHON.exists() or os.environ.get("BALLAST_PYTHON") == str(OWN_PYTHON):
            sys.stderr.write("What Ballast runs on is not installed: make run does it.\n")
            sys.exit(COULD_NOT_START)
        os.environ["BALLAST_PYTHON"] = str(OWN_PYTHON)
        os.execv(OWN_PYTHON, [str(OWN_PYTHON), *sys.argv])  # noqa: S606 - our own program


if __name__ == "__main__":
    main()
