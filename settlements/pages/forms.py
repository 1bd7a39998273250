"""Forms of the merchant's settlement pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy

from config.pages.wording import short_hash
from merchants.pages.forms import FilterForm, LookMixin
from payments.chains import registry
from settlements.states import SettlementStatus


class SettlementFilterForm(FilterForm):
    """The filters of the list."""

    status = forms.ChoiceField(
        label=gettext_lazy("Status"),
        required=False,
        choices=[("", gettext_lazy("Any status")), *SettlementStatus.choices],
    )


class OtherWalletForm(LookMixin):
    """The new wallet for a failed settlement's money. The service checks it."""

    wallet = forms.CharField(
        label=gettext_lazy("Another wallet"),
        max_length=80,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
        error_messages={"required": gettext_lazy("Enter the wallet to pay instead.")},
    )


class LostWalletForm(LookMixin):
    """Choice of the wallet whose key is lost."""

    field_of_param: ClassVar = {"address": "wallet", "network": "wallet"}

    wallet = forms.ChoiceField(
        label=gettext_lazy("Wallet"),
        widget=forms.RadioSelect,
        error_messages={"required": gettext_lazy("Choose the wallet with the lost key.")},
    )

    def __init__(self, *args: Any, wallets: Iterable[tuple[str, str]], environment: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["wallet"].choices = [  # type: ignore[attr-defined]  # a ChoiceField
            (f"{network} {address}", f"{registry.known_profile(environment, network).name}: {short_hash(address)}")
            for network, address in wallets
        ]

    @property
    def chosen(self) -> tuple[str, str]:
        """The network and the address."""
        network, _space, address = self.cleaned_data["wallet"].partition(" ")
        return network, address
