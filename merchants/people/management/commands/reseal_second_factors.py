"""Seals the secrets of second factors under the SECRET_KEY of now, before an old one is dropped."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from merchants.people.second_factors import reseal


class Command(BaseCommand):
    help = "Seal the secrets of second factors under SECRET_KEY, before an old one leaves SECRET_KEY_FALLBACKS."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{reseal()} resealed")
