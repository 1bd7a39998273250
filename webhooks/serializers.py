"""The bodies and queries of requests about webhooks, and how the reference describes the replies."""

from __future__ import annotations

from typing import Any, cast

from rest_framework import serializers

from config import ids
from config.api.fields import (
    HttpUrlField,
    InstantFilterField,
    PublicIdField,
    StrictCharField,
    StrictChoiceField,
    StrictSerializer,
    WordsField,
)
from config.api.pagination import CreatedListQuery
from config.environments import Environment
from merchants.access.scopes import Scope
from webhooks.events.catalogue import CATALOGUE, EVERYTHING
from webhooks.records import API_VERSION
from webhooks.services import DESCRIPTION_MAX, EndpointChanges
from webhooks.states import DeliveryStatus, DisabledReason, EndpointStatus

MAX_EVENTS = 100
APPLICATION_NAME_MAX = 40


def _event_types(*, with_everything: bool, **kwargs: Any) -> serializers.ListField:
    names = [EVERYTHING, *CATALOGUE] if with_everything else list(CATALOGUE)
    return serializers.ListField(
        child=StrictChoiceField(choices=names), allow_empty=False, max_length=MAX_EVENTS, **kwargs
    )


class NewWebhookSerializer(StrictSerializer):
    """The body of a create request."""

    url = HttpUrlField(help_text="Where events are sent: a public https address; http too in the sandbox.")
    events = _event_types(
        with_everything=True, default=[EVERYTHING], help_text="Which events to send; `*` is all, later ones included."
    )
    description = StrictCharField(
        max_length=DESCRIPTION_MAX, default="", allow_blank=True, help_text="A note of your own."
    )


class WebhookChangesSerializer(StrictSerializer):
    """The body of an update: what is left out stays as it is."""

    url = HttpUrlField(required=False)
    events = _event_types(with_everything=True, required=False)
    description = StrictCharField(max_length=DESCRIPTION_MAX, required=False, allow_blank=True)
    status = StrictChoiceField(
        choices=EndpointStatus.values, required=False, help_text="Disabling discards what waits to be sent."
    )

    def to_changes(self) -> EndpointChanges:
        """The changes for the service, once the data is valid."""
        return cast("EndpointChanges", dict(self.validated_data))


class TermsSerializer(StrictSerializer):
    """The query with which an application sends a member to agree to a key pair and a webhook."""

    name = StrictCharField(max_length=APPLICATION_NAME_MAX)
    scopes = WordsField(choices=list(Scope))
    redirectUrl = HttpUrlField()
    webhookUrl = HttpUrlField(required=False)
    events = WordsField(choices=[EVERYTHING, *CATALOGUE], default=[EVERYTHING])
    state = StrictCharField(max_length=500)
    codeChallenge = StrictCharField()


class ExchangeSerializer(StrictSerializer):
    """The body by which an application fetches what a member has agreed to."""

    code = StrictCharField(max_length=100)
    codeVerifier = StrictCharField(min_length=43, max_length=128)


class ReplaySerializer(StrictSerializer):
    """The span of time whose events are sent again."""

    createdGte = InstantFilterField(help_text="From this ISO 8601 time on, UTC; a date means its beginning.")
    createdLte = InstantFilterField(end_of_day=True, help_text="Up to this time; a date means its end.")
    types = _event_types(
        with_everything=False, required=False, help_text="Only these; otherwise all the webhook listens to."
    )


class EventListQuery(CreatedListQuery):
    """The filters of the list of events."""

    type = StrictChoiceField(choices=list(CATALOGUE), required=False, help_text="Only events of this type.")


class DeliveryListQuery(CreatedListQuery):
    """The filters of the list of deliveries."""

    endpoint = PublicIdField(ids.WEBHOOK, required=False, help_text="Only those to this webhook.")
    event = PublicIdField(ids.EVENT, required=False, help_text="Only those of this event.")
    status = StrictChoiceField(choices=DeliveryStatus.values, required=False, help_text="Only those in this status.")


