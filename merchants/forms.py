"""What people fill in on the merchant's pages: logging in, key pairs, settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar, Final, cast
from zoneinfo import available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from config.api.pagination import KeyRange
from config.errors import DomainError
from merchants.access.addresses import parse_network
from merchants.access.scopes import DESCRIPTIONS
from merchants.models import LatePayments, MerchantSettings, SettlementFrequency
from merchants.services import (
    MAX_ALLOWED_NETWORKS,
    MAX_ALLOWED_WALLETS,
    MAX_TOLERANCE_BPS,
    SETTLEMENT_CURRENCIES,
    SettingsChanges,
)

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
BPS_IN_A_PERCENT: Final = 100


class LinesField(forms.CharField):
    """A list written one entry to a line."""

    def __init__(self, *, most: int, **options: Any) -> None:
        super().__init__(widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}), **options)
        self.most = most

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, (list, tuple)) else value

    def clean(self, value: Any) -> list[str]:
        lines = [line.strip() for line in super().clean(value).splitlines()]
        entries = list(dict.fromkeys(line for line in lines if line))
        if len(entries) > self.most:
            raise ValidationError(f"At most {self.most} lines.")
        return entries


class LookMixin(forms.Form):
    """Gives every control the class the stylesheet knows."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("label_suffix", "")
        super().__init__(*args, **options)
        for field in self.fields.values():
            if not isinstance(field.widget, (forms.CheckboxInput, forms.CheckboxSelectMultiple)):
                field.widget.attrs["class"] = "input"

    # What a service calls a field, where that is not the name the form has for it.
    field_of_param: ClassVar[Mapping[str, str]] = {}

    def add_refusal(self, refusal: DomainError) -> None:
        """Shows why a service said no, at the field that it named."""
        field = self.field_of_param.get(refusal.param or "", refusal.param)
        self.add_error(field if field in self.fields else None, refusal.message)


class SearchField(forms.CharField):
    """What a list is searched for; `example` stands in the field while it is empty."""

    def __init__(self, *, example: str) -> None:
        widget = forms.TextInput(attrs={"type": "search", "placeholder": example})
        super().__init__(required=False, max_length=120, label="Search", widget=widget)


class FilterForm(LookMixin):
    """What a list is narrowed down by. Each is optional; dates are whole days, UTC, both included, and come last."""

    start = forms.DateField(required=False, label="From", widget=forms.DateInput(attrs={"type": "date"}))
    end = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.order_fields(sorted(self.fields, key=lambda name: name in ("start", "end")))

    def keys(self) -> KeyRange:
        """The days as a range of keys."""
        return KeyRange.of_days(self.cleaned_data.get("start"), self.cleaned_data.get("end"))


class LogInForm(LookMixin):
    email = forms.CharField(
        label="E-mail address",
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True}),
        error_messages={"required": "Enter your e-mail address."},
    )
    password = forms.CharField(
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        error_messages={"required": "Enter your password."},
    )


class KeyPairForm(LookMixin):
    name = forms.CharField(
        max_length=80,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="Where the pair will be used, for example “Web shop”.",
        error_messages={"required": "Give the pair a name that you will recognise."},
    )
    scopes = forms.MultipleChoiceField(
        required=False,
        choices=[(scope.value, words) for scope, words in DESCRIPTIONS.items()],
        widget=forms.CheckboxSelectMultiple,
        label="What it may do",
        help_text="Tick only what is needed. With nothing ticked the pair has full access.",
    )
    lifetime = forms.TypedChoiceField(
        choices=[
            ("0", "Never"),
            ("30", "In 30 days"),
            ("90", "In 90 days"),
            ("180", "In 180 days"),
            ("365", "In a year"),
        ],
        coerce=int,
        initial="0",
        label="Expires",
    )
    allowed_networks = LinesField(
        required=False,
        most=MAX_ALLOWED_NETWORKS,
        label="Allowed IP addresses",
        help_text="One address or network to a line, for example 203.0.113.7 or 2001:db8::/48. "
        "Requests from anywhere else are refused.",
    )
    require_signature = forms.BooleanField(
        required=False,
        label="Require signed requests",
        help_text="Requests without a valid signature header are refused.",
    )

    def clean_allowed_networks(self) -> tuple[str, ...]:
        networks = []
        for entry in self.cleaned_data["allowed_networks"]:
            try:
                networks.append(str(parse_network(entry)))
            except ValueError as error:
                raise ValidationError(f"“{entry}” is not an IP address or network.") from error
        return tuple(networks)

    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["lifetime"]
        return timezone.now() + timedelta(days=days) if days else None


