"""The tables of this app as of the first release.

The numbers that deposit addresses derive from, never used twice; and PostgreSQL refuses to let a return to a sender leave a
state that has no moves.
"""

import config.fields
import config.ids
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
import payments.links.models
from django.conf import settings
from django.db import migrations, models


GUARDS = """
    CREATE TRIGGER payer_return_end_state BEFORE UPDATE ON payments_payerreturn
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION refuse_to_leave_end_state('completed', 'failed', 'replaced');
"""

WITHOUT = """
    DROP TRIGGER payer_return_end_state ON payments_payerreturn;
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("transfers", "0001_tables"),
        ("ledger", "0001_tables"),
        ("merchants", "0001_tables"),
        ("transfers", "0001_tables"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Deposit",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                (
                    "network",
                    models.CharField(
                        help_text="Where it was seen, which may not be where it was expected.", max_length=20
                    ),
                ),
                ("transaction_hash", models.CharField(max_length=80)),
                (
                    "inner_hash",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Of what a fee bump is around: the other hash of the on-chain transaction.",
                        max_length=80,
                    ),
                ),
                ("ordinal", models.PositiveIntegerField(help_text="Its place inside the on-chain transaction.")),
                ("contract", models.CharField(max_length=80)),
                ("asset", models.CharField(help_text="Code of the registered coin.", max_length=8)),
                ("decimals", models.PositiveSmallIntegerField(help_text="Of the coin on this network.")),
                ("amount", config.fields.UnitsField()),
                (
                    "token_fee",
                    config.fields.UnitsField(
                        db_default=0, default=0, help_text="What the token kept of what was sent, beside the amount."
                    ),
                ),
                ("sender", models.CharField(max_length=80)),
                ("recipient", models.CharField(max_length=80)),
                ("memo", models.CharField(blank=True, max_length=64)),
                (
                    "conflicting_memo",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The on-chain transaction's, where it was sent to another muxed id.",
                        max_length=64,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("seen", "Waiting for confirmations"),
                            ("credited", "Credited"),
                            ("orphaned", "Undone by a reorganisation"),
                        ],
                        default="seen",
                        max_length=12,
                    ),
                ),
                ("height", models.BigIntegerField()),
                ("block_hash", models.CharField(max_length=80)),
                ("block_time", models.DateTimeField()),
                (
                    "first_block_time",
                    models.DateTimeField(
                        help_text="The earliest block it stood in; being mined again later does not make it late."
                    ),
                ),
                ("seen_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("credited_at", models.DateTimeField(blank=True, null=True)),
                (
                    "booked_to",
                    models.CharField(
                        blank=True, help_text="The ledger account kind that holds it; empty: not booked.", max_length=30
                    ),
                ),
                ("booking_count", models.PositiveIntegerField(default=0)),
                (
                    "said_by",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=100),
                        help_text="The providers that were believed about it, when it was first read in the block that it is in. Empty: nobody is asked; null: not recorded.",
                        null=True,
                        size=None,
                    ),
                ),
                (
                    "is_surplus",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Nobody saw it arrive: a sweep took so much more from the address than was known. The on-chain transaction is the sweep's.",
                    ),
                ),
                (
                    "missing",
                    config.fields.UnitsField(
                        db_default=0,
                        default=0,
                        help_text="Of it, what the network does not hold any more at its address.",
                    ),
                ),
            ],
        ),
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
        migrations.CreateModel(
            name="AddressDerivation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("first_number", models.BigIntegerField()),
                ("name", models.CharField(help_text="The factory, and whether and with which key.", max_length=80)),
                ("noted_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "noted_by",
                    models.CharField(
                        blank=True, help_text="Empty: a worker, when there was none before.", max_length=120
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("environment", "first_number"), name="derivation_once_per_number")
                ],
            },
        ),
        migrations.CreateModel(
            name="ColdWallet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("address", models.CharField(max_length=80)),
                (
                    "first_height",
                    models.BigIntegerField(help_text="The final block from which on what leaves it is read."),
                ),
                (
                    "read_to",
                    models.BigIntegerField(help_text="The final block up to which what has left it is in the ledger."),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("environment", "network", "address"), name="cold_wallet_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Discrepancy",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("late", "Arrived late"),
                            ("overpaid", "More than was due"),
                            ("underpaid", "Less than was due"),
                            ("wrong_token", "Another coin than was asked for"),
                            ("wrong_network", "On another network than was asked for"),
                            ("no_memo", "Without a memo that names a payment"),
                            ("unasked", "Nobody had asked for it"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("accepted", "Accepted"),
                            ("refunded", "Refunded"),
                            ("void", "Void"),
                        ],
                        default="open",
                        max_length=12,
                    ),
                ),
                ("network", models.CharField(max_length=20)),
                ("asset", models.CharField(max_length=8)),
                ("decimals", models.PositiveSmallIntegerField(help_text="Of the coin on this network.")),
                ("amount", config.fields.UnitsField()),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
                (
                    "resolved_by",
                    models.CharField(blank=True, help_text="The person or policy that decided.", max_length=120),
                ),
                ("note", models.TextField(blank=True)),
                (
                    "deposit",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="discrepancies",
                        to="payments.deposit",
                    ),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "discrepancies",
            },
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="Export",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("writing", "Being written"),
                            ("ready", "Ready"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("filters", models.JSONField(default=dict, help_text="Of the list, as its address names them.")),
                (
                    "rows_expected",
                    models.PositiveIntegerField(help_text="Empty where the filters are not counted.", null=True),
                ),
                ("rows_written", models.PositiveIntegerField(default=0)),
                (
                    "written_to",
                    models.UUIDField(help_text="The last payment written: the next part begins below it.", null=True),
                ),
                (
                    "leased_until",
                    models.DateTimeField(
                        default=django.utils.timezone.now, help_text="Another worker keeps off until then."
                    ),
                ),
                (
                    "failures",
                    models.PositiveSmallIntegerField(default=0, help_text="Takes in a row that wrote nothing."),
                ),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="ExportPart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("body", models.BinaryField(help_text="CSV, compressed by zlib.")),
                (
                    "export",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="parts",
                        to="payments.export",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PayerReturn",
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
                ("recipient", models.CharField(max_length=80)),
                ("memo", models.CharField(blank=True, max_length=30)),
                (
                    "memo_type",
                    models.CharField(
                        blank=True, choices=[("id", "A number (MEMO_ID)"), ("text", "Text (MEMO_TEXT)")], max_length=4
                    ),
                ),
                (
                    "signed_text",
                    models.TextField(help_text="What the sender's key has signed; it names the recipient."),
                ),
                (
                    "signature",
                    models.CharField(
                        blank=True, help_text="Empty on a simulated network, without keys.", max_length=200
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("proven", "Waits for operators"),
                            ("pending", "Reserved, or on its way"),
                            ("completed", "Paid back"),
                            ("failed", "Not paid back: the money waits for a decision again"),
                            ("replaced", "The sender has named another address since"),
                        ],
                        default="proven",
                        max_length=10,
                    ),
                ),
                ("transaction_hash", models.CharField(blank=True, max_length=80)),
                ("failure_message", models.CharField(blank=True, max_length=300)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "deposit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="returns", to="payments.deposit"
                    ),
                ),
                (
                    "payout",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="payer_return",
                        to="transfers.payout",
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="Payment",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("created", "Awaiting payment"),
                            ("pending", "Confirming"),
                            ("underpaid", "Underpaid"),
                            ("completed", "Completed"),
                            ("partially_refunded", "Partially refunded"),
                            ("refunded", "Refunded"),
                            ("expired", "Expired"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="created",
                        max_length=20,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("fiat_amount", models.BigIntegerField(help_text="In minor units of the currency.")),
                ("currency", models.CharField(max_length=3)),
                ("network", models.CharField(max_length=20)),
                ("cryptocurrency", models.CharField(max_length=8)),
                ("decimals", models.PositiveSmallIntegerField(help_text="Of the coin on this network.")),
                ("merchant_wallet", models.CharField(max_length=80)),
                ("redirect_url", models.CharField(blank=True, max_length=2000)),
                ("webhook_url", models.CharField(blank=True, max_length=2000)),
                ("expires_in", models.PositiveIntegerField(help_text="Seconds.")),
                ("expires_at", models.DateTimeField()),
                ("metadata", models.JSONField(default=dict)),
                ("due", config.fields.UnitsField(help_text="Base units the payer is asked for.")),
                (
                    "rate",
                    models.DecimalField(
                        decimal_places=18, help_text="Price of one coin in the currency.", max_digits=38
                    ),
                ),
                ("rate_source", models.CharField(max_length=200)),
                ("rate_quoted_at", models.DateTimeField()),
                ("required_confirmations", models.PositiveSmallIntegerField()),
                ("require_finalized", models.BooleanField(default=False)),
                ("tolerance_bps", models.PositiveSmallIntegerField(default=0)),
                (
                    "closes_at",
                    models.DateTimeField(
                        help_text="The end of the window plus the grace a merchant grants late money."
                    ),
                ),
                (
                    "sequence",
                    models.BigIntegerField(help_text="The number its deposit address derives from.", unique=True),
                ),
                ("deposit_address", models.CharField(max_length=80)),
                ("memo", models.CharField(blank=True, max_length=30)),
                ("muxed_address", models.CharField(blank=True, max_length=80)),
                ("payment_uri", models.CharField(max_length=500)),
                ("qr_png", models.BinaryField()),
                ("received", config.fields.UnitsField(default=0)),
                ("released", config.fields.UnitsField(default=0, help_text="Credited to the merchant.")),
                (
                    "surplus",
                    config.fields.UnitsField(
                        default=0, help_text="Beyond what was due, moved to suspense on completion."
                    ),
                ),
                (
                    "short",
                    config.fields.UnitsField(
                        default=0, help_text="Too little when the window closed, moved to suspense then."
                    ),
                ),
                (
                    "refunded",
                    config.fields.UnitsField(
                        default=0, help_text="Of what was received: given back, or reserved for it."
                    ),
                ),
                (
                    "returned",
                    config.fields.UnitsField(
                        default=0, help_text="Of what was paid for it, the surplus left out: given back for good."
                    ),
                ),
                (
                    "status_reasons",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=30), blank=True, default=list, size=None
                    ),
                ),
                ("completed_at", models.DateTimeField(blank=True, null=True)),
                ("cancelled_at", models.DateTimeField(blank=True, null=True)),
                (
                    "accepted",
                    models.BooleanField(default=False, help_text="Somebody took short or late money as enough."),
                ),
                ("deposit_count", models.PositiveIntegerField(default=0, help_text="Transfers ever seen for it.")),
                (
                    "closed_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="When its window ended for money: short money was moved to suspense then.",
                        null=True,
                    ),
                ),
                (
                    "assess_at",
                    models.DateTimeField(
                        blank=True, help_text="Due for an assessment; empty: nothing to do.", null=True
                    ),
                ),
                (
                    "booking_count",
                    models.PositiveIntegerField(default=0, help_text="Numbers the ledger postings of this payment."),
                ),
                (
                    "untold",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40),
                        blank=True,
                        default=list,
                        help_text="Events that wait for their time.",
                        size=None,
                    ),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="NamedTransaction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("named_by", models.CharField(help_text="The person at the merchant's.", max_length=120)),
                ("named_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "discrepancy",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="named_for", to="payments.discrepancy"
                    ),
                ),
                (
                    "payment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="named_transactions",
                        to="payments.payment",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="discrepancy",
            name="payment",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="discrepancies",
                to="payments.payment",
            ),
        ),
        migrations.AddField(
            model_name="deposit",
            name="payment",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="deposits", to="payments.payment"
            ),
        ),
        migrations.CreateModel(
            name="BalanceChange",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("payment", "Payment"),
                            ("reversal", "Payment undone by a reorganisation"),
                            ("accepted", "Money beyond the price, accepted"),
                            ("refund", "Refund"),
                            ("refund_failed", "Refund that came back"),
                            ("settlement_failed", "Settlement that came back"),
                            ("settled_ahead", "Settled before a restore"),
                            ("missing", "Held: its coins are missing on the network"),
                            ("missing_ended", "Held before, and no longer"),
                            ("loss", "Coins lost on the network"),
                            ("debt_offset", "Taken for a debt in another coin or on another network"),
                            ("debt_repaid", "Debt repaid from another coin or network"),
                            ("debt_written_off", "Debt written off"),
                            ("debt_collected", "Debt paid outside"),
                            ("debt_owed_again", "Owed again: the end of a debt was taken back"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "reference",
                    models.CharField(help_text="Public id of what it was for: a payment, a refund, …", max_length=40),
                ),
                ("network", models.CharField(max_length=20)),
                ("asset", models.CharField(max_length=8)),
                ("decimals", models.PositiveSmallIntegerField(help_text="Of the coin on this network.")),
                ("wallet", models.CharField(help_text="Where it is settled to.", max_length=80)),
                ("amount", config.fields.UnitsField(help_text="Base units; positive is the merchant's gain.")),
                ("posting_kind", models.CharField(max_length=40)),
                ("posting_reference", models.CharField(max_length=200)),
                (
                    "returns_fee",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="A refund, or one that came back, that the fee follows.",
                    ),
                ),
                ("settlement", models.UUIDField(help_text="The settlement that it is part of.", null=True)),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
                    ),
                ),
                (
                    "payment",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="balance_changes",
                        to="payments.payment",
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, models.Model),
        ),
        migrations.CreateModel(
            name="PaymentLink",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                (
                    "code",
                    models.CharField(
                        default=payments.links.models.new_code, help_text="In its address.", max_length=10, unique=True
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                ("description", models.CharField(help_text="What it is for; payers see it.", max_length=140)),
                ("note", models.CharField(blank=True, help_text="For the merchant alone.", max_length=500)),
                ("currency", models.CharField(max_length=3)),
                (
                    "amount",
                    models.BigIntegerField(
                        blank=True, help_text="In minor units; empty: the payer enters it.", null=True
                    ),
                ),
                (
                    "least",
                    models.BigIntegerField(blank=True, help_text="That a payer may enter, in minor units.", null=True),
                ),
                (
                    "most",
                    models.BigIntegerField(blank=True, help_text="That a payer may enter, in minor units.", null=True),
                ),
                (
                    "coins",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=8),
                        blank=True,
                        default=list,
                        help_text="That a payer may choose; none: all.",
                        size=None,
                    ),
                ),
                (
                    "wallets",
                    models.JSONField(help_text="Where the money is settled to, by network: those a payer may choose."),
                ),
                ("max_uses", models.PositiveIntegerField(blank=True, help_text="Empty: any number.", null=True)),
                ("expires_at", models.DateTimeField(blank=True, help_text="Empty: never.", null=True)),
                ("expires_in", models.PositiveIntegerField(help_text="Seconds that each of its payments can be paid.")),
                ("redirect_url", models.CharField(blank=True, max_length=2000)),
                ("metadata", models.JSONField(blank=True, default=dict, help_text="Given to each of its payments.")),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.AddField(
            model_name="payment",
            name="payment_link",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="payments",
                to="payments.paymentlink",
            ),
        ),
        migrations.CreateModel(
            name="ReadingRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("transaction_hash", models.CharField(max_length=80)),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "due_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=django.utils.timezone.now,
                        help_text="When it is read next; later each time it cannot be.",
                    ),
                ),
                (
                    "problem",
                    models.TextField(
                        blank=True, db_default="", help_text="Why it cannot be read. Empty: nobody has tried."
                    ),
                ),
                (
                    "content",
                    models.TextField(
                        blank=True, db_default="", help_text="What providers said that could not be read."
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("environment", "network", "transaction_hash"), name="reading_asked_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RefusedWallet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("wallet", models.CharField(max_length=80)),
                ("asset", models.CharField(help_text="Code of the coin.", max_length=8)),
                ("problem", models.CharField(max_length=40)),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("environment", "network", "wallet", "asset"), name="refused_wallet_once_per_coin"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("name", models.CharField(max_length=40)),
                ("filters", models.JSONField(default=dict, help_text="As the address of the list names them.")),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="ScanCursor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("cursor", models.JSONField(null=True)),
                (
                    "version",
                    models.PositiveBigIntegerField(default=0, help_text="Grows with every scan that was recorded."),
                ),
                (
                    "leased_until",
                    models.DateTimeField(
                        default=django.utils.timezone.now, help_text="Another watcher keeps off until then."
                    ),
                ),
                ("head_height", models.BigIntegerField(default=0)),
                ("finalized_height", models.BigIntegerField(default=0)),
                ("head_since", models.DateTimeField(help_text="When the head last rose, by our clock.", null=True)),
                (
                    "finalized_since",
                    models.DateTimeField(help_text="When the newest final block last rose, by our clock.", null=True),
                ),
                (
                    "read_until",
                    models.DateTimeField(help_text="Block time up to which every deposit has been seen.", null=True),
                ),
                (
                    "clock_ahead_seconds",
                    models.FloatField(
                        help_text="How much older than the database's clock the newest block was when it was first seen.",
                        null=True,
                    ),
                ),
                ("polled_at", models.DateTimeField(help_text="When the network last answered.", null=True)),
                ("failing_since", models.DateTimeField(null=True)),
                ("last_error", models.TextField(blank=True)),
                (
                    "halted_at",
                    models.DateTimeField(help_text="Crediting and paying stopped; a person must look.", null=True),
                ),
                (
                    "fault",
                    models.TextField(
                        blank=True, help_text="What is wrong with its set-up: until it is right, nothing is done."
                    ),
                ),
                (
                    "native_round_at",
                    models.DateTimeField(help_text="When native coins were last looked for.", null=True),
                ),
                (
                    "native_read_to",
                    models.UUIDField(help_text="The payment that round has come to; empty once it is over.", null=True),
                ),
                (
                    "holdings_read_to",
                    models.CharField(
                        blank=True,
                        help_text="The deposit address that quick runs of reconcile have come to.",
                        max_length=80,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("environment", "network"), name="cursor_once_per_network")
                ],
            },
        ),
        migrations.CreateModel(
            name="SearchEntry",
            fields=[
                ("payment_id", models.UUIDField(primary_key=True, serialize=False)),
                ("merchant_id", models.UUIDField()),
                ("environment", models.CharField(max_length=10)),
                (
                    "text",
                    models.TextField(help_text="In lower case: id, coin amount, values of the metadata, a line each."),
                ),
                (
                    "pieces",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="Of every three characters in a row, with the merchant.",
                        size=None,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "search entries",
                "indexes": [
                    models.Index(fields=["merchant_id", "environment", "payment_id"], name="search_entry_of"),
                    django.contrib.postgres.indexes.GinIndex(fields=["pieces"], name="search_entry_pieces"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Sweep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("asset", models.CharField(help_text="Code of the coin.", max_length=8)),
                ("expected", config.fields.UnitsField(help_text="What the deposits in it amount to.")),
                (
                    "moved",
                    config.fields.UnitsField(
                        help_text="What arrived at the treasury, by the chain; empty until it is booked.", null=True
                    ),
                ),
                (
                    "booked_at",
                    models.DateTimeField(help_text="When it was booked, or found to have moved nothing.", null=True),
                ),
                (
                    "is_itemised",
                    models.BooleanField(
                        default=False, help_text="What it did at each address is written down, as its receipt shows."
                    ),
                ),
                (
                    "last_error",
                    models.TextField(blank=True, help_text="Why it could not be booked when that was last tried."),
                ),
                (
                    "cold_wallet",
                    models.ForeignKey(
                        help_text="Where it brought them, by the chain; empty: to the hot wallet.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payments.coldwallet",
                    ),
                ),
                (
                    "transfer",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="sweep", to="transfers.transfer"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="NativeCoin",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                (
                    "network",
                    models.CharField(
                        help_text="Where it is, which may not be where the payment was expected.", max_length=20
                    ),
                ),
                (
                    "held",
                    config.fields.UnitsField(
                        help_text="Base units at the deposit address when it was last looked for."
                    ),
                ),
                ("height", models.BigIntegerField(help_text="The newest block then.")),
                ("found_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "asked_at",
                    models.DateTimeField(help_text="When an operator asked for it to be brought in.", null=True),
                ),
                ("asked_by", models.CharField(blank=True, max_length=120)),
                (
                    "brought",
                    config.fields.UnitsField(
                        default=0, help_text="Base units that came to the hot wallet, in all sweeps of it."
                    ),
                ),
                (
                    "note",
                    models.TextField(
                        blank=True, help_text="What became of it: agreed with the payer, given back, and how."
                    ),
                ),
                (
                    "payment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="native_coins", to="payments.payment"
                    ),
                ),
                (
                    "sweep",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="native_coins",
                        to="payments.sweep",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="deposit",
            name="sweep",
            field=models.ForeignKey(
                help_text="What took it to the hot wallet.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="deposits",
                to="payments.sweep",
            ),
        ),
        migrations.CreateModel(
            name="SweepRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("asset", models.CharField(help_text="Code of the coin.", max_length=8)),
                ("requested_by", models.CharField(max_length=120)),
                ("requested_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "done_at",
                    models.DateTimeField(help_text="When it was signed, or nothing worth it was left.", null=True),
                ),
                ("outcome", models.TextField(blank=True, help_text="What was taken, and what was not and why.")),
                (
                    "sweep",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to="payments.sweep",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SweptAddress",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("expected", config.fields.UnitsField(help_text="What the deposits amount to that it was signed for.")),
                ("left", config.fields.UnitsField(help_text="What left the address.")),
                ("arrived", config.fields.UnitsField(help_text="What the treasury got of it.")),
                (
                    "was_refused",
                    models.BooleanField(default=False, help_text="The factory says so by a SweepFailed event."),
                ),
                (
                    "reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("empty", "the address does not hold them any more"),
                            ("paused", "the issuer has paused the coin for everybody"),
                            ("wallet_refused", "the issuer refuses the hot wallet"),
                            ("frozen", "the issuer has frozen the address"),
                            ("refused", "the contract of the coin refuses the transfer"),
                            ("passing", "they could be moved now: the sweep ran out of gas, or what kept them is over"),
                        ],
                        max_length=20,
                    ),
                ),
                ("said", models.CharField(blank=True, help_text="What the coin's contract says.", max_length=200)),
                (
                    "tries",
                    models.PositiveIntegerField(
                        default=0, help_text="In a row that moved nothing; without sending, too."
                    ),
                ),
                ("try_again_at", models.DateTimeField(null=True)),
                (
                    "payment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="payments.payment"
                    ),
                ),
                (
                    "sweep",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="addresses", to="payments.sweep"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Turnover",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("merchant_id", models.UUIDField()),
                ("environment", models.CharField(max_length=10)),
                ("span", models.CharField(choices=[("hour", "Hour"), ("day", "Day")], max_length=4)),
                ("starts_at", models.DateTimeField(help_text="UTC.")),
                ("network", models.CharField(max_length=20)),
                ("cryptocurrency", models.CharField(max_length=8)),
                ("currency", models.CharField(max_length=3)),
                ("paid", models.BigIntegerField()),
                ("unpaid", models.BigIntegerField()),
                ("volume", models.BigIntegerField()),
                ("seconds", models.BigIntegerField()),
            ],
            options={
                "verbose_name_plural": "turnover",
                "indexes": [
                    models.Index(
                        condition=models.Q(("span", "hour")), fields=["starts_at"], name="turnover_hours_by_age"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=(
                            "merchant_id",
                            "environment",
                            "span",
                            "starts_at",
                            "network",
                            "cryptocurrency",
                            "currency",
                        ),
                        name="turnover_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TurnoverDelta",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("merchant_id", models.UUIDField()),
                ("environment", models.CharField(max_length=10)),
                (
                    "hour",
                    models.DateTimeField(help_text="The beginning of the UTC hour in which the payment was created."),
                ),
                ("network", models.CharField(max_length=20)),
                ("cryptocurrency", models.CharField(max_length=8)),
                ("currency", models.CharField(max_length=3)),
                ("paid", models.SmallIntegerField()),
                ("unpaid", models.SmallIntegerField(help_text="Expired, or ended with less than was due.")),
                (
                    "volume",
                    models.BigIntegerField(help_text="Prices of the paid ones, in minor units of the currency."),
                ),
                (
                    "seconds",
                    models.BigIntegerField(help_text="From creation to completion, of the paid ones together."),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["merchant_id", "environment"], name="turnover_delta_of")],
            },
        ),
        migrations.CreateModel(
            name="ColdMove",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("transaction_hash", models.CharField(max_length=80)),
                ("ordinal", models.PositiveIntegerField()),
                ("height", models.BigIntegerField()),
                ("asset", models.CharField(help_text="Code of the coin.", max_length=8)),
                ("decimals", models.PositiveSmallIntegerField()),
                ("amount", config.fields.UnitsField()),
                ("recipient", models.CharField(max_length=80)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("refill", "To the hot wallet"),
                            ("moved", "To another cold wallet"),
                            ("taken", "The house took it"),
                            ("lost", "Lost"),
                            ("unknown", "Nobody has said what it was"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "of_stock",
                    config.fields.UnitsField(
                        default=0, help_text="Of what the house took: what came out of the treasury's stock."
                    ),
                ),
                (
                    "note",
                    models.TextField(
                        blank=True, help_text="What those have said who know what it was, and who they are."
                    ),
                ),
                ("seen_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "posting",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cold_move",
                        to="ledger.posting",
                    ),
                ),
                (
                    "wallet",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="moves", to="payments.coldwallet"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("kind", "unknown")), fields=["wallet"], name="cold_move_unknown")
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("wallet", "transaction_hash", "ordinal"), name="cold_move_once"),
                    models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="cold_move_amount_positive"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind__in", ["moved", "unknown"]), ("posting__isnull", True)),
                            models.Q(("kind__in", ["refill", "taken", "lost"]), ("posting__isnull", False)),
                            _connector="OR",
                        ),
                        name="cold_move_booked_when_known",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="export",
            index=models.Index(
                condition=models.Q(("status__in", ["waiting", "writing"])), fields=["leased_until"], name="export_due"
            ),
        ),
        migrations.AddConstraint(
            model_name="export",
            constraint=models.CheckConstraint(
                condition=models.Q(("environment__in", ["sandbox", "production"])), name="export_environment"
            ),
        ),
        migrations.AddConstraint(
            model_name="export",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["waiting", "writing", "ready", "failed"])), name="export_status"
            ),
        ),
        migrations.AddConstraint(
            model_name="export",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ["waiting", "writing"])),
                fields=("merchant", "environment", "requested_by"),
                name="export_one_at_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="exportpart",
            constraint=models.UniqueConstraint(fields=("export", "number"), name="export_part_once"),
        ),
        migrations.AddConstraint(
            model_name="payerreturn",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gt", 0)), name="payer_return_amount_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="payerreturn",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ["proven", "pending", "completed"])),
                fields=("deposit",),
                name="payer_return_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="payerreturn",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("payout__isnull", True), ("status__in", ["proven", "replaced"])),
                    models.Q(
                        models.Q(("status__in", ["proven", "replaced"]), _negated=True), ("payout__isnull", False)
                    ),
                    _connector="OR",
                ),
                name="payer_return_paid_by_a_payout",
            ),
        ),
        migrations.AddConstraint(
            model_name="namedtransaction",
            constraint=models.UniqueConstraint(
                fields=("discrepancy", "payment"), name="transaction_named_once_for_payment"
            ),
        ),
        migrations.AddIndex(
            model_name="discrepancy",
            index=models.Index(
                condition=models.Q(("status", "open")),
                fields=["merchant", "environment", "id"],
                name="discrepancy_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="discrepancy",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gt", 0)), name="discrepancy_amount_positive"
            ),
        ),
        migrations.AddIndex(
            model_name="balancechange",
            index=models.Index(
                condition=models.Q(("settlement__isnull", True)),
                fields=["merchant", "environment", "network", "wallet"],
                name="balance_change_unsettled",
            ),
        ),
        migrations.AddIndex(
            model_name="balancechange",
            index=models.Index(
                condition=models.Q(("settlement__isnull", False)),
                fields=["settlement", "id"],
                name="balance_change_of_settlement",
            ),
        ),
        migrations.AddIndex(
            model_name="balancechange",
            index=models.Index(
                condition=models.Q(("returns_fee", True)),
                fields=["merchant", "environment", "payment"],
                name="balance_change_returns_fee",
            ),
        ),
        migrations.AddConstraint(
            model_name="balancechange",
            constraint=models.UniqueConstraint(
                fields=("environment", "posting_kind", "posting_reference", "network", "asset"),
                name="balance_change_once_per_posting",
            ),
        ),
        migrations.AddConstraint(
            model_name="balancechange",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount", 0), _negated=True), name="balance_change_not_zero"
            ),
        ),
        migrations.AddIndex(
            model_name="paymentlink",
            index=models.Index(fields=["merchant", "environment", "id"], name="payment_link_list"),
        ),
        migrations.AddConstraint(
            model_name="paymentlink",
            constraint=models.CheckConstraint(
                condition=models.Q(("environment__in", ["sandbox", "production"])), name="payment_link_environment"
            ),
        ),
        migrations.AddConstraint(
            model_name="paymentlink",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("amount__gt", 0), ("least__isnull", True), ("most__isnull", True)),
                    models.Q(("amount__isnull", True), ("least__gt", 0), ("most__gte", models.F("least"))),
                    _connector="OR",
                ),
                name="payment_link_fixed_or_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="paymentlink",
            constraint=models.CheckConstraint(
                condition=models.Q(("max_uses__isnull", True), ("max_uses__gt", 0), _connector="OR"),
                name="payment_link_uses_positive",
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(fields=["merchant", "environment", "id"], name="payment_list"),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(fields=["merchant", "environment", "status", "id"], name="payment_list_by_status"),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                fields=["merchant", "environment", "network", "cryptocurrency", "id"], name="payment_list_by_coin"
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(fields=["merchant", "environment", "fiat_amount", "id"], name="payment_list_by_amount"),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("closed_at__isnull", True), ("status__in", ["created", "underpaid"])),
                fields=["network", "status", "expires_at"],
                name="payment_window_open",
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("assess_at__isnull", False)), fields=["assess_at"], name="payment_assess_due"
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(fields=["environment", "network", "closes_at"], name="payment_watched"),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("payment_link__isnull", False)),
                fields=["payment_link", "id"],
                name="payment_of_link",
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(
                    ("payment_link__isnull", False), models.Q(("status__in", ("expired", "cancelled")), _negated=True)
                ),
                fields=["payment_link"],
                name="payment_uses_link",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(("environment__in", ["sandbox", "production"])), name="payment_environment"
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        [
                            "created",
                            "pending",
                            "underpaid",
                            "completed",
                            "partially_refunded",
                            "refunded",
                            "expired",
                            "cancelled",
                        ],
                    )
                ),
                name="payment_status",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(("due__gt", 0), ("fiat_amount__gt", 0)), name="payment_amounts_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("received__gte", 0),
                    ("refunded__gte", 0),
                    ("released__gte", 0),
                    ("returned__gte", 0),
                    ("short__gte", 0),
                    ("surplus__gte", 0),
                ),
                name="payment_sums_not_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("refunded__lte", models.F("received")), ("status_reasons__contains", ["reversed"]), _connector="OR"
                ),
                name="payment_refunded_at_most_received",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(("returned__lte", models.F("refunded"))), name="payment_returned_was_reserved"
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.UniqueConstraint(fields=("deposit_address", "memo"), name="payment_address_once"),
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.UniqueConstraint(
                fields=("merchant", "environment", "user", "name"), name="view_name_once"
            ),
        ),
        migrations.AddIndex(
            model_name="sweep",
            index=models.Index(condition=models.Q(("booked_at__isnull", True)), fields=["id"], name="sweep_not_booked"),
        ),
        migrations.AddIndex(
            model_name="sweep",
            index=models.Index(
                condition=models.Q(("booked_at__isnull", False), ("is_itemised", False)),
                fields=["id"],
                name="sweep_not_itemised",
            ),
        ),
        migrations.AddConstraint(
            model_name="sweep",
            constraint=models.CheckConstraint(condition=models.Q(("expected__gt", 0)), name="sweep_expected_positive"),
        ),
        migrations.AddIndex(
            model_name="nativecoin",
            index=models.Index(
                condition=models.Q(("held__gt", 0)), fields=["environment", "network"], name="native_coin_held"
            ),
        ),
        migrations.AddConstraint(
            model_name="nativecoin",
            constraint=models.UniqueConstraint(fields=("payment", "network"), name="native_coin_once"),
        ),
        migrations.AddConstraint(
            model_name="nativecoin",
            constraint=models.CheckConstraint(
                condition=models.Q(("brought__gte", 0), ("held__gte", 0)), name="native_coin_not_negative"
            ),
        ),
        migrations.AddIndex(
            model_name="deposit",
            index=models.Index(
                condition=models.Q(("status", "seen")),
                fields=["environment", "network", "height"],
                name="deposit_unsettled",
            ),
        ),
        migrations.AddIndex(
            model_name="deposit",
            index=models.Index(fields=["environment", "network", "height"], name="deposit_by_height"),
        ),
        migrations.AddIndex(
            model_name="deposit",
            index=models.Index(
                condition=models.Q(("status", "credited"), ("sweep__isnull", True)),
                fields=["environment", "network", "asset"],
                name="deposit_not_swept",
            ),
        ),
        migrations.AddIndex(
            model_name="deposit",
            index=models.Index(fields=["recipient", "height"], name="deposit_by_recipient"),
        ),
        migrations.AddIndex(
            model_name="deposit",
            index=models.Index(
                condition=models.Q(("inner_hash", ""), _negated=True),
                fields=["inner_hash"],
                name="deposit_by_inner_hash",
            ),
        ),
        migrations.AddIndex(
            model_name="deposit",
            index=models.Index(fields=["payment", "id"], name="deposit_of_payment"),
        ),
        migrations.AddIndex(
            model_name="deposit",
            index=models.Index(fields=["sender"], name="deposit_by_sender"),
        ),
        migrations.AddConstraint(
            model_name="deposit",
            constraint=models.UniqueConstraint(
                fields=("environment", "network", "transaction_hash", "ordinal"), name="deposit_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="deposit",
            constraint=models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="deposit_amount_positive"),
        ),
        migrations.AddConstraint(
            model_name="deposit",
            constraint=models.CheckConstraint(
                condition=models.Q(("missing__gte", 0), ("missing__lte", models.F("amount"))),
                name="deposit_missing_of_it",
            ),
        ),
        migrations.AddConstraint(
            model_name="sweeprequest",
            constraint=models.UniqueConstraint(
                condition=models.Q(("done_at__isnull", True)),
                fields=("environment", "network", "asset"),
                name="sweep_requested_once",
            ),
        ),
        migrations.AddIndex(
            model_name="sweptaddress",
            index=models.Index(
                condition=models.Q(("try_again_at__isnull", False)),
                fields=["payment"],
                name="swept_address_passed_over",
            ),
        ),
        migrations.AddConstraint(
            model_name="sweptaddress",
            constraint=models.UniqueConstraint(fields=("sweep", "payment"), name="swept_address_once"),
        ),
        migrations.AddConstraint(
            model_name="sweptaddress",
            constraint=models.CheckConstraint(
                condition=models.Q(("arrived__lte", models.F("left")), ("left__gte", 0)), name="swept_address_amounts"
            ),
        ),
        migrations.RunSQL("CREATE SEQUENCE payments_deposit_sequence", "DROP SEQUENCE payments_deposit_sequence"),
        migrations.RunSQL(GUARDS, WITHOUT),
    ]
