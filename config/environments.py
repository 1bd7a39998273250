"""Production and sandbox, which never mix: every row that belongs to one names it."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext


class Environment(models.TextChoices):
    SANDBOX = "sandbox", _("Sandbox")
    PRODUCTION = "production", _("Production")

    @property
    def in_words(self) -> str:
        """The environment's name within a sentence."""
        if self is Environment.PRODUCTION:
            return pgettext("in a sentence", "production")
        return pgettext("in a sentence", "sandbox")

    @property
    def key_infix(self) -> str:
        """The part of a key of this environment between `pk_` and the random part."""
        return "live" if self is Environment.PRODUCTION else "test"
