"""A settlement writes a second entry for each of its changes to every index: one index goes, as others begin with its
column or hold what is looked for, and pages of the others that are written from now on keep half their room for it."""

import django.db.models.deletion
from django.db import migrations, models


def half_full(name: str) -> migrations.RunSQL:
    return migrations.RunSQL(f"ALTER INDEX {name} SET (fillfactor = 50)", f"ALTER INDEX {name} RESET (fillfactor)")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0021_links_by_status"), ("merchants", "0001_tables")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "DROP INDEX CONCURRENTLY IF EXISTS payments_balancechange_merchant_id_6f25df1f",
                    migrations.RunSQL.noop,
                ),
            ],
            state_operations=[
                migrations.AlterField(
                    "balancechange",
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
        half_full("payments_balancechange_pkey"),
        half_full("payments_balancechange_payment_id_d659c807"),
        half_full("balance_change_once_per_posting"),
    ]
