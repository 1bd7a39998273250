"""The height of the block that moved the coins, on each new entry of coins on a network. Old entries have none."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("ledger", "0001_tables")]

    operations = [
        migrations.AddField(
            model_name="entry",
            name="height",
            field=models.BigIntegerField(help_text="Of coins on a network: the block that moved them.", null=True),
        ),
        AddIndexConcurrently(
            model_name="entry",
            index=models.Index(
                condition=models.Q(("height__isnull", False)), fields=["account", "height"], name="entry_by_height"
            ),
        ),
    ]
