"""Indexes of what the list is filtered by, made without stopping anybody who writes payments meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0014_the_list_and_its_files")]

    operations = [
        # A long table takes longer than a statement of a request may.
        migrations.RunSQL("SET statement_timeout = 0; SET lock_timeout = 0", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="deposit",
            index=models.Index(fields=["sender"], name="deposit_by_sender"),
        ),
        AddIndexConcurrently(
            model_name="payment",
            index=models.Index(
                fields=["merchant", "environment", "network", "cryptocurrency", "id"], name="payment_list_by_coin"
            ),
        ),
        AddIndexConcurrently(
            model_name="payment",
            index=models.Index(fields=["merchant", "environment", "fiat_amount", "id"], name="payment_list_by_amount"),
        ),
        migrations.RunSQL("RESET statement_timeout; RESET lock_timeout", migrations.RunSQL.noop),
    ]
