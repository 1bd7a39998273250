"""Payments are looked up by what their metadata says, and all discrepancies are listed."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("payments", "0015_words_of_payments"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="payment",
            index=GinIndex(
                fastupdate=False, fields=["metadata"], name="payment_metadata", opclasses=["jsonb_path_ops"]
            ),
        ),
        AddIndexConcurrently(
            model_name="discrepancy",
            index=models.Index(fields=["merchant", "environment", "id"], name="discrepancy_list"),
        ),
    ]
