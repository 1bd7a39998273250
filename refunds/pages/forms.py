"""Forms about refunds: the merchant's on the dashboard, the payer's on the destination page."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from config.errors import DomainError
from config.pages.typed_amounts import AmountField
from merchants.pages.forms import FilterForm, LookMixin, SearchField
from payments.chains.profiles import Family
from payments.dashboard.forms import ShownForm
from payments.rates.amounts import MAX_FIAT_AMOUNT
from payments.transfers.states import MemoType
from refunds import wording
from refunds.serializers import MAX_ADDRESS_CHARACTERS, MAX_MEMO_CHARACTERS, MAX_REASON_CHARACTERS
from refunds.states import RefundStatus

OWN_MONEY = "payment"
"""The choice that means no money in suspense."""

_REFUSED = {
    "destination": _("The money cannot be sent to this address. Copy your address on this network again."),
    "memo": _("This memo cannot be used with this address. Check both against what your exchange shows."),
}
"""By parameter: why a destination was refused."""

_TYPED_EXACTLY = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}


class RefundFilterForm(FilterForm):
    """The filters of the list."""

    q = SearchField(example=_("Id of a refund or payment"))
    status = forms.ChoiceField(
        label=_("Status"), required=False, choices=[("", _("Any status")), *RefundStatus.choices]
    )


class DestinationForm(LookMixin):
    """An address on a network, and on stellar a memo. The service checks whether it can be paid."""

    destination = forms.CharField(
        label=_("Address"),
        max_length=MAX_ADDRESS_CHARACTERS,
        widget=forms.TextInput(attrs=_TYPED_EXACTLY),
        error_messages={"required": _("Enter the address to send the money to.")},
    )
    memo = forms.CharField(
        label=_("Memo"),
        required=False,
        max_length=MAX_MEMO_CHARACTERS,
        widget=forms.TextInput(attrs=_TYPED_EXACTLY),
    )

    memo_is_text = forms.BooleanField(
        required=False,
        label=_("The exchange calls it a text memo (MEMO_TEXT)"),
        help_text=_("Otherwise a memo of digits is sent as a number (MEMO_ID), as most exchanges expect."),
    )

    def __init__(self, *args: Any, families: Collection[Family], **options: Any) -> None:
        """`families` are those of the networks that the money may be on."""
        super().__init__(*args, **options)
        self.fields["destination"].help_text = " ".join(str(wording.ADDRESSES[each]) for each in sorted(families))
        if hints := [str(wording.MEMOS[each]) for each in families if each in wording.MEMOS]:
            self.fields["memo"].help_text = " ".join(hints)
        else:
            del self.fields["memo"], self.fields["memo_is_text"]

    def add_refusal(self, refusal: DomainError) -> None:
        """The API's messages are English: in other languages one sentence stands for all that can be wrong."""
        message = _REFUSED.get(refusal.param or "")
        if message is None or get_language() == "en":
            super().add_refusal(refusal)
        else:
            self.add_error(refusal.param, str(message))

    @property
    def memo_type(self) -> str:
        """The chosen memo type; empty if none was chosen."""
        return MemoType.TEXT if self.cleaned_data.get("memo_is_text") else ""


class PayerDestinationForm(DestinationForm):
    """The payer's address, which is shown again and must be confirmed before anything is sent there."""

    confirmed = forms.BooleanField(
        required=False, label=_("I have compared the whole address. It is mine, and it is on this network.")
    )

    def __init__(self, *args: Any, network: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["destination"].label = gettext("Your address on %(network)s") % {"network": network}


class RefundFileForm(LookMixin):
    """Upload of the file of a refund batch."""

    file = forms.FileField(
        label=_("CSV file"),
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
        error_messages={"required": _("Choose the file."), "empty": _("The file is empty.")},
    )


LEAVE_EMPTY = _("Leave it empty to send the money back to where it came from.")


class ReasonMixin(forms.Form):
    """A note of the merchant's about a refund."""

    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=MAX_REASON_CHARACTERS,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=_("A note of your own. The payer does not see it."),
    )

    def clean_reason(self) -> str:
        reason: str = self.cleaned_data["reason"]
        if not reason.isprintable():
            raise ValidationError(gettext("Use printable characters only."))
        return reason


class GiveBackForm(DestinationForm, ReasonMixin, ShownForm):
    """Money that waits for a decision goes back whole; where to may be left to the service."""

    field_order = ("destination", "memo", "memo_is_text", "reason", "shown")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        destination = self.fields["destination"]
        destination.required = False
        destination.label = gettext("To another address")
        destination.help_text = f"{LEAVE_EMPTY} {destination.help_text}"


class RefundForm(DestinationForm, ReasonMixin):
    """A refund of a payment. The view passes what can be given back."""

    source = forms.ChoiceField(label=_("What to refund"), widget=forms.RadioSelect)
    amount = AmountField(required=False, max_digits=16, max_value=MAX_FIAT_AMOUNT)
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
        destination.label = gettext("To another address")
        destination.help_text = f"{LEAVE_EMPTY} {destination.help_text}"
        if any(name == OWN_MONEY for name, _label in sources):
            self.fields["amount"].label = gettext("Amount in %(currency)s") % {"currency": currency}
            help_text = gettext("Leave it empty to refund all that is left: %(most)s.") % {"most": most}
            if len(sources) > 1:
                help_text = f"{help_text} {gettext('Money that waits for a decision is refunded in full.')}"
            self.fields["amount"].help_text = help_text
        else:
            del self.fields["amount"]

    def clean_amount(self) -> Decimal | None:
        amount: Decimal | None = self.cleaned_data["amount"]
        if amount is not None and amount <= 0:
            raise ValidationError(gettext("Must be greater than 0."))
        return amount
