"""The index by which search entries that are behind are found."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0007_search_hashes")]

    operations = [
        AddIndexConcurrently("searchentry", models.Index(fields=["deposits_until"], name="search_entry_until")),
    ]
