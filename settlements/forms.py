"""What people choose and fill in on the merchant's settlement pages."""

from __future__ import annotations

from django import forms

from config.api.pagination import KeyRange
from merchants.forms import LookMixin
from settlements.states import SettlementStatus


class SettlementFilterForm(forms.Form):
    """The filters of the list. Each is optional; dates are whole days, UTC, both included."""

    status = forms.ChoiceField(
        required=False,
        choices=[("", "Any status"), *SettlementStatus.choices],
        widget=forms.Select(attrs={"class": "input"}),
    )
    start = forms.DateField(
        required=False, label="From", widget=forms.DateInput(attrs={"class": "input", "type": "date"})
    )
    end = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"class": "input", "type": "date"}))

    def keys(self) -> KeyRange:
        """The days as a range of keys."""
        return KeyRange.of_days(self.cleaned_data.get("start"), self.cleaned_data.get("end"))


class OtherWalletForm(LookMixin):
    """Where a failed settlement's money shall go instead. Whether it can go there is for the service to say."""

    wallet = forms.CharField(
        label="Another wallet",
        max_length=80,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
        error_messages={"required": "Enter the wallet to pay instead."},
    )
