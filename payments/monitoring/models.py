"""Alarms, and what was measured of each network."""

from __future__ import annotations

from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone

from config.admin.values import words_of
from config.environments import Environment
from config.fields import UnitsField
from config.pages import wording
from payments.chains.protocol.payouts import Costs
from payments.monitoring.states import ADVICE, AlarmKind


class AlarmQuerySet(models.QuerySet["Alarm"]):
    def open(self) -> Self:
        """Alarms whose condition still holds."""
        return self.filter(cleared_at__isnull=True)

    def most_urgent_first(self) -> Self:
        """Production first, then alarms that nobody has acknowledged, then the oldest."""
        return self.order_by("environment", F("acknowledged_at").asc(nulls_first=True), "raised_at", "pk")


class Alarm(models.Model):
    """A condition that threatens money on a network, from when it began until it ends."""

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20, blank=True, help_text="Empty: it concerns the whole installation.")
    kind = models.CharField(max_length=30, choices=AlarmKind.choices)
    subject = models.CharField(max_length=100, blank=True, help_text="Which provider, wallet or transfer.")
    message = models.TextField()
    raised_at = models.DateTimeField(default=timezone.now)
    last_seen_at = models.DateTimeField(default=timezone.now, help_text="When it was last found to be so.")
    cleared_at = models.DateTimeField(null=True, help_text="Empty: it is so now.")
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=120, blank=True, help_text="Who looks after it.")
    raise_mailed_at = models.DateTimeField(null=True, help_text="When operators were told of it.")
    clear_mailed_at = models.DateTimeField(null=True, help_text="When they were told that it is over.")

    objects = AlarmQuerySet.as_manager()

    class Meta:
        ordering = (F("cleared_at").desc(nulls_first=True), "-raised_at", "-id")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment", "network", "kind", "subject"],
                name="alarm_open_once",
                condition=Q(cleared_at__isnull=True),
            ),
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="alarm_environment"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["cleared_at"],
                name="alarm_end_not_told",
                condition=Q(cleared_at__isnull=False, raise_mailed_at__isnull=False, clear_mailed_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        subject = f": {words_of(self.subject)}" if self.subject else ""
        place = f" on {self.network} ({self.environment})" if self.network else ""
        return f"{self.get_kind_display()}{place}{subject}"

    @property
    def advice(self) -> str:
        return ADVICE.get(self.kind, "")  # a later version's worker raises others

    @property
    def runbook(self) -> str:
        """The address of the page about its kind; empty for a kind that only a later version knows."""
        return reverse("docs_page", args=[f"runbooks/{self.kind}"]) if self.kind in ADVICE else ""


class Pulse(models.Model):
    """Time of the last run of a piece of work, or of a process's last comparison of its clock; by the database's
    clock."""

    kind = models.CharField(max_length=20)
    subject = models.CharField(max_length=100, blank=True, help_text="Which task, network or process.")
    at = models.DateTimeField()
    ahead_seconds = models.FloatField(null=True, help_text="How far the clock of the process is ahead.")

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["kind", "subject"], name="pulse_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class RoleChange(models.Model):
    """Somebody was given a role of the factory that deposits are swept by: who, by whom, and when."""

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    factory = models.CharField(
        max_length=80, blank=True, default="", help_text="The present one, or one of before that is still swept."
    )
    role = models.CharField(max_length=20)
    account = models.CharField(max_length=80, help_text="Who has the role from then on.")
    made_by = models.CharField(max_length=80, help_text="Who sent the transaction.")
    transaction_hash = models.CharField(max_length=80)
    ordinal = models.PositiveIntegerField()
    height = models.BigIntegerField()
    happened_at = models.DateTimeField(help_text="The time of its block.")
    known_at = models.DateTimeField(null=True, help_text="Empty: no operator has said that it was one of you.")
    known_by = models.CharField(max_length=120, blank=True)

    class Meta:
        ordering = ("-happened_at", "-id")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment", "network", "transaction_hash", "ordinal"], name="role_change_once"
            ),
        ]

    def __str__(self) -> str:
        return (
            f"{self.role} of the factory {self.factory} on {self.network} ({self.environment}) became {self.account}, "
            f"by {self.made_by} in block {self.height:,} at {wording.moment(self.happened_at)}"
        )


class NetworkSnapshot(models.Model):
    """The last measurement of one network, so that pages need not query it."""

    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20)
    measured_at = models.DateTimeField(null=True, help_text="Empty: it has never answered.")
    last_error = models.TextField(blank=True)
    providers = ArrayField(models.CharField(max_length=100), default=list)
    wallet = models.CharField(max_length=80, blank=True, help_text="The hot wallet's address.")
    blocked_coins = models.JSONField(
        default=dict, help_text="Coins that the hot wallet can send to nobody: of each, the kind of alarm and why."
    )
    audited_at = models.DateTimeField(null=True, help_text="Empty: its wallet has never been compared with the ledger.")
    audit = models.JSONField(
        default=list, help_text="What comparing found: of each, the kind of alarm, the coin and in words what it is."
    )
    let_back_at = models.DateTimeField(
        null=True, help_text="When an operator last let providers back that others had contradicted. Empty: never."
    )
    roles = models.JSONField(
        default=list, help_text="Of the factory: of each its name, who holds it, and who should by the settings."
    )
    roles_height = models.BigIntegerField(null=True, help_text="The final block up to which changes of roles are read.")
    native_balance = UnitsField(default=0, help_text="Native coins, in base units; so are the costs.")
    native_reserve = UnitsField(default=0, help_text="What of it the network never lets the wallet spend.")
    payout_cost = UnitsField(default=0)
    sweep_cost = UnitsField(default=0, help_text="Of a sweep, however many addresses it empties.")
    first_time_cost = UnitsField(default=0, help_text="For each address in it that nothing has emptied before.")
    again_cost = UnitsField(default=0, help_text="For each of the others.")
    set_aside_cost = UnitsField(default=0, help_text="Locked up for each payout that is set aside.")

    class Meta:
        verbose_name = "network"
        ordering = ("environment", "network")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["environment", "network"], name="snapshot_once_per_network"),
        ]

    def __str__(self) -> str:
        return f"{self.network} ({self.environment})"

    @property
    def costs(self) -> Costs:
        return Costs(
            payout=int(self.payout_cost),
            sweep=int(self.sweep_cost),
            first_time=int(self.first_time_cost),
            again=int(self.again_cost),
            set_aside=int(self.set_aside_cost),
        )
