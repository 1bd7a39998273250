"""The tables of this app as of the first release."""

import config.fields
import config.ids
import django.db.models.deletion
import django.utils.timezone
import merchants.ledger.models
from merchants.ledger import kinds
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("ledger", "0001_initial"),
        ("ledger", "0002_guards"),
        ("ledger", "0003_unasked_money"),
        ("ledger", "0004_held_and_lost"),
        ("ledger", "0005_explained_findings"),
        ("ledger", "0006_token_fees"),
        ("ledger", "0007_words"),
        ("ledger", "0008_debt_offset"),
        ("ledger", "0009_debts_ended"),
        ("ledger", "0010_withdrawals"),
        ("ledger", "0011_spread"),
        ("ledger", "0012_cold_wallets"),
        ("ledger", "0013_day_sums"),
        ("ledger", "0014_breaker_of_a_coin"),
        ("ledger", "0015_stops"),
        ("ledger", "0016_no_unsummed_entries"),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.RunSQL(kinds.functions_of_chart(), kinds.WITHOUT),
        migrations.CreateModel(
            name="ReconcileRun",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                ("options", models.JSONField(default=dict)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("running", "Running, or ended without a word"),
                            ("clean", "Clean"),
                            ("warnings", "Warnings"),
                            ("discrepancy", "Discrepancy"),
                            ("unfinished", "Could not finish"),
                        ],
                        default="running",
                        max_length=12,
                    ),
                ),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "checks",
                    models.JSONField(default=list, help_text="Each check with its findings counted, and its seconds."),
                ),
                (
                    "findings",
                    models.JSONField(default=list, help_text="The first findings; all of them are in the JSON output."),
                ),
                (
                    "summary",
                    models.JSONField(default=dict, help_text="How much of the coins in the ledger is explained."),
                ),
                ("breakers", models.JSONField(default=list, help_text="Where it stopped payouts, and why.")),
                (
                    "explained_count",
                    models.PositiveBigIntegerField(default=0, help_text="Findings that an operator has explained."),
                ),
                ("warning_count", models.PositiveBigIntegerField(default=0)),
                ("error_count", models.PositiveBigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Account",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("asset", models.CharField(help_text="Code of the coin.", max_length=8)),
                ("kind", models.CharField(choices=merchants.ledger.models.kinds_of_accounts, max_length=30)),
                (
                    "owner",
                    models.CharField(
                        blank=True, help_text="UUID of the record it belongs to, by its kind.", max_length=64
                    ),
                ),
                (
                    "balance",
                    config.fields.UnitsField(
                        default=0, help_text="Sum of the entries, in base units; credits are negative."
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("environment", "owner", "kind", "network", "asset"), name="account_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])), name="account_environment"
                    ),
                    models.CheckConstraint(
                        condition=models.Func(
                            models.F("kind"),
                            models.F("balance"),
                            function="ledger_allows_balance",
                            output_field=models.BooleanField(),
                        ),
                        name="account_balance_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Func(
                            models.F("kind"),
                            models.F("owner"),
                            function="ledger_allows_owner",
                            output_field=models.BooleanField(),
                        ),
                        name="account_owner_by_kind",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ExplainedFinding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("finding", models.CharField(help_text="The id that reconcile shows beside it.", max_length=12)),
                ("check_code", models.CharField(max_length=10, verbose_name="check")),
                ("environment", models.CharField(blank=True, max_length=10)),
                ("network", models.CharField(blank=True, max_length=20)),
                ("subject", models.TextField()),
                (
                    "figure",
                    models.TextField(
                        help_text="The difference or, without one, what was found. Another is another finding."
                    ),
                ),
                ("note", models.TextField(help_text="What it is.")),
                ("until", models.DateTimeField(help_text="From then on it counts again.")),
                ("explained_by", models.CharField(max_length=150)),
                ("explained_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_by", models.CharField(blank=True, max_length=150)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("withdrawn_at__isnull", True)),
                        fields=("finding",),
                        name="finding_explained_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Posting",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                (
                    "kind",
                    models.CharField(help_text="What happened: deposit_credited, payment_completed, …", max_length=40),
                ),
                (
                    "reference",
                    models.CharField(
                        help_text="Which occurrence of it; posting it again changes nothing.", max_length=200
                    ),
                ),
                ("memo", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "indexes": [models.Index(fields=["reference"], name="posting_by_reference")],
                "constraints": [
                    models.UniqueConstraint(fields=("environment", "kind", "reference"), name="posting_once"),
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])), name="posting_environment"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", ""), _negated=True), models.Q(("reference", ""), _negated=True)
                        ),
                        name="posting_named",
                    ),
                ],
            },
            bases=(config.ids.KeyedByTime, models.Model),
        ),
        migrations.CreateModel(
            name="Stop",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("switch", "Payouts of an environment"),
                            ("breaker", "Payouts of a network or a coin"),
                        ],
                        db_default="breaker",
                        default="breaker",
                        max_length=10,
                    ),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(blank=True, help_text="Empty: all networks.", max_length=20)),
                (
                    "asset",
                    models.CharField(
                        blank=True, db_default="", default="", help_text="Empty: all coins.", max_length=8
                    ),
                ),
                ("reason", models.TextField()),
                ("since", models.DateTimeField(db_column="opened_at", default=django.utils.timezone.now)),
                ("lifted_at", models.DateTimeField(blank=True, db_column="closed_at", null=True)),
                ("lifted_by", models.CharField(blank=True, db_column="closed_by", max_length=120)),
            ],
            options={
                "db_table": "ledger_breaker",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("lifted_at__isnull", True)),
                        fields=("environment", "network", "asset", "kind"),
                        name="stop_stands_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DaySum",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("amount", config.fields.UnitsField(help_text="Base units; debits positive, credits negative.")),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="ledger.account",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("account", "day"), name="day_sum_once")],
            },
        ),
        migrations.CreateModel(
            name="Entry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("amount", config.fields.UnitsField(help_text="Base units; debits positive, credits negative.")),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="entries",
                        to="ledger.account",
                    ),
                ),
                (
                    "posting",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="entries", to="ledger.posting"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "entries",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "posting"), name="entry_once_per_account"),
                    models.CheckConstraint(
                        condition=models.Q(("amount", 0), _negated=True), name="entry_amount_not_zero"
                    ),
                ],
            },
        ),
    ]
