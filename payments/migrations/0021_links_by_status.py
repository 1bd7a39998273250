"""Payments of a link are listed and counted by status, also those that use it: one index replaces another."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0020_rounds_read_what_is_due")]

    operations = [
        AddIndexConcurrently(
            "payment",
            models.Index(
                fields=["payment_link", "status", "id"],
                include=["merchant", "environment"],
                name="payment_of_link_by_status",
                condition=Q(payment_link__isnull=False),
            ),
        ),
        RemoveIndexConcurrently("payment", "payment_uses_link"),
        migrations.AlterField(
            "export",
            "written_to",
            models.UUIDField(help_text="The next part begins below this payment.", null=True),
        ),
    ]
