"""Forms of operators for the house's money."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms

from config.environments import Environment
from config.money import AmountNotExact, to_units
from config.pages.typed_amounts import AmountField
from payments.chains import registry
from payments.transfers.states import MemoType
from payments.treasury.house.cold.wallet_target import floats
from payments.treasury.house.models import AllowedAddress
from payments.treasury.models import ColdMove


class WithdrawalForm(forms.Form):
    address = forms.ModelChoiceField(
        AllowedAddress.objects.none(),
        label="To",
        help_text="Only addresses of the allow list. The environment and the network are the address's.",
    )
    coin = forms.ChoiceField(choices=())
    amount = AmountField(max_digits=60, decimal_places=18, min_value=Decimal(0), help_text="In whole coins.")
    reason = forms.CharField(
        max_length=300, label="Why", widget=forms.Textarea(attrs={"rows": 2}), help_text="Kept with the withdrawal."
    )

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        allowed = AllowedAddress.objects.filter(allowed_at__isnull=False, removed_at__isnull=True)
        self.fields["address"].queryset = allowed.order_by("environment", "network", "label")  # type: ignore[attr-defined]  # of this very field
        codes = {
            code
            for environment in Environment.values
            for network in registry.networks(environment)
            for code in registry.profile(environment, network).assets
        }
        self.fields["coin"].choices = [(code, code) for code in sorted(codes)]  # type: ignore[attr-defined]  # of this very field

    def clean(self) -> dict[str, Any]:
        """With `units`, the amount in base units."""
        given = self.cleaned_data
        if self.errors:
            return given
        address, coin = given["address"], given["coin"]
        coins = registry.known_profile(address.environment, address.network).assets
        if coin not in coins:
            self.add_error("coin", f"{coin} is not accepted on {address.network}; accepted are {', '.join(coins)}.")
            return given
        try:
            given["units"] = to_units(given["amount"], coins[coin].decimals)
        except AmountNotExact:
            self.add_error("amount", f"{coin} has {coins[coin].decimals} digits after the point there.")
        return given


class ByHandForm(forms.Form):
    """An operator's description of a transfer that somebody sent by hand."""

    place = forms.ChoiceField(choices=(), label="Network")
    transaction_hash = forms.CharField(
        max_length=80, label="Transaction hash", widget=forms.TextInput(attrs={"size": 70})
    )
    what = forms.ChoiceField(
        choices=[
            ("taken", "The house took these coins for itself"),
            ("lost", "They are lost, and the house bears it"),
            ("owner", "After a restore: a settlement or a refund of"),
        ],
        label="What it was",
    )
    owner = forms.CharField(max_length=40, required=False, label="Of", help_text="mer_…, pay_…, dis_… or ref_…")
    payout = forms.CharField(
        max_length=40, required=False, label="Only this", help_text="found_…, of a transaction with several."
    )
    reason = forms.CharField(
        max_length=300, label="Why", widget=forms.Textarea(attrs={"rows": 2}), help_text="Kept with the booking."
    )

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        places = [(each, network) for each in Environment.values for network in registry.networks(each)]
        self.fields["place"].choices = [  # type: ignore[attr-defined]  # of this very field
            (f"{environment}:{network}", f"{network} ({environment})") for environment, network in places
        ]


class FundingForm(forms.Form):
    """An operator's description of coins that the house puts in."""

    place = forms.ChoiceField(choices=(), label="Coin")
    amount = AmountField(max_digits=60, decimal_places=18, min_value=Decimal(0), help_text="In whole coins.")
    reason = forms.CharField(
        max_length=300, label="Why", widget=forms.Textarea(attrs={"rows": 2}), help_text="Kept with the coins."
    )

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._coins = {
            f"{environment}:{network}:{asset.code}": asset
            for environment in Environment.values
            for network in registry.networks(environment)
            for profile in [registry.profile(environment, network)]
            for asset in (*profile.assets.values(), profile.native)
        }
        self.fields["place"].choices = [  # type: ignore[attr-defined]  # of this very field
            (key, f"{asset.code} on {asset.network} ({key.partition(':')[0]})") for key, asset in self._coins.items()
        ]

    def clean(self) -> dict[str, Any]:
        """With `asset`, `environment`, and `units`, the amount in base units."""
        given = self.cleaned_data
        if not self.errors:
            given["asset"], given["environment"] = self._coins[given["place"]], given["place"].partition(":")[0]
            try:
                given["units"] = to_units(given["amount"], given["asset"].decimals)
            except AmountNotExact:
                self.add_error("amount", f"It has {given['asset'].decimals} digits after the point.")
        return given


class SkimForm(FundingForm):
    """An operator's description of coins that leave for the cold wallet."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._coins = {f"{each.environment}:{each.asset.network}:{each.asset.code}": each.asset for each in floats()}
        self.fields["place"].choices = [  # type: ignore[attr-defined]  # of this very field
            (key, f"{asset.code} on {asset.network} ({key.partition(':')[0]})") for key, asset in self._coins.items()
        ]
        self.fields["reason"].help_text = "Kept with the skim."


class ColdMoveForm(forms.Form):
    """An operator's description of coins that left a cold wallet."""

    move = forms.ModelChoiceField(ColdMove.objects.none(), label="What left")
    what = forms.ChoiceField(
        choices=[
            ("taken", "The house took these coins for itself, or they went to the hot wallet"),
            ("lost", "They are lost, and the house bears it"),
        ],
        label="What it was",
    )
    reason = forms.CharField(
        max_length=300, label="Why", widget=forms.Textarea(attrs={"rows": 2}), help_text="Kept with the booking."
    )

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        unknown = ColdMove.objects.filter(kind=ColdMove.Kind.UNKNOWN).select_related("wallet")
        self.fields["move"].queryset = unknown.order_by("pk")  # type: ignore[attr-defined]  # of this very field


class AllowedAddressForm(forms.ModelForm[AllowedAddress]):
    network = forms.ChoiceField(choices=())
    memo_type = forms.ChoiceField(
        choices=[("", "as it looks"), *MemoType.choices], required=False, help_text="Stellar: as the recipient said."
    )

    class Meta:
        model = AllowedAddress
        fields = ("environment", "network", "address", "memo", "memo_type", "label")

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        networks = dict.fromkeys(name for environment in Environment.values for name in registry.networks(environment))
        self.fields["network"].choices = [(name, name) for name in networks]  # type: ignore[attr-defined]  # of this very field
        self.fields["address"].widget.attrs["size"] = 64
        self.fields["memo"].help_text = "Stellar: what the recipient asks for, as exchanges do."
