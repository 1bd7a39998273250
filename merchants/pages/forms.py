"""Forms of the merchant's pages: logging in, lists, settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar, Final, cast
from zoneinfo import available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.utils import dates
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from config.api.pagination import KeyRange
from config.coins import COINS
from config.errors import DomainError
from config.pages.typed_amounts import AmountField, unambiguous
from merchants.models import LatePayments, MerchantSettings, SettlementFrequency, Surplus
from merchants.roles import Action
from merchants.services import (
    MAX_ALLOWED_WALLETS,
    MAX_SURPLUS_KEPT_BPS,
    MAX_TOLERANCE_BPS,
    SettingsChanges,
)

WEEKDAYS: Final = tuple(dates.WEEKDAYS.values())
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
            raise ValidationError(_("At most %(most)s lines."), params={"most": self.most})
        return entries


LIMITS: Mapping[str, Any] = {
    "max_value": gettext_lazy("Enter %(limit_value)s or less."),
    "min_value": gettext_lazy("Enter %(limit_value)s or more."),
    "max_length": gettext_lazy("Enter at most %(limit_value)d characters; these are %(show_value)d."),
}
"""Messages for a value beyond the limits of its field, where the field has no words of its own."""


class LookMixin(forms.Form):
    """Gives every control the CSS class of its kind, and a message with the allowed value beyond a limit."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("label_suffix", "")
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.error_messages = {**LIMITS, **field.error_messages}
            if not isinstance(field.widget, (forms.CheckboxInput, forms.CheckboxSelectMultiple, forms.RadioSelect)):
                field.widget.attrs["class"] = "input"

    # The name of a field in the service, where it differs from the name in the form.
    field_of_param: ClassVar[Mapping[str, str]] = {}

    def add_refusal(self, refusal: DomainError) -> None:
        """Shows the refusal of a service at the field that it names."""
        field = self.field_of_param.get(refusal.param or "", refusal.param)
        self.add_error(field if field in self.fields else None, refusal.message)


