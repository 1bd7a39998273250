"""What people fill in and choose on the merchant's webhook pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from config.api.fields import MAX_URL_CHARACTERS
from config.environments import Environment
from merchants.forms import FilterForm, LookMixin, SearchField
from webhooks.events import CATALOGUE, EVERYTHING
from webhooks.models import Endpoint
from webhooks.services import DESCRIPTION_MAX, EndpointChanges
from webhooks.states import DeliveryStatus

LOCAL_EXAMPLE = "http://127.0.0.1:9000/"
MOST_CHARACTERS_OF_A_CHOICE = 80
EVENT_CHOICES = [(EVERYTHING, "All that happens, kinds that come later included."), *CATALOGUE.items()]


class EndpointForm(LookMixin):
    """An endpoint, new or changed. Whether the address may be called is for the service to say."""

    url = forms.CharField(
        label="Address",
        max_length=MAX_URL_CHARACTERS,
        widget=forms.TextInput(
            attrs={"inputmode": "url", "autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}
        ),
        error_messages={"required": "Enter the address that events are sent to."},
    )
    description = forms.CharField(
        required=False,
        max_length=DESCRIPTION_MAX,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="A note of your own, for example “Order system”.",
    )
    events = forms.MultipleChoiceField(
        choices=EVENT_CHOICES,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Tick at least one event, or everything."},
    )

    def __init__(self, *args: Any, environment: str, **options: Any) -> None:
        super().__init__(*args, **options)
        help_text = "A public address that begins with https://."
        if environment == Environment.SANDBOX:
            help_text = "A public address that begins with https:// or http://."
            if settings.WEBHOOK_ALLOW_LOOPBACK:
                help_text += f" One on this machine will do as well, such as {LOCAL_EXAMPLE}."
        self.fields["url"].help_text = help_text

    def clean_description(self) -> str:
        description: str = self.cleaned_data["description"]
        if not description.isprintable():
            raise ValidationError("Use printable characters only.")
        return description

    @staticmethod
    def initial_of(endpoint: Endpoint) -> dict[str, Any]:
        return {"url": endpoint.url, "description": endpoint.description, "events": endpoint.events}

    def changes(self) -> EndpointChanges:
        cleaned = self.cleaned_data
        return {"url": cleaned["url"], "description": cleaned["description"], "events": cleaned["events"]}


class DeliveryFilterForm(FilterForm):
    """The filters of the list of deliveries."""

    q = SearchField(example="Id of a payment or event")
    endpoint = forms.ChoiceField(required=False)
    status = forms.ChoiceField(required=False, choices=[("", "Any status"), *DeliveryStatus.choices])
    type = forms.ChoiceField(
        required=False, label="Event", choices=[("", "Any event"), *((name, name) for name in CATALOGUE)]
    )

    def __init__(self, *args: Any, endpoints: Iterable[Endpoint], **options: Any) -> None:
        super().__init__(*args, **options)
        choices = [(endpoint.public_id, endpoint.url[:MOST_CHARACTERS_OF_A_CHOICE]) for endpoint in endpoints]
        self.fields["endpoint"].choices = [("", "Any endpoint"), *choices]  # type: ignore[attr-defined]  # a ChoiceField
