"""Forms about refunds: the merchant's on the dashboard, the payer's on the destination page."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from merchants.forms import FilterForm, LookMixin, SearchField
from payments.chains.profiles import Family
from payments.dashboard.forms import ShownForm
from payments.rates.amounts import MAX_FIAT_AMOUNT
from payments.transfers.states import MemoType
from refunds import wording
from refunds.serializers import MAX_ADDRESS_CHARACTERS, MAX_MEMO_CHARACTERS, MAX_REASON_CHARACTERS
from refunds.states import RefundStatus

OWN_MONEY = "payment"
"""The choice that means no money in suspense."""

_TYPED_EXACTLY = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}


class RefundFilterForm(FilterForm):
    """The filters of the list."""

    q = SearchField(example="Id of a refund or payment")
    status = forms.ChoiceField(required=False, choices=[("", "Any status"), *RefundStatus.choices])


class DestinationForm(LookMixin):
    """An address on a network, and on stellar a memo. The service checks whether it can be paid."""

    destination = forms.CharField(
        label="Address",
        max_length=MAX_ADDRESS_CHARACTERS,
        widget=forms.TextInput(attrs=_TYPED_EXACTLY),
        error_messages={"required": "Enter the address that the money goes to."},
    )
    memo = forms.CharField(
        required=False,
        max_length=MAX_MEMO_CHARACTERS,
        widget=forms.TextInput(attrs=_TYPED_EXACTLY),
    )

    memo_is_text = forms.BooleanField(
        required=False,
        label="The exchange calls it a text memo (MEMO_TEXT)",
        help_text="Otherwise a memo of digits is sent as a number (MEMO_ID), which most exchanges want.",
    )

    def __init__(self, *args: Any, families: Collection[Family], **options: Any) -> None:
        """`families` are those of the networks that the money may be on."""
        super().__init__(*args, **options)
        self.fields["destination"].help_text = " ".join(wording.ADDRESSES[each] for each in sorted(families))
        if hints := [wording.MEMOS[each] for each in families if each in wording.MEMOS]:
            self.fields["memo"].help_text = " ".join(hints)
        else:
            del self.fields["memo"], self.fields["memo_is_text"]

    @property
    def memo_type(self) -> str:
        """The type that was said; empty where nobody said one."""
        return MemoType.TEXT if self.cleaned_data.get("memo_is_text") else ""


class PayerDestinationForm(DestinationForm):
    """The payer's address, which is shown again and must be confirmed before anything is sent there."""

    confirmed = forms.BooleanField(
        required=False, label="I have compared the whole address. It is mine, and it is on this network."
    )

    def __init__(self, *args: Any, network: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["destination"].label = f"Your address on {network}"


class RefundFileForm(LookMixin):
    """The file that asks for refunds."""

    file = forms.FileField(
        label="CSV file",
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
        error_messages={"required": "Choose the file.", "empty": "The file is empty."},
    )


class ReasonMixin(forms.Form):
    """A note of the merchant's about a refund."""

    reason = forms.CharField(
        required=False,
        max_length=MAX_REASON_CHARACTERS,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="A note of your own. The payer does not see it.",
    )

    def clean_reason(self) -> str:
        reason: str = self.cleaned_data["reason"]
        if not reason.isprintable():
            raise ValidationError("Use printable characters only.")
        return reason


class GiveBackForm(DestinationForm, ReasonMixin, ShownForm):
    """Money that waits for a decision goes back whole; where to may be left to the service."""

    field_order = ("destination", "memo", "memo_is_text", "reason", "shown")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        destination = self.fields["destination"]
        destination.required = False
        destination.label = "To another address"
        destination.help_text = f"Leave it empty to send the money back to where it came from. {destination.help_text}"


class RefundForm(DestinationForm, ReasonMixin):
    """A refund of a payment. The view passes what can be given back."""

    source = forms.ChoiceField(label="What is given back", widget=forms.RadioSelect)
    amount = forms.DecimalField(
        required=False,
        max_digits=16,
        max_value=MAX_FIAT_AMOUNT,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
        error_messages={"invalid": "Enter an amount such as 12.50."},
    )
    field_order = ("source", "amount", "destination", "memo", "memo_is_text", "reason")
    field_of_param = {"discrepancyId": "source"}  # noqa: RUF012 - a ClassVar in the base

    def __init__(self, *args: Any, sources: list[tuple[str, str]], currency: str, most: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["source"].choices = sources  # type: ignore[attr-defined]  # a ChoiceField's
        self.fields["source"].initial = sources[0][0]
        if len(sources) == 1:
            self.fields["source"].widget = forms.HiddenInput()
        destination = self.fields["destination"]
        destination.required = False
        destination.label = "To another address"
        destination.help_text = f"Leave it empty to send the money back to where it came from. {destination.help_text}"
        if any(name == OWN_MONEY for name, _ in sources):
            self.fields["amount"].label = f"Amount in {currency}"
            self.fields["amount"].help_text = f"Leave it empty to give back all that is left: {most}."
            if len(sources) > 1:
                self.fields["amount"].help_text += " Money that waits for a decision goes back whole."
        else:
            del self.fields["amount"]

    def clean_amount(self) -> Decimal | None:
        amount: Decimal | None = self.cleaned_data["amount"]
        if amount is not None and amount <= 0:
            raise ValidationError("Must be greater than 0.")
        return amount
