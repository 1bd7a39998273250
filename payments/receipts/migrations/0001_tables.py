"""The public keys of receipts."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="ReceiptKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "year",
                    models.PositiveSmallIntegerField(help_text="UTC: it signs from the year's beginning to its end."),
                ),
                (
                    "public_key",
                    models.CharField(help_text="Ed25519, in hexadecimal digits.", max_length=64, unique=True),
                ),
            ],
            options={
                "ordering": ["year", "id"],
            },
        ),
    ]
