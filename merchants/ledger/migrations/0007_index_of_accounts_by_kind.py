from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("ledger", "0006_suspensions_are_stops")]

    operations = [
        AddIndexConcurrently(
            model_name="account",
            index=models.Index(
                condition=models.Q(("owner__gt", ""), models.Q(("kind", "payment"), _negated=True)),
                fields=["environment", "kind"],
                name="account_by_kind",
            ),
        ),
    ]
