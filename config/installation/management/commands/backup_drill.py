"""`manage.py backup_drill FILE`: whether one could go on with a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.installation.backups.drilling import drill
from config.installation.backups.programs import BackupError
from config.installation.backups.records import note
from config.installation.models import BackupRun


class Command(BaseCommand):
    help = (
        "Restores a backup into a database beside this one, opens its secrets, compares it with the chains, runs every "
        "invariant, and drops it again. The result is noted for doctor, the alarms and the admin."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="The file; - for the standard input, decrypted.")
        parser.add_argument("--identity", default="", metavar="FILE", help="age's file of the private key.")
        parser.add_argument("--no-chain", action="store_true", help="Ask no chain.")

    def handle(self, *, file: str, identity: str, no_chain: bool, **options: Any) -> None:
        name = Path(file).name
        try:
            manifest = drill(file, identity=identity, without_chains=no_chain, report=self.stdout.write)
        except BackupError as error:
            note(BackupRun.Kind.DRILLED, name=name, fault=str(error))
            raise CommandError(str(error)) from error
        note(BackupRun.Kind.DRILLED, name=name, taken_at=manifest.instant, keys=manifest.keys)
        self.stdout.write(self.style.SUCCESS(f"{name} can be restored, and one could go on with it."))
