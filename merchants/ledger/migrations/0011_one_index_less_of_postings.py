"""The new index takes over as `posting_once` in one transaction: no posting is written without one of the two."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ledger", "0010_postings_by_reference")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    """
                    ALTER TABLE ledger_posting
                        ADD CONSTRAINT posting_once_by_reference UNIQUE USING INDEX posting_once_by_reference;
                    ALTER TABLE ledger_posting DROP CONSTRAINT posting_once;
                    ALTER TABLE ledger_posting RENAME CONSTRAINT posting_once_by_reference TO posting_once;
                    DROP INDEX posting_by_reference;
                    """,
                    migrations.RunSQL.noop,
                ),
            ],
            state_operations=[
                migrations.RemoveConstraint("posting", "posting_once"),
                migrations.AddConstraint(
                    "posting",
                    models.UniqueConstraint(fields=("reference", "kind", "environment"), name="posting_once"),
                ),
                migrations.RemoveIndex("posting", "posting_by_reference"),
            ],
        ),
    ]
