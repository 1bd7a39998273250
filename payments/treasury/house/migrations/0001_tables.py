"""The tables of this app as of the first release.

PostgreSQL refuses to let a withdrawal leave a state that has no moves.
"""

import config.fields
import config.ids
import django.utils.timezone
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


GUARDS = """
    CREATE TRIGGER withdrawal_end_state BEFORE UPDATE ON house_withdrawal
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION refuse_to_leave_end_state('completed', 'failed');
"""

WITHOUT = """
    DROP TRIGGER withdrawal_end_state ON house_withdrawal;
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("transfers", "0001_tables"),
        ("ledger", "0001_tables"),
        ("transfers", "0001_tables"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AllowedAddress",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("address", models.CharField(max_length=80)),
                ("memo", models.CharField(blank=True, max_length=30)),
                (
                    "memo_type",
                    models.CharField(
                        blank=True, choices=[("id", "A number (MEMO_ID)"), ("text", "Text (MEMO_TEXT)")], max_length=4
                    ),
                ),
                ("label", models.CharField(help_text="Whose it is, such as the name of an exchange.", max_length=80)),
                ("added_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("allowed_by", models.CharField(blank=True, help_text="Who has agreed to it.", max_length=520)),
                (
                    "allowed_at",
                    models.DateTimeField(blank=True, help_text="Empty: not paid until another has agreed.", null=True),
                ),
                ("removed_by", models.CharField(blank=True, max_length=254)),
                ("removed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name_plural": "allowed addresses",
            },
        ),
        migrations.CreateModel(
            name="Funding",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("asset", models.CharField(help_text="Code of the coin, or of the network's own.", max_length=8)),
                ("decimals", models.PositiveSmallIntegerField()),
                ("amount", config.fields.UnitsField()),
                ("reason", models.TextField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("expected", "Booked when it is seen"),
                            ("booked", "In the ledger"),
                            ("cancelled", "Not waited for any more"),
                        ],
                        default="expected",
                        max_length=10,
                    ),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            bases=(config.ids.KeyedByTime, models.Model),
        ),
        migrations.CreateModel(
            name="Withdrawal",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("asset", models.CharField(help_text="Code of the coin.", max_length=8)),
                ("decimals", models.PositiveSmallIntegerField(help_text="Of the coin on this network.")),
                ("amount", config.fields.UnitsField()),
                (
                    "of_stock",
                    config.fields.UnitsField(
                        default=0, help_text="Of the amount: what came out of the treasury's stock."
                    ),
                ),
                ("own", config.fields.UnitsField(help_text="What the house had of its own when this was reserved.")),
                (
                    "is_lost",
                    models.BooleanField(
                        default=False, help_text="The house did not take these coins: they are a loss that it bears."
                    ),
                ),
                (
                    "is_skim",
                    models.BooleanField(
                        default=False, help_text="To the cold wallet: the coins stay ours, and are nobody's result."
                    ),
                ),
                ("recipient", models.CharField(max_length=80)),
                ("memo", models.CharField(blank=True, max_length=30)),
                ("reason", models.TextField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Reserved, or on its way"),
                            ("completed", "Paid"),
                            ("failed", "Not paid: the coins are the house's again"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("transaction_hash", models.CharField(blank=True, max_length=80)),
                ("failure_code", models.CharField(blank=True, max_length=40)),
                ("failure_message", models.CharField(blank=True, max_length=300)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.AddField(
            model_name="allowedaddress",
            name="added_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="funding",
            name="agreed_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="funding",
            name="posting",
            field=models.OneToOneField(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="funding", to="ledger.posting"
            ),
        ),
        migrations.AddField(
            model_name="funding",
            name="proposed_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="withdrawal",
            name="address",
            field=models.ForeignKey(
                help_text="Empty: it goes to the cold wallet, or it was sent by hand and booked afterwards.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="withdrawals",
                to="house.allowedaddress",
            ),
        ),
        migrations.AddField(
            model_name="withdrawal",
            name="agreed_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="withdrawal",
            name="payout",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="withdrawal", to="transfers.payout"
            ),
        ),
        migrations.AddField(
            model_name="withdrawal",
            name="proposed_by",
            field=models.ForeignKey(
                help_text="Empty: found after a restore.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="allowedaddress",
            constraint=models.UniqueConstraint(
                condition=models.Q(("removed_at__isnull", True)),
                fields=("environment", "network", "address", "memo"),
                name="allowed_address_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="funding",
            constraint=models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="funding_amount_positive"),
        ),
        migrations.AddConstraint(
            model_name="funding",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("posting__isnull", False), ("status", "booked")),
                    models.Q(models.Q(("status", "booked"), _negated=True), ("posting__isnull", True)),
                    _connector="OR",
                ),
                name="funding_booked_by_a_posting",
            ),
        ),
        migrations.AddIndex(
            model_name="withdrawal",
            index=models.Index(condition=models.Q(("status", "pending")), fields=["id"], name="withdrawal_pending"),
        ),
        migrations.AddConstraint(
            model_name="withdrawal",
            constraint=models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="withdrawal_amount_positive"),
        ),
        migrations.AddConstraint(
            model_name="withdrawal",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__lte", models.F("own")), ("address__isnull", True), _connector="OR"),
                name="withdrawal_within_own",
            ),
        ),
        migrations.AddConstraint(
            model_name="withdrawal",
            constraint=models.CheckConstraint(
                condition=models.Q(("is_lost", False), ("address__isnull", True), _connector="OR"),
                name="withdrawal_lost_by_hand",
            ),
        ),
        migrations.AddConstraint(
            model_name="withdrawal",
            constraint=models.CheckConstraint(
                condition=models.Q(("of_stock__gte", 0), ("of_stock__lte", models.F("amount"))),
                name="withdrawal_of_stock_is_a_part",
            ),
        ),
        migrations.AddConstraint(
            model_name="withdrawal",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at__isnull", True), ("status", "pending")),
                    models.Q(models.Q(("status", "pending"), _negated=True), ("ended_at__isnull", False)),
                    _connector="OR",
                ),
                name="withdrawal_ended_with_its_end",
            ),
        ),
        migrations.RunSQL(GUARDS, WITHOUT),
    ]
