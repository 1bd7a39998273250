"""What people choose and fill in on the merchant's settlement pages."""

from __future__ import annotations

from django import forms

from merchants.forms import FilterForm, LookMixin
from settlements.states import SettlementStatus


class SettlementFilterForm(FilterForm):
    """The filters of the list."""

    status = forms.ChoiceField(required=False, choices=[("", "Any status"), *SettlementStatus.choices])


class OtherWalletForm(LookMixin):
    """Where a failed settlement's money shall go instead. Whether it can go there is for the service to say."""

    wallet = forms.CharField(
        label="Another wallet",
        max_length=80,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
        error_messages={"required": "Enter the wallet to pay instead."},
    )
