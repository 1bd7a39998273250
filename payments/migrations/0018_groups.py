"""Payments are listed by network, coin, currency and status together; one index of the four replaces one of two."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0017_indexes_that_others_begin_with")]

    operations = [
        AddIndexConcurrently(
            model_name="payment",
            index=models.Index(
                fields=["merchant", "environment", "network", "cryptocurrency", "currency", "status", "id"],
                name="payment_groups",
            ),
        ),
        RemoveIndexConcurrently(model_name="payment", name="payment_list_by_coin"),
    ]
