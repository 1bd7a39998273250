"""The table stays for now: processes of the version before read it while an installation is brought up to date."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ledger", "0015_stops")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("UnsummedEntries")]),
    ]
