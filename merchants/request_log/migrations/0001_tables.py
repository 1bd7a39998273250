"""The tables of this app as of the first release."""

import config.ids
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("merchants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="LoggedRequest",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("public_key", models.CharField(help_text="The public half of the key pair.", max_length=80)),
                ("request_id", models.CharField(help_text="The caller's own, or the one it was given.", max_length=64)),
                ("method", models.CharField(max_length=10)),
                ("path", models.CharField(max_length=500)),
                ("query", models.CharField(blank=True, max_length=2000)),
                ("idempotency_key", models.CharField(blank=True, max_length=255)),
                (
                    "address",
                    models.GenericIPAddressField(help_text="Where it came from, if the server knows it.", null=True),
                ),
                ("status", models.PositiveSmallIntegerField()),
                ("error_code", models.CharField(blank=True, max_length=60)),
                ("duration_milliseconds", models.PositiveIntegerField()),
                ("body", models.TextField(blank=True, help_text="The beginning of what was sent, without secrets.")),
                ("body_bytes", models.PositiveIntegerField(help_text="How long it was.")),
                (
                    "reply",
                    models.TextField(blank=True, help_text="The beginning of what was sent back, without secrets."),
                ),
                ("reply_bytes", models.PositiveIntegerField()),
                (
                    "merchant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["merchant", "environment", "-id"], name="request_list"),
                    models.Index(
                        condition=models.Q(("status__gte", 400)),
                        fields=["merchant", "environment", "-id"],
                        include=("status",),
                        name="request_list_of_errors",
                    ),
                    models.Index(fields=["merchant", "request_id"], name="request_by_its_id"),
                ],
            },
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
    ]
