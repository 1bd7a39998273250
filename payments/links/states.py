"""Whether a payment link takes payments, and why not. Pure."""

from __future__ import annotations

from django.db import models


class LinkState(models.TextChoices):
    """Nothing of this is stored but `enabled`: the rest follows from the time and from the payments of the link."""

    ACTIVE = "active", "Active"
    DISABLED = "disabled", "Disabled"
    EXPIRED = "expired", "Expired"
    USED_UP = "used_up", "Used up"
