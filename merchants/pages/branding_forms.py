"""The form about how a merchant looks to payers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy

from merchants.models import Branding
from merchants.pages.branding import MOST_ORIGINS
from merchants.pages.forms import LinesField, LookMixin


class ShownForm(LookMixin):
    """Fields that a preview can show before they are saved."""

    name = forms.CharField(
        required=False,
        max_length=Branding.MOST_OF_A_NAME,
        label=gettext_lazy("Name that payers see"),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Leave it empty to use the name of the account."),
    )
    accent = forms.RegexField(
        r"^#[0-9A-Fa-f]{6}\Z",
        required=False,
        label=gettext_lazy("Colour"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "#14597f"}),
        help_text=gettext_lazy("# and six digits or letters a to f, such as #14597f."),
        error_messages={"invalid": gettext_lazy("Write the colour as # and six digits or letters a to f.")},
    )
    support = forms.CharField(
        required=False,
        max_length=Branding.MOST_OF_SUPPORT,
        label=gettext_lazy("Where payers ask for help"),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("An e-mail address, or a web address that begins with https://."),
    )

    @classmethod
    def shown(cls, given: Mapping[str, Any]) -> dict[str, str]:
        """The given values that are valid."""
        form = cls({name: given[name] for name in cls.base_fields if name in given})
        form.is_valid()
        return {name: value for name, value in form.cleaned_data.items() if name in given}


class BrandingForm(ShownForm):
    language = forms.ChoiceField(
        required=False,
        choices=[("", "English"), *(each for each in settings.LANGUAGES if each[0] != "en")],
        label=gettext_lazy("Default language"),
        help_text=gettext_lazy(
            "Payers see the page in their browser's language, or in this one if we do not have theirs."
        ),
    )
    shows_items = forms.BooleanField(
        required=False,
        label=gettext_lazy("Show what the payment is for"),
        help_text=gettext_lazy(
            "From a payment’s metadata, payers see only “description”, “item_1”, “item_2” and so on."
        ),
    )
    frame_origins = LinesField(
        required=False,
        most=MOST_ORIGINS,
        label=gettext_lazy("Websites that may show a payment in a dialog"),
        help_text=gettext_lazy(
            "One per line, such as https://shop.example. Leave it empty for none. Your website loads pay.js to "
            "open the dialog."
        ),
    )
    logo = forms.FileField(
        required=False,
        label=gettext_lazy("Logo"),
        widget=forms.FileInput(attrs={"accept": "image/png,image/jpeg,image/webp"}),
        help_text=gettext_lazy("PNG, JPEG or WebP, at most 1 MB. We resize it and show it on white."),
    )
    drop_logo = forms.BooleanField(required=False, label=gettext_lazy("Remove the logo"))

    @staticmethod
    def initial_of(branding: Branding) -> dict[str, Any]:
        return {
            "name": branding.name,
            "accent": branding.accent,
            "support": branding.support,
            "language": branding.language,
            "shows_items": branding.shows_items,
            "frame_origins": branding.frame_origins.split(),
        }
