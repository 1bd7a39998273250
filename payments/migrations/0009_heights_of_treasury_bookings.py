import django.db.models.deletion
from django.db import migrations, models

# Postings are append-only, and stay as they are. Going back drops the table; the memos still have what is in it.
FROM_MEMOS = r"""
    INSERT INTO payments_treasurybooking (posting_id, height)
    SELECT id, substring(memo FROM '^seen at block (\d+)$')::bigint FROM ledger_posting
    WHERE environment IN ('sandbox', 'production') AND kind = 'treasury_in' AND memo ~ '^seen at block \d+$'
"""


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0006_token_fees"),
        ("payments", "0008_token_fees"),
    ]

    operations = [
        migrations.CreateModel(
            name="TreasuryBooking",
            fields=[
                (
                    "posting",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="treasury_booking",
                        serialize=False,
                        to="ledger.posting",
                    ),
                ),
                ("height", models.BigIntegerField(help_text="The final block at which they were counted.")),
            ],
        ),
        migrations.RunSQL(FROM_MEMOS, migrations.RunSQL.noop),
    ]
