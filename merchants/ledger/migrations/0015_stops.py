"""Breakers become stops, in the same table: processes of the release before go on to see every one of them."""

import django.utils.timezone
from django.db import migrations, models
from django.db.migrations.state import StateApps

STOPS_FOR_OLD_CODE = """
    -- What a process of the release before stops by its own column, and what is stopped for it. A later release drops this
    -- with the column.
    CREATE FUNCTION ledger_stop_of_policy() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, public AS $$
    BEGIN
        INSERT INTO ledger_breaker (kind, environment, network, asset, reason, opened_at, closed_by)
        VALUES ('switch', NEW.environment, '', '', 'The kill switch was turned off in the limits of payouts.', now(), '')
        ON CONFLICT DO NOTHING;
        RETURN NULL;
    END $$;
    CREATE FUNCTION ledger_stop_for_policy() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, public AS $$
    BEGIN
        UPDATE transfers_payoutpolicy SET payouts_enabled = (NEW.closed_at IS NOT NULL)
        WHERE environment = NEW.environment AND payouts_enabled <> (NEW.closed_at IS NOT NULL);
        RETURN NULL;
    END $$;
    CREATE TRIGGER stop_for_policy AFTER INSERT OR UPDATE OF closed_at ON ledger_breaker
        FOR EACH ROW WHEN (NEW.kind = 'switch') EXECUTE FUNCTION ledger_stop_for_policy();
"""
DROPPED = """
    DROP TRIGGER stop_for_policy ON ledger_breaker;
    DROP FUNCTION ledger_stop_for_policy;
    DROP FUNCTION ledger_stop_of_policy;
"""


def rename_permissions(apps: StateApps, schema_editor: object) -> None:
    """Whoever might look at a breaker or close it may look at a stop or lift it."""
    found = apps.get_model("contenttypes", "ContentType").objects.filter(app_label="ledger", model="breaker").first()
    if found is None:
        return
    found.model = "stop"
    found.save()
    for permission in apps.get_model("auth", "Permission").objects.filter(content_type=found):
        permission.codename = permission.codename.replace("breaker", "stop")
        permission.name = permission.name.replace("breaker", "stop")
        permission.save()


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("ledger", "0014_breaker_of_a_coin"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="breaker", name="breaker_open_once_per_coin"),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterModelTable(name="breaker", table="ledger_breaker"),
                migrations.RenameModel(old_name="Breaker", new_name="Stop"),
                migrations.RenameField(model_name="stop", old_name="opened_at", new_name="since"),
                migrations.RenameField(model_name="stop", old_name="closed_at", new_name="lifted_at"),
                migrations.RenameField(model_name="stop", old_name="closed_by", new_name="lifted_by"),
                migrations.AlterField(
                    model_name="stop",
                    name="since",
                    field=models.DateTimeField(db_column="opened_at", default=django.utils.timezone.now),
                ),
                migrations.AlterField(
                    model_name="stop",
                    name="lifted_at",
                    field=models.DateTimeField(blank=True, db_column="closed_at", null=True),
                ),
                migrations.AlterField(
                    model_name="stop",
                    name="lifted_by",
                    field=models.CharField(blank=True, db_column="closed_by", max_length=120),
                ),
            ],
        ),
        migrations.AlterField(
            model_name="stop",
            name="network",
            field=models.CharField(blank=True, help_text="Empty: all networks.", max_length=20),
        ),
        migrations.AddField(
            model_name="stop",
            name="kind",
            field=models.CharField(
                choices=[("switch", "Payouts of an environment"), ("breaker", "Payouts of a network or a coin")],
                db_default="breaker",
                default="breaker",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="stop",
            constraint=models.UniqueConstraint(
                condition=models.Q(("lifted_at__isnull", True)),
                fields=("environment", "network", "asset", "kind"),
                name="stop_stands_once",
            ),
        ),
        migrations.RunPython(rename_permissions, migrations.RunPython.noop),
        migrations.RunSQL(STOPS_FOR_OLD_CODE, DROPPED),
    ]
