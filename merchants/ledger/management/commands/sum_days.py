"""`manage.py sum_days`: sums the entries of every day again, from the entries alone."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from merchants.ledger.day_sums import sum_again


class Command(BaseCommand):
    help = "Sum the entries of every day again. Statements stay right meanwhile; whoever posts waits."

    def handle(self, *args: Any, **options: Any) -> None:
        sum_again()
        self.stdout.write("The sums of all days are those of their entries.")
