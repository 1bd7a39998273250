"""`manage.py restore FILE`: what `manage.py backup` has made, into an empty database."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.database.sessions import new_session
from config.installation import services as standing
from config.installation.backups.manifest import later_migrations
from config.installation.backups.programs import BackupError
from config.installation.backups.restoring import restore_backup

NEXT = (
    "Next: `manage.py database_roles` where the roles of PostgreSQL are used, then start everything and run "
    "`manage.py resume_after_restore --dry-run`. Until it has resumed no payment is created and nothing is paid."
)


class Command(BaseCommand):
    help = (
        "Restores a backup into the empty database of DATABASE_URL, and compares what is there with the manifest. "
        "The installation stands still until manage.py resume_after_restore has compared it with the chains."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="The file; - for the standard input, decrypted.")
        parser.add_argument("--identity", default="", metavar="FILE", help="age's file of the private key.")
        parser.add_argument(
            "--without-keys", action="store_true", help="Go on though keys of the settings are not those of the backup."
        )

    def handle(self, *, file: str, identity: str, without_keys: bool, **options: Any) -> None:
        session = new_session()
        try:
            with session.cursor() as cursor:
                cursor.execute("SET statement_timeout = 0")
            manifest = restore_backup(
                file, identity=identity, without_keys=without_keys, session=session, report=self.stdout.write
            )
        except BackupError as error:
            raise CommandError(str(error)) from error
        finally:
            session.close()
        if not later_migrations(manifest):
            standing.keep_pulse()  # finds that these tables are others than those of then
        rows = sum(manifest.rows.values())
        self.stdout.write(self.style.SUCCESS(f"{rows:,} rows in {len(manifest.rows)} tables are as they were. {NEXT}"))
