"""The tables of this app as of the first release."""

import config.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="SimulatedNetwork",
            fields=[
                ("network", models.CharField(max_length=20, primary_key=True, serialize=False)),
                ("height", models.BigIntegerField(default=0)),
                ("generation", models.PositiveIntegerField(default=0, help_text="How many times it was reorganised.")),
                ("outage_until", models.DateTimeField(blank=True, help_text="Nobody answers until then.", null=True)),
                (
                    "fee_level",
                    models.PositiveIntegerField(
                        default=1,
                        help_text="How many times the usual price a block asks for. Nobody who offers less gets into one.",
                    ),
                ),
                ("broadcasts_to_lose", models.PositiveIntegerField(default=0)),
                ("broadcasts_to_time_out", models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="SimulatedAccount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("network", models.CharField(max_length=20)),
                ("address", models.CharField(max_length=80)),
                ("is_contract", models.BooleanField(default=False)),
                (
                    "refuses",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("destination_invalid", "destination_invalid"),
                            ("no_trustline", "no_trustline"),
                            ("memo_required", "memo_required"),
                            ("destination_refused", "destination_refused"),
                        ],
                        max_length=20,
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("network", "address"), name="simulated_account_once")],
            },
        ),
        migrations.CreateModel(
            name="ScheduledAction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("height", models.BigIntegerField()),
                ("action", models.CharField(max_length=20)),
                ("arguments", models.JSONField(default=dict)),
                (
                    "network",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="actions",
                        to="simulated_chain.simulatednetwork",
                    ),
                ),
            ],
            options={
                "ordering": ("height", "id"),
            },
        ),
        migrations.CreateModel(
            name="SimulatedTransaction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("network", models.CharField(max_length=20)),
                ("transaction_hash", models.CharField(max_length=80)),
                ("sender", models.CharField(max_length=80)),
                ("sequence", models.BigIntegerField(help_text="Empty for money that is made, not moved.", null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Waiting for a block"),
                            ("included", "In a block"),
                            ("failed", "In a block, moved nothing"),
                            ("dropped", "Forgotten by the network"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("height", models.BigIntegerField(null=True)),
                ("valid_until", models.DateTimeField(null=True)),
                ("error", models.CharField(blank=True, max_length=100)),
                (
                    "refused",
                    models.JSONField(
                        default=dict, help_text="Its transfers that made it fail: the problem by ordinal."
                    ),
                ),
                (
                    "inner_hash",
                    models.CharField(
                        blank=True,
                        help_text="Of what it raises the fee for: both are one on-chain transaction.",
                        max_length=80,
                    ),
                ),
                (
                    "fee_payer",
                    models.CharField(blank=True, help_text="Who pays for it; empty: the sender.", max_length=80),
                ),
                (
                    "fee_offer",
                    config.fields.UnitsField(
                        help_text="The highest price it pays, in the native coin; empty: it is free.", null=True
                    ),
                ),
                (
                    "work",
                    models.PositiveIntegerField(default=0, help_text="What it takes to carry out: gas, or operations."),
                ),
                (
                    "fee_units",
                    config.fields.UnitsField(default=0, help_text="What it did cost, once it is in a block."),
                ),
                (
                    "swept_contract",
                    models.CharField(blank=True, help_text="The token that a sweep collects.", max_length=80),
                ),
                (
                    "swept_addresses",
                    models.JSONField(default=list, help_text="Whom it empties: its transfers are made in the block."),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["network", "height"], name="simulated_by_height"),
                    models.Index(fields=["network", "sender"], name="simulated_by_sender"),
                    models.Index(
                        condition=models.Q(("inner_hash", ""), _negated=True),
                        fields=["network", "inner_hash"],
                        name="simulated_by_inner",
                    ),
                    models.Index(
                        condition=models.Q(("status", "pending")), fields=["network", "id"], name="simulated_pending"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("network", "transaction_hash"), name="simulated_transaction_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("status", "dropped"), _negated=True),
                        fields=("network", "sender", "sequence"),
                        name="simulated_sequence_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("height__isnull", False), ("status__in", ["included", "failed"])),
                            models.Q(
                                models.Q(("status__in", ["included", "failed"]), _negated=True),
                                ("height__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="simulated_transaction_height",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SimulatedTransfer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("ordinal", models.PositiveIntegerField()),
                ("contract", models.CharField(blank=True, help_text="Empty for the native coin.", max_length=80)),
                ("amount", config.fields.UnitsField()),
                (
                    "source",
                    models.CharField(help_text="Who pays: the sender, or an address that is swept.", max_length=80),
                ),
                (
                    "source_muxed",
                    models.CharField(blank=True, help_text="The sender's muxed address, if it has one.", max_length=80),
                ),
                ("recipient", models.CharField(max_length=80)),
                (
                    "memo",
                    models.CharField(blank=True, help_text="The muxed id or else the memo, normalised.", max_length=30),
                ),
                ("muxed_id", models.CharField(blank=True, help_text="Of the address it was sent to.", max_length=20)),
                (
                    "transaction_memo",
                    models.CharField(blank=True, help_text="As the sender gave it, normalised.", max_length=30),
                ),
                (
                    "transaction",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="transfers",
                        to="simulated_chain.simulatedtransaction",
                    ),
                ),
            ],
            options={
                "ordering": ("transaction_id", "ordinal"),
                "indexes": [
                    models.Index(fields=["recipient", "contract"], name="simulated_by_recipient"),
                    models.Index(fields=["source", "contract"], name="simulated_by_source"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("transaction", "ordinal"), name="simulated_transfer_once"),
                    models.CheckConstraint(
                        condition=models.Q(("amount__gte", 0)), name="simulated_transfer_not_negative"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Stretch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first_height", models.BigIntegerField()),
                ("started_at", models.DateTimeField(help_text="When its first block was closed.")),
                (
                    "block_seconds",
                    models.FloatField(help_text="0: all its blocks were closed at once, and the clock adds none."),
                ),
                ("generation", models.PositiveIntegerField()),
                (
                    "network",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="stretches",
                        to="simulated_chain.simulatednetwork",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "stretches",
                "ordering": ("first_height",),
                "constraints": [
                    models.UniqueConstraint(fields=("network", "first_height"), name="stretch_once_per_height")
                ],
            },
        ),
    ]
