"""What a payment is for, line by line, the merchant's note, and where a payer who has not paid goes back to."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0014_oracle"),
    ]

    operations = [
        migrations.AddField(
            model_name="payment",
            name="cancel_url",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Where a payer who has not paid goes back to.",
                max_length=2000,
            ),
        ),
        migrations.AddField(
            model_name="payment",
            name="description",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="What it is for. Payers see it.", max_length=500
            ),
        ),
        migrations.AddField(
            model_name="payment",
            name="items",
            field=models.JSONField(
                blank=True,
                db_default=[],
                default=list,
                help_text="Its lines, as records show them: name, quantity, amount.",
            ),
        ),
        migrations.AddField(
            model_name="payment",
            name="note",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="For the merchant alone.", max_length=500
            ),
        ),
    ]
