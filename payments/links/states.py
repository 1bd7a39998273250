"""State of a payment link: whether it takes payments, and why not. Pure."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class LinkState(models.TextChoices):
    """Nothing of this is stored but `enabled`: the rest follows from the time and from the payments of the link."""

    ACTIVE = "active", _("Active")
    DISABLED = "disabled", _("Disabled")
    EXPIRED = "expired", _("Expired")
    USED_UP = "used_up", _("Used up")
