"""The tables of this app as of the first release."""

import config.ids
import django.utils.timezone
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("merchants", "0001_tables"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="MerchantWallet",
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
                ("address", models.CharField(max_length=80)),
                ("label", models.CharField(blank=True, max_length=60)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("in_use", "In use"),
                            ("replaced", "Replaced"),
                            ("cancelled", "Cancelled"),
                            ("lost", "Lost: nothing is paid to it"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                (
                    "takes_effect_at",
                    models.DateTimeField(default=django.utils.timezone.now, help_text="The end of its wait."),
                ),
                ("ended_at", models.DateTimeField(help_text="When it was replaced or cancelled.", null=True)),
                (
                    "proof",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("signature", "Signed message"),
                            ("contract", "Message signed by its owners"),
                            ("simulated", "Simulated signature"),
                        ],
                        max_length=10,
                    ),
                ),
                ("proven_at", models.DateTimeField(null=True)),
                (
                    "signed_text",
                    models.TextField(
                        blank=True, help_text="The message that its key or its contract's owners have signed."
                    ),
                ),
                ("signature", models.TextField(blank=True)),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.AddField(
            model_name="merchantwallet",
            name="asked_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="merchantwallet",
            name="merchant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
            ),
        ),
        migrations.AddIndex(
            model_name="merchantwallet",
            index=models.Index(fields=["merchant", "environment", "id"], name="merchant_wallet_of"),
        ),
        migrations.AddIndex(
            model_name="merchantwallet",
            index=models.Index(
                condition=models.Q(("status", "waiting")), fields=["takes_effect_at"], name="merchant_wallet_due"
            ),
        ),
        migrations.AddIndex(
            model_name="merchantwallet",
            index=models.Index(
                condition=models.Q(("status", "lost")), fields=["takes_effect_at"], name="merchant_wallet_lost_due"
            ),
        ),
        migrations.AddConstraint(
            model_name="merchantwallet",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "in_use")),
                fields=("merchant", "environment", "network"),
                name="merchant_wallet_one_in_use",
            ),
        ),
        migrations.AddConstraint(
            model_name="merchantwallet",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "waiting")),
                fields=("merchant", "environment", "network"),
                name="merchant_wallet_one_waiting",
            ),
        ),
        migrations.AddConstraint(
            model_name="merchantwallet",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "lost")),
                fields=("merchant", "environment", "network", "address"),
                name="merchant_wallet_lost_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="merchantwallet",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("environment__in", ["sandbox", "production"]),
                    ("status__in", ["waiting", "in_use", "replaced", "cancelled", "lost"]),
                ),
                name="merchant_wallet_values",
            ),
        ),
        migrations.AddConstraint(
            model_name="merchantwallet",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("proof", ""), ("proven_at__isnull", True)),
                    models.Q(models.Q(("proof", ""), _negated=True), ("proven_at__isnull", False)),
                    _connector="OR",
                ),
                name="merchant_wallet_proof_has_its_time",
            ),
        ),
    ]
