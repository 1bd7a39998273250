"""Of ids, addresses and hashes search entries keep each second piece: another index names those to write again."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0018_groups")]

    operations = [
        RemoveIndexConcurrently("searchentry", "search_entry_outdated"),
        AddIndexConcurrently(
            "searchentry",
            models.Index(
                fields=["payment_id"],
                name="search_entry_outdated",
                condition=Q(("pieces__contains", [2]), _negated=True),
            ),
        ),
        migrations.AlterField(
            model_name="searchentry",
            name="pieces",
            field=ArrayField(
                base_field=models.IntegerField(),
                help_text="Of every three and every two characters of the metadata, and of each second three of the "
                "rest, with merchant and span.",
                size=None,
            ),
        ),
    ]
