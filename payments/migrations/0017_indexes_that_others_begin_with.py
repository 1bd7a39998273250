"""Two indexes of one column go: other indexes begin with it, and each change of a payment wrote to both."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models


def drop_index(name: str, model: str, field: str, **options: Any) -> migrations.SeparateDatabaseAndState:
    return migrations.SeparateDatabaseAndState(
        database_operations=[
            migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {name}", migrations.RunSQL.noop),
        ],
        state_operations=[
            migrations.AlterField(
                model,
                field,
                models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, db_index=False, **options),
            ),
        ],
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0016_lists_by_metadata"), ("merchants", "0001_tables")]

    operations = [
        drop_index(
            "payments_payment_merchant_id_2ca42133", "payment", "merchant", related_name="+", to="merchants.merchant"
        ),
        drop_index(
            "payments_deposit_payment_id_95b6c8fd",
            "deposit",
            "payment",
            null=True,
            related_name="deposits",
            to="payments.payment",
        ),
    ]
