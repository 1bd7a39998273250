"""The tables of this app as of the first release."""

import django.utils.timezone
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Standstill",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("began_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "sign",
                    models.CharField(
                        choices=[
                            ("copied", "The tables are a copy of those that were here"),
                            ("lost", "What was committed last is missing"),
                            ("unproved", "The server was recovered, and nothing proves that it has everything"),
                            ("declared", "An operator says so"),
                        ],
                        max_length=10,
                    ),
                ),
                ("message", models.TextField()),
                (
                    "complete_until",
                    models.DateTimeField(help_text="Everything that was committed before this is in the database."),
                ),
                ("ended_at", models.DateTimeField(help_text="Empty: it stands still now.", null=True)),
                ("ended_by", models.CharField(blank=True, max_length=120)),
                (
                    "was_restored",
                    models.BooleanField(help_text="No: an operator has called it a false alarm.", null=True),
                ),
                ("reason", models.TextField(blank=True, help_text="Why it was a false alarm.")),
                (
                    "findings",
                    models.JSONField(default=dict, help_text="What the chains know and the database does not."),
                ),
            ],
            options={
                "ordering": ("-began_at",),
            },
        ),
        migrations.CreateModel(
            name="Installation",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("is_only", models.BooleanField(default=True, unique=True)),
                ("pulse", models.BigIntegerField(default=1)),
                ("pulsed_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "server",
                    models.CharField(
                        blank=True, help_text="The server's system identifier; empty: not told.", max_length=40
                    ),
                ),
                ("database_oid", models.BigIntegerField()),
                ("table_oid", models.BigIntegerField(help_text="Of the very table that holds this row.")),
                ("timeline", models.BigIntegerField(null=True)),
                (
                    "requires_proven_wallets",
                    models.BooleanField(
                        db_default=True, help_text="It began with this rule, which REQUIRE_PROVEN_WALLETS overrides."
                    ),
                ),
                (
                    "stopped_at",
                    models.DateTimeField(
                        help_text="Since then no address is given out and nothing is paid.", null=True
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("is_only", True)), name="installation_only_one")
                ],
            },
        ),
    ]
