"""The bodies of requests about the merchant, and the records of the replies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, time
from decimal import Decimal
from typing import Any, ClassVar, cast

from django.utils import timezone
from rest_framework import serializers

from config import ids
from config.api.fields import (
    CoinField,
    InstantFilterField,
    StrictCharField,
    StrictChoiceField,
    StrictField,
    StrictIntegerField,
    StrictSerializer,
)
from config.api.renderers import format_instant
from config.environments import Environment
from config.hooks import Hook
from config.money import CRYPTO_DIGITS, format_crypto, from_units
from merchants.ledger.balances import MerchantBalance, merchant_balances
from merchants.models import LatePayments, Merchant, MerchantSettings, Plan, SettlementFrequency, Surplus
from merchants.services import MAX_ALLOWED_WALLETS, SettingsChanges, fee_bps_of

decimals_of: Hook[[str, str, str], int] = Hook("decimals_of")
"""The decimals of a coin, by environment, network and code; payments provide them."""

suspense_of: Hook[[Merchant, str, datetime | None], Mapping[tuple[str, str], int]] = Hook("suspense_of")
"""Base units that wait for a merchant's decision in an environment, by network and code, now or at an instant;
payments provide them."""

BASIS_POINTS_OF_A_PERCENT = 100


class TimeOfDayField(StrictField):
    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "Must be a 24-hour time HH:MM, such as 09:30."}

    _FORM: ClassVar = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")

    @property
    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{self._FORM.pattern}$"}

    def to_internal_value(self, data: Any) -> time:
        found = self._FORM.fullmatch(data) if isinstance(data, str) else None
        if found is None:
            self.fail("invalid")
        return time(int(found[1]), int(found[2]))


class DecimalField(StrictField):
    """A decimal of at least zero, as a string such as "0.25" or as a JSON number; both are read exactly."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "invalid": 'Must be a decimal of at least 0, such as "0.25".',
        "digits": "Must have at most {digits} fractional digits.",
    }

    _FORM: ClassVar = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?")

    def __init__(self, *, digits: int, written: str = _FORM.pattern, most: float | None = None, **kwargs: Any) -> None:
        """`written` and `most` are for the reference: what services refuse beyond the form."""
        self.digits, self.written, self.most = digits, written, most
        super().__init__(**kwargs)

    @property
    def json_schema(self) -> dict[str, Any]:
        number = {"type": "number", "minimum": 0} | ({} if self.most is None else {"maximum": self.most})
        return {"anyOf": [{"type": "string", "pattern": f"^{self.written}$"}, number]}

    def to_internal_value(self, data: Any) -> Decimal:
        is_number = isinstance(data, int | Decimal) and not isinstance(data, bool)
        text = format(Decimal(data), "f") if is_number else data
        if not isinstance(text, str) or not self._FORM.fullmatch(text):
            self.fail("invalid")
        if len(text.partition(".")[2].rstrip("0")) > self.digits:
            self.fail("digits", digits=self.digits)
        return Decimal(text)


class ScheduleSerializer(StrictSerializer):
    """When settlements are made. Each field that is left out stays as it is."""

    frequency = StrictChoiceField(choices=SettlementFrequency.values, required=False)
    time = TimeOfDayField(required=False, help_text="24-hour HH:MM in the schedule's time zone.")
    timezone = StrictCharField(max_length=64, required=False, help_text="IANA name, such as Europe/Berlin.")
    dayOfWeek = StrictIntegerField(
        minimum=1, maximum=7, required=False, allow_null=True, help_text="1 Monday to 7 Sunday; for weekly."
    )
    dayOfMonth = StrictIntegerField(
        minimum=1,
        maximum=31,
        required=False,
        allow_null=True,
        help_text="For monthly; in a shorter month its last day.",
    )
    minimumAmount = DecimalField(
        digits=CRYPTO_DIGITS, required=False, help_text="Settle only from this much on, in the settlement currency."
    )


