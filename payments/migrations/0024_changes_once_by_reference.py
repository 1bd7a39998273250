"""The new index takes over as `balance_change_once_per_posting` in one transaction: no change is written without one of
the two."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0023_changes_by_reference")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    """
                    ALTER INDEX balance_change_once_by_reference SET (fillfactor = 50);
                    ALTER TABLE payments_balancechange ADD CONSTRAINT balance_change_once_by_reference
                        UNIQUE USING INDEX balance_change_once_by_reference;
                    ALTER TABLE payments_balancechange DROP CONSTRAINT balance_change_once_per_posting;
                    ALTER TABLE payments_balancechange
                        RENAME CONSTRAINT balance_change_once_by_reference TO balance_change_once_per_posting;
                    """,
                    migrations.RunSQL.noop,
                ),
            ],
            state_operations=[
                migrations.RemoveConstraint("balancechange", "balance_change_once_per_posting"),
                migrations.AddConstraint(
                    "balancechange",
                    models.UniqueConstraint(
                        fields=("posting_reference", "posting_kind", "network", "asset", "environment"),
                        name="balance_change_once_per_posting",
                    ),
                ),
            ],
        ),
    ]
