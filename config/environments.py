"""The two worlds that never mix: every row that belongs to one says so."""

from __future__ import annotations

from django.db import models


class Environment(models.TextChoices):
    SANDBOX = "sandbox", "Sandbox"
    PRODUCTION = "production", "Production"

    @property
    def key_infix(self) -> str:
        """What stands between `pk_` and the random part of a key of this environment."""
        return "live" if self is Environment.PRODUCTION else "test"
