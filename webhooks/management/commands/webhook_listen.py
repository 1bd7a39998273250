"""`manage.py webhook_listen`: a receiver for trying webhooks out, at the terminal."""

from __future__ import annotations

import os
import signal
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from webhooks.endpoints.listener import Listener, Receiver
from webhooks.endpoints.signing import SECRET_PREFIX, secret_bytes


class Command(BaseCommand):
    help = "Receive webhooks on this machine: verify each, print it, answer it. Ctrl-C ends it with a summary."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=9000, help="where to listen; 0 is any free port (9000)")
        secret = parser.add_mutually_exclusive_group()
        secret.add_argument("--secret", help="the webhook's secret, whsec_…; others on this machine can read it here")
        secret.add_argument("--secret-env", metavar="NAME", help="the environment variable that holds the secret")
        parser.add_argument("--fail", type=int, default=0, metavar="N", help="answer 500 to the first N requests")
        parser.add_argument("--delay", type=float, default=0, metavar="SECONDS", help="wait before each answer")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["fail"] < 0 or not 0 <= options["delay"] <= 3600:
            raise CommandError("--fail and --delay must not be negative, and nobody waits longer than an hour.")
        receiver = Receiver(
            self._print,
            secret=read_secret(options["secret"], options["secret_env"]),
            failures_left=options["fail"],
            delay_seconds=options["delay"],
        )
        try:
            listener = Listener(receiver, options["port"])
        except (OSError, OverflowError) as error:
            raise CommandError(f"Port {options['port']} cannot be used: {error}. Name another by --port.") from error
        for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts background processes with Ctrl-C ignored
            signal.signal(number, signal.default_int_handler)
        with listener:
            try:
                self._introduce(listener)
                listener.serve_forever()
            except KeyboardInterrupt:
                self._print(f"\n{receiver.summary}")

    def _introduce(self, listener: Listener) -> None:
        self._print(f"Listening on {listener.url}  Ctrl-C ends it.")
        if settings.WEBHOOK_ALLOW_LOOPBACK:
            self._print(f"Add this address as a webhook of the sandbox: {settings.PUBLIC_URL}/dashboard/webhooks/new")
        else:
            self._print("This Ballast calls public addresses only (WEBHOOK_ALLOW_LOOPBACK): a tunnel must lead here.")
        if not listener.receiver.secret:
            self._print(
                "Signatures are not checked. For that, start it again with the webhook's secret: --secret-env NAME"
            )
        self._print("")

    def _print(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def read_secret(given: str | None, variable: str | None) -> str | None:
    secret = given
    if variable is not None:
        secret = os.environ.get(variable)
        if not secret:
            raise CommandError(f"The environment has no {variable}.")
    if secret is None:
        return None
    try:
        is_secret = secret.startswith(SECRET_PREFIX) and bool(secret_bytes(secret))
    except ValueError:
        is_secret = False
    if not is_secret:
        raise CommandError(f"That is no secret of a webhook: those begin with {SECRET_PREFIX}, and base64 follows.")
    return secret
