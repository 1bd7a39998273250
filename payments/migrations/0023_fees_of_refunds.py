"""Which refunds give back the fee. The index is made without stopping anybody who writes payments meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0022_clock_ahead_seconds")]

    operations = [
        migrations.AddField(
            model_name="balancechange",
            name="returns_fee",
            field=models.BooleanField(
                db_default=False, default=False, help_text="A refund, or one that came back, that the fee follows."
            ),
        ),
        # A long table takes longer than a statement of a request may.
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="balancechange",
            index=models.Index(
                fields=["merchant", "environment", "payment"],
                name="balance_change_returns_fee",
                condition=models.Q(("returns_fee", True)),
            ),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
