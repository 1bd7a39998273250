"""The queries of requests about monthly statements, and how the reference describes the replies."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework import serializers

from config.api.fields import CoinField, StrictCharField, StrictChoiceField, StrictSerializer
from config.api.pagination import ListQuery
from config.environments import Environment
from config.money import FIAT_DIGITS
from payments.api.serializers import NetworkField
from settlements.monthly.files import VERSION
from settlements.monthly.reading import ACCOUNTS

JSON, CSV, PDF = "json", "csv", "pdf"
MONTH = r"^[0-9]{4}-[0-9]{2}$"


class MonthListQuery(ListQuery):
    """The query parameters of the list of months."""

    starting_after = StrictCharField(
        required=False, max_length=64, help_text="The `month` of the last record of the page before."
    )


class MonthQuery(StrictSerializer):
    """The query parameters of a month."""

    format = StrictChoiceField(
        choices=(JSON, CSV, PDF), default=JSON, help_text="`json`, or `csv` or `pdf` to be downloaded."
    )
    currency = StrictChoiceField(
        choices=list(FIAT_DIGITS),
        default=lambda: settings.INVOICE_CURRENCY,
        help_text="Values balances and entries, beside your settlement currency. Unless given, that of invoices.",
    )


class MonthSchema(serializers.Serializer[Any]):
    """A month that has a statement."""

    object = serializers.ChoiceField(choices=["monthly_statement"])
    version = serializers.ChoiceField(
        choices=[VERSION], help_text="Grows when a field or column changes its meaning or is removed."
    )
    merchantId = serializers.CharField(help_text="Your own id.")
    environment = serializers.ChoiceField(choices=Environment.choices)
    month = serializers.CharField(help_text="Such as `2027-01`: on the clocks of your settlements.")
    number = serializers.CharField(help_text="Of the statement, as on its page and its PDF.")
    timeZone = serializers.CharField(help_text="Of the settlements.")
    periodStart = serializers.DateTimeField(help_text="When the month begins.")
    periodEnd = serializers.DateTimeField(help_text="What happened before it is in the statement.")
    isComplete = serializers.BooleanField(help_text="False while the month runs.")


class EntryWorthSchema(serializers.Serializer[Any]):
    currency = serializers.CharField(help_text="Your settlement currency, or the currency that was asked for.")
    amount = serializers.CharField(help_text="At the rate of its day.")
    rate = serializers.CharField(help_text="What one of the coin was worth.")


class BalanceWorthSchema(serializers.Serializer[Any]):
    amount = serializers.CharField(help_text="At the rate.")
    rate = serializers.CharField(help_text="What one of the coin was worth.")
    rateSource = serializers.CharField(allow_null=True, help_text="Where it is from; null for the coin itself.")
    ratedAt = serializers.DateTimeField(help_text="When it was recorded.")


class ValuationSchema(serializers.Serializer[Any]):
    """opening + entries + revaluation = closing."""

    currency = serializers.CharField(help_text="Your settlement currency, or the currency that was asked for.")
    opening = BalanceWorthSchema(allow_null=True, help_text="Null when no rate was recorded for it.")
    entries = serializers.CharField(help_text="The worth of those entries that have a rate.")
    entriesWithoutRate = serializers.IntegerField(help_text="How many have none.")
    revaluation = serializers.CharField(
        allow_null=True, help_text="What rates alone have changed; null when a rate is missing."
    )
    closing = BalanceWorthSchema(allow_null=True, help_text="Null when no rate was recorded for it.")


class MonthEntrySchema(serializers.Serializer[Any]):
    type = serializers.CharField(help_text="What it was: a kind of balance change, `fee`, or the kind of posting.")
    date = serializers.CharField(help_text="The day in the time zone of the statement.")
    time = serializers.DateTimeField(help_text="When it was posted.")
    amount = serializers.CharField(help_text="Below zero when money went.")
    balance = serializers.CharField(help_text="After it.")
    fiatAmount = serializers.FloatField(allow_null=True, help_text="What it was worth when its payment was quoted.")
    fiatCurrency = serializers.CharField(allow_null=True, help_text="Of `fiatAmount`.")
    paymentId = serializers.CharField(allow_null=True, help_text="The payment that it belongs to.")
    reference = serializers.CharField(help_text="What it was for: the id of a record.")
    settlementId = serializers.CharField(allow_null=True, help_text="The settlement that took it into account.")
    settlementCurrency = serializers.CharField(allow_null=True, help_text="The coin that it was settled in.")
    inSettlementCurrency = serializers.CharField(
        allow_null=True, help_text="What it became there, at the rate that was recorded."
    )
    rate = serializers.CharField(allow_null=True, help_text="What one of the coin became in the settlement currency.")
    worth = EntryWorthSchema(many=True, help_text="By currency; those without a recorded rate are left out.")


class MonthAccountSchema(serializers.Serializer[Any]):
    account = serializers.ChoiceField(
        choices=ACCOUNTS,
        help_text="`balance` is yours, less what you owe; `held` while coins are missing; `suspense` waits for you.",
    )
    network = NetworkField()
    cryptocurrency = CoinField()
    openingBalance = serializers.CharField(help_text="At the beginning of the month.")
    entries = MonthEntrySchema(many=True, help_text="What changed it, oldest first.")
    closingBalance = serializers.CharField(help_text="Opening balance + entries, to the last digit.")
    valuations = ValuationSchema(many=True, help_text="What it all was worth, at recorded rates.")


class MonthlyStatementSchema(MonthSchema):
    """The statement of a month."""

    accounts = MonthAccountSchema(many=True, help_text="Each account in each coin on each network.")
