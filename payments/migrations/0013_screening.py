"""What a sanctions list says of a sender, and the suspense of money held for review."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("payments", "0012_ranges_to_read_again"),
    ]

    operations = [
        migrations.AddField(
            model_name="deposit",
            name="evidence",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="What a sanctions list says of the sender, as it was when this was first compared with it.",
            ),
        ),
        migrations.AlterField(
            model_name="discrepancy",
            name="kind",
            field=models.CharField(
                choices=[
                    ("late", "Arrived late"),
                    ("overpaid", "More than was due"),
                    ("underpaid", "Less than was due"),
                    ("wrong_token", "Wrong coin"),
                    ("wrong_network", "Wrong network"),
                    ("no_memo", "Without a memo that names a payment"),
                    ("unasked", "Not asked for"),
                    ("review", "Held for review"),
                ],
                max_length=20,
            ),
        ),
        AddIndexConcurrently(
            model_name="deposit",
            index=models.Index(
                condition=models.Q(("evidence", ""), _negated=True),
                fields=["environment", "network"],
                name="deposit_with_evidence",
            ),
        ),
    ]