class SettingsSerializer(StrictSerializer):
    """The body of a settings update: what is left out stays as it is."""

    settlementCurrency = CoinField(required=False)
    settlementSchedule = ScheduleSerializer(required=False)
    paymentTolerance = DecimalField(
        digits=2,
        written=r"0{1,20}(\.([0-4][0-9]?|50?)0{0,18})?",
        most=0.5,
        required=False,
        help_text="How far short a payment may fall and still complete, in percent: from 0 to 0.5.",
    )
    latePayments = StrictChoiceField(
        choices=LatePayments.values,
        required=False,
        help_text="`hold` late money for a decision, or `accept` it within 24 hours when the amount is complete.",
    )
    surplus = StrictChoiceField(
        choices=Surplus.values,
        required=False,
        help_text=(
            "What happens to a surplus: `ask` holds it for a decision, `give_back` refunds it to its sender, "
            "`keep` credits it up to `surplusKept`."
        ),
    )
    surplusKept = DecimalField(
        digits=2,
        required=False,
        help_text="Up to how much of the price a surplus is kept, in percent: above 0 and at most 1 with `keep`, "
        "else 0.",
    )
    walletAllowList = serializers.ListField(
        child=StrictCharField(max_length=80),
        max_length=MAX_ALLOWED_WALLETS,
        required=False,
        help_text="Wallets that payments may name as merchantWallet; an empty list allows any.",
    )

    _CHANGES: ClassVar = {
        "settlementCurrency": "settlement_currency",
        "latePayments": "late_payments",
        "surplus": "surplus",
        "walletAllowList": "wallet_allow_list",
    }
    _SCHEDULE_CHANGES: ClassVar = {
        "frequency": "settlement_frequency",
        "time": "settlement_time",
        "timezone": "settlement_timezone",
        "dayOfWeek": "settlement_weekday",
        "dayOfMonth": "settlement_monthday",
        "minimumAmount": "settlement_minimum",
    }

    def to_changes(self) -> SettingsChanges:
        """The changes for the service, once the data is valid."""
        data = self.validated_data
        changes = {own: data[name] for name, own in self._CHANGES.items() if name in data}
        schedule = data.get("settlementSchedule", {})
        changes |= {own: schedule[name] for name, own in self._SCHEDULE_CHANGES.items() if name in schedule}
        if "paymentTolerance" in data:
            changes["payment_tolerance_bps"] = int(data["paymentTolerance"] * BASIS_POINTS_OF_A_PERCENT)
        if "surplusKept" in data:
            changes["surplus_kept_bps"] = int(data["surplusKept"] * BASIS_POINTS_OF_A_PERCENT)
        return cast("SettingsChanges", changes)


class BalanceQuery(StrictSerializer):
    """The query of the balance."""

    at = InstantFilterField(
        required=False,
        end_of_day=True,
        help_text="The balance as it was at this ISO 8601 time, UTC; a date means its end. Left out, as it is now.",
    )

    def validate_at(self, at: datetime) -> datetime:
        # A day that is not over yet has no end to report.
        if at > timezone.now():
            raise serializers.ValidationError("Must not be in the future.")
        return at


# --- records -----------------------------------------------------------------------------------------


def merchant_record(merchant: Merchant, chosen: MerchantSettings) -> dict[str, Any]:
    return {
        "id": merchant.public_id,
        "object": "merchant",
        "name": merchant.name,
        "email": merchant.email,
        "plan": merchant.plan,
        "feeBps": fee_bps_of(merchant),
        "environment": chosen.environment,
        "settlementCurrency": chosen.settlement_currency,
        "settlementSchedule": {
            "frequency": chosen.settlement_frequency,
            "time": chosen.settlement_time.strftime("%H:%M"),
            "timezone": chosen.settlement_timezone,
            "dayOfWeek": chosen.settlement_weekday,
            "dayOfMonth": chosen.settlement_monthday,
            "minimumAmount": f"{chosen.settlement_minimum:.{CRYPTO_DIGITS}f}",
        },
        "paymentTolerance": f"{from_units(chosen.payment_tolerance_bps, 2):f}",
        "latePayments": chosen.late_payments,
        "surplus": chosen.surplus,
        "surplusKept": f"{from_units(chosen.surplus_kept_bps, 2):f}",
        "walletAllowList": chosen.wallet_allow_list,
        "balances": balance_records(merchant, chosen.environment),
        "createdAt": format_instant(merchant.created_at),
    }


