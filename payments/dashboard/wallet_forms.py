"""Forms of the pages of a merchant's wallets."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from merchants.pages.forms import LookMixin
from payments.chains import registry
from payments.merchant_wallets.proving import LONGEST_SIGNATURE
from payments.merchant_wallets.services import LONGEST_LABEL

_TYPED_EXACTLY = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}


class WalletForm(LookMixin):
    """The wallet of one network."""

    network = forms.ChoiceField(label=_("Network"))
    address = forms.CharField(
        label=_("Address"),
        max_length=80,
        widget=forms.TextInput(attrs=_TYPED_EXACTLY),
        error_messages={"required": _("Enter the address of the wallet.")},
    )
    label = forms.CharField(
        required=False,
        label=_("Label"),
        max_length=LONGEST_LABEL,
        help_text=_("For your team, such as “Treasury, hardware wallet”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: Any, environment: str, **options: Any) -> None:
        super().__init__(*args, **options)
        names = registry.networks(environment)
        self.fields["network"].choices = [  # type: ignore[attr-defined]  # a ChoiceField
            (name, registry.profile(environment, name).name) for name in names
        ]


class ProofForm(LookMixin):
    """A signed message."""

    token = forms.CharField(widget=forms.HiddenInput, max_length=400)
    signature = forms.CharField(
        label=_("Signature"),
        max_length=LONGEST_SIGNATURE,
        widget=forms.Textarea(attrs={**_TYPED_EXACTLY, "rows": 3}),
        error_messages={"required": _("Paste the signature that your wallet shows.")},
    )
