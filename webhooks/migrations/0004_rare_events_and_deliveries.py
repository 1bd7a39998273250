"""Events of rare types and deliveries that failed are found among millions of others, by indexes of them alone."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("webhooks", "0003_attempts_by_month")]

    operations = [
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(
                condition=models.Q(
                    ("type__in", ["payment.created", "payment.pending", "payment.completed"]), _negated=True
                ),
                fields=["merchant", "environment", "type", "id"],
                name="event_of_rare_type",
            ),
        ),
        AddIndexConcurrently(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("status__in", ["failed", "discarded"])),
                fields=["merchant", "environment", "status", "id"],
                name="delivery_that_failed",
            ),
        ),
    ]
