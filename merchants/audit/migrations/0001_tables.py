"""The tables of this app as of the first release.

What PostgreSQL itself refuses: changing what people did, and deleting what they did in the last year.

The age of a row is the millisecond inside its key, which nothing can change either.
"""

import config.ids
import django.core.serializers.json
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


APPEND_ONLY = """
    CREATE FUNCTION audit_refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
    END $$;

    CREATE FUNCTION audit_refuse_early_delete() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        milliseconds bigint := ('x' || left(replace(OLD.id::text, '-', ''), 12))::bit(48)::bigint;
    BEGIN
        IF to_timestamp(milliseconds / 1000.0) > now() - interval '365 days' THEN
            RAISE EXCEPTION '% keeps rows for 365 days: DELETE refused', TG_TABLE_NAME
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN OLD;
    END $$;

    -- Test databases are emptied between tests: they alone carry this setting.
    CREATE FUNCTION audit_refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF current_setting('ballast.allow_truncate', true) IS DISTINCT FROM 'on' THEN
            RAISE EXCEPTION '% is append-only: TRUNCATE refused', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NULL;
    END $$;

    CREATE TRIGGER logged_action_append_only BEFORE UPDATE ON audit_loggedaction
        FOR EACH ROW EXECUTE FUNCTION audit_refuse_update();
    CREATE TRIGGER logged_action_kept BEFORE DELETE ON audit_loggedaction
        FOR EACH ROW EXECUTE FUNCTION audit_refuse_early_delete();
    CREATE TRIGGER logged_action_not_truncated BEFORE TRUNCATE ON audit_loggedaction
        FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_truncate();
"""

DROP = """
    DROP TRIGGER logged_action_append_only ON audit_loggedaction;
    DROP TRIGGER logged_action_kept ON audit_loggedaction;
    DROP TRIGGER logged_action_not_truncated ON audit_loggedaction;
    DROP FUNCTION audit_refuse_update, audit_refuse_early_delete, audit_refuse_truncate;
"""


class Migration(migrations.Migration):
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
        migrations.RunSQL(APPEND_ONLY, DROP),
    ]
