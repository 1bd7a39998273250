"""Forms with which a merchant takes a payment, and makes and changes payment links."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from config.api.fields import http_url_problem
from config.coins import COINS
from config.environments import Environment
from config.money import FIAT_DIGITS
from merchants.pages.forms import FilterForm, LinesField, LookMixin, PriceField, SearchField
from merchants.wallets import wallet_key
from payments.chains import registry
from payments.links.models import PaymentLink
from payments.links.services import MAX_USES, LinkChanges, NewLink
from payments.states import PaymentStatus

_TIMES = {900: _("15 minutes"), 1800: _("30 minutes"), 3600: _("1 hour"), 14_400: _("4 hours"), 86_400: _("24 hours")}
_TYPED_EXACTLY = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}
_FIRST_CURRENCIES = ("EUR", "USD", "GBP")
_MOST_METADATA = 20


class LinkFilterForm(FilterForm):
    """The filters of the list of links."""

    q = SearchField(example=_("What it is for"))
    show = forms.ChoiceField(
        required=False,
        label=_("Show"),
        choices=[("", _("All")), ("enabled", _("Enabled")), ("disabled", _("Disabled"))],
    )


class PaymentsOfLinkForm(FilterForm):
    """The filters of a link's payments."""

    status = forms.ChoiceField(
        required=False, label=_("Status"), choices=[("", _("Any status")), *PaymentStatus.choices]
    )


class DetailsForm(LookMixin):
    """Common fields of both forms: the purpose, and the payer's redirect and data."""

    description = forms.CharField(
        label=_("What it is for"),
        max_length=140,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": _("Enter what the payment is for.")},
    )
    expires_in = forms.TypedChoiceField(
        label=_("Time to pay"),
        coerce=int,
        initial=1800,
        choices=list(_TIMES.items()),
        help_text=_("Starts when the payer sees the address. The price in coins is fixed for this time."),
    )
    redirect_url = forms.CharField(
        required=False,
        label=_("Where the payer goes afterwards"),
        max_length=2000,
        widget=forms.TextInput(attrs={**_TYPED_EXACTLY, "inputmode": "url", "placeholder": "https://"}),
        help_text=_("Offered as a button once the payment is complete."),
    )
    note = forms.CharField(
        required=False, label=_("Note"), max_length=500, help_text=_("For your team. Payers do not see it.")
    )
    metadata = LinesField(
        required=False,
        most=_MOST_METADATA,
        label=_("Metadata"),
        help_text=_("Values for your own systems, one per line, such as “order: 1007”."),
    )
    environment = Environment.SANDBOX

    def clean_redirect_url(self) -> str:
        url: str = self.cleaned_data["redirect_url"]
        if url and (problem := http_url_problem(url, https_only=self.environment == Environment.PRODUCTION)):
            raise ValidationError(problem)
        return url

    def clean_metadata(self) -> dict[str, str]:
        values = {}
        for line in self.cleaned_data["metadata"]:
            name, colon, value = line.partition(":")
            if not colon or not name.strip():
                raise ValidationError(
                    _("Write each line as a name, a colon and a value. This one is not: %s") % line[:80]
                )
            values[name.strip()] = value.strip()
        return values


class PriceForm(DetailsForm):
    """With a price, what it may be paid with, and the wallets that the money is settled to."""

    amount = PriceField(label=_("Amount"), error_messages={"required": _("Enter the amount.")})
    currency = forms.ChoiceField(label=_("Currency"))
    coin = forms.ChoiceField(
        required=False,
        label=_("Coin"),
        choices=lambda: [("", _("The payer chooses")), *((coin, coin) for coin in COINS)],
    )
    network = forms.ChoiceField(required=False, label=_("Network"))

    field_of_param = {  # noqa: RUF012 - a ClassVar in the base
        "minAmount": "min_amount",
        "maxAmount": "max_amount",
        "maxUses": "max_uses",
        "expiresAt": "expires_on",
        "cryptocurrencies": "coin",
        "cryptocurrency": "coin",
    }

    def __init__(
        self,
        *args: Any,
        environment: Environment,
        known: Mapping[str, list[str]],
        may_name_wallets: bool,
        **options: Any,
    ) -> None:
        """`known` are the wallets in use already, by network; others are taken only from who may name wallets."""
        super().__init__(*args, **options)
        self.environment, self._known, self._may_name_wallets = environment, known, may_name_wallets
        currencies = [*_FIRST_CURRENCIES, *sorted(set(FIAT_DIGITS) - set(_FIRST_CURRENCIES))]
        self.fields["currency"].choices = [(code, code) for code in currencies]  # type: ignore[attr-defined]
        self.networks = {name: registry.profile(environment, name).name for name in registry.networks(environment)}
        choices = [("", _("The payer chooses")), *self.networks.items()]
        self.fields["network"].choices = choices  # type: ignore[attr-defined]  # a ChoiceField
        for network, name in self.networks.items():
            self.fields[f"wallet_{network}"] = forms.CharField(
                required=False,
                max_length=80,
                label=_("Your wallet on %(network)s") % {"network": name},
                initial=next(iter(known.get(network, ())), ""),
                widget=forms.TextInput(attrs={**_TYPED_EXACTLY, "class": "input"}),
            )

    @property
    def wallet_fields(self) -> list[forms.BoundField]:
        return [self[f"wallet_{network}"] for network in self.networks]

    @property
    def more_is_open(self) -> bool:
        """True if the folded part lacks something: no wallet is in use yet, or a field there was refused."""
        return not any(self._known.values()) or bool(self.errors.keys() - {"description", "amount", "currency"})

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        chosen = data.get("network")
        wallets = {}
        for network in [chosen] if chosen else self.networks:
            if wallet := data.get(f"wallet_{network}"):
                wallets[network] = wallet
                self._check_who_names(network, wallet)
        if not wallets:
            names = [chosen] if chosen else self.networks
            self.add_error(f"wallet_{next(iter(names))}", _("Enter the wallet that the money is settled to."))
        data["wallets"] = wallets
        return data

    def _check_who_names(self, network: str, wallet: str) -> None:
        if self._may_name_wallets or wallet_key(wallet) in map(wallet_key, self._known.get(network, ())):
            return
        words = _("This wallet is new. Only an owner or an admin can use a new wallet here.")
        self.add_error(f"wallet_{network}", words)

    def add_refusal(self, refusal: Any) -> None:
        param = refusal.param or ""
        if param.startswith("merchantWallets."):
            self.add_error(f"wallet_{param.partition('.')[2]}", refusal.message)
        elif param == "merchantWallet":
            self.add_error(f"wallet_{self.cleaned_data['network'] or next(iter(self.networks))}", refusal.message)
        else:
            super().add_refusal(refusal)


