"""Codes by which applications fetch the keys that a member has agreed to."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0008_changing_a_fee"),
        ("webhooks", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="ConnectionCode",
            fields=[
                ("digest", models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("name", models.CharField(max_length=80)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=30), size=None),
                ),
                ("webhook_url", models.CharField(blank=True, max_length=2000)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), size=None),
                ),
                (
                    "challenge",
                    models.CharField(help_text="SHA-256 of the application's verifier, in base64url.", max_length=43),
                ),
                ("expires_at", models.DateTimeField()),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="merchants.member"
                    ),
                ),
            ],
        ),
    ]
