"""The `ballast` command: `pip install 'ballast-sdk[cli]'`."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from ballast.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        sys.stderr.write("The ballast command needs its extra: pip install 'ballast-sdk[cli]'\n")
        sys.exit(3)
    sys.exit(run())
