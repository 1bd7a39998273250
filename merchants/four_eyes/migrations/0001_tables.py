"""The tables of this app as of the first release."""

import django.utils.timezone
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Proposal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("policy", "Limits of payouts"),
                            ("breaker", "Stop of a network or a coin"),
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
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "environment",
                    models.CharField(
                        blank=True, choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10
                    ),
                ),
                ("subject", models.CharField(help_text="The key of the row that it changes.", max_length=80)),
                ("before", models.JSONField(default=dict, help_text="What it was when this was proposed.")),
                ("after", models.JSONField(default=dict, help_text="What it becomes.")),
                ("told", models.TextField(verbose_name="what it does")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "Waits for another operator"),
                            ("done", "Done"),
                            ("withdrawn", "Withdrawn"),
                            ("fallen", "Fallen: what it would change has changed since"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("proposed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("decided_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            model_name="proposal",
            name="decided_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="proposal",
            name="proposed_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddConstraint(
            model_name="proposal",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "waiting")), fields=("kind", "subject"), name="proposal_waits_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="proposal",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("decided_at__isnull", True), ("status", "waiting")),
                    models.Q(models.Q(("status", "waiting"), _negated=True), ("decided_at__isnull", False)),
                    _connector="OR",
                ),
                name="proposal_decided_with_its_end",
            ),
        ),
    ]
