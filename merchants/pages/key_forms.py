"""Forms of the pages about key pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from merchants.access.addresses import parse_network
from merchants.access.scopes import DESCRIPTIONS, GROUPS, may_give
from merchants.pages.forms import LinesField, LookMixin
from merchants.services import MAX_ALLOWED_NETWORKS

RESTRICTED: Final = "restricted"
FULL: Final = "full"

OVERLAPS: Final = {
    "0": gettext_lazy("At once: it is deleted, and systems that still use it are refused"),
    "1": gettext_lazy("In 1 hour"),
    "24": gettext_lazy("In 24 hours"),
    "168": gettext_lazy("In 7 days"),
}
"""Hours the old pair goes on working."""


@dataclass(frozen=True)
class ScopeGroup:
    """Scopes of a key about one thing: their boxes, and the words of those that are not offered."""

    title: str
    boxes: Sequence[forms.boundfield.BoundWidget]
    withheld: Sequence[str]


class KeyPairForm(LookMixin):
    """A new pair. Nothing is ticked beforehand, and only what the person's role permits is offered."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=80,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Where the pair will be used, for example “Web shop”."),
        error_messages={"required": gettext_lazy("Give the pair a name that you will recognise.")},
    )
    access = forms.ChoiceField(
        choices=[
            (RESTRICTED, gettext_lazy("Only what you tick below (recommended)")),
            (FULL, gettext_lazy("Everything the API can do, now and in the future")),
        ],
        widget=forms.RadioSelect,
        label=gettext_lazy("What it may do"),
        error_messages={"required": gettext_lazy("Choose what the pair may do.")},
    )
    scopes = forms.MultipleChoiceField(
        required=False,
        choices=[(scope.value, words) for scope, words in DESCRIPTIONS.items()],
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("What to allow"),
    )
    lifetime = forms.TypedChoiceField(
        choices=[
            ("0", gettext_lazy("Never")),
            ("30", gettext_lazy("In 30 days")),
            ("90", gettext_lazy("In 90 days")),
            ("180", gettext_lazy("In 180 days")),
            ("365", gettext_lazy("In a year")),
        ],
        coerce=int,
        initial="0",
        label=gettext_lazy("Expires"),
    )
    allowed_networks = LinesField(
        required=False,
        most=MAX_ALLOWED_NETWORKS,
        label=gettext_lazy("Allowed IP addresses"),
        help_text=gettext_lazy(
            "One address or network per line, for example 203.0.113.7 or 2001:db8::/48. Requests from anywhere "
            "else are refused."
        ),
    )
    require_signature = forms.BooleanField(
        required=False,
        label=gettext_lazy("Require signed requests"),
        help_text=gettext_lazy("Requests without a valid signature header are refused."),
    )

    def __init__(self, *args: Any, role: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self._offered = {scope.value for scope in DESCRIPTIONS if may_give(role, [scope])}
        self.may_give_all = may_give(role, [])
        if not self.may_give_all:
            self.fields["access"].help_text = _(
                "Your role does not permit everything the API can do, so you cannot give a pair full access."
            )
            self.fields["access"].choices = [(RESTRICTED, _("Only what you tick below"))]  # type: ignore[attr-defined]  # a ChoiceField
        self.fields["scopes"].choices = [  # type: ignore[attr-defined]  # likewise
            (scope.value, words) for scope, words in DESCRIPTIONS.items() if scope.value in self._offered
        ]

    def groups(self) -> Iterator[ScopeGroup]:
        """The boxes of the scopes, by what they are about."""
        boxes = {box.data["value"]: box for box in self["scopes"]}
        for title, scopes in GROUPS:
            yield ScopeGroup(
                str(title),
                [boxes[scope.value] for scope in scopes if scope.value in boxes],
                [str(DESCRIPTIONS[scope]) for scope in scopes if scope.value not in boxes],
            )

    def clean_allowed_networks(self) -> tuple[str, ...]:
        networks = []
        for entry in self.cleaned_data["allowed_networks"]:
            try:
                networks.append(str(parse_network(entry)))
            except ValueError as error:
                raise ValidationError(_("“%(entry)s” is not an IP address or network.") % {"entry": entry}) from error
        return tuple(networks)

    def clean(self) -> dict[str, Any]:
        entered: dict[str, Any] = super().clean() or self.cleaned_data
        if entered.get("access") == RESTRICTED and entered.get("scopes") == []:
            self.add_error("scopes", _("Tick at least one thing that the pair may do."))
        return entered

    def given(self) -> tuple[str, ...]:
        """The scopes of the pair; none for full access, whatever is ticked."""
        return () if self.cleaned_data["access"] == FULL else tuple(self.cleaned_data["scopes"])

    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["lifetime"]
        return timezone.now() + timedelta(days=days) if days else None


class RotationForm(LookMixin):
    """End of the old pair, once there is a new one."""

    overlap = forms.TypedChoiceField(
        choices=list(OVERLAPS.items()),
        coerce=int,
        initial="24",
        widget=forms.RadioSelect,
        label=gettext_lazy("When the old pair ends"),
        help_text=gettext_lazy("Both pairs work until then. You can end the old one earlier, or decide to keep it."),
    )

    def overlap_time(self) -> timedelta:
        return timedelta(hours=self.cleaned_data["overlap"])
