"""The tables of this app as of the first release.

PostgreSQL refuses to let a settlement leave a state that has no moves.
"""

import config.fields
import config.ids
import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
from django.db import migrations, models


GUARDS = """
    CREATE TRIGGER settlement_end_state BEFORE UPDATE ON settlements_settlement
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION refuse_to_leave_end_state('completed', 'failed');
"""

WITHOUT = """
    DROP TRIGGER settlement_end_state ON settlements_settlement;
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("transfers", "0001_tables"),
        ("ledger", "0001_tables"),
        ("merchants", "0001_tables"),
        ("transfers", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="Debt",
            fields=[],
            options={
                "proxy": True,
                "indexes": [],
                "constraints": [],
            },
            bases=("ledger.account",),
        ),
        migrations.CreateModel(
            name="SettlementRun",
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
                    "period_key",
                    models.CharField(
                        help_text="The local date, week or month; or the instant it was asked.", max_length=40
                    ),
                ),
                (
                    "trigger",
                    models.CharField(
                        choices=[("schedule", "The merchant's schedule"), ("person", "Somebody asked for it")],
                        default="schedule",
                        max_length=10,
                    ),
                ),
                ("requested_by", models.CharField(blank=True, max_length=120)),
                ("period_start", models.DateTimeField()),
                ("period_end", models.DateTimeField(help_text="What happened up to then is settled.")),
                ("scheduled_for", models.DateTimeField()),
                (
                    "carried_over",
                    models.JSONField(default=list, help_text="What was not settled, and why, by network and wallet."),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, models.Model),
        ),
        migrations.CreateModel(
            name="Settlement",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("period_key", models.CharField(max_length=40)),
                (
                    "status",
                    models.CharField(
                        choices=[("pending", "Pending"), ("completed", "Completed"), ("failed", "Failed")],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("network", models.CharField(max_length=20)),
                ("destination", models.CharField(max_length=80)),
                ("currency", models.CharField(help_text="The coin it is paid in.", max_length=8)),
                ("decimals", models.PositiveSmallIntegerField(help_text="Of that coin on this network.")),
                ("gross", config.fields.UnitsField()),
                (
                    "fee",
                    config.fields.UnitsField(help_text="Below zero when the fee of what was undone is given back."),
                ),
                ("refund", config.fields.UnitsField(help_text="Refunds and whatever else came off.")),
                (
                    "debt_offset",
                    config.fields.UnitsField(
                        db_default=0,
                        default=0,
                        help_text="Of `refund`: what repaid debts in other coins or on other networks.",
                    ),
                ),
                ("amount", config.fields.UnitsField()),
                (
                    "token_fee",
                    config.fields.UnitsField(
                        db_default=0, default=0, help_text="What the token kept of the amount: so much less arrived."
                    ),
                ),
                (
                    "claimable_balance",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The id of what it was set aside as for the wallet.",
                        max_length=80,
                    ),
                ),
                ("fee_bps", models.PositiveSmallIntegerField(default=0)),
                ("payment_count", models.PositiveIntegerField(default=0)),
                (
                    "coins",
                    models.JSONField(
                        default=list,
                        help_text="By coin: gross, fee, refund, the part of it that repaid debts elsewhere (offset) and net, in base units of that coin, as text; its rate, source, quotedAt and what it is or became in the settlement currency; marketRate is that of the moment it was converted, where it is another one.",
                    ),
                ),
                ("converted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "rate_moment",
                    models.CharField(
                        choices=[("when_paid", "When it is paid"), ("when_made", "When it is made")],
                        db_default="when_paid",
                        default="when_paid",
                        help_text="Of which moment the rate is at which other coins are converted.",
                        max_length=10,
                    ),
                ),
                ("period_start", models.DateTimeField()),
                ("period_end", models.DateTimeField()),
                ("scheduled_for", models.DateTimeField()),
                (
                    "next_step_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, help_text="Empty once it has ended.", null=True
                    ),
                ),
                ("transaction_hash", models.CharField(blank=True, max_length=80)),
                (
                    "failure_code",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("insufficient_liquidity", "There is not enough of the settlement currency yet"),
                            ("over_limit", "It is above a limit, and waits for operators"),
                            ("rate_unavailable", "There is no exchange rate to convert at"),
                            ("currency_unavailable", "The settlement currency is not in use on this network"),
                            ("network_unavailable", "The network cannot be reached, or payouts are stopped on it"),
                            ("coin_paused", "The issuer of the coin lets nobody send it at the moment"),
                            ("hot_wallet_blocked", "The issuer of the coin has blocked the wallet that pays"),
                            ("destination_invalid", "The wallet cannot be paid"),
                            ("no_trustline", "The wallet does not hold this coin yet"),
                            ("memo_required", "The wallet needs a memo"),
                            ("destination_refused", "The issuer of the coin forbids this wallet"),
                            ("transfer_failed", "The network refused the transfer"),
                            ("rejected", "An operator refused it"),
                            ("wallet_lost", "The key of the wallet is lost"),
                        ],
                        max_length=40,
                    ),
                ),
                ("failure_message", models.CharField(blank=True, max_length=300)),
                (
                    "waits_since",
                    models.DateTimeField(
                        blank=True,
                        help_text="Since when something keeps it back, without a pause; empty while nothing does.",
                        null=True,
                    ),
                ),
                (
                    "may_retry",
                    models.BooleanField(
                        default=False,
                        help_text="Somebody says that the wallet it failed for can be paid now, or named another one.",
                    ),
                ),
                ("completed_at", models.DateTimeField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
                    ),
                ),
                (
                    "payout",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="settlement",
                        to="transfers.payout",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="settlements",
                        to="settlements.settlementrun",
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="DebtOffset",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("asset", models.CharField(help_text="The coin that was taken.", max_length=8)),
                ("decimals", models.PositiveSmallIntegerField(help_text="Of that coin on this network.")),
                (
                    "wallet",
                    models.CharField(help_text="Where what was taken would have been settled to.", max_length=80),
                ),
                ("amount", config.fields.UnitsField(help_text="What was taken, in base units.")),
                ("debt_network", models.CharField(max_length=20)),
                ("debt_asset", models.CharField(help_text="The coin that was owed.", max_length=8)),
                ("debt_decimals", models.PositiveSmallIntegerField(help_text="Of that coin on its network.")),
                ("debt_wallet", models.CharField(help_text="The wallet whose money had left the debt.", max_length=80)),
                (
                    "repaid",
                    config.fields.UnitsField(help_text="What was repaid, in base units of the coin that was owed."),
                ),
                (
                    "rounding",
                    config.fields.UnitsField(
                        default=0, help_text="What was taken was worth so many base units more: account `rounding`."
                    ),
                ),
                (
                    "rate",
                    models.DecimalField(
                        decimal_places=12, help_text="Of the coin owed for one of the coin taken.", max_digits=40
                    ),
                ),
                (
                    "rate_source",
                    models.CharField(blank=True, help_text="Empty for the same coin, at par.", max_length=200),
                ),
                (
                    "quoted_at",
                    models.DateTimeField(help_text="Of the rate; empty for the same coin, at par.", null=True),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="offsets",
                        to="settlements.settlementrun",
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="DebtDecision",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("asset", models.CharField(help_text="The coin that was owed.", max_length=8)),
                ("decimals", models.PositiveSmallIntegerField(help_text="Of that coin on this network.")),
                ("amount", config.fields.UnitsField(help_text="How much of the debt ended, in base units.")),
                (
                    "ending",
                    models.CharField(
                        choices=[("written_off", "Written off"), ("collected", "Collected outside")], max_length=12
                    ),
                ),
                ("reason", models.TextField()),
                ("decided_by", models.TextField(help_text="Who proposed it and who agreed.")),
                ("taken_back_at", models.DateTimeField(blank=True, null=True)),
                ("taken_back_by", models.TextField(blank=True)),
                ("taken_back_reason", models.TextField(blank=True)),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["merchant", "environment", "-id"], name="debt_decision_latest")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("amount__gt", 0),
                            ("ending__in", ["written_off", "collected"]),
                            ("environment__in", ["sandbox", "production"]),
                        ),
                        name="debt_decision_amount",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("reason", ""), _negated=True), models.Q(("decided_by", ""), _negated=True)
                        ),
                        name="debt_decision_by_whom",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("taken_back_at__isnull", True), ("taken_back_by", ""), ("taken_back_reason", "")),
                            models.Q(
                                ("taken_back_at__isnull", False),
                                models.Q(("taken_back_by", ""), _negated=True),
                                models.Q(("taken_back_reason", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="debt_decision_taken_back_by_whom",
                    ),
                ],
            },
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="FeeRemainder",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("asset", models.CharField(max_length=8)),
                ("remainder", config.fields.UnitsField(default=0, help_text="In ten-thousandths of a base unit.")),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("merchant", "environment", "network", "asset"), name="fee_remainder_once_per_coin"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("remainder__gte", 0)), name="fee_remainder_not_negative"
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="settlementrun",
            index=models.Index(fields=["merchant", "environment", "-id"], name="settlement_run_latest"),
        ),
        migrations.AddConstraint(
            model_name="settlementrun",
            constraint=models.UniqueConstraint(
                fields=("merchant", "environment", "period_key"), name="settlement_run_once"
            ),
        ),
        migrations.AddIndex(
            model_name="settlement",
            index=models.Index(fields=["merchant", "environment", "id"], name="settlement_list"),
        ),
        migrations.AddIndex(
            model_name="settlement",
            index=models.Index(fields=["merchant", "environment", "status", "id"], name="settlement_list_by_status"),
        ),
        migrations.AddIndex(
            model_name="settlement",
            index=models.Index(
                condition=models.Q(("status", "pending")), fields=["next_step_at"], name="settlement_due"
            ),
        ),
        migrations.AddConstraint(
            model_name="settlement",
            constraint=models.UniqueConstraint(
                fields=("merchant", "environment", "network", "destination", "period_key"),
                name="settlement_once_per_period",
            ),
        ),
        migrations.AddConstraint(
            model_name="settlement",
            constraint=models.CheckConstraint(
                condition=models.Q(("environment__in", ["sandbox", "production"])), name="settlement_environment"
            ),
        ),
        migrations.AddConstraint(
            model_name="settlement",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["pending", "completed", "failed"])), name="settlement_status"
            ),
        ),
        migrations.AddConstraint(
            model_name="settlement",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("amount__gt", 0),
                    ("refund__gte", 0),
                    (
                        "gross",
                        django.db.models.expressions.CombinedExpression(
                            django.db.models.expressions.CombinedExpression(models.F("amount"), "+", models.F("fee")),
                            "+",
                            models.F("refund"),
                        ),
                    ),
                ),
                name="settlement_adds_up",
            ),
        ),
        migrations.AddIndex(
            model_name="debtoffset",
            index=models.Index(fields=["merchant", "environment", "-id"], name="debt_offset_latest"),
        ),
        migrations.AddConstraint(
            model_name="debtoffset",
            constraint=models.CheckConstraint(
                condition=models.Q(("environment__in", ["sandbox", "production"])), name="debt_offset_environment"
            ),
        ),
        migrations.AddConstraint(
            model_name="debtoffset",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gt", 0), ("rate__gt", 0), ("repaid__gt", 0), ("rounding__gte", 0)),
                name="debt_offset_amounts",
            ),
        ),
        migrations.AddConstraint(
            model_name="debtoffset",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("asset", models.F("debt_asset")), ("network", models.F("debt_network")), _negated=True
                ),
                name="debt_offset_elsewhere",
            ),
        ),
        migrations.RunSQL(GUARDS, WITHOUT),
    ]
