"""Removes the second factors of somebody who has lost them, recovery codes included."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from merchants.models import User
from merchants.people.second_factors import remove_all


class Command(BaseCommand):
    help = "Remove the second factors of a person who has lost them. Make sure first who is asking."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: Any, email: str, **options: Any) -> None:
        user = User.objects.filter(email__iexact=email).first()
        if user is None:
            raise CommandError("There is nobody with this address.")
        self.stdout.write(f"{remove_all(user)} removed")
