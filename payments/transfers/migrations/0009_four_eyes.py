"""An approval names the amount and the recipient it was given for; those of before were given for what is there now."""

from django.db import migrations, models

import config.fields


class Migration(migrations.Migration):
    dependencies = [("transfers", "0008_set_aside"), ("merchants", "0010_four_eyes")]

    operations = [
        migrations.AddField("payoutapproval", "amount", config.fields.UnitsField(default=0), preserve_default=False),
        migrations.AddField(
            "payoutapproval", "memo", models.CharField(blank=True, max_length=30, default=""), preserve_default=False
        ),
        migrations.AddField(
            "payoutapproval", "recipient", models.CharField(default="", max_length=80), preserve_default=False
        ),
        migrations.RunSQL(
            """
            UPDATE transfers_payoutapproval AS approval
            SET amount = payout.amount, recipient = payout.recipient, memo = payout.memo
            FROM transfers_payout AS payout WHERE payout.id = approval.payout_id
            """,
            migrations.RunSQL.noop,
        ),
    ]
