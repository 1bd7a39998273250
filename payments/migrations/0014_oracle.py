"""When a network's sanctions oracle is queried about the sender of a deposit."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("payments", "0013_screening"),
    ]

    operations = [
        migrations.AddField(
            model_name="deposit",
            name="screen_at",
            field=models.DateTimeField(
                help_text="When the network's sanctions oracle is queried about the sender; empty: it is not.",
                null=True,
            ),
        ),
        AddIndexConcurrently(
            model_name="deposit",
            index=models.Index(
                condition=models.Q(("screen_at__isnull", False)),
                fields=["environment", "network", "screen_at"],
                name="deposit_to_screen",
            ),
        ),
    ]
