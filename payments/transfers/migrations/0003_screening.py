"""What a sanctions list says of a recipient, and the hold for it."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("merchants", "0005_words_of_choices"),
        ("transfers", "0002_frozen_wallets_are_stops"),
    ]

    operations = [
        migrations.AddField(
            model_name="payout",
            name="evidence",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="What a sanctions list says of the recipient, as it was when this was first compared with it.",
            ),
        ),
        migrations.AlterField(
            model_name="payout",
            name="hold_reason",
            field=models.CharField(
                blank=True,
                choices=[
                    ("approval", "Above the amount that one person may send: two operators must approve it"),
                    ("over_limit", "Above the limit of a single transfer"),
                    ("daily_limit", "The limit of a day is used up"),
                    ("merchant_limit", "The merchant's limit of a day is used up"),
                    ("insufficient_liquidity", "The hot wallet does not hold enough"),
                    (
                        "refill_needed",
                        "The hot wallet does not hold enough: operators must refill it from the cold wallet",
                    ),
                    (
                        "coin_paused",
                        "The coin's issuer lets nobody send it at the moment: it goes on when that is over",
                    ),
                    (
                        "hot_wallet_blocked",
                        "The coin's issuer has blocked the hot wallet: it goes on when that is over",
                    ),
                    ("no_trustline", "The recipient's account does not hold this coin yet: it goes on when it does"),
                    ("network_unavailable", "The network's providers do not answer: it goes on when they do"),
                    ("not_signed", "The process that signs does not answer, or refuses it: operators are told"),
                    ("payouts_stopped", "Payouts are stopped, here or everywhere: it goes on when operators let it"),
                    ("held_for_review", "Held for review: two operators must release it"),
                    ("fees_above_cap", "The network's fees are above what may be paid: it goes on when they come down"),
                ],
                max_length=30,
            ),
        ),
        AddIndexConcurrently(
            model_name="payout",
            index=models.Index(
                condition=models.Q(("evidence", ""), _negated=True),
                fields=["environment", "network"],
                name="payout_with_evidence",
            ),
        ),
    ]
