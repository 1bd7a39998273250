"""Production and sandbox, which never mix: every row that belongs to one names it."""

from __future__ import annotations

from django.db import models


class Environment(models.TextChoices):
    SANDBOX = "sandbox", "Sandbox"
    PRODUCTION = "production", "Production"

    @property
    def key_infix(self) -> str:
        """The part of a key of this environment between `pk_` and the random part."""
        return "live" if self is Environment.PRODUCTION else "test"
