import config.fields
import config.ids
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
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
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("chain:deposit", "Coins at deposit addresses"),
                            ("chain:hot", "Coins in the hot wallet"),
                            ("gas", "Native coins that pay network fees"),
                            ("merchant:receivable", "Owed by a merchant"),
                            ("payment", "Received for a payment, not yet released"),
                            ("merchant:available", "Available to a merchant"),
                            ("payout", "Reserved for a transfer out"),
                            ("suspense:late", "Arrived late"),
                            ("suspense:overpaid", "More than was due"),
                            ("suspense:underpaid", "Less than was due"),
                            ("suspense:wrong_token", "Another coin than was asked for"),
                            ("suspense:wrong_network", "On another network than was asked for"),
                            ("suspense:no_memo", "Without a memo that names a payment"),
                            ("treasury", "Coins the operator put in"),
                            ("fee:service", "Fees earned"),
                            ("fee:network", "Network fees paid"),
                            ("rounding", "Rounding differences"),
                        ],
                        max_length=30,
                    ),
                ),
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
                        condition=models.Q(
                            models.Q(
                                ("balance__gte", 0),
                                ("kind__in", ["chain:deposit", "chain:hot", "gas", "merchant:receivable"]),
                            ),
                            models.Q(
                                ("balance__lte", 0),
                                (
                                    "kind__in",
                                    [
                                        "payment",
                                        "merchant:available",
                                        "payout",
                                        "suspense:late",
                                        "suspense:overpaid",
                                        "suspense:underpaid",
                                        "suspense:wrong_token",
                                        "suspense:wrong_network",
                                        "suspense:no_memo",
                                        "treasury",
                                    ],
                                ),
                            ),
                            ("kind__in", ["fee:service", "fee:network", "rounding"]),
                            _connector="OR",
                        ),
                        name="account_balance_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                (
                                    "kind__in",
                                    [
                                        "merchant:receivable",
                                        "payment",
                                        "merchant:available",
                                        "payout",
                                        "suspense:late",
                                        "suspense:overpaid",
                                        "suspense:underpaid",
                                        "suspense:wrong_token",
                                        "suspense:wrong_network",
                                        "suspense:no_memo",
                                    ],
                                ),
                                models.Q(("owner", ""), _negated=True),
                            ),
                            models.Q(
                                (
                                    "kind__in",
                                    [
                                        "chain:deposit",
                                        "chain:hot",
                                        "gas",
                                        "treasury",
                                        "fee:service",
                                        "fee:network",
                                        "rounding",
                                    ],
                                ),
                                ("owner", ""),
                            ),
                            _connector="OR",
                        ),
                        name="account_owner_by_kind",
                    ),
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
