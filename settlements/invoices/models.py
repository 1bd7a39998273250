"""Recipients of invoices, the series of their numbers, and the invoices and credit notes themselves."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from config import ids
from config.environments import Environment
from config.fields import ExactJSONField
from merchants.models import Merchant, OwnedQuerySet

CARRIED_PLACES = 30


class TaxTreatment(models.TextChoices):
    """Rule for the tax on a merchant's invoices."""

    BY_COUNTRY = "by_country", _("By country: the operator's rate, or reverse charge abroad with a tax id")
    STANDARD = "standard", _("The operator's rate")
    REVERSE_CHARGE = "reverse_charge", _("Reverse charge: the merchant accounts for the tax")
    OUTSIDE = "outside", _("Not taxable in the operator's country")


class BillingDetails(models.Model):
    """The recipient of a merchant's invoices. Until there is one, its invoices wait."""

    merchant = models.OneToOneField(Merchant, on_delete=models.PROTECT, related_name="billing_details")
    name = models.CharField(max_length=120, help_text="Of the company or person, as the law knows it.")
    address = models.TextField(max_length=400, help_text="As on an envelope, with the city.")
    country = models.CharField(max_length=2, help_text="Its code of two letters, such as DE.")
    tax_id = models.CharField(max_length=30, blank=True, help_text="Such as a VAT number. Empty: none.")
    treatment = models.CharField(
        "tax",
        max_length=20,
        choices=TaxTreatment.choices,
        default=TaxTreatment.BY_COUNTRY,
        help_text="Operators choose.",
    )

    class Meta:
        verbose_name_plural = "billing details"

    def __str__(self) -> str:
        return f"{self.name}, {self.country}"


class InvoiceSeries(models.Model):
    """The numbers of one environment's invoices. Its row is locked while one is taken, so that there is no gap."""

    environment = models.CharField(max_length=10, choices=Environment.choices, unique=True)
    last_number = models.PositiveIntegerField(default=0)
    begins_on = models.DateField(help_text="The first day of the first month that is invoiced.")

    class Meta:
        verbose_name_plural = "invoice series"

    def __str__(self) -> str:
        return f"{self.environment}: {self.last_number}"


class InvoiceKind(models.TextChoices):
    INVOICE = "invoice", _("Invoice")
    CREDIT_NOTE = "credit_note", _("Credit note")


class Invoice(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """Fees of a merchant in a month, with all that stood on it when it was issued. PostgreSQL refuses every change.

    A credit note is over fees that were given back in the month; amounts are above zero on both. Money is in minor
    units of the currency.
    """

    public_ids: ClassVar = ids.INVOICE

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    kind = models.CharField(max_length=12, choices=InvoiceKind.choices)
    sequence = models.PositiveIntegerField(help_text="In the series of the environment.")
    number = models.CharField(max_length=40)
    month = models.CharField(max_length=7, help_text="Such as 2027-01, on the clocks of the merchant's settlements.")
    period_start = models.DateTimeField()
    period_end = models.DateTimeField(help_text="What happened before it is invoiced.")
    currency = models.CharField(max_length=3)
    net = models.BigIntegerField()
    tax_rate = models.DecimalField(max_digits=5, decimal_places=2, help_text="In percent.")
    tax = models.BigIntegerField()
    tax_note = models.CharField(max_length=300, blank=True)
    issuer = ExactJSONField(help_text="The operator's details.")
    recipient = ExactJSONField(help_text="The merchant's.")
    lines = ExactJSONField(help_text="A fee for each coin of each network, with its rate.")
    carried = models.DecimalField(
        max_digits=CARRIED_PLACES + 1,
        decimal_places=CARRIED_PLACES,
        default=0,
        db_default=0,
        help_text="What of a minor unit the lines are worth beyond the net: it is in the next document of the kind.",
    )
    corrects = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="+", help_text="Of a credit note: the last invoice."
    )

    objects: ClassVar[models.Manager[Invoice]] = OwnedQuerySet["Invoice"].as_manager()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["environment", "sequence"], name="invoice_number_once"),
            models.UniqueConstraint(
                fields=["merchant", "environment", "month", "kind"], name="invoice_once_for_a_month"
            ),
            models.CheckConstraint(
                condition=Q(net__gt=0, tax__gte=0, sequence__gt=0, period_end__gt=F("period_start")),
                name="invoice_amounts_positive",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["merchant", "environment", "id"], name="invoice_list")]

    def __str__(self) -> str:
        return self.number

    @property
    def total(self) -> int:
        return self.net + self.tax
