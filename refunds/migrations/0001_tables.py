"""The tables of this app as of the first release.

PostgreSQL refuses to let a refund leave a state that has no moves.
"""

import config.fields
import config.ids
import django.db.models.deletion
from django.db import migrations, models


GUARDS = """
    CREATE TRIGGER refund_end_state BEFORE UPDATE ON refunds_refund
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION refuse_to_leave_end_state('completed', 'failed', 'cancelled');
"""

WITHOUT = """
    DROP TRIGGER refund_end_state ON refunds_refund;
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("transfers", "0001_tables"),
        ("merchants", "0001_tables"),
        ("payments", "0001_tables"),
        ("transfers", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="Refund",
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
                    "status",
                    models.CharField(
                        choices=[
                            ("requires_action", "Needs an address"),
                            ("pending", "Waiting to be sent"),
                            ("processing", "On its way"),
                            ("completed", "Completed"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="pending",
                        max_length=20,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "fiat_amount",
                    models.BigIntegerField(help_text="In minor units of the payment's currency.", null=True),
                ),
                ("amount", config.fields.UnitsField()),
                ("network", models.CharField(max_length=20)),
                ("cryptocurrency", models.CharField(max_length=8)),
                ("decimals", models.PositiveSmallIntegerField(help_text="Of the coin on this network.")),
                (
                    "destination",
                    models.CharField(blank=True, help_text="Empty while nobody has named one.", max_length=80),
                ),
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
                    "named_by",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("merchant", "Named by the merchant"),
                            ("sender", "The address that paid"),
                            ("payer", "Named by the payer"),
                        ],
                        help_text="Who named it.",
                        max_length=10,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("metadata", models.JSONField(default=dict)),
                (
                    "requested_by",
                    models.CharField(blank=True, help_text="The key or the person that asked for it.", max_length=120),
                ),
                (
                    "returns_fee",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="The fee on what is given back is given back too: the operator's policy when it was made.",
                    ),
                ),
                (
                    "token_fee",
                    config.fields.UnitsField(
                        db_default=0,
                        default=0,
                        help_text="What the token kept of it on the way: the recipient got so much less.",
                    ),
                ),
                (
                    "claimable_balance",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The id of what it was set aside as, for its recipient to claim.",
                        max_length=80,
                    ),
                ),
                ("transaction_hash", models.CharField(blank=True, max_length=80)),
                ("failure_code", models.CharField(blank=True, max_length=40)),
                ("failure_message", models.CharField(blank=True, max_length=300)),
                ("completed_at", models.DateTimeField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "discrepancy",
                    models.ForeignKey(
                        help_text="The money in suspense.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refunds",
                        to="payments.discrepancy",
                    ),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
                    ),
                ),
                (
                    "payment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="refunds", to="payments.payment"
                    ),
                ),
                (
                    "payout",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refund",
                        to="transfers.payout",
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="RefundBatch",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("digest", models.BinaryField(help_text="Of its rows, whatever the file was called.", max_length=32)),
                ("uploaded_by", models.CharField(max_length=120)),
                (
                    "confirmed_at",
                    models.DateTimeField(help_text="Empty: a preview, of which nothing is refunded.", null=True),
                ),
                ("confirmed_by", models.CharField(blank=True, max_length=120)),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "refund batches",
            },
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="RefundBatchRow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("line", models.PositiveIntegerField(help_text="In the file.")),
                (
                    "asked",
                    models.DecimalField(
                        decimal_places=3,
                        help_text="In the payment's currency; empty: all that is left.",
                        max_digits=16,
                        null=True,
                    ),
                ),
                (
                    "fiat_amount",
                    models.BigIntegerField(help_text="As previewed, in minor units of the payment's currency."),
                ),
                ("amount", config.fields.UnitsField(help_text="As previewed.")),
                ("destination", models.CharField(blank=True, max_length=80)),
                ("memo", models.CharField(blank=True, max_length=64)),
                ("reason", models.CharField(blank=True, max_length=500)),
                (
                    "has_sender",
                    models.BooleanField(help_text="One address has paid, as far as was known at the preview."),
                ),
                ("problem", models.CharField(blank=True, help_text="Why it was not refunded.", max_length=300)),
                ("done_at", models.DateTimeField(null=True)),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="rows", to="refunds.refundbatch"
                    ),
                ),
                (
                    "payment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="payments.payment"
                    ),
                ),
                (
                    "refund",
                    models.OneToOneField(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="refunds.refund"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="refund",
            index=models.Index(fields=["merchant", "environment", "id"], name="refund_list"),
        ),
        migrations.AddIndex(
            model_name="refund",
            index=models.Index(fields=["merchant", "environment", "status", "id"], name="refund_list_by_status"),
        ),
        migrations.AddIndex(
            model_name="refund",
            index=models.Index(
                condition=models.Q(("status__in", ["pending", "processing"])),
                fields=["status", "id"],
                name="refund_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="refund",
            constraint=models.CheckConstraint(
                condition=models.Q(("environment__in", ["sandbox", "production"])), name="refund_environment"
            ),
        ),
        migrations.AddConstraint(
            model_name="refund",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ["requires_action", "pending", "processing", "completed", "failed", "cancelled"])
                ),
                name="refund_status",
            ),
        ),
        migrations.AddConstraint(
            model_name="refund",
            constraint=models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="refund_amount_positive"),
        ),
        migrations.AddConstraint(
            model_name="refund",
            constraint=models.CheckConstraint(
                condition=models.Q(("fiat_amount__isnull", True), ("fiat_amount__gte", 0), _connector="OR"),
                name="refund_fiat_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="refund",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("destination", ""), ("payout__isnull", True)),
                    models.Q(("payout__isnull", False), models.Q(("destination", ""), _negated=True)),
                    _connector="OR",
                ),
                name="refund_paid_once_it_has_an_address",
            ),
        ),
        migrations.AddConstraint(
            model_name="refund",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status__in", ["processing", "completed", "failed"]), _negated=True),
                    ("payout__isnull", False),
                    _connector="OR",
                ),
                name="refund_sent_by_a_payout",
            ),
        ),
        migrations.AddConstraint(
            model_name="refund",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "requires_action"), _negated=True), ("payout__isnull", True), _connector="OR"
                ),
                name="refund_without_address_waits",
            ),
        ),
        migrations.AddConstraint(
            model_name="refund",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at__isnull", False), ("status__in", ("completed", "failed", "cancelled"))),
                    models.Q(
                        models.Q(("status__in", ("completed", "failed", "cancelled")), _negated=True),
                        ("ended_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="refund_ends_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="refund",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("discrepancy__isnull", False), models.Q(("status__in", ("failed", "cancelled")), _negated=True)
                ),
                fields=("discrepancy",),
                name="refund_of_discrepancy_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="refundbatch",
            constraint=models.CheckConstraint(
                condition=models.Q(("environment__in", ["sandbox", "production"])), name="refund_batch_environment"
            ),
        ),
        migrations.AddConstraint(
            model_name="refundbatch",
            constraint=models.UniqueConstraint(fields=("merchant", "environment", "digest"), name="refund_batch_once"),
        ),
        migrations.AddIndex(
            model_name="refundbatchrow",
            index=models.Index(
                condition=models.Q(("done_at__isnull", True)), fields=["id"], name="refund_batch_row_due"
            ),
        ),
        migrations.AddConstraint(
            model_name="refundbatchrow",
            constraint=models.UniqueConstraint(fields=("batch", "line"), name="refund_batch_row_once"),
        ),
        migrations.AddConstraint(
            model_name="refundbatchrow",
            constraint=models.UniqueConstraint(fields=("batch", "payment"), name="refund_batch_payment_once"),
        ),
        migrations.RunSQL(GUARDS, WITHOUT),
    ]
