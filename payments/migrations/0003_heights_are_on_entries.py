"""Heights of bookings are on the entries of the ledger. The table stays for the processes of the version before."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("payments", "0002_drop_what_was_replaced"), ("ledger", "0002_heights")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name="TreasuryBooking")]),
    ]
