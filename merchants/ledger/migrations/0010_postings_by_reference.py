"""The index under `posting_once` begins with the reference: it serves for the index of references as well. Built here,
beside the old one; the next migration has it guard."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("ledger", "0009_entries_checked_as_written")]

    operations = [
        AddIndexConcurrently("posting", models.Index(fields=["environment", "kind"], name="posting_by_kind")),
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS posting_once_by_reference",  # what an interrupted run has left
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            "CREATE UNIQUE INDEX CONCURRENTLY posting_once_by_reference ON ledger_posting"
            " (reference, kind, environment)",
            "DROP INDEX CONCURRENTLY IF EXISTS posting_once_by_reference",  # it is `posting_once` by now
        ),
    ]
