"""The queries of requests about invoices, and how the reference describes the replies."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from config.api.fields import CoinField, StrictChoiceField, StrictSerializer
from config.api.pagination import CreatedListQuery
from config.environments import Environment
from config.money import FIAT_DIGITS
from payments.api.serializers import NetworkField
from settlements.invoices.models import InvoiceKind

JSON, CSV, PDF = "json", "csv", "pdf"


class InvoiceListQuery(CreatedListQuery):
    """The filters of the list of invoices."""

    kind = StrictChoiceField(choices=InvoiceKind.values, required=False, help_text="Only this kind.")


class InvoiceQuery(StrictSerializer):
    """The query parameters of an invoice."""

    format = StrictChoiceField(
        choices=(JSON, CSV, PDF), default=JSON, help_text="`json`, or `csv` or `pdf` to be downloaded."
    )


class IssuerSchema(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Of the company or person.")
    address = serializers.CharField(help_text="With line breaks, as on an envelope.")
    country = serializers.CharField(help_text="Its code of two letters.")
    taxId = serializers.CharField(help_text="Empty: none.")


class RecipientSchema(IssuerSchema):
    merchantId = serializers.CharField(help_text="Your own id.")


class InvoiceLineSchema(serializers.Serializer[Any]):
    network = NetworkField()
    cryptocurrency = CoinField()
    amount = serializers.CharField(help_text="The fees in the coin.")
    rate = serializers.CharField(help_text="What one coin was worth in the invoice's currency when it was issued.")
    rateSource = serializers.CharField(help_text="Where the rate is from.")
    ratedAt = serializers.DateTimeField(help_text="When the rate was true.")
    net = serializers.CharField(help_text="Amount × rate; the lines add up to `netAmount`.")


class InvoiceSchema(serializers.Serializer[Any]):
    """An invoice or credit note over fees; it never changes."""

    id = serializers.CharField()
    object = serializers.ChoiceField(choices=["invoice"])
    kind = serializers.ChoiceField(
        choices=InvoiceKind.choices, help_text="A credit note is for returned fees; amounts are positive."
    )
    number = serializers.CharField(help_text="In one series of the installation, without a gap.")
    month = serializers.CharField(help_text="Such as `2027-01`, on the clocks of your settlements.")
    periodStart = serializers.DateTimeField(help_text="Where your invoice before it has ended.")
    periodEnd = serializers.DateTimeField(help_text="What happened before it is invoiced.")
    issuer = IssuerSchema(help_text="The operator of the installation.")
    recipient = RecipientSchema(help_text="You, as your billing details were.")
    lines = InvoiceLineSchema(many=True, help_text="The fees in each coin on each network.")
    currency = serializers.ChoiceField(choices=list(FIAT_DIGITS), help_text="Of the invoice: ISO 4217.")
    netAmount = serializers.CharField(
        help_text="The lines together. What is below the currency's last digit is carried to your next document."
    )
    taxRate = serializers.CharField(help_text="In percent.")
    taxAmount = serializers.CharField(help_text="Net × tax rate, rounded half up.")
    taxNote = serializers.CharField(allow_null=True, help_text="Why there is no tax, such as reverse charge.")
    totalAmount = serializers.CharField(
        help_text="It was already deducted from settlements: you do not need to pay anything."
    )
    correctsInvoiceId = serializers.CharField(
        allow_null=True, help_text="Of a credit note: your last invoice before it."
    )
    environment = serializers.ChoiceField(choices=Environment.choices)
    createdAt = serializers.DateTimeField(help_text="When it was issued.")
