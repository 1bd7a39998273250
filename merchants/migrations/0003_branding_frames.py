"""Which websites may show a payment in a dialog, and whether payers see what they pay for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0002_branding_language"),
    ]

    operations = [
        migrations.AddField(
            model_name="branding",
            name="frame_origins",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="The websites that may show a payment in a dialog of their own, as https://shop.example, by spaces.",
            ),
        ),
        migrations.AddField(
            model_name="branding",
            name="shows_items",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Whether payers see the description and the items of the metadata.",
            ),
        ),
    ]
