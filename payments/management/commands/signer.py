"""`manage.py signer`: the process that has the keys of hot wallets and signs what its own policy allows."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from payments.chains.signer import configuration
from payments.chains.signer.server import listening


class Command(BaseCommand):
    help = (
        "Signs for the hot wallets whose keys it is given, within the limits of policy.toml in SIGNER_FOLDER. It "
        "keeps its record there and needs no database. --stop refuses every signature from now on, --go-on ends that."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--stop", metavar="REASON", help="Refuse every signature from now on, with this reason.")
        what.add_argument("--go-on", action="store_true", help="Sign again.")
        what.add_argument("--check", action="store_true", help="Only say whether keys, policy and record are in order.")

    def handle(self, *, stop: str | None, go_on: bool, check: bool, **options: Any) -> None:
        try:
            self._handle(stop, go_on, check)
        except (ImproperlyConfigured, ValueError) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"The signer cannot use its files or its address: {error}") from error

    def _handle(self, stop: str | None, go_on: bool, check: bool) -> None:
        if not settings.IS_SIGNER:
            raise ImproperlyConfigured("This is no signer: set BALLAST_ROLE to signer, and give it the keys.")
        flag = configuration.folder() / configuration.STOP
        if stop is not None:
            flag.write_text(stop + "\n")
            self.stdout.write("Nothing is signed any more.")
        elif go_on:
            flag.unlink(missing_ok=True)
            self.stdout.write("The signer signs again.")
        else:
            self._run(only_check=check)

    def _run(self, *, only_check: bool) -> None:
        with configuration.service() as service:
            places = ", ".join(" ".join(place) for place in configuration.profiles())
            if only_check:
                self.stdout.write(f"Keys, policy and record are in order: {places}.")
                return
            address = settings.SIGNER_LISTEN or f"unix://{configuration.folder().resolve() / 'signer.sock'}"
            with listening(address, settings.SIGNER_SECRET, service, settings.SIGNER_CERTIFICATES) as server:
                for number in (signal.SIGTERM, signal.SIGINT):
                    # From another thread: serve_forever waits for whoever shuts it down.
                    signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
                self.stdout.write(f"Signing for {places} at {address}")
                self.stdout.flush()
                server.serve_forever()
