"""`manage.py backup --to DIR`: a dump of the database with its manifest, in one file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error

from config.installation.backups.making import STANDARD_OUTPUT, make_backup
from config.installation.backups.programs import BackupError
from config.installation.backups.records import note
from config.installation.models import BackupRun


class Command(BaseCommand):
    help = (
        "Dumps the database with a manifest into a new file of a folder, which gets its name once all of it is on the "
        "disk. Keys are not in it: keep those of the settings elsewhere."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--to", required=True, metavar="DIR|-", help="The folder; - for the standard output.")
        parser.add_argument(
            "--encrypt-to",
            metavar="KEY",
            help="A public key of age, or the id or address of one that GPG has.",
        )
        parser.add_argument(
            "--keep", type=int, default=0, metavar="N", help="Keep the newest N of the folder, and remove the others."
        )

    def handle(self, **options: Any) -> None:
        if options["keep"] < 0:
            raise CommandError("--keep takes a number from 1 on.")
        if options["encrypt_to"] is not None and not options["encrypt_to"].strip():
            raise CommandError("--encrypt-to has no key: nothing was made, rather than a file that anybody can read.")
        is_told = options["verbosity"] > 0
        try:
            made = make_backup(
                options["to"],
                encrypt_to=options["encrypt_to"] or "",
                keep=options["keep"],
                report=self.stderr.write if is_told else lambda _: None,
            )
        except BackupError as error:
            with suppress(Error):  # perhaps it is the database that fails
                note(BackupRun.Kind.MADE, fault=str(error))
            raise CommandError(f"No backup was made: {error}") from error
        manifest = made.manifest
        try:
            note(BackupRun.Kind.MADE, name=made.name, taken_at=manifest.instant, size=made.size, keys=manifest.keys)
        except Error as error:  # as before the migration that makes the table
            self.stderr.write(f"It is made, and could not be noted: {' '.join(str(error).split())}")
        if is_told:
            place = "standard output" if made.name == STANDARD_OUTPUT else Path(options["to"], made.name)
            removed = f", {made.removed} older ones removed" if made.removed else ""
            self.stderr.write(f"{place}: {made.size / 2**20:,.1f} MiB dumped{removed}")