class TakePaymentForm(PriceForm):
    """One payment, requested here and now."""

    field_order = ("description", "amount", "currency", "coin", "network")


class LinkForm(PriceForm):
    """A payment link."""

    amount = PriceField(
        required=False, label=_("Amount"), help_text=_("Leave it empty to let the payer enter an amount.")
    )
    min_amount = PriceField(required=False, label=_("Smallest amount a payer may enter"))
    max_amount = PriceField(required=False, label=_("Largest amount a payer may enter"))
    max_uses = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_USES,
        label=_("How many times it can be paid"),
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
        help_text=_("Leave it empty for any number. Unpaid payments do not count, and end after 15 minutes at most."),
    )
    expires_on = forms.DateField(
        required=False,
        label=_("Last day"),
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=_("New payments are possible until the end of this day, UTC."),
    )
    field_order = (
        "description", "amount", "currency", "min_amount", "max_amount", "coin", "network",
    )  # fmt: skip

    @property
    def networks_left_out(self) -> list[str]:
        """Names of the networks that payers could choose if there were a wallet for them."""
        data = self.cleaned_data
        return [] if data["network"] else [name for each, name in self.networks.items() if each not in data["wallets"]]

    def to_request(self) -> NewLink:
        """The request for the service, once the data is valid."""
        return new_link(self.cleaned_data)


class LinkChangesForm(DetailsForm):
    """Changes of a link that is in use."""

    max_uses = LinkForm.base_fields["max_uses"]
    expires_on = LinkForm.base_fields["expires_on"]

    def __init__(self, *args: Any, link: PaymentLink, **options: Any) -> None:
        initial = {
            "description": link.description,
            "expires_in": link.expires_in,
            "redirect_url": link.redirect_url,
            "note": link.note,
            "metadata": [f"{name}: {value}" for name, value in link.metadata.items()],
            "max_uses": link.max_uses,
            "expires_on": link.expires_at and link.expires_at.date(),
        }
        super().__init__(*args, initial=initial, **options)
        self.environment = Environment(link.environment)
        self._link = link
        if link.expires_in not in _TIMES:
            times = self.fields["expires_in"]
            times.choices = [*_TIMES.items(), (link.expires_in, f"{link.expires_in} s")]  # type: ignore[attr-defined]
        if any(not isinstance(value, str) for value in link.metadata.values()):
            del self.fields["metadata"]  # made by a program, with values that lines of text cannot hold

    field_of_param = PriceForm.field_of_param

    def to_changes(self) -> LinkChanges:
        """The changes for the service, once the data is valid."""
        data = dict(self.cleaned_data)
        expires_on = data.pop("expires_on")
        if expires_on != (self._link.expires_at and self._link.expires_at.date()):
            data["expires_at"] = _end_of(expires_on)
        return cast("LinkChanges", data)  # fields are named as the columns


def new_link(data: Mapping[str, Any], *, max_uses: int | None = None) -> NewLink:
    """The request of a link from a form's data."""
    return NewLink(
        description=data["description"],
        currency=data["currency"],
        wallets=data["wallets"],
        amount=data["amount"],
        min_amount=data.get("min_amount"),
        max_amount=data.get("max_amount"),
        coins=[data["coin"]] if data["coin"] else (),
        max_uses=max_uses or data.get("max_uses"),
        expires_at=_end_of(data.get("expires_on")),
        expires_in=data["expires_in"],
        redirect_url=data["redirect_url"],
        note=data["note"],
        metadata=data["metadata"],
    )


def _end_of(day: Any) -> datetime | None:
    """The last millisecond of a day, UTC."""
    return day and datetime.combine(day, time(23, 59, 59, 999_000), tzinfo=UTC)
