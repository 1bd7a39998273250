"""Money held for review is released by a proposal."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("four_eyes", "0002_words_of_a_kind"),
    ]

    operations = [
        migrations.AlterField(
            model_name="proposal",
            name="kind",
            field=models.CharField(
                choices=[
                    ("policy", "Limits of payouts"),
                    ("breaker", "Stop of a network, a coin or a merchant"),
                    ("switch", "Stop of an environment"),
                    ("operator", "Rights of an operator"),
                    ("debt", "End of a merchant's debt"),
                    ("address", "Address that the house may be paid at"),
                    ("withdrawal", "Withdrawal of the house's own coins"),
                    ("by_hand", "Transfer that was sent by hand"),
                    ("funding", "Coins that the house puts in"),
                    ("skim", "Coins to the cold wallet"),
                    ("cold_move", "What left the cold wallet"),
                    ("halt", "Halt after a finality violation"),
                    ("member", "Member of a merchant"),
                    ("fee", "Fee of a merchant"),
                    ("finding", "Explained finding"),
                    ("thaw", "Frozen wallet that signs again"),
                    ("accept", "Money in suspense for its merchant"),
                    ("attribute", "Payment that money in suspense was sent for"),
                    ("return", "Money that goes back to its sender"),
                    ("loss", "Who bears missing coins"),
                    ("payout", "Payout that is held"),
                    ("screening", "Money held for review"),
                ],
                max_length=20,
            ),
        ),
    ]
