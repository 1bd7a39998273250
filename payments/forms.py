"""What people choose on the merchant's payment pages."""

from __future__ import annotations

from django import forms

from config.api.pagination import KeyRange
from payments.states import PaymentStatus


class PaymentFilterForm(forms.Form):
    """The filters of the list. Each is optional; dates are whole days, UTC, both included."""

    q = forms.CharField(
        required=False,
        max_length=120,
        label="Search",
        widget=forms.TextInput(attrs={"class": "input", "type": "search", "placeholder": "Id, address or hash"}),
    )
    status = forms.ChoiceField(
        required=False,
        choices=[("", "Any status"), *PaymentStatus.choices],
        widget=forms.Select(attrs={"class": "input"}),
    )
    start = forms.DateField(
        required=False, label="From", widget=forms.DateInput(attrs={"class": "input", "type": "date"})
    )
    end = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"class": "input", "type": "date"}))

    def keys(self) -> KeyRange:
        """The days as a range of keys."""
        return KeyRange.of_days(self.cleaned_data.get("start"), self.cleaned_data.get("end"))
