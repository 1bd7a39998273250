"""The audit log of actions on the dashboard: rows that PostgreSQL lets nobody change, nor delete before they are a year
old."""

from __future__ import annotations

from typing import ClassVar, Self

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q

from config import ids
from config.environments import Environment
from merchants.models import Merchant, User
from merchants.roles import Action

MOST_CHARACTERS_OF_A_DEVICE = 300


class LoggedActionQuerySet(models.QuerySet["LoggedAction"]):
    def of(self, merchant: Merchant, environment: str) -> Self:
        """Actions in an environment, and those that concern the account as a whole."""
        return self.filter(merchant=merchant, environment__in=["", environment])


class LoggedAction(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """One action of a person: who did what to which record, from where, and what it changed."""

    public_ids: ClassVar = ids.ACTION

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(
        max_length=10, choices=Environment.choices, blank=True, help_text="Empty: of the account as a whole."
    )
    action = models.CharField(max_length=60, help_text="One of merchants.roles.Action.")
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    email = models.EmailField(help_text="Of the person, as it was then.")
    role = models.CharField(max_length=12, help_text="Of the person, as it was then.")
    record = models.CharField(max_length=80, blank=True, help_text="The public id of what was acted upon.")
    before = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder, help_text="Changed fields only.")
    after = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder, help_text="Changed fields only.")
    address = models.GenericIPAddressField(null=True, blank=True)
    device = models.CharField(max_length=MOST_CHARACTERS_OF_A_DEVICE, blank=True, help_text="What the browser said.")

    objects: ClassVar[models.Manager[LoggedAction]] = LoggedActionQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(environment="") | Q(environment__in=Environment.values), name="logged_action_environment"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["merchant", "-id"], name="logged_action_of"),
            models.Index(fields=["merchant", "person", "-id"], name="logged_action_by"),
            models.Index(fields=["merchant", "record", "-id"], name="logged_action_on", condition=~Q(record="")),
        ]

    def __str__(self) -> str:
        return f"{self.email}: {self.words}"

    @property
    def words(self) -> str:
        """The action in words; one that this version does not know keeps its name."""
        return str(dict(Action.choices).get(self.action, self.action))