class WebhookSchema(serializers.Serializer[Any]):
    """The webhook record, for the reference; `records.webhook_record` writes it."""

    id = serializers.CharField()
    object = serializers.ChoiceField(choices=["webhook"])
    url = serializers.URLField()
    events = serializers.ListField(child=serializers.CharField(), help_text="Event types; `*` is all of them.")
    status = serializers.ChoiceField(choices=EndpointStatus.choices)
    disabledReason = serializers.ChoiceField(
        choices=DisabledReason.choices,
        allow_null=True,
        help_text="`merchant`: by you. `gone`: it answered 410. `failing`: nothing succeeded for five days.",
    )
    disabledAt = serializers.DateTimeField(allow_null=True)
    description = serializers.CharField()
    isPaymentAddress = serializers.BooleanField(
        help_text="True for the webhookUrl of payments: it is not listed, and the account's secret signs."
    )
    previousSecretExpiresAt = serializers.DateTimeField(
        allow_null=True, help_text="After a rotation: until when the previous secret signs too."
    )
    environment = serializers.ChoiceField(choices=Environment.choices)
    createdAt = serializers.DateTimeField()


class WebhookWithSecretSchema(WebhookSchema):
    secret = serializers.CharField(help_text="`whsec_…`, shown now and never again.")


class DeletedWebhookSchema(serializers.Serializer[Any]):
    id = serializers.CharField()
    object = serializers.ChoiceField(choices=["webhook"])
    deleted = serializers.ChoiceField(choices=[True])


class AccountSecretSchema(serializers.Serializer[Any]):
    object = serializers.ChoiceField(choices=["signing_secret"])
    secret = serializers.CharField(help_text="`whsec_…`, shown now and never again.")
    previousSecretExpiresAt = serializers.DateTimeField(help_text="Until then the previous secret signs too.")
    environment = serializers.ChoiceField(choices=Environment.choices)


class ReplaySchema(serializers.Serializer[Any]):
    object = serializers.ChoiceField(choices=["replay"])
    endpoint = serializers.CharField(help_text="Of the webhook.")
    deliveryCount = serializers.IntegerField(help_text="How many deliveries are due now.")


class EventDataSchema(serializers.Serializer[Any]):
    object = serializers.DictField(help_text="The whole record as it was at this version.")


class EventSchema(serializers.Serializer[Any]):
    """The event, for the reference; `records.event_record` writes it."""

    id = serializers.CharField(help_text="Also the `webhook-id` of every delivery of it.")
    object = serializers.ChoiceField(choices=["event"])
    type = serializers.ChoiceField(choices=list(CATALOGUE))
    apiVersion = serializers.ChoiceField(choices=[API_VERSION])
    createdAt = serializers.DateTimeField()
    environment = serializers.ChoiceField(choices=Environment.choices)
    version = serializers.IntegerField(help_text="Of the record; it only grows. Keep the record with the highest one.")
    data = EventDataSchema()  # type: ignore[assignment]  # on the wire


class AttemptSchema(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["succeeded", "failed"])
    statusCode = serializers.IntegerField(allow_null=True, help_text="Null when there was no reply.")
    durationMs = serializers.IntegerField()
    error = serializers.CharField(allow_null=True)
    startedAt = serializers.DateTimeField()
    reply = serializers.CharField(help_text="The beginning of the reply's body.")


class DeliverySchema(serializers.Serializer[Any]):
    """The delivery, for the reference; `records.delivery_record` writes it."""

    id = serializers.CharField()
    object = serializers.ChoiceField(choices=["delivery"])
    status = serializers.ChoiceField(choices=DeliveryStatus.choices)
    event = serializers.CharField(help_text="Its id.")
    eventType = serializers.CharField()
    endpoint = serializers.CharField(help_text="The id of the webhook.")
    url = serializers.URLField()
    attemptCount = serializers.IntegerField()
    nextAttemptAt = serializers.DateTimeField(allow_null=True)
    deliveredAt = serializers.DateTimeField(allow_null=True)
    environment = serializers.ChoiceField(choices=Environment.choices)
    createdAt = serializers.DateTimeField()
    attempts = AttemptSchema(many=True, help_text="Kept for 60 days.")
