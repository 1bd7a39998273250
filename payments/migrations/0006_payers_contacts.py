"""The addresses that payers leave for mails about their payment."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0005_halts_are_stops"),
    ]

    operations = [
        migrations.CreateModel(
            name="PayerContact",
            fields=[
                (
                    "payment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="payer_contact",
                        serialize=False,
                        to="payments.payment",
                    ),
                ),
                ("email", models.EmailField(blank=True, max_length=254)),
                ("language", models.CharField(help_text="Of the page when the address was left.", max_length=10)),
                ("left_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "due_at",
                    models.DateTimeField(help_text="The payment has changed since mails were written.", null=True),
                ),
                (
                    "mails",
                    models.JSONField(
                        default=dict, help_text="The key of the mail that was written, by what it tells of."
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="payer_contact_due"
                    )
                ],
            },
        ),
    ]
