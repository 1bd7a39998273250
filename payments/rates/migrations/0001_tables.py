"""The tables of this app as of the first release."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="CurrentRate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("base", models.CharField(max_length=8)),
                ("quote", models.CharField(max_length=8)),
                (
                    "rate",
                    models.DecimalField(
                        decimal_places=18, help_text="Price of one base in the quote currency.", max_digits=38
                    ),
                ),
                (
                    "sources",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=30), size=None),
                ),
                ("observed_at", models.DateTimeField(help_text="Time of the oldest observation it rests on.")),
                ("agreed_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("base", "quote"), name="current_rate_once_per_pair"),
                    models.CheckConstraint(condition=models.Q(("rate__gt", 0)), name="current_rate_positive"),
                ],
            },
        ),
        migrations.CreateModel(
            name="RateSnapshot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("base", models.CharField(max_length=8)),
                ("quote", models.CharField(max_length=8)),
                (
                    "rate",
                    models.DecimalField(
                        decimal_places=18, help_text="Price of one base in the quote currency.", max_digits=38
                    ),
                ),
                ("source", models.CharField(max_length=30)),
                ("observed_at", models.DateTimeField(help_text="When the rate was true, says the source.")),
                ("fetched_at", models.DateTimeField(help_text="When the source was asked.")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["fetched_at"], name="rate_snapshot_by_age"),
                    models.Index(fields=["source", "fetched_at"], name="rate_snapshot_of_source"),
                ],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("rate__gt", 0)), name="rate_snapshot_positive")
                ],
            },
        ),
        migrations.CreateModel(
            name="RecordedRate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("base", models.CharField(help_text="Code of the coin.", max_length=8)),
                ("quote", models.CharField(help_text="Code of the currency.", max_length=8)),
                ("day", models.DateField()),
                (
                    "rate",
                    models.DecimalField(
                        decimal_places=18, help_text="Price of one base in the quote currency.", max_digits=38
                    ),
                ),
                ("source", models.CharField(max_length=200)),
                ("recorded_at", models.DateTimeField(help_text="It counts for what happened from then on.")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("environment", "quote", "base", "day"), name="rate_recorded_once_a_day"
                    ),
                    models.CheckConstraint(condition=models.Q(("rate__gt", 0)), name="recorded_rate_positive"),
                ],
            },
        ),
    ]
