"""Forms about payments on the dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from config.coins import COINS
from config.pages.typed_amounts import AmountField
from merchants.pages.forms import FilterForm, LookMixin, SearchField
from payments.chains import registry
from payments.dashboard.search.filters import PaymentFilter
from payments.models import MAX_NOTE
from payments.states import DiscrepancyKind, PaymentStatus

_KINDS_OF_MERCHANTS = [
    DiscrepancyKind.LATE,
    DiscrepancyKind.OVERPAID,
    DiscrepancyKind.UNDERPAID,
    DiscrepancyKind.WRONG_TOKEN,
    DiscrepancyKind.WRONG_NETWORK,
]


class NameTransactionForm(LookMixin):
    """The on-chain transaction that a merchant names for a payment."""

    hash = forms.CharField(
        label=gettext_lazy("Transaction hash"),
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}),
        help_text=gettext_lazy("The payer’s wallet or exchange shows it."),
        error_messages={"required": gettext_lazy("Enter the hash of the on-chain transaction.")},
    )
    field_of_param = {"transactionHash": "hash"}  # noqa: RUF012 - a ClassVar in the base


class NoteForm(LookMixin):
    """The merchant's note about a payment."""

    note = forms.CharField(
        required=False,
        label=gettext_lazy("Note"),
        max_length=MAX_NOTE,
        help_text=gettext_lazy("For your team. Payers do not see it."),
    )

    def clean_note(self) -> str:
        return printable(self.cleaned_data["note"])


class PaymentFilterForm(FilterForm):
    """The filters of the list. Amounts are prices, in whatever currency a payment has."""

    q = SearchField(example=gettext_lazy("Id, hash, amount, metadata"))
    status = forms.ChoiceField(
        label=gettext_lazy("Status"), required=False, choices=[("", gettext_lazy("Any status")), *PaymentStatus.choices]
    )
    network = forms.ChoiceField(label=gettext_lazy("Network"), required=False)
    coin = forms.ChoiceField(
        label=gettext_lazy("Coin"),
        required=False,
        choices=lambda: [("", gettext_lazy("Any coin")), *((coin, coin) for coin in COINS)],
    )
    least = AmountField(label=gettext_lazy("Amount from"), required=False, min_value=0, max_digits=18, decimal_places=4)
    most = AmountField(label=gettext_lazy("Amount to"), required=False, min_value=0, max_digits=18, decimal_places=4)

    def __init__(self, data: Any, *, environment: str) -> None:
        super().__init__(data)
        networks = [(each, registry.known_profile(environment, each).name) for each in registry.networks(environment)]
        cast("forms.ChoiceField", self.fields["network"]).choices = [("", gettext_lazy("Any network")), *networks]

    def clean(self) -> dict[str, Any]:
        filters = super().clean()
        least, most = filters.get("least"), filters.get("most")
        if least is not None and most is not None and most < least:
            self.add_error("most", ValidationError(_("This is less than the smallest amount. Enter at least as much.")))
        return filters

    @property
    def filters(self) -> PaymentFilter:
        """The filter of a valid form."""
        return PaymentFilter(**self.cleaned_data)

    @property
    def more(self) -> list[forms.BoundField]:
        """The fields that stand below the first line."""
        return [self[name] for name in ("network", "coin", "least", "most", "start", "end")]

    @property
    def more_is_open(self) -> bool:
        return any(field.value() or field.errors for field in self.more)


class ViewNameForm(LookMixin):
    """The name under which a member keeps the filters of the list."""

    name = forms.CharField(
        label=gettext_lazy("Name of the view"),
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": gettext_lazy("Give the view a name.")},
    )


class DecisionFilterForm(LookMixin):
    """Kind of decisions on the page."""

    kind = forms.ChoiceField(
        required=False,
        label=gettext_lazy("Show"),
        choices=[
            ("", gettext_lazy("Everything")),
            *((str(kind), kind.label) for kind in _KINDS_OF_MERCHANTS),
            ("refund", gettext_lazy("Refunds without an address")),
            ("settlement", gettext_lazy("Settlements")),
        ],
    )


class ShownForm(LookMixin):
    """Carries what the page has shown, so that nothing else is done than that."""

    shown = forms.CharField(max_length=64, widget=forms.HiddenInput())


class AcceptForm(ShownForm):
    """Reason for taking money that differs from its request."""

    reason = forms.CharField(
        label=gettext_lazy("Why you accept it"),
        max_length=500,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Saved with the payment. The payer does not see it."),
        error_messages={"required": gettext_lazy("Enter a short reason. It is saved with the payment.")},
    )

    def clean_reason(self) -> str:
        return printable(self.cleaned_data["reason"])


class SeveralForm(LookMixin):
    """Why money is accepted, or given back, together: one reason for all, and one for each key of `alone`."""

    def __init__(self, data: Any, *, alone: Sequence[str], shares: bool, is_required: bool) -> None:
        super().__init__(data)
        if shares:
            self.fields["reason"] = self._reason(required=is_required)
            if alone:
                self.fields["reason"].label = _("Reason for all the others")
        for key in alone:
            self.fields[key] = self._reason(required=is_required)
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"

    @staticmethod
    def _reason(*, required: bool) -> forms.CharField:
        return forms.CharField(
            required=required,
            label=_("Reason"),
            max_length=500,
            widget=forms.TextInput(attrs={"autocomplete": "off"}),
            error_messages={"required": _("Enter a short reason. It is saved with the payment.")},
            help_text=_("A note of your own. The payer does not see it."),
        )

    def clean(self) -> dict[str, Any]:
        asked: dict[str, Any] = super().clean() or self.cleaned_data
        return {name: printable(value) for name, value in asked.items()}


def printable(text: str) -> str:
    """The text, of one line; ValidationError for anything else."""
    if not text.isprintable():
        raise ValidationError(_("Use printable characters only."))
    return text
