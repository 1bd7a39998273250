"""What people fill in about payments: the merchant on the dashboard, the payer on the page for claims."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from merchants.forms import FilterForm, LookMixin, SearchField
from payments.chains import registry
from payments.claims import parse_transaction_hash
from payments.models import Payment
from payments.states import PaymentStatus

HASH_DIGITS = 64
_HEX = "[0-9a-fA-F]"
_HASHES = {
    "evm": re.compile(rf"(?<!{_HEX})0x{_HEX}{{{HASH_DIGITS}}}(?!{_HEX})"),
    "stellar": re.compile(rf"(?<!\w){_HEX}{{{HASH_DIGITS}}}(?!\w)"),
}
_LOOKS = {
    "evm": f"It begins with 0x, and {HASH_DIGITS} letters and digits follow.",
    "stellar": f"It has {HASH_DIGITS} letters and digits.",
}
_ADDRESSES = re.compile(rf"0x{_HEX}{{40}}|G[A-Z2-7]{{55}}")
_FIELD = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}


class ClaimForm(LookMixin):
    """The transaction hash of a payer, or the page of a block explorer that has it in its address."""

    hash = forms.CharField(
        label="Transaction hash",
        max_length=500,
        widget=forms.TextInput(attrs=_FIELD),
        error_messages={"required": "Enter the hash of your transaction."},
    )

    def __init__(self, *args: Any, payment: Payment, **options: Any) -> None:
        super().__init__(*args, **options)
        self._payment = payment
        self._family = registry.known_profile(payment.environment, payment.network).family
        self.fields["hash"].help_text = f"{_LOOKS[self._family]} Never give a key or a recovery phrase to anybody."

    def clean_hash(self) -> str:
        text: str = self.cleaned_data["hash"]
        if _ADDRESSES.fullmatch(text):
            raise ValidationError(f"This is an address. The hash is longer: {_LOOKS[self._family].lower()}")
        if (found := _HASHES[self._family].search(text)) is None:
            raise ValidationError(f"This is no transaction hash. {_LOOKS[self._family]}")
        return parse_transaction_hash(self._payment, found[0])


class PaymentFilterForm(FilterForm):
    """The filters of the list."""

    q = SearchField(example="Id, address or hash")
    status = forms.ChoiceField(required=False, choices=[("", "Any status"), *PaymentStatus.choices])
