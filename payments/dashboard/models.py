"""Members' settings of the pages about payments."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from config import ids
from config.environments import Environment
from merchants.models import Merchant, OwnedQuerySet, User


class SavedView(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """Filters of the list of payments under a name, for one member."""

    public_ids: ClassVar = ids.VIEW

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=40)
    filters = models.JSONField(default=dict, help_text="As the address of the list names them.")

    objects: ClassVar[models.Manager[SavedView]] = OwnedQuerySet["SavedView"].as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["merchant", "environment", "user", "name"], name="view_name_once"),
        ]

    def __str__(self) -> str:
        return self.name
