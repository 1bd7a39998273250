"""The tables of this app as of the first release."""

import config.fields
import config.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("merchants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("url", models.CharField(max_length=2000)),
                ("description", models.CharField(blank=True, max_length=200)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40),
                        default=list,
                        help_text="Event types; `*` means all of them.",
                        size=None,
                    ),
                ),
                ("is_direct", models.BooleanField(default=False)),
                (
                    "status",
                    models.CharField(
                        choices=[("enabled", "Enabled"), ("disabled", "Disabled")], default="enabled", max_length=10
                    ),
                ),
                (
                    "disabled_reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("merchant", "Disabled by the merchant"),
                            ("gone", "It answered 410 Gone"),
                            ("failing", "No attempt succeeded for five days"),
                        ],
                        max_length=10,
                    ),
                ),
                ("disabled_at", models.DateTimeField(blank=True, null=True)),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "subscribed_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now,
                        help_text="Since when it has been listening without a break: made, or enabled again.",
                    ),
                ),
                ("events_changed_at", models.DateTimeField(blank=True, null=True)),
                ("secret_encrypted", models.BinaryField(help_text="Empty for a direct endpoint.", null=True)),
                ("previous_secret_encrypted", models.BinaryField(null=True)),
                ("previous_secret_expires_at", models.DateTimeField(blank=True, null=True)),
                (
                    "failing_since",
                    models.DateTimeField(blank=True, help_text="Nothing has succeeded since then.", null=True),
                ),
                (
                    "is_recovering",
                    models.BooleanField(default=False, help_text="It answers again, and its backlog is sent slowly."),
                ),
                (
                    "next_claim_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, help_text="Nothing is sent before: the pace of recovery."
                    ),
                ),
                (
                    "is_mail_due",
                    models.BooleanField(default=False, help_text="The merchant is to be told that it was disabled."),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="EndpointLease",
            fields=[
                (
                    "endpoint",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="lease",
                        serialize=False,
                        to="webhooks.endpoint",
                    ),
                ),
                ("dispatcher", models.BigIntegerField()),
                (
                    "until",
                    models.DateTimeField(
                        help_text="Any dispatcher may have the endpoint then, if this one has not renewed it."
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("type", models.CharField(max_length=40)),
                ("object_id", models.UUIDField(help_text="The key of the record the event is about.")),
                ("version", models.PositiveIntegerField(help_text="The record's version; it only grows.")),
                ("payload", config.fields.RecordField(help_text="The record as the API showed it at this version.")),
                (
                    "direct_url",
                    models.CharField(
                        blank=True,
                        help_text="A webhook address of the record's own, told besides the endpoints.",
                        max_length=2000,
                    ),
                ),
                (
                    "sample_of",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Of a test: the type of event whose sample is sent. Nothing of the kind has happened.",
                        max_length=40,
                    ),
                ),
                (
                    "is_fanned_out",
                    models.BooleanField(
                        default=False, help_text="Its deliveries exist: one for each endpoint that listens."
                    ),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="Delivery",
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
                            ("pending", "Waiting for an attempt"),
                            ("delivered", "Delivered"),
                            ("failed", "Given up"),
                            ("discarded", "Endpoint disabled or deleted"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("attempt_count", models.PositiveIntegerField(default=0, help_text="Attempts ever made.")),
                (
                    "attempts_left",
                    models.PositiveSmallIntegerField(default=0, help_text="Of the schedule, this one included."),
                ),
                (
                    "early_tries",
                    models.PositiveSmallIntegerField(
                        db_default=0, default=0, help_text="Not counted as the schedule's."
                    ),
                ),
                (
                    "next_attempt_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, help_text="Empty when none is due.", null=True
                    ),
                ),
                ("delivered_at", models.DateTimeField(blank=True, null=True)),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deliveries",
                        to="webhooks.endpoint",
                    ),
                ),
                (
                    "event",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deliveries",
                        to="webhooks.event",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deliveries",
            },
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="NoticeRound",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ("told_until", models.DateTimeField()),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="notice_round_once")],
            },
        ),
        migrations.CreateModel(
            name="SigningSecret",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("encrypted", models.BinaryField()),
                ("previous_encrypted", models.BinaryField(null=True)),
                ("previous_expires_at", models.DateTimeField(null=True)),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                ("number", models.PositiveIntegerField()),
                ("started_at", models.DateTimeField()),
                ("duration_milliseconds", models.PositiveIntegerField()),
                (
                    "status_code",
                    models.PositiveSmallIntegerField(help_text="Empty when there was no reply.", null=True),
                ),
                (
                    "reply",
                    models.BinaryField(default=bytes, help_text="The beginning of the reply's body, at most 16 KiB."),
                ),
                (
                    "error",
                    models.CharField(
                        blank=True, help_text="Why there was no reply, or why it is no success.", max_length=300
                    ),
                ),
                (
                    "delivery",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="attempts",
                        to="webhooks.delivery",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["started_at"], name="attempt_by_age")],
                "constraints": [models.UniqueConstraint(fields=("delivery", "number"), name="attempt_once")],
            },
        ),
        migrations.AddIndex(
            model_name="endpoint",
            index=models.Index(fields=["merchant", "environment", "id"], name="endpoint_of"),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_direct", True)),
                fields=("merchant", "environment", "url"),
                name="endpoint_direct_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(("is_direct", True), ("secret_encrypted__isnull", False), _connector="OR"),
                name="endpoint_has_secret",
            ),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["merchant", "environment", "id"], include=("type",), name="event_of"),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(condition=models.Q(("is_fanned_out", False)), fields=["id"], name="event_to_fan_out"),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.UniqueConstraint(fields=("object_id", "version", "type"), name="event_once_per_version"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["merchant", "environment", "id"], include=("status",), name="delivery_of"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(fields=["endpoint", "id"], include=("status",), name="delivery_by_endpoint"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("status", "pending")), fields=["endpoint", "next_attempt_at"], name="delivery_due"
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.UniqueConstraint(fields=("event", "endpoint"), name="delivery_once"),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("next_attempt_at__isnull", False), ("status", "pending")),
                    models.Q(models.Q(("status", "pending"), _negated=True), ("next_attempt_at__isnull", True)),
                    _connector="OR",
                ),
                name="delivery_due_while_pending",
            ),
        ),
        migrations.AddConstraint(
            model_name="signingsecret",
            constraint=models.UniqueConstraint(fields=("merchant", "environment"), name="signing_secret_once"),
        ),
    ]
