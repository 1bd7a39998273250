"""Payments of a group or of a link are counted with a price, those of a link also by network, coin and currency: both
indexes hold what no row needs to be read for any more."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0024_changes_once_by_reference")]

    operations = [
        AddIndexConcurrently(
            "payment",
            models.Index(
                fields=["merchant", "environment", "network", "cryptocurrency", "currency", "status", "id"],
                include=["fiat_amount"],
                name="payment_groups_with_price",
            ),
        ),
        RemoveIndexConcurrently("payment", "payment_groups"),
        migrations.RenameIndex("payment", old_name="payment_groups_with_price", new_name="payment_groups"),
        AddIndexConcurrently(
            "payment",
            models.Index(
                fields=["payment_link", "status", "id"],
                include=["merchant", "environment", "network", "cryptocurrency", "currency", "fiat_amount"],
                name="payment_of_link_with_price",
                condition=Q(payment_link__isnull=False),
            ),
        ),
        RemoveIndexConcurrently("payment", "payment_of_link_by_status"),
        migrations.RenameIndex("payment", old_name="payment_of_link_with_price", new_name="payment_of_link_by_status"),
    ]
