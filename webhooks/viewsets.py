"""/v1/webhooks, /v1/events and /v1/deliveries: parse, call a service, render."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config import ids
from config.api.fields import EmptySerializer, read_body, read_query
from config.api.pagination import Envelope, ListQuery
from config.api.renderers import format_instant
from config.api.schema import refuses
from merchants.access.scopes import Scope
from merchants.access.viewsets import MerchantViewSet
from webhooks import examples
from webhooks.endpoints.secrets import decrypt, encrypt
from webhooks.events.rebuilding import complete
from webhooks.models import Delivery, Endpoint, Event
from webhooks.records import delivery_record, event_record, webhook_record
from webhooks.serializers import (
    AccountSecretSchema,
    DeletedWebhookSchema,
    DeliveryListQuery,
    DeliverySchema,
    EventListQuery,
    EventSchema,
    NewWebhookSerializer,
    ReplaySchema,
    ReplaySerializer,
    WebhookChangesSerializer,
    WebhookSchema,
    WebhookWithSecretSchema,
)
from webhooks.services import (
    ReplayTooLarge,
    TooManyWebhooks,
    WebhookDeleted,
    WebhookDisabled,
    WebhookOfPayments,
    delete_endpoint,
    redeliver,
    register_endpoint,
    replay,
    rotate_account_secret,
    rotate_secret,
    send_test,
    update_endpoint,
)

MOST_COUNTED = 1_000
"""Events and deliveries that are counted for a list: to count millions takes longer than to read a page of them."""


class WebhookViewSet(MerchantViewSet):
    """Endpoints of the key's merchant in the key's environment."""

    scopes: ClassVar = {
        "create": Scope.WEBHOOKS_WRITE,
        "list": Scope.WEBHOOKS_READ,
        "retrieve": Scope.WEBHOOKS_READ,
        "update": Scope.WEBHOOKS_WRITE,
        "destroy": Scope.WEBHOOKS_WRITE,
        "test": Scope.WEBHOOKS_WRITE,
        "rotate": Scope.WEBHOOKS_WRITE,
        "rotate_account_secret": Scope.WEBHOOKS_WRITE,
        "replay": Scope.WEBHOOKS_WRITE,
    }

    @refuses(TooManyWebhooks)
    @extend_schema(
        summary="Create a webhook",
        description=(
            "Registers an address of yours for events. The reply holds the `secret` that signs what is sent "
            "there; it is shown this once."
        ),
        request=NewWebhookSerializer,
        responses={201: WebhookWithSecretSchema},
        examples=examples.CREATE,
    )
    def create(self, request: Request) -> Response:
        body = read_body(NewWebhookSerializer, request, environment=self.environment)
        endpoint, secret = register_endpoint(
            merchant=self.merchant, environment=self.environment, **body.validated_data
        )
        return Response(webhook_record(endpoint, secret=secret), status=201)

    @extend_schema(
        summary="List webhooks",
        description="Newest first, without their secrets.",
        parameters=[ListQuery],
        responses=WebhookSchema(many=True),
    )
    def list(self, request: Request) -> Response:
        own = Endpoint.objects.of(self.merchant, self.environment).registered()
        return self.listed(own, read_query(ListQuery, request), kind=ids.WEBHOOK, render=webhook_record)

    @extend_schema(
        summary="Get a webhook",
        description="The webhook, without its secret.",
        responses=WebhookSchema,
        examples=examples.RETRIEVE,
    )
    def retrieve(self, request: Request, webhook_id: str) -> Response:
        return Response(webhook_record(self._endpoint(webhook_id)))

    @refuses(WebhookOfPayments)
    @extend_schema(
        summary="Update a webhook",
        description="Changes what is given, and leaves the rest. `status` disables it, or enables it again.",
        request=WebhookChangesSerializer,
        responses=WebhookSchema,
        examples=examples.UPDATE,
    )
    def update(self, request: Request, webhook_id: str) -> Response:
        endpoint = self._endpoint(webhook_id)
        body = read_body(WebhookChangesSerializer, request, environment=self.environment)
        return Response(webhook_record(update_endpoint(endpoint=endpoint, changes=body.to_changes())))

    @refuses(WebhookOfPayments)
    @extend_schema(
        summary="Delete a webhook",
        description="For good. Its deliveries can still be looked up.",
        responses={200: DeletedWebhookSchema},
        examples=examples.DELETE,
    )
    def destroy(self, request: Request, webhook_id: str) -> Response:
        endpoint = self._endpoint(webhook_id)
        delete_endpoint(endpoint=endpoint)
        return Response({"id": endpoint.public_id, "object": "webhook", "deleted": True})

    @refuses(WebhookDisabled)
    @extend_schema(
        summary="Send a test event",
        description=(
            "Sends `webhook.test` only to this webhook. The reply is the delivery; its attempt shows up a moment later."
        ),
        request=EmptySerializer,
        responses=DeliverySchema,
        examples=examples.TEST,
    )
    def test(self, request: Request, webhook_id: str) -> Response:
        read_body(EmptySerializer, request)
        return Response(_shown(send_test(endpoint=self._endpoint(webhook_id))))

    @refuses(WebhookOfPayments)
    @extend_schema(
        summary="Rotate a webhook's signing secret",
        description="The one before signs as well for another 24 hours.",
        request=EmptySerializer,
        responses=WebhookWithSecretSchema,
        examples=examples.ROTATE,
    )
    def rotate(self, request: Request, webhook_id: str) -> Response:
        read_body(EmptySerializer, request)
        endpoint, secret = rotate_secret(endpoint=self._endpoint(webhook_id))
        return Response(webhook_record(endpoint, secret=secret))

    @extend_schema(
        summary="Rotate the account's signing secret",
        description=(
            "It signs what is sent to the `webhookUrl` of payments. The one before signs as well for another 24 hours."
        ),
        request=EmptySerializer,
        responses=AccountSecretSchema,
        examples=examples.ROTATE_ACCOUNT_SECRET,
    )
    def rotate_account_secret(self, request: Request) -> Response:
        read_body(EmptySerializer, request)
        secret, expires_at = rotate_account_secret(merchant=self.merchant, environment=self.environment)
        return Response(
            {
                "object": "signing_secret",
                "secret": secret,
                "previousSecretExpiresAt": format_instant(expires_at),
                "environment": self.environment,
            }
        )

    @refuses(WebhookDisabled, ReplayTooLarge)
    @extend_schema(
        summary="Replay events",
        description=(
            "Also those that arrived before, and those that happened while the webhook was disabled or not "
            "yet registered; at most 10,000."
        ),
        request=ReplaySerializer,
        responses=ReplaySchema,
        examples=examples.REPLAY,
    )
    def replay(self, request: Request, webhook_id: str) -> Response:
        endpoint = self._endpoint(webhook_id)
        body = read_body(ReplaySerializer, request)
        chosen = body.validated_data
        count = replay(
            endpoint=endpoint,
            created_gte=chosen["createdGte"],
            created_lte=chosen["createdLte"],
            types=chosen.get("types"),
        )
        return Response({"object": "replay", "endpoint": endpoint.public_id, "deliveryCount": count})

    def seal_reply(self, body: bytes) -> bytes:
        """Encrypts replies that are stored for a repeated request, because they contain secrets."""
        return encrypt(body.decode(), owner=self._owner_of_replies())

    def unseal_reply(self, sealed: bytes) -> bytes:
        return decrypt(sealed, owner=self._owner_of_replies()).encode()

    def _owner_of_replies(self) -> str:
        return f"replies {self.merchant.pk} {self.environment}"

    def _endpoint(self, public_id: str) -> Endpoint:
        return self.find(ids.WEBHOOK, public_id, Endpoint.objects.of(self.merchant, self.environment).existing())


class EndlessEnvelope(Envelope):
    """Of lists that grow with every payment, which nobody pages to their end."""

    total_meaning = f"How many records match: exact up to {MOST_COUNTED:,}, and never more."


class EventViewSet(MerchantViewSet):
    """Events, whether or not any endpoint was sent them."""

    scopes: ClassVar = {"list": Scope.WEBHOOKS_READ, "retrieve": Scope.WEBHOOKS_READ}
    pagination_class = EndlessEnvelope

    @extend_schema(
        summary="List events",
        description="Everything that happened, whether or not any webhook was sent it. Newest first.",
        parameters=[EventListQuery],
        responses=EventSchema(many=True),
    )
    def list(self, request: Request) -> Response:
        return self.listed(
            Event.objects.of(self.merchant, self.environment).filter(sample_of=""),
            read_query(EventListQuery, request),
            kind=ids.EVENT,
            filters={"type": "type"},
            prepare=complete,
            render=event_record,
            most_counted=MOST_COUNTED,
        )

    @extend_schema(
        summary="Get an event",
        description="The event, with its record as it was then.",
        responses=EventSchema,
        examples=examples.EVENT_SHOWN,
    )
    def retrieve(self, request: Request, event_id: str) -> Response:
        own = Event.objects.of(self.merchant, self.environment)
        return Response(event_record(self.find(ids.EVENT, event_id, own)))


class DeliveryViewSet(MerchantViewSet):
    """Deliveries of events to endpoints, and their attempts."""

    pagination_class = EndlessEnvelope
    scopes: ClassVar = {
        "list": Scope.WEBHOOKS_READ,
        "retrieve": Scope.WEBHOOKS_READ,
        "redeliver": Scope.WEBHOOKS_WRITE,
    }

    @extend_schema(
        summary="List deliveries",
        description="Newest first.",
        parameters=[DeliveryListQuery],
        responses=DeliverySchema(many=True),
    )
    def list(self, request: Request) -> Response:
        return self.listed(
            Delivery.objects.of(self.merchant, self.environment).to_show(),
            read_query(DeliveryListQuery, request),
            kind=ids.DELIVERY,
            filters={name: name for name in ("endpoint", "event", "status")},
            render=delivery_record,
            most_counted=MOST_COUNTED,
        )

    @extend_schema(
        summary="Get a delivery",
        description="The delivery with its attempts.",
        responses=DeliverySchema,
        examples=examples.DELIVERED,
    )
    def retrieve(self, request: Request, delivery_id: str) -> Response:
        return Response(_shown(self._delivery(delivery_id)))

    @refuses(WebhookDisabled, WebhookDeleted)
    @extend_schema(
        summary="Send a delivery again",
        description="Sends it at once. A delivery that has ended gets all its attempts again.",
        request=EmptySerializer,
        responses=DeliverySchema,
        examples=examples.REDELIVER,
    )
    def redeliver(self, request: Request, delivery_id: str) -> Response:
        read_body(EmptySerializer, request)
        return Response(_shown(redeliver(delivery=self._delivery(delivery_id))))

    def _delivery(self, public_id: str) -> Delivery:
        return self.find(ids.DELIVERY, public_id, Delivery.objects.of(self.merchant, self.environment))


def _shown(delivery: Delivery) -> dict[str, object]:
    return delivery_record(Delivery.objects.to_show().get(pk=delivery.pk))