class SettingsForm(LookMixin):
    """The settings of one environment, in the units people think in."""

    settlement_currency = forms.ChoiceField(
        choices=[(coin, coin) for coin in SETTLEMENT_CURRENCIES],
        label="Settlement currency",
        help_text="The coin in which settlements reach your wallet. Other coins are converted into it.",
    )
    settlement_frequency = forms.ChoiceField(
        choices=[
            (SettlementFrequency.DAILY, "Every day"),
            (SettlementFrequency.WEEKLY, "Every week"),
            (SettlementFrequency.MONTHLY, "Every month"),
            (SettlementFrequency.MANUAL, "Only when somebody asks for it"),
        ],
        label="How often",
    )
    settlement_time = forms.TimeField(
        label="At",
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        input_formats=["%H:%M"],
    )
    settlement_timezone = forms.CharField(
        label="Time zone",
        max_length=64,
        widget=forms.TextInput(
            attrs={"list": "time-zones", "autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
        help_text="Begin with a city, such as Lisbon, and choose.",
    )
    settlement_weekday = forms.TypedChoiceField(
        required=False,
        label="On",
        choices=[("", "Not chosen"), *((str(day), name) for day, name in enumerate(WEEKDAYS, start=1))],
        coerce=int,
        empty_value=None,
        help_text="For a settlement every week; Monday when nothing is chosen.",
    )
    settlement_monthday = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=31,
        label="On day",
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        help_text="For a settlement every month, 1 to 31; in a shorter month its last day.",
    )
    settlement_minimum = forms.DecimalField(
        min_value=0,
        decimal_places=6,
        label="Smallest settlement",
        help_text="In the settlement currency. What is less is carried over to the next one.",
    )
    payment_tolerance = forms.DecimalField(
        min_value=0,
        max_value=Decimal(MAX_TOLERANCE_BPS) / BPS_IN_A_PERCENT,
        decimal_places=2,
        label="Tolerance in percent",
        help_text="How far short a payment may fall and still complete. At most 0.5.",
    )
    late_payments = forms.ChoiceField(choices=LatePayments.choices, label="Money that arrives late")
    wallet_allow_list = LinesField(
        required=False,
        most=MAX_ALLOWED_WALLETS,
        label="Wallets that may be paid",
        help_text="One to a line; with none, payments may name any wallet. With a list, a stolen key cannot send your "
        "money elsewhere: another wallet is refused, and a new one is first paid 24 hours after it was added.",
    )

    field_of_param: ClassVar = {
        "settlementCurrency": "settlement_currency",
        "settlementSchedule.frequency": "settlement_frequency",
        "settlementSchedule.timezone": "settlement_timezone",
        "settlementSchedule.dayOfWeek": "settlement_weekday",
        "settlementSchedule.dayOfMonth": "settlement_monthday",
        "settlementSchedule.minimumAmount": "settlement_minimum",
        "paymentTolerance": "payment_tolerance",
        "latePayments": "late_payments",
    }

    @property
    def time_zones(self) -> tuple[str, ...]:
        """What is suggested."""
        return _suggested_time_zones()

    def clean_settlement_timezone(self) -> str:
        """What people write, `lisbon` or `new york`, becomes the IANA name."""
        written: str = self.cleaned_data["settlement_timezone"]
        try:
            return _time_zones_by_spelling()[_spelling(written)]
        except KeyError:
            raise ValidationError("There is no time zone of this name. Begin with a city, and choose.") from None

    @classmethod
    def initial_of(cls, chosen: MerchantSettings) -> dict[str, Any]:
        initial = {name: getattr(chosen, name) for name in cls.base_fields if name != "payment_tolerance"}
        tolerance = Decimal(chosen.payment_tolerance_bps) / BPS_IN_A_PERCENT
        return initial | {
            "payment_tolerance": f"{tolerance:.2f}",
            "settlement_minimum": f"{chosen.settlement_minimum.normalize():f}",
        }

    def changes(self) -> SettingsChanges:
        values = dict(self.cleaned_data)
        values["payment_tolerance_bps"] = int(values.pop("payment_tolerance") * BPS_IN_A_PERCENT)
        return cast("SettingsChanges", values)

    def add_refusal(self, refusal: DomainError) -> None:
        if (refusal.param or "").startswith("walletAllowList"):
            self.add_error("wallet_allow_list", refusal.message)
        else:
            super().add_refusal(refusal)


@cache
def _suggested_time_zones() -> tuple[str, ...]:
    """By place. Old names such as `Cuba` and offsets such as `Etc/GMT+3` are understood, but not suggested."""
    places = {
        name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "US/", "SystemV/"))
    }
    return ("UTC", *sorted(places))


@cache
def _time_zones_by_spelling() -> dict[str, str]:
    """IANA names by how they may be written: in any case, and by the city alone where that names only one."""
    names = sorted(available_timezones())
    cities: dict[str, list[str]] = {}
    for name in _suggested_time_zones():
        cities.setdefault(_spelling(name.rpartition("/")[2]), []).append(name)
    by_city = {city: found[0] for city, found in cities.items() if len(found) == 1}
    return by_city | {_spelling(name): name for name in names}


def _spelling(name: str) -> str:
    return name.strip().lower().replace(" ", "_")
