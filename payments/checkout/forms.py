"""The forms of payers: the page of claims, mails about a payment, and a payment link."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.errors import DomainError, InvalidParameter
from merchants.access.errors import TooManyRequests
from merchants.pages.forms import LookMixin, PriceField
from payments.chains.errors import NetworkUnavailable
from payments.chains.registry import UnsupportedAsset, UnsupportedNetwork
from payments.checkout.link_view import LinkView
from payments.choices import Choice
from payments.claims.claims import hash_prefixes, parse_transaction_hash
from payments.models import Payment
from payments.rates.quoting import RateUnavailable

logger = structlog.get_logger(__name__)

HASH_DIGITS = 64
_HEX = "[0-9a-fA-F]"
_ADDRESSES = re.compile(rf"0x{_HEX}{{40}}|G[A-Z2-7]{{55}}|M[A-Z2-7]{{68}}")
_FIELD = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}


class ClaimForm(LookMixin):
    """A transaction hash, or the URL of a block explorer that contains it."""

    hash = forms.CharField(
        label=_("Transaction hash"),
        max_length=500,
        widget=forms.TextInput(attrs=_FIELD),
        error_messages={"required": _("Enter the hash of your transaction.")},
    )

    def __init__(self, *args: Any, payment: Payment, **options: Any) -> None:
        super().__init__(*args, **options)
        self._payment = payment
        prefix, *others = hash_prefixes(payment)
        # A hash that begins with 0x may follow a word.
        edges = {each: _HEX if each else r"\w" for each in (prefix, *others)}
        known = (rf"(?<!{edge}){each}{_HEX}{{{HASH_DIGITS}}}(?!{edge})" for each, edge in edges.items())
        self._hashes = re.compile("|".join(known))
        begins = gettext("It starts with %(prefix)s, followed by %(digits)s letters and digits.")
        look = begins if prefix else gettext("It has %(digits)s letters and digits.")
        self._look = look % {"prefix": prefix, "digits": HASH_DIGITS}
        never = gettext("Never share a private key or recovery phrase with anyone.")
        self.fields["hash"].help_text = f"{self._look} {never}"

    def clean_hash(self) -> str:
        text: str = self.cleaned_data["hash"]
        if _ADDRESSES.fullmatch(text):
            raise ValidationError(f"{gettext('This is an address. The hash is longer.')} {self._look}")
        if (found := self._hashes.search(text)) is None:
            raise ValidationError(f"{gettext('This is not a transaction hash.')} {self._look}")
        return parse_transaction_hash(self._payment, found[0])


class ContactForm(LookMixin):
    """The payer's address for mails about the payment."""

    email = forms.EmailField(
        label=_("E-mail address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email", "spellcheck": "false", "autocapitalize": "none"}),
        help_text=_(
            "We mail you when your payment is seen, when it is paid, with the receipt, and when a refund is on its "
            "way, and nothing else. The address is deleted after 30 days, and you can delete it sooner."
        ),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        wrong = gettext("Enter an e-mail address such as name@example.com.")
        self.fields["email"].error_messages |= {"required": wrong, "invalid": wrong}


class ChoiceForm(LookMixin):
    """A coin and a network. The page asks for the coin first, and by a field of its own for the network of each."""

    choice = forms.ChoiceField(
        label=_("Pay with"),
        widget=forms.HiddenInput,
        error_messages={"required": _("Choose a coin and a network."), "invalid_choice": _("Choose one of these.")},
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *args: Any, choices: Sequence[Choice], **options: Any):
        if data is not None and "choice" not in data:
            data = {**{name: data[name] for name in data}, "choice": data.get(f"choice_{data.get('coin', '')}", "")}
        super().__init__(data, *args, **options)
        values = [(choice.value, choice.words) for choice in choices]
        self.fields["choice"].choices = values  # type: ignore[attr-defined]  # a ChoiceField
        self.fields["choice"].initial = values[0][0] if values else ""
        self.has_one_choice = len(values) == 1

    def add_choice_refusal(self, refusal: DomainError, payee: str) -> None:
        """What the payer can do about it. Nothing was made or changed."""
        match refusal:
            case TooManyRequests():
                self.add_error(
                    None, gettext("Too many payments are being started here right now. Please try again in a minute.")
                )
            case InvalidParameter(param="amount" | "choice"):
                self.add_refusal(refusal)
            case NetworkUnavailable() | UnsupportedNetwork() | UnsupportedAsset():
                words = gettext(
                    "This network cannot be reached right now. Choose another one, or try again in a minute."
                )
                self.add_error("choice", words)
            case RateUnavailable():
                self.add_error(
                    None,
                    gettext(
                        "We cannot calculate the price in coins right now. Nothing was charged. Try again in a minute."
                    ),
                )
            case _:
                logger.warning("choice refused", code=refusal.code, param=refusal.param)
                words = gettext(
                    "%(payee)s cannot be paid this way right now. Choose another coin or network, or contact them."
                )
                self.add_error(None, words % {"payee": payee})


class LinkForm(ChoiceForm):
    """Choices of a payment link's payer: the amount, the coin and the network."""

    amount = PriceField(label=_("Amount"), error_messages={"required": _("Enter the amount that you want to pay.")})
    form_id = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, view: LinkView, **options: Any) -> None:
        super().__init__(*args, choices=view.choices, **options)
        self.view = view
        if view.price:
            del self.fields["amount"]
        else:
            self.fields["amount"].label = _("Amount in %(currency)s") % {"currency": view.currency}
            self.fields["amount"].help_text = view.limits

    def clean_form_id(self) -> str:
        """One-time form id: a form submitted twice makes one payment. Generated if missing."""
        written: str = self.cleaned_data["form_id"]
        return written if re.fullmatch(r"[\w-]{8,40}", written) else secrets.token_urlsafe(12)
