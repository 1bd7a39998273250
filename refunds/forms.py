"""What people fill in about refunds: the merchant on the dashboard, the payer on the claim page."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from merchants.forms import FilterForm, LookMixin, SearchField
from payments.services import MAX_FIAT_AMOUNT
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
    """An address on a network, and on stellar a memo. Whether it can be paid is for the service to say."""

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
        help_text=(
            "If the address belongs to an exchange, it shows a memo (or tag) beside it: enter that too, or the money "
            "cannot be credited. A wallet of one’s own needs none."
        ),
    )

    def __init__(self, *args: Any, takes_memo: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        if not takes_memo:
            del self.fields["memo"]


class ClaimForm(DestinationForm):
    """The payer's address. It is shown once more and has to be confirmed before anything is sent there."""

    confirmed = forms.BooleanField(
        required=False, label="I have compared the whole address. It is mine, and it is on this network."
    )

    def __init__(self, *args: Any, network: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["destination"].label = f"Your address on {network}"


class RefundForm(DestinationForm):
    """A refund of a payment. What can be given back is told by whoever makes the form."""

    source = forms.ChoiceField(label="What is given back", widget=forms.RadioSelect)
    amount = forms.DecimalField(
        required=False,
        max_digits=16,
        max_value=MAX_FIAT_AMOUNT,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
        error_messages={"invalid": "Enter an amount such as 12.50."},
    )
    reason = forms.CharField(
        required=False,
        max_length=MAX_REASON_CHARACTERS,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="A note of your own. The payer does not see it.",
    )

    field_order = ("source", "amount", "destination", "memo", "reason")
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
        destination.help_text = "Leave it empty to send the money back to where it came from."
        if any(name == OWN_MONEY for name, _ in sources):
            self.fields["amount"].label = f"Amount in {currency}"
            self.fields["amount"].help_text = f"Leave it empty to give back all that is left: {most}."
            if len(sources) > 1:
                self.fields["amount"].help_text += " Money in suspense goes back whole."
        else:
            del self.fields["amount"]

    def clean_amount(self) -> Decimal | None:
        amount: Decimal | None = self.cleaned_data["amount"]
        if amount is not None and amount <= 0:
            raise ValidationError("Must be greater than 0.")
        return amount

    def clean_reason(self) -> str:
        reason: str = self.cleaned_data["reason"]
        if not reason.isprintable():
            raise ValidationError("Use printable characters only.")
        return reason
