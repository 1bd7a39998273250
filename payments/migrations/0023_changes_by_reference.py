"""The index that keeps a posting from being counted twice begins with what tells postings apart: each search in it
compares one text instead of three. Built here, beside the old one; the next migration has it guard."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0022_indexes_that_a_settlement_writes")]

    operations = [
        AddIndexConcurrently(
            "balancechange",
            models.Index(
                fields=["posting_kind"],
                name="balance_change_of_debt",
                condition=models.Q(
                    posting_kind__in=["debt_offset", "debt_written_off", "debt_collected", "debt_owed_again"]
                ),
            ),
        ),
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS balance_change_once_by_reference",  # what an interrupted run has left
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            "CREATE UNIQUE INDEX CONCURRENTLY balance_change_once_by_reference ON payments_balancechange"
            " (posting_reference, posting_kind, network, asset, environment)",
            # Once it guards it has the old name.
            "DROP INDEX CONCURRENTLY IF EXISTS balance_change_once_by_reference",
        ),
    ]
