"""The release that runs on this database, for `upgrade_check`."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("installation", "0002_backup_runs"),
    ]

    operations = [
        migrations.AddField(
            model_name="installation",
            name="release",
            field=models.CharField(blank=True, db_default="", help_text="Of the beat that ran last.", max_length=40),
        ),
    ]
