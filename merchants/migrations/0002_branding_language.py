"""The language of payers whose browser names none that there are pages in."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0001_tables"),
    ]

    operations = [
        migrations.AddField(
            model_name="branding",
            name="language",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Of payers whose browser names none that we have.",
                max_length=10,
            ),
        ),
    ]
