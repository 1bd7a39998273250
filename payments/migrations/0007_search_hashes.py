"""Search entries have addresses and hashes: those of before are written again in the background, and found meanwhile."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0006_payers_contacts")]

    operations = [
        migrations.AddField(
            model_name="searchentry",
            name="deposits_until",
            field=models.UUIDField(
                help_text="Up to this deposit the payment's are in the text; empty: the version before wrote it.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="searchentry",
            name="pieces",
            field=ArrayField(
                base_field=models.IntegerField(),
                help_text="Of every three characters in a row, and of every two of the metadata, with the merchant.",
                size=None,
            ),
        ),
        migrations.AlterField(
            model_name="searchentry",
            name="text",
            field=models.TextField(
                help_text="As it is compared: the metadata, then ids, addresses and hashes, a line each."
            ),
        ),
    ]
