"""The log of requests is kept in a partition for each month."""

from django.db import migrations

from config.database.months import partition_by_month


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("request_log", "0001_tables"), ("installation", "0004_months")]

    operations = [partition_by_month("request_log_loggedrequest")]
