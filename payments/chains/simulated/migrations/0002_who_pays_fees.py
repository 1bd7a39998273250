"""What an address paid for others is found without reading all on-chain transactions."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("simulated_chain", "0001_tables")]

    operations = [
        AddIndexConcurrently(
            "simulatedtransaction",
            models.Index(fields=["fee_payer"], name="simulated_by_fee_payer", condition=~Q(fee_payer="")),
        ),
    ]
