"""The tables of this app as of the first release.

PostgreSQL refuses to change or delete an invoice: what was issued stays as it was, whatever the way in.
"""

import config.ids
import django.db.models.deletion
from django.db import migrations, models


GUARD = """
    CREATE FUNCTION invoices_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'invoices are never changed: % refused', TG_OP
            USING ERRCODE = 'restrict_violation', HINT = 'Correct an invoice by a credit note.';
    END $$;
    CREATE TRIGGER invoice_never_changed BEFORE UPDATE OR DELETE ON invoices_invoice
        FOR EACH ROW EXECUTE FUNCTION invoices_refuse_change();
    CREATE TRIGGER invoice_not_truncated BEFORE TRUNCATE ON invoices_invoice
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_truncate();
"""

WITHOUT = """
    DROP TRIGGER invoice_not_truncated ON invoices_invoice;
    DROP TRIGGER invoice_never_changed ON invoices_invoice;
    DROP FUNCTION invoices_refuse_change();
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("ledger", "0001_tables"),
        ("merchants", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="BillingDetails",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(help_text="Of the company or person, as the law knows it.", max_length=120)),
                ("address", models.TextField(help_text="As on an envelope, with the city.", max_length=400)),
                ("country", models.CharField(help_text="Its code of two letters, such as DE.", max_length=2)),
                ("tax_id", models.CharField(blank=True, help_text="Such as a VAT number. Empty: none.", max_length=30)),
                (
                    "treatment",
                    models.CharField(
                        choices=[
                            ("by_country", "By country: the operator's rate, or reverse charge abroad with a tax id"),
                            ("standard", "The operator's rate"),
                            ("reverse_charge", "Reverse charge: the merchant accounts for the tax"),
                            ("outside", "Not taxable in the operator's country"),
                        ],
                        default="by_country",
                        help_text="Operators choose.",
                        max_length=20,
                        verbose_name="tax",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "billing details",
            },
        ),
        migrations.CreateModel(
            name="Invoice",
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
                    models.CharField(choices=[("invoice", "Invoice"), ("credit_note", "Credit note")], max_length=12),
                ),
                ("sequence", models.PositiveIntegerField(help_text="In the series of the environment.")),
                ("number", models.CharField(max_length=40)),
                (
                    "month",
                    models.CharField(
                        help_text="Such as 2027-01, on the clocks of the merchant's settlements.", max_length=7
                    ),
                ),
                ("period_start", models.DateTimeField()),
                ("period_end", models.DateTimeField(help_text="What happened before it is invoiced.")),
                ("currency", models.CharField(max_length=3)),
                ("net", models.BigIntegerField()),
                ("tax_rate", models.DecimalField(decimal_places=2, help_text="In percent.", max_digits=5)),
                ("tax", models.BigIntegerField()),
                ("tax_note", models.CharField(blank=True, max_length=300)),
                ("issuer", models.JSONField(help_text="The operator's details.")),
                ("recipient", models.JSONField(help_text="The merchant's.")),
                ("lines", models.JSONField(help_text="A fee for each coin of each network, with its rate.")),
                (
                    "carried",
                    models.DecimalField(
                        db_default=0,
                        decimal_places=30,
                        default=0,
                        help_text="What of a minor unit the lines are worth beyond the net: it is in the next document of the kind.",
                        max_digits=31,
                    ),
                ),
            ],
            bases=(config.ids.KeyedByTime, config.ids.PublicRecord, models.Model),
        ),
        migrations.CreateModel(
            name="InvoiceSeries",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(
                        choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10, unique=True
                    ),
                ),
                ("last_number", models.PositiveIntegerField(default=0)),
                ("begins_on", models.DateField(help_text="The first day of the first month that is invoiced.")),
            ],
            options={
                "verbose_name_plural": "invoice series",
            },
        ),
        migrations.AddField(
            model_name="billingdetails",
            name="merchant",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="billing_details", to="merchants.merchant"
            ),
        ),
        migrations.AddField(
            model_name="invoice",
            name="corrects",
            field=models.ForeignKey(
                help_text="Of a credit note: the last invoice.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="invoices.invoice",
            ),
        ),
        migrations.AddField(
            model_name="invoice",
            name="merchant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="merchants.merchant"
            ),
        ),
        migrations.AddIndex(
            model_name="invoice",
            index=models.Index(fields=["merchant", "environment", "id"], name="invoice_list"),
        ),
        migrations.AddConstraint(
            model_name="invoice",
            constraint=models.UniqueConstraint(fields=("environment", "sequence"), name="invoice_number_once"),
        ),
        migrations.AddConstraint(
            model_name="invoice",
            constraint=models.UniqueConstraint(
                fields=("merchant", "environment", "month", "kind"), name="invoice_once_for_a_month"
            ),
        ),
        migrations.AddConstraint(
            model_name="invoice",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("net__gt", 0), ("period_end__gt", models.F("period_start")), ("sequence__gt", 0), ("tax__gte", 0)
                ),
                name="invoice_amounts_positive",
            ),
        ),
        migrations.RunSQL(GUARD, WITHOUT),
    ]
