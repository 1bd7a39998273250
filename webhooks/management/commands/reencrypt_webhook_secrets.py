"""`manage.py reencrypt_webhook_secrets`: run it between setting a new key and removing the old one."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from webhooks.services import reencrypt_secrets


class Command(BaseCommand):
    help = (
        "Encrypts under WEBHOOK_ENCRYPTION_KEY what is still under one of WEBHOOK_ENCRYPTION_KEY_FALLBACKS. "
        "Nothing stands still meanwhile, and doing it again changes nothing."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done = reencrypt_secrets()
        self.stdout.write(self.style.SUCCESS(f"{done['reencrypted']} re-encrypted, {done['current']} were current."))
        if unreadable := done["unreadable"]:
            raise CommandError(
                f"{unreadable} cannot be read under any of the keys; the log names them. Add the key they were "
                "stored under to WEBHOOK_ENCRYPTION_KEY_FALLBACKS, or rotate them."
            )
