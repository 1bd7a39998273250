from django.db import migrations


class Migration(migrations.Migration):
    """The number a deposit address derives from. Never reused: an address that was given out stays watched."""

    dependencies = [("payments", "0001_initial")]

    operations = [
        migrations.RunSQL("CREATE SEQUENCE payments_deposit_sequence", "DROP SEQUENCE payments_deposit_sequence"),
    ]
