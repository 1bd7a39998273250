"""Attempts are kept in a partition for each month of their deliveries.

So each delivery's are in one partition, where no two have the same number. Their key has the delivery as well: what a
dispatcher records twice has the same.
"""

from django.db import migrations

from config.database.months import partition_by_month


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0002_connection_codes"), ("installation", "0004_months")]

    operations = [partition_by_month("webhooks_attempt", key="delivery_id", primary_key="id, delivery_id")]
