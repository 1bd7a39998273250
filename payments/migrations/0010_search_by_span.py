"""A search goes back span by span: its index has no list of what is pending, and names the entries to write again."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0009_choices_of_payers")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER INDEX search_entry_pieces SET (fastupdate = off)",
                    "ALTER INDEX search_entry_pieces RESET (fastupdate)",
                ),
                migrations.RunSQL("SELECT gin_clean_pending_list('search_entry_pieces')", migrations.RunSQL.noop),
            ],
            state_operations=[
                migrations.RemoveIndex("searchentry", "search_entry_pieces"),
                migrations.AddIndex(
                    "searchentry", GinIndex(fields=["pieces"], name="search_entry_pieces", fastupdate=False)
                ),
            ],
        ),
        AddIndexConcurrently(
            "searchentry",
            models.Index(
                fields=["payment_id"],
                name="search_entry_outdated",
                condition=Q(("pieces__contains", [1]), _negated=True),
            ),
        ),
        migrations.AlterField(
            model_name="searchentry",
            name="pieces",
            field=ArrayField(
                base_field=models.IntegerField(),
                help_text="Of every three characters in a row, and of every two of the metadata, with merchant and span.",
                size=None,
            ),
        ),
    ]
