"""The tables of this app as of the first release.

PostgreSQL refuses to let a payout or a transfer leave a state that has no moves, whatever the way in.
"""

import config.fields
import config.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


FUNCTION = """
    CREATE FUNCTION refuse_to_leave_end_state() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF OLD.status::text = ANY (TG_ARGV) THEN
            RAISE EXCEPTION '% % has ended as %: it does not become %', TG_TABLE_NAME, OLD.id, OLD.status, NEW.status
                USING ERRCODE = 'restrict_violation', HINT = 'What has ended is never begun again: make another.';
        END IF;
        RETURN NEW;
    END $$;
"""

GUARDS = """
    CREATE TRIGGER payout_end_state BEFORE UPDATE ON transfers_payout
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION refuse_to_leave_end_state('paid', 'failed', 'cancelled');
    CREATE TRIGGER transfer_end_state BEFORE UPDATE ON transfers_transfer
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION refuse_to_leave_end_state('final', 'failed', 'dead');
"""

WITHOUT = """
    DROP TRIGGER payout_end_state ON transfers_payout;
    DROP TRIGGER transfer_end_state ON transfers_transfer;
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("merchants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="Transfer",
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
                (
                    "purpose",
                    models.CharField(
                        choices=[("payout", "Pays somebody"), ("sweep", "Brings deposits to the hot wallet")],
                        default="payout",
                        max_length=10,
                    ),
                ),
                ("asset", models.CharField(blank=True, help_text="Code of the coin that a sweep moves.", max_length=8)),
                (
                    "deposits",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        blank=True,
                        default=list,
                        help_text="Numbers of the addresses that a sweep empties.",
                        size=None,
                    ),
                ),
                (
                    "channel",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The account whose sequence it uses; empty: the wallet's own.",
                        max_length=80,
                    ),
                ),
                ("sequence", models.BigIntegerField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("signed", "Signed, not yet sent"),
                            ("sent", "Sent"),
                            ("final", "Final"),
                            ("failed", "Final, and moved nothing"),
                            ("dead", "Can never be in a block any more"),
                        ],
                        default="signed",
                        max_length=10,
                    ),
                ),
                (
                    "next_step_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now,
                        help_text="When to send it again or to ask about it; empty once it is over.",
                        null=True,
                    ),
                ),
                ("send_count", models.PositiveIntegerField(default=0)),
                (
                    "sent_at",
                    models.DateTimeField(help_text="When any version was first handed to the network.", null=True),
                ),
                (
                    "transaction_hash",
                    models.CharField(blank=True, help_text="Of the version that is in a block.", max_length=80),
                ),
                ("height", models.BigIntegerField(null=True)),
                ("fee_units", config.fields.UnitsField(default=0, help_text="Paid, in base units of the native coin.")),
                (
                    "last_error",
                    models.TextField(blank=True, help_text="What the network said last; a hint, no verdict."),
                ),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "said_by",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=100),
                        help_text="The providers that were believed about how it ended. Empty: nobody is asked; null: not recorded.",
                        null=True,
                        size=None,
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, models.Model),
        ),
        migrations.CreateModel(
            name="PayoutPolicy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(
                        choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10, unique=True
                    ),
                ),
                (
                    "approval_above",
                    models.PositiveBigIntegerField(
                        blank=True,
                        default=10000,
                        help_text="Above this, two operators must approve; empty: never.",
                        null=True,
                    ),
                ),
                (
                    "transfer_limit",
                    models.PositiveBigIntegerField(
                        blank=True,
                        default=100000,
                        help_text="Above this, nothing is sent at all; empty: no limit.",
                        null=True,
                    ),
                ),
                (
                    "daily_limit",
                    models.PositiveBigIntegerField(
                        blank=True,
                        default=500000,
                        help_text="In any 24 hours without approval, everybody together; empty: no limit.",
                        null=True,
                    ),
                ),
                (
                    "merchant_daily_limit",
                    models.PositiveBigIntegerField(
                        blank=True,
                        default=100000,
                        help_text="In any 24 hours without approval, for one merchant; empty: no limit.",
                        null=True,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "payout policies",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])),
                        name="payout_policy_environment",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Payout",
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
                    "reference",
                    models.CharField(
                        help_text="Public id of what it is for: a refund, settlement or withdrawal.", max_length=40
                    ),
                ),
                ("network", models.CharField(max_length=20)),
                ("asset", models.CharField(help_text="Code of the coin.", max_length=8)),
                ("decimals", models.PositiveSmallIntegerField(help_text="Of the coin on this network.")),
                ("amount", config.fields.UnitsField()),
                (
                    "arrived",
                    config.fields.UnitsField(
                        help_text="What the recipient got, by the receipt; empty until it is paid, and for older payouts.",
                        null=True,
                    ),
                ),
                ("recipient", models.CharField(max_length=80)),
                ("memo", models.CharField(blank=True, max_length=30)),
                (
                    "memo_type",
                    models.CharField(
                        blank=True,
                        choices=[("id", "A number (MEMO_ID)"), ("text", "Text (MEMO_TEXT)")],
                        db_default="",
                        default="",
                        help_text="Empty: digits are a number.",
                        max_length=4,
                    ),
                ),
                (
                    "intent_mac",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="By which a signer of its own knows that this payout was asked for as it is; empty without one.",
                        max_length=64,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("ready", "Waiting for a transfer"),
                            ("held", "Held for operators"),
                            ("sending", "On its way"),
                            ("paid", "Paid"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="ready",
                        max_length=10,
                    ),
                ),
                (
                    "hold_reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("approval", "Above the amount that one person may send: two operators must approve it"),
                            ("over_limit", "Above the limit of a single transfer"),
                            ("daily_limit", "The limit of a day is used up"),
                            ("merchant_limit", "The merchant's limit of a day is used up"),
                            ("insufficient_liquidity", "The hot wallet does not hold enough"),
                            (
                                "refill_needed",
                                "The hot wallet does not hold enough: operators must refill it from the cold wallet",
                            ),
                            (
                                "coin_paused",
                                "The coin's issuer lets nobody send it at the moment: it goes on when that is over",
                            ),
                            (
                                "hot_wallet_blocked",
                                "The coin's issuer has blocked the hot wallet: it goes on when that is over",
                            ),
                            (
                                "no_trustline",
                                "The recipient's account does not hold this coin yet: it goes on when it does",
                            ),
                            ("network_unavailable", "The network's providers do not answer: it goes on when they do"),
                            ("not_signed", "The process that signs does not answer, or refuses it: operators are told"),
                            (
                                "payouts_stopped",
                                "Payouts are stopped, here or everywhere: it goes on when operators let it",
                            ),
                            (
                                "fees_above_cap",
                                "The network's fees are above what may be paid: it goes on when they come down",
                            ),
                        ],
                        max_length=30,
                    ),
                ),
                (
                    "held_since",
                    models.DateTimeField(help_text="Since when it has been held for this reason.", null=True),
                ),
                (
                    "set_aside_at",
                    models.DateTimeField(
                        help_text="From then on it becomes a claimable balance, if its recipient's account still cannot take the coin.",
                        null=True,
                    ),
                ),
                (
                    "next_attempt_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now,
                        help_text="When to look at it again; empty while it is sent, or over.",
                        null=True,
                    ),
                ),
                ("attempt_count", models.PositiveIntegerField(default=0, help_text="Transfers signed for it.")),
                (
                    "is_alone",
                    models.BooleanField(
                        default=False, help_text="It shares no on-chain transaction: one it was in failed."
                    ),
                ),
                ("failure_code", models.CharField(blank=True, max_length=40)),
                ("failure_message", models.CharField(blank=True, max_length=300)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "merchant",
                    models.ForeignKey(
                        help_text="Empty: the house's own money.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
                (
                    "transfer",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="payouts",
                        to="transfers.transfer",
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, models.Model),
        ),
        migrations.CreateModel(
            name="Envelope",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("raw", models.BinaryField()),
                ("transaction_hash", models.CharField(max_length=80, unique=True)),
                ("fee_limit_units", config.fields.UnitsField(default=0)),
                ("valid_until", models.DateTimeField(null=True)),
                ("signed_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "transfer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="envelopes", to="transfers.transfer"
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
            },
        ),
        migrations.CreateModel(
            name="TransferLine",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("place", models.PositiveSmallIntegerField()),
                (
                    "claimable_balance",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The id of what it was set aside as; empty for a payment.",
                        max_length=80,
                    ),
                ),
                (
                    "payout",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="lines", to="transfers.payout"
                    ),
                ),
                (
                    "transfer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="lines", to="transfers.transfer"
                    ),
                ),
            ],
            options={
                "ordering": ("transfer_id", "place"),
            },
        ),
        migrations.CreateModel(
            name="Wallet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("address", models.CharField(max_length=80)),
                ("next_sequence", models.BigIntegerField(default=0, help_text="Above every sequence ever signed for.")),
                (
                    "frozen_at",
                    models.DateTimeField(
                        blank=True, help_text="Nothing is signed until a person has looked.", null=True
                    ),
                ),
                ("frozen_reason", models.TextField(blank=True)),
                ("checked_at", models.DateTimeField(help_text="When its network was last asked about it.", null=True)),
                ("last_error", models.TextField(blank=True)),
                (
                    "not_signed_at",
                    models.DateTimeField(help_text="When the signer of its own last did not sign for it.", null=True),
                ),
                ("not_signed_reason", models.TextField(blank=True, db_default="", default="")),
                (
                    "is_refused",
                    models.BooleanField(
                        db_default=False, default=False, help_text="The signer refused then; else it did not answer."
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("environment", "network", "address"), name="wallet_once"),
                    models.CheckConstraint(
                        condition=models.Q(("next_sequence__gte", 0)), name="wallet_sequence_not_negative"
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="transfer",
            name="wallet",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="transfers", to="transfers.wallet"
            ),
        ),
        migrations.CreateModel(
            name="Channel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("address", models.CharField(max_length=80)),
                ("next_sequence", models.BigIntegerField(default=0, help_text="Above every sequence ever signed for.")),
                (
                    "wallet",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="channels", to="transfers.wallet"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="payout",
            index=models.Index(
                condition=models.Q(("status__in", ["ready", "held"])),
                fields=["environment", "network", "next_attempt_at"],
                name="payout_due",
            ),
        ),
        migrations.AddIndex(
            model_name="payout",
            index=models.Index(
                condition=models.Q(("status", "paid")), fields=["environment", "finished_at"], name="payout_paid"
            ),
        ),
        migrations.AddConstraint(
            model_name="payout",
            constraint=models.UniqueConstraint(fields=("reference",), name="payout_once_per_reference"),
        ),
        migrations.AddConstraint(
            model_name="payout",
            constraint=models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="payout_amount_positive"),
        ),
        migrations.AddConstraint(
            model_name="payout",
            constraint=models.CheckConstraint(
                condition=models.Q(("arrived__isnull", True), ("arrived__gt", 0), _connector="OR"),
                name="payout_arrived_positive",
            ),
        ),
        migrations.AddConstraint(
            model_name="payout",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["ready", "held", "sending", "paid", "failed", "cancelled"])),
                name="payout_status",
            ),
        ),
        migrations.AddConstraint(
            model_name="payout",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status__in", ["sending", "paid"]), _negated=True),
                    ("transfer__isnull", False),
                    _connector="OR",
                ),
                name="payout_sent_by_a_transfer",
            ),
        ),
        migrations.AddConstraint(
            model_name="transferline",
            constraint=models.UniqueConstraint(fields=("transfer", "place"), name="transfer_line_once"),
        ),
        migrations.AddConstraint(
            model_name="transferline",
            constraint=models.UniqueConstraint(fields=("payout", "transfer"), name="transfer_line_of_payout"),
        ),
        migrations.AddIndex(
            model_name="transfer",
            index=models.Index(
                condition=models.Q(("status__in", ("signed", "sent"))),
                fields=["wallet", "sequence"],
                name="transfer_open",
            ),
        ),
        migrations.AddIndex(
            model_name="transfer",
            index=models.Index(fields=["environment", "network", "finished_at"], name="transfer_finished"),
        ),
        migrations.AddConstraint(
            model_name="transfer",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "dead"), _negated=True),
                fields=("wallet", "channel", "sequence"),
                name="transfer_once_per_channel",
            ),
        ),
        migrations.AddConstraint(
            model_name="transfer",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("finished_at__isnull", True),
                        ("next_step_at__isnull", False),
                        ("status__in", ("signed", "sent")),
                    ),
                    models.Q(
                        models.Q(("status__in", ("signed", "sent")), _negated=True),
                        ("finished_at__isnull", False),
                        ("next_step_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="transfer_due_while_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.UniqueConstraint(fields=("wallet", "address"), name="channel_once"),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.CheckConstraint(
                condition=models.Q(("next_sequence__gte", 0)), name="channel_sequence_not_negative"
            ),
        ),
        migrations.RunSQL(FUNCTION, "DROP FUNCTION refuse_to_leave_end_state()"),
        migrations.RunSQL(GUARDS, WITHOUT),
    ]
