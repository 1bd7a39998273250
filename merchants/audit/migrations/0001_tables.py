"""The tables of this app as of the first release."""

import config.ids
import django.core.serializers.json
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("audit", "0001_initial"), ("audit", "0002_append_only")]

    initial = True

    dependencies = [
        ("merchants", "0001_tables"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="LoggedAction",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(
                        blank=True,
                        choices=[("sandbox", "Sandbox"), ("production", "Production")],
                        help_text="Empty: of the account as a whole.",
                        max_length=10,
                    ),
                ),
                ("action", models.CharField(help_text="One of merchants.roles.Action.", max_length=60)),
                ("email", models.EmailField(help_text="Of the person, as it was then.", max_length=254)),
                ("role", models.CharField(help_text="Of the person, as it was then.", max_length=12)),
                (
                    "record",
                    models.CharField(blank=True, help_text="The public id of what was acted upon.", max_length=80),
                ),
                (
                    "before",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        encoder=django.core.serializers.json.DjangoJSONEncoder,
                        help_text="Changed fields only.",
                    ),
                ),
                (
                    "after",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        encoder=django.core.serializers.json.DjangoJSONEncoder,
                        help_text="Changed fields only.",
                    ),
                ),
                ("address", models.GenericIPAddressField(blank=True, null=True)),
                ("device", models.CharField(blank=True, help_text="What the browser said.", max_length=300)),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.AddField(
            model_name="loggedaction",
            name="merchant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
            ),
        ),
        migrations.AddField(
            model_name="loggedaction",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddIndex(
            model_name="loggedaction",
            index=models.Index(fields=["merchant", "-id"], name="logged_action_of"),
        ),
        migrations.AddIndex(
            model_name="loggedaction",
            index=models.Index(fields=["merchant", "person", "-id"], name="logged_action_by"),
        ),
        migrations.AddIndex(
            model_name="loggedaction",
            index=models.Index(
                condition=models.Q(("record", ""), _negated=True),
                fields=["merchant", "record", "-id"],
                name="logged_action_on",
            ),
        ),
        migrations.AddConstraint(
            model_name="loggedaction",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("environment", ""), ("environment__in", ["sandbox", "production"]), _connector="OR"
                ),
                name="logged_action_environment",
            ),
        ),
    ]
