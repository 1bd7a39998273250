"""The tables of this app as of the first release."""

import config.fields
import django.contrib.postgres.fields
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Alarm",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                (
                    "network",
                    models.CharField(blank=True, help_text="Empty: it concerns the whole installation.", max_length=20),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("provider_failing", "Provider fails"),
                            ("provider_old_head", "Provider is behind"),
                            ("provider_disagrees", "Provider says something else"),
                            ("provider_put_aside", "Provider is put aside"),
                            ("network_not_set_up", "Network is set up wrongly"),
                            ("role_changed", "A role of the factory changed"),
                            ("network_unavailable", "Network is not read"),
                            ("network_halted", "Network is halted"),
                            ("head_stalled", "No new blocks"),
                            ("finality_stalled", "Nothing becomes final"),
                            ("clock_and_chain_differ", "Clock and network differ"),
                            ("payouts_stopped", "Payouts are stopped"),
                            ("wallet_frozen", "Wallet is frozen"),
                            ("wallet_cannot_send", "Wallet cannot send"),
                            ("signer_unavailable", "Signer does not answer"),
                            ("signer_refuses", "Signer refuses"),
                            ("coin_paused", "Coin is paused"),
                            ("hot_wallet_blocked", "Hot wallet is blocked"),
                            ("transfer_stuck", "Transfer is stuck"),
                            ("sweep_stuck", "Sweep is stuck"),
                            ("address_passed_over", "Coins cannot be swept"),
                            ("coins_missing", "Coins are missing"),
                            ("cold_wallet_moved", "Coins left the cold wallet"),
                            ("refill_needed", "Hot wallet needs a refill"),
                            ("wallet_differs", "Hot wallet and ledger differ"),
                            ("coins_clawed_back", "Coins were clawed back"),
                            ("coins_set_aside", "Coins wait to be claimed"),
                            ("record_set_aside", "A transaction cannot be read"),
                            ("gas_tank_low", "The gas balance runs low"),
                            ("database_restored", "Database was restored"),
                            ("work_behind", "Work is behind"),
                            ("clock_off", "A clock is wrong"),
                            ("reconcile_not_clean", "Reconcile found something"),
                            ("operator_reset", "An operator's access was reset"),
                        ],
                        max_length=30,
                    ),
                ),
                (
                    "subject",
                    models.CharField(blank=True, help_text="Which provider, wallet or transfer.", max_length=100),
                ),
                ("message", models.TextField()),
                ("raised_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "last_seen_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, help_text="When it was last found to be so."
                    ),
                ),
                ("cleared_at", models.DateTimeField(help_text="Empty: it is so now.", null=True)),
                ("acknowledged_at", models.DateTimeField(null=True)),
                ("acknowledged_by", models.CharField(blank=True, help_text="Who looks after it.", max_length=120)),
                ("raise_mailed_at", models.DateTimeField(help_text="When operators were told of it.", null=True)),
                ("clear_mailed_at", models.DateTimeField(help_text="When they were told that it is over.", null=True)),
            ],
            options={
                "ordering": (
                    models.OrderBy(models.F("cleared_at"), descending=True, nulls_first=True),
                    "-raised_at",
                    "-id",
                ),
                "indexes": [
                    models.Index(
                        condition=models.Q(
                            ("clear_mailed_at__isnull", True),
                            ("cleared_at__isnull", False),
                            ("raise_mailed_at__isnull", False),
                        ),
                        fields=["cleared_at"],
                        name="alarm_end_not_told",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("cleared_at__isnull", True)),
                        fields=("environment", "network", "kind", "subject"),
                        name="alarm_open_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])), name="alarm_environment"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="NetworkSnapshot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("measured_at", models.DateTimeField(help_text="Empty: it has never answered.", null=True)),
                ("last_error", models.TextField(blank=True)),
                (
                    "providers",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=100), default=list, size=None
                    ),
                ),
                ("wallet", models.CharField(blank=True, help_text="The hot wallet's address.", max_length=80)),
                (
                    "blocked_coins",
                    models.JSONField(
                        default=dict,
                        help_text="Coins that the hot wallet can send to nobody: of each, the kind of alarm and why.",
                    ),
                ),
                (
                    "audited_at",
                    models.DateTimeField(
                        help_text="Empty: its wallet has never been compared with the ledger.", null=True
                    ),
                ),
                (
                    "audit",
                    models.JSONField(
                        default=list,
                        help_text="What comparing found: of each, the kind of alarm, the coin and in words what it is.",
                    ),
                ),
                (
                    "let_back_at",
                    models.DateTimeField(
                        help_text="When an operator last let providers back that others had contradicted. Empty: never.",
                        null=True,
                    ),
                ),
                (
                    "roles",
                    models.JSONField(
                        default=list,
                        help_text="Of the factory: of each its name, who holds it, and who should by the settings.",
                    ),
                ),
                (
                    "roles_height",
                    models.BigIntegerField(
                        help_text="The final block up to which changes of roles are read.", null=True
                    ),
                ),
                (
                    "native_balance",
                    config.fields.UnitsField(default=0, help_text="Native coins, in base units; so are the costs."),
                ),
                (
                    "native_reserve",
                    config.fields.UnitsField(
                        default=0, help_text="What of it the network never lets the wallet spend."
                    ),
                ),
                ("payout_cost", config.fields.UnitsField(default=0)),
                (
                    "sweep_cost",
                    config.fields.UnitsField(default=0, help_text="Of a sweep, however many addresses it empties."),
                ),
                (
                    "first_time_cost",
                    config.fields.UnitsField(
                        default=0, help_text="For each address in it that nothing has emptied before."
                    ),
                ),
                ("again_cost", config.fields.UnitsField(default=0, help_text="For each of the others.")),
                (
                    "set_aside_cost",
                    config.fields.UnitsField(default=0, help_text="Locked up for each payout that is set aside."),
                ),
            ],
            options={
                "verbose_name": "network",
                "ordering": ("environment", "network"),
                "constraints": [
                    models.UniqueConstraint(fields=("environment", "network"), name="snapshot_once_per_network")
                ],
            },
        ),
        migrations.CreateModel(
            name="Pulse",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=20)),
                ("subject", models.CharField(blank=True, help_text="Which task, network or process.", max_length=100)),
                ("at", models.DateTimeField()),
                ("ahead_seconds", models.FloatField(help_text="How far the clock of the process is ahead.", null=True)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("kind", "subject"), name="pulse_once")],
            },
        ),
        migrations.CreateModel(
            name="RoleChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                (
                    "factory",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="The present one, or one of before that is still swept.",
                        max_length=80,
                    ),
                ),
                ("role", models.CharField(max_length=20)),
                ("account", models.CharField(help_text="Who has the role from then on.", max_length=80)),
                ("made_by", models.CharField(help_text="Who sent the transaction.", max_length=80)),
                ("transaction_hash", models.CharField(max_length=80)),
                ("ordinal", models.PositiveIntegerField()),
                ("height", models.BigIntegerField()),
                ("happened_at", models.DateTimeField(help_text="The time of its block.")),
                (
                    "known_at",
                    models.DateTimeField(help_text="Empty: no operator has said that it was one of you.", null=True),
                ),
                ("known_by", models.CharField(blank=True, max_length=120)),
            ],
            options={
                "ordering": ("-happened_at", "-id"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("environment", "network", "transaction_hash", "ordinal"), name="role_change_once"
                    )
                ],
            },
        ),
    ]