def balance_records(merchant: Merchant, environment: str, *, at: datetime | None = None) -> list[dict[str, Any]]:
    """The balances by network and coin, sorted, now or as they were at an instant.

    With what is in suspense; also where there is nothing but suspense.
    """
    booked = {(each.network, each.asset): each for each in merchant_balances(merchant, environment, at=at)}
    suspense = suspense_of(merchant, environment, at)
    records = []
    for network, asset in sorted(booked.keys() | suspense.keys()):
        decimals = decimals_of(environment, network, asset)
        own = booked.get((network, asset)) or MerchantBalance(network, asset, available=0, receivable=0)
        records.append(
            {
                "network": network,
                "cryptocurrency": asset,
                "available": format_crypto(own.available, decimals),
                "receivable": format_crypto(own.receivable, decimals),
                "inSuspense": format_crypto(suspense.get((network, asset), 0), decimals),
            }
        )
    return records


# --- the reference -----------------------------------------------------------------------------------


class BalanceEntrySchema(serializers.Serializer[Any]):
    network = serializers.CharField()
    cryptocurrency = serializers.CharField()
    available = serializers.CharField(
        help_text="Yours, to be refunded from or settled: decimal, six fractional digits or more."
    )
    receivable = serializers.CharField(
        help_text="What you owe: credited and spent before a chain took the payment back. Decimal."
    )
    inSuspense = serializers.CharField(
        help_text=(
            "Arrived late, short, in surplus, or in the wrong coin or network, and waits for your decision: not "
            "yours yet. Decimal."
        )
    )


class BalanceSchema(serializers.Serializer[Any]):
    object = serializers.ChoiceField(choices=["balance"])
    environment = serializers.ChoiceField(choices=Environment.choices)
    at = serializers.DateTimeField(allow_null=True, help_text="The instant that was asked for; null for now.")
    balances = BalanceEntrySchema(many=True)


class ScheduleSchema(serializers.Serializer[Any]):
    frequency = serializers.ChoiceField(choices=SettlementFrequency.choices)
    time = serializers.CharField(help_text="24-hour HH:MM.")
    timezone = serializers.CharField()
    dayOfWeek = serializers.IntegerField(allow_null=True)
    dayOfMonth = serializers.IntegerField(allow_null=True)
    minimumAmount = serializers.CharField(help_text="Decimal, six fractional digits.")


class MerchantSchema(serializers.Serializer[Any]):
    """The merchant record, for the reference; `merchant_record` writes it."""

    id = serializers.CharField(help_text=f"{ids.MERCHANT.prefix}_ and 26 characters.")
    object = serializers.ChoiceField(choices=["merchant"])
    name = serializers.CharField()
    email = serializers.EmailField()
    plan = serializers.ChoiceField(choices=Plan.choices)
    feeBps = serializers.IntegerField(help_text="Kept of what payments bring in, in hundredths of a percent.")
    environment = serializers.ChoiceField(choices=Environment.choices)
    settlementCurrency = CoinField()
    settlementSchedule = ScheduleSchema()
    paymentTolerance = serializers.CharField(help_text="In percent, two fractional digits.")
    latePayments = serializers.ChoiceField(choices=LatePayments.choices)
    surplus = serializers.ChoiceField(choices=Surplus.choices)
    surplusKept = serializers.CharField(help_text="In percent, two fractional digits.")
    walletAllowList = serializers.ListField(child=serializers.CharField())
    balances = BalanceEntrySchema(many=True)
    createdAt = serializers.DateTimeField()
