"""Forms of the merchant's webhook pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from config.api.fields import MAX_URL_CHARACTERS
from config.environments import Environment
from merchants.pages.forms import FilterForm, LookMixin, SearchField
from webhooks.endpoints.verifying import Pasted
from webhooks.events.catalogue import CATALOGUE, EVERYTHING, GROUPS, WEBHOOK_TEST
from webhooks.models import Endpoint
from webhooks.services import DESCRIPTION_MAX, EndpointChanges
from webhooks.states import DeliveryStatus

LOCAL_EXAMPLE = "http://127.0.0.1:9000/"
MOST_CHARACTERS_OF_A_CHOICE = 80
EVENT_CHOICES = [(EVERYTHING, gettext_lazy("All events, including types that are added later.")), *CATALOGUE.items()]


class EndpointForm(LookMixin):
    """An endpoint, new or changed. The service checks whether the URL may be called."""

    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=MAX_URL_CHARACTERS,
        widget=forms.TextInput(
            attrs={"inputmode": "url", "autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}
        ),
        error_messages={"required": gettext_lazy("Enter the address that receives the events.")},
    )
    description = forms.CharField(
        label=gettext_lazy("Description"),
        required=False,
        max_length=DESCRIPTION_MAX,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("A note of your own, for example “Order system”."),
    )
    events = forms.MultipleChoiceField(
        choices=EVENT_CHOICES,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Tick at least one event, or everything.")},
    )

    def __init__(self, *args: Any, environment: str, **options: Any) -> None:
        super().__init__(*args, **options)
        help_text = _("A public address that begins with https://.")
        if environment == Environment.SANDBOX:
            help_text = _("A public address that begins with https:// or http://.")
            if settings.WEBHOOK_ALLOW_LOOPBACK:
                here = _("An address on this machine works too, such as %(example)s.") % {"example": LOCAL_EXAMPLE}
                help_text = f"{help_text} {here}"
        self.fields["url"].help_text = help_text

    def clean_description(self) -> str:
        description: str = self.cleaned_data["description"]
        if not description.isprintable():
            raise ValidationError(_("Use printable characters only."))
        return description

    def all_events(self) -> forms.boundfield.BoundWidget:
        """The box for everything."""
        return next(box for box in self["events"] if box.data["value"] == EVERYTHING)

    def groups(self) -> Iterator[tuple[str, Sequence[forms.boundfield.BoundWidget]]]:
        """The boxes of the events by what they are about, with its name."""
        boxes = {box.data["value"]: box for box in self["events"]}
        for title, names in GROUPS:
            yield str(title), [boxes[name] for name in names]

    @staticmethod
    def initial_of(endpoint: Endpoint) -> dict[str, Any]:
        return {"url": endpoint.url, "description": endpoint.description, "events": endpoint.events}

    def changes(self) -> EndpointChanges:
        cleaned = self.cleaned_data
        return {"url": cleaned["url"], "description": cleaned["description"], "events": cleaned["events"]}


class RecoveryForm(LookMixin):
    """Since when an endpoint is sent what it has missed."""

    since = forms.DateTimeField(
        label=gettext_lazy("Since (UTC)"),
        widget=forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"}),
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"],
        error_messages={
            "required": gettext_lazy("Choose the time since when events are missing."),
            "invalid": gettext_lazy("Write the time as 2027-01-31T09:30."),
        },
    )
    everything = forms.BooleanField(
        required=False,
        label=gettext_lazy("All events, including those that have arrived"),
        help_text=gettext_lazy("For a system that has lost its data. It gets the same events again."),
    )

    def clean_since(self) -> datetime:
        since: datetime = self.cleaned_data["since"]
        if since > timezone.now():
            raise ValidationError(_("Choose a time in the past."))
        return since


class DeliveryFilterForm(FilterForm):
    """The filters of the list of deliveries."""

    q = SearchField(example=gettext_lazy("Id of a payment or event"))
    endpoint = forms.ChoiceField(label=gettext_lazy("Endpoint"), required=False)
    status = forms.ChoiceField(
        label=gettext_lazy("Status"),
        required=False,
        choices=[("", gettext_lazy("Any status")), *DeliveryStatus.choices],
    )
    type = forms.ChoiceField(
        required=False,
        label=gettext_lazy("Event"),
        choices=lambda: [
            ("", _("Any event")),
            *((title, [(name, f"{name}: {CATALOGUE[name]}") for name in names]) for title, names in GROUPS),
        ],
    )

    def __init__(self, *args: Any, endpoints: Iterable[Endpoint], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["endpoint"].choices = [("", _("Any endpoint")), *_named(endpoints)]  # type: ignore[attr-defined]  # a ChoiceField


class BenchForm(LookMixin):
    """A webhook and an event, of which the bench shows and sends a sample."""

    endpoint = forms.ChoiceField(label=gettext_lazy("Webhook"))
    type = forms.ChoiceField(label=gettext_lazy("Event"))

    def __init__(self, *args: Any, endpoints: Iterable[Endpoint], environment: str, **options: Any) -> None:
        super().__init__(*args, **options)
        types = CATALOGUE if environment == Environment.SANDBOX else [WEBHOOK_TEST]
        self.fields["endpoint"].choices = _named(endpoints)  # type: ignore[attr-defined]  # a ChoiceField
        self.fields["type"].choices = [(name, name) for name in types]  # type: ignore[attr-defined]  # a ChoiceField


class SignatureForm(LookMixin):
    """A request as it was received, to be verified."""

    endpoint = forms.ChoiceField(label=gettext_lazy("Sent to"))
    message_id = forms.CharField(label="webhook-id", max_length=80)
    timestamp = forms.CharField(label="webhook-timestamp", max_length=20)
    signature = forms.CharField(label="webhook-signature", max_length=200)
    body = forms.CharField(
        label=gettext_lazy("Body"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        help_text=gettext_lazy("The raw body, every character of it."),
    )

    def __init__(self, *args: Any, endpoints: Iterable[Endpoint], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["endpoint"].choices = _named(endpoints)  # type: ignore[attr-defined]  # a ChoiceField

    def pasted(self) -> Pasted:
        """The request, with the line breaks of a body as they are: forms send them as CRLF."""
        cleaned = self.cleaned_data
        body = cleaned["body"].replace("\r\n", "\n").encode()
        return Pasted(cleaned["message_id"], cleaned["timestamp"], cleaned["signature"], body)


def _named(endpoints: Iterable[Endpoint]) -> list[tuple[str, str]]:
    return [(endpoint.public_id, endpoint.url[:MOST_CHARACTERS_OF_A_CHOICE]) for endpoint in endpoints]
