"""Prepares an embedded run: the database schema, and a demo merchant."""

from __future__ import annotations

from io import StringIO

import django
from django.core.management import call_command

from config.process.exits import ending_in_a_line


def main() -> None:
    with ending_in_a_line():
        django.setup()
        from config.installation.checks import require_tables_of_release  # needs the settings

        require_tables_of_release()
        call_command("migrate", interactive=False, verbosity=0)
        call_command("create_demo")
        call_command("stock_sandbox", verbosity=0, stdout=StringIO())


if __name__ == "__main__":
    main()
