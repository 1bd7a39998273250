"""Windows that end are read by one index, and the index of sweeps leaves out all that was never swept."""

import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0019_search_by_half")]

    operations = [
        AddIndexConcurrently(
            "payment",
            models.Index(
                fields=["network", "status", "expires_at"],
                name="payment_window_to_end",
                condition=Q(status="created") | Q(status="underpaid", closed_at__isnull=True),
            ),
        ),
        RemoveIndexConcurrently("payment", "payment_window_open"),
        AddIndexConcurrently(
            "deposit",
            models.Index(
                fields=["environment", "network", "asset", "height"],
                name="deposit_to_sweep",
                condition=Q(status="credited", sweep__isnull=True),
            ),
        ),
        RemoveIndexConcurrently("deposit", "deposit_not_swept"),
        AddIndexConcurrently(
            "deposit", models.Index(fields=["sweep"], name="deposit_of_sweep", condition=Q(sweep__isnull=False))
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "DROP INDEX CONCURRENTLY IF EXISTS payments_deposit_sweep_id_86b0d49f", migrations.RunSQL.noop
                ),
            ],
            state_operations=[
                migrations.AlterField(
                    "deposit",
                    "sweep",
                    models.ForeignKey(
                        db_index=False,
                        help_text="What took it to the hot wallet.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deposits",
                        to="payments.sweep",
                    ),
                ),
            ],
        ),
    ]
