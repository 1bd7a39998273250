"""`manage.py sanctions`: imports a sanctions list from a file, and shows which are in force."""

from __future__ import annotations

from collections.abc import Callable
from io import BufferedReader, FileIO
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.errors import DomainError
from payments.screening.lists import import_list, in_force

LARGE_BYTES = 10_000_000


class _Reported(FileIO):
    """A file that reports each tenth of its import, where it is large: it is read once for its hash, once for its
    entries."""

    def __init__(self, path: str, report: Callable[[str], object]) -> None:
        super().__init__(path)
        self._report, self._count, self._tenths = report, 0, 0
        self._size = self.seek(0, 2)
        self.seek(0)

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self._count += count or 0
        if self._size >= LARGE_BYTES and (tenths := min(10, 5 * self._count // self._size)) > self._tenths:
            self._report(f"{tenths}0 % of {self._size // 1_000_000:,} MB")
            self._tenths = tenths
        return count


class Command(BaseCommand):
    help = (
        "Shows the sanctions lists in force, or imports one. `import FILE` puts a list in place of the one of its "
        "source: OFAC's sdn.xml or sdn_advanced.xml (or sdn.csv, where no remark is cut off), the EU's consolidated "
        "list in XML, or a CSV with the columns address, name and programme."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=["list", "import"], default="list")
        parser.add_argument("file", nargs="?", metavar="FILE")
        parser.add_argument("--source", default="", help="Whose list it is, where the file does not say so: a CSV.")

    def handle(self, **options: Any) -> None:
        if options["action"] == "import":
            self._import(options["file"], options["source"])
        for each in in_force():
            self.stdout.write(
                f"{each}: {each.address_count} addresses of {each.entry_count} entries, imported "
                f"{each.imported_at:%Y-%m-%d %H:%M:%S}"
            )
        oracles = {name: each.oracle for (_, name), each in settings.NETWORK_SETTINGS.items() if each.oracle}
        for network, address in oracles.items():
            self.stdout.write(f"The oracle {address} is queried on {network}.")
        if not in_force() and not oracles:
            self.stdout.write("No list is in force: nothing is compared.")

    def _import(self, path: str | None, source: str) -> None:
        if path is None:
            raise CommandError("Name the file: manage.py sanctions import FILE.")
        try:
            with BufferedReader(_Reported(path, self.stderr.write)) as file:
                imported = import_list(file, name=path, source=source)
        except (OSError, DomainError) as error:
            raise CommandError(getattr(error, "message", str(error))) from error
        self.stdout.write(
            f"Imported {imported.source}: {imported.address_count} addresses to compare, {imported.foreign_count} of "
            f"other networks, {imported.entry_count} entries."
        )
