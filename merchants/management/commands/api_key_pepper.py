"""`manage.py api_key_pepper`: run before an earlier pepper leaves API_KEY_PEPPER_FALLBACKS."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from merchants.access.keys import pepper_name
from merchants.models import ApiKey


class Command(BaseCommand):
    help = (
        "Lists the pairs of API keys that are still under an earlier pepper. Each comes under API_KEY_PEPPER when it "
        "is next used, and stops working if the earlier one is taken away before. Exits with 1 while there are any."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        keys = ApiKey.objects.usable(timezone.now()).select_related("merchant")
        earlier = keys.exclude(pepper=pepper_name()).order_by("merchant__name", "created_at")
        for key in earlier:
            used = f"last used {key.last_used_at:%Y-%m-%d %H:%M} UTC" if key.last_used_at else "never used"
            self.stdout.write(f"{key.merchant}  {key.environment}  {key}  {used}")
        if left := len(earlier):
            raise CommandError(
                f"{left} pairs are under an earlier pepper. Leave it in API_KEY_PEPPER_FALLBACKS until they have been "
                "used, or tell their merchants that they will stop working."
            )
        self.stdout.write(self.style.SUCCESS("Every pair is under API_KEY_PEPPER: the earlier ones can be removed."))
