"""The tables of this app as of the first release."""

import config.fields
import django.utils.timezone
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("payments", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="MissingCoins",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("asset", models.CharField(help_text="Code of the coin.", max_length=8)),
                ("decimals", models.PositiveSmallIntegerField(help_text="Of the coin on this network.")),
                ("address", models.CharField(max_length=80)),
                ("amount", config.fields.UnitsField(help_text="Base units that are missing.")),
                (
                    "held",
                    config.fields.UnitsField(
                        default=0, help_text="Of the merchant's balance, set aside until somebody has decided."
                    ),
                ),
                (
                    "hold_count",
                    models.PositiveIntegerField(default=0, help_text="Numbers the ledger postings of the hold."),
                ),
                ("height", models.BigIntegerField(help_text="The final block at which it was compared last.")),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "To be decided"), ("lost", "Booked as a loss"), ("returned", "There again")],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("found_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "bearer",
                    models.CharField(
                        blank=True, choices=[("merchant", "The merchant"), ("house", "The house")], max_length=10
                    ),
                ),
                (
                    "reason",
                    models.TextField(blank=True, help_text="What happened to the coins, in the words of who decided."),
                ),
                ("approved_by", models.CharField(blank=True, max_length=150, verbose_name="decided by")),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name_plural": "missing coins",
            },
        ),
        migrations.AddField(
            model_name="missingcoins",
            name="payment",
            field=models.ForeignKey(
                help_text="Whose address.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="missing_coins",
                to="payments.payment",
            ),
        ),
        migrations.AddConstraint(
            model_name="missingcoins",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "open")),
                fields=("environment", "network", "asset", "address"),
                name="missing_coins_open_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="missingcoins",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gt", 0), ("held__gte", 0)), name="missing_coins_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="missingcoins",
            constraint=models.CheckConstraint(
                condition=models.Q(("held__lte", models.F("amount"))), name="missing_coins_held_at_most_missing"
            ),
        ),
        migrations.AddConstraint(
            model_name="missingcoins",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "lost"), _negated=True),
                    models.Q(
                        models.Q(("bearer", ""), _negated=True),
                        models.Q(("reason", ""), _negated=True),
                        models.Q(("approved_by", ""), _negated=True),
                        ("held", 0),
                    ),
                    _connector="OR",
                ),
                name="missing_coins_lost_by_people",
            ),
        ),
    ]