class PriceField(AmountField):
    """An amount of money greater than zero, with at most six decimals."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_digits=18, decimal_places=6, **options)

    def validate(self, value: Any) -> None:
        super().validate(value)
        if value is not None and value <= 0:
            raise ValidationError(_("Enter an amount greater than 0."))


class SearchField(forms.CharField):
    """The search field of a list; `example` is its placeholder."""

    def __init__(self, *, example: str | Promise) -> None:
        widget = forms.TextInput(attrs={"type": "search", "placeholder": example})
        super().__init__(required=False, max_length=120, label=gettext_lazy("Search"), widget=widget)


class FilterForm(LookMixin):
    """The filters of a list. Each is optional; dates are whole days, UTC, both included, and come last."""

    start = forms.DateField(required=False, label=gettext_lazy("From"), widget=forms.DateInput(attrs={"type": "date"}))
    end = forms.DateField(
        required=False, label=pgettext_lazy("last day", "To"), widget=forms.DateInput(attrs={"type": "date"})
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.order_fields(sorted(self.fields, key=lambda name: name in ("start", "end")))

    def clean(self) -> dict[str, Any]:
        entered: dict[str, Any] = super().clean() or self.cleaned_data
        start, end = entered.get("start"), entered.get("end")
        if start and end and end < start:
            self.add_error("end", _("The last day is before the first day. Change one of them."))
        return entered

    def keys(self) -> KeyRange:
        """The days as a range of keys."""
        return KeyRange.of_days(self.cleaned_data.get("start"), self.cleaned_data.get("end"))


class AuditFilterForm(FilterForm):
    """The filters of the audit log. `people` are the keys and addresses of those to choose from."""

    person = forms.ChoiceField(required=False, label=gettext_lazy("Person"))
    action = forms.ChoiceField(
        required=False, label=gettext_lazy("Action"), choices=[("", gettext_lazy("Any action")), *Action.choices]
    )

    def __init__(self, *args: Any, people: Iterable[tuple[int, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        choices = [(str(key), email) for key, email in people]
        self.fields["person"].choices = [("", gettext_lazy("Anyone")), *choices]  # type: ignore[attr-defined]  # a ChoiceField


class LogInForm(LookMixin):
    email = forms.CharField(
        label=gettext_lazy("E-mail address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True}),
        error_messages={"required": gettext_lazy("Enter your e-mail address.")},
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        error_messages={"required": gettext_lazy("Enter your password.")},
    )


class SettingsForm(LookMixin):
    """The settings of one environment, in the units people think in."""

    settlement_currency = forms.ChoiceField(
        choices=lambda: [(coin, coin) for coin in COINS],
        label=gettext_lazy("Settlement currency"),
        help_text=gettext_lazy("The coin in which settlements reach your wallet. Other coins are converted into it."),
    )
    settlement_frequency = forms.ChoiceField(
        choices=[
            (SettlementFrequency.DAILY, gettext_lazy("Every day")),
            (SettlementFrequency.WEEKLY, gettext_lazy("Every week")),
            (SettlementFrequency.MONTHLY, gettext_lazy("Every month")),
            (SettlementFrequency.MANUAL, gettext_lazy("Only on request")),
        ],
        label=gettext_lazy("How often"),
    )
    settlement_time = forms.TimeField(
        label=gettext_lazy("At"),
        widget=forms.TimeInput(format="%H:%M", attrs={"type": "time"}),
        input_formats=["%H:%M"],
    )
    settlement_timezone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=64,
        widget=forms.TextInput(
            attrs={"list": "time-zones", "autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
        help_text=gettext_lazy("Type a city, such as Lisbon, and choose from the list."),
    )
    settlement_weekday = forms.TypedChoiceField(
        required=False,
        label=pgettext_lazy("day of the week", "On"),
        choices=[("", gettext_lazy("Not chosen")), *((str(day), name) for day, name in enumerate(WEEKDAYS, start=1))],
        coerce=int,
        empty_value=None,
        help_text=gettext_lazy("For weekly settlements. Monday if you choose nothing."),
    )
    settlement_monthday = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=31,
        label=gettext_lazy("On day"),
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        help_text=gettext_lazy("For monthly settlements: 1 to 31. In a shorter month, its last day."),
    )
    settlement_minimum = AmountField(
        min_value=0,
        decimal_places=6,
        label=gettext_lazy("Smallest settlement"),
        help_text=gettext_lazy("In the settlement currency. Smaller amounts are carried over to the next settlement."),
    )
    wallet_allow_list = LinesField(
        required=False,
        most=MAX_ALLOWED_WALLETS,
        label=gettext_lazy("Allowed wallets"),
        help_text=gettext_lazy(
            "One per line. If the list is empty, payments may name any wallet. With a list, a stolen key cannot "
            "send your money elsewhere: other wallets are refused, and a new one is first paid 24 hours after it "
            "was added. On stellar, enter the wallet exactly as payments name it: an M address and the G address "
            "in it are different wallets."
        ),
    )

    field_of_param: ClassVar = {
        "settlementCurrency": "settlement_currency",
        "settlementSchedule.frequency": "settlement_frequency",
        "settlementSchedule.timezone": "settlement_timezone",
        "settlementSchedule.dayOfWeek": "settlement_weekday",
        "settlementSchedule.dayOfMonth": "settlement_monthday",
        "settlementSchedule.minimumAmount": "settlement_minimum",
    }

    @property
    def time_zones(self) -> tuple[str, ...]:
        """The suggested time zones."""
        return suggested_time_zones()

    def clean_settlement_timezone(self) -> str:
        """The IANA name for the words people write, `lisbon` or `new york`."""
        return time_zone_named(self.cleaned_data["settlement_timezone"])

    @classmethod
    def initial_of(cls, chosen: MerchantSettings) -> dict[str, Any]:
        initial = {name: getattr(chosen, name) for name in cls.base_fields}
        return initial | {"settlement_minimum": unambiguous(chosen.settlement_minimum.normalize())}

    def changes(self) -> SettingsChanges:
        return cast("SettingsChanges", dict(self.cleaned_data))

    def add_refusal(self, refusal: DomainError) -> None:
        if (refusal.param or "").startswith("walletAllowList"):
            self.add_error("wallet_allow_list", refusal.message)
        else:
            super().add_refusal(refusal)


class PolicyForm(LookMixin):
    """Automatic handling of money that differs from its request."""

    payment_tolerance = AmountField(
        min_value=0,
        max_value=Decimal(MAX_TOLERANCE_BPS) / BPS_IN_A_PERCENT,
        decimal_places=2,
        label=gettext_lazy("Tolerance in percent"),
        help_text=gettext_lazy("A payment that is short by up to this much still completes. At most half a percent."),
    )
    late_payments = forms.ChoiceField(choices=LatePayments.choices, label=gettext_lazy("Money that arrives late"))
    surplus = forms.ChoiceField(
        required=False,
        choices=Surplus.choices,
        label=gettext_lazy("Overpayments"),
        help_text=gettext_lazy(
            "Surpluses are returned to the sender. If that is not possible, we ask the payer for an address. A "
            "surplus of less than one coin is not returned; it waits for your decision."
        ),
    )
    surplus_kept = AmountField(
        required=False,
        min_value=0,
        max_value=Decimal(MAX_SURPLUS_KEPT_BPS) / BPS_IN_A_PERCENT,
        decimal_places=2,
        label=gettext_lazy("Kept up to this percentage of the price"),
        help_text=gettext_lazy("At most 1. A larger surplus waits for your decision."),
    )
    one_reason_below = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=1_000_000,
        label=gettext_lazy("One reason is enough below, in US dollars"),
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        help_text=gettext_lazy(
            "When you accept several at once, each that is worth as much or more has a reason of its own. It counts at "
            "once; with 0 or nothing each has its own."
        ),
    )
    field_of_param: ClassVar = {
        "paymentTolerance": "payment_tolerance",
        "latePayments": "late_payments",
        "surplusKept": "surplus_kept",
    }

    def clean(self) -> dict[str, Any]:
        entered: dict[str, Any] = super().clean() or self.cleaned_data
        if (
            entered.get("surplus") == Surplus.KEEP
            and not entered.get("surplus_kept")
            and "surplus_kept" not in self.errors
        ):
            self.add_error("surplus_kept", _("Enter the percentage of the price up to which it is kept."))
        return entered

    @classmethod
    def initial_of(cls, chosen: MerchantSettings) -> dict[str, Any]:
        tolerance = Decimal(chosen.payment_tolerance_bps) / BPS_IN_A_PERCENT
        kept = Decimal(chosen.surplus_kept_bps) / BPS_IN_A_PERCENT
        return {
            "payment_tolerance": f"{tolerance:.2f}",
            "late_payments": chosen.late_payments,
            "surplus": chosen.surplus,
            "surplus_kept": f"{kept:.2f}" if kept else None,
            "one_reason_below": chosen.one_reason_below or None,
        }

    def changes(self) -> SettingsChanges:
        surplus, kept = self.cleaned_data["surplus"] or Surplus.ASK, self.cleaned_data["surplus_kept"] or 0
        return {
            "payment_tolerance_bps": int(self.cleaned_data["payment_tolerance"] * BPS_IN_A_PERCENT),
            "late_payments": self.cleaned_data["late_payments"],
            "surplus": surplus,
            "surplus_kept_bps": int(kept * BPS_IN_A_PERCENT) if surplus == Surplus.KEEP else 0,
            "one_reason_below": self.cleaned_data["one_reason_below"] or 0,
        }


def time_zone_named(written: str) -> str:
    """The IANA name of what people write, `lisbon` or `new york`; ValidationError when there is none."""
    try:
        return _time_zones_by_spelling()[_spelling(written)]
    except KeyError:
        raise ValidationError(
            _("There is no time zone with this name. Type a city and choose from the list.")
        ) from None


@cache
def suggested_time_zones() -> tuple[str, ...]:
    """Sorted by name. Old names such as `Cuba` and offsets such as `Etc/GMT+3` are understood, but not suggested."""
    zones = {name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "US/", "SystemV/"))}
    return ("UTC", *sorted(zones))


@cache
def _time_zones_by_spelling() -> dict[str, str]:
    """IANA names by how they may be written: in any case, and by the city alone where that names only one."""
    names = sorted(available_timezones())
    cities: dict[str, list[str]] = {}
    for name in suggested_time_zones():
        cities.setdefault(_spelling(name.rpartition("/")[2]), []).append(name)
    by_city = {city: found[0] for city, found in cities.items() if len(found) == 1}
    return by_city | {_spelling(name): name for name in names}


def _spelling(name: str) -> str:
    return name.strip().lower().replace(" ", "_")
