from django.db import migrations, models

SET_WHERE_NOBODY_IS = """
    DO $$ BEGIN
        IF to_regclass('merchants_merchant') IS NOT NULL THEN
            IF EXISTS (SELECT FROM merchants_merchant) THEN RETURN; END IF;
        END IF;
        ALTER TABLE installation_installation ALTER COLUMN requires_proven_wallets SET DEFAULT true;
        UPDATE installation_installation SET requires_proven_wallets = true;
    END $$
"""
"""The row is made when the installation starts for the first time: until then the default of the column has it."""


class Migration(migrations.Migration):
    dependencies = [("installation", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="installation",
            name="requires_proven_wallets",
            field=models.BooleanField(
                db_default=False, help_text="It began with this rule, which REQUIRE_PROVEN_WALLETS overrides."
            ),
        ),
        migrations.RunSQL(SET_WHERE_NOBODY_IS, migrations.RunSQL.noop),
    ]
