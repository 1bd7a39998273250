"""/v1/webhooks, /v1/events and /v1/deliveries: parse, call a service, render."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config import ids
from config.api.fields import EmptySerializer, read_query
from config.api.hints import no_such
from config.api.pagination import ListQuery, page
from config.api.renderers import format_instant
from config.api.schema import refuses
from merchants.access.scopes import Scope
from merchants.access.viewsets import MerchantViewSet
from webhooks import examples
from webhooks.models import Delivery, Endpoint, Event
from webhooks.rebuilding import complete
from webhooks.records import delivery_record, event_record, webhook_record
from webhooks.secrets import decrypt, encrypt
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
        request=NewWebhookSerializer,
        responses={201: WebhookWithSecretSchema},
        examples=examples.CREATE,
    )
    def create(self, request: Request) -> Response:
        body = NewWebhookSerializer(data=request.data, context={"environment": self.environment})
        body.is_valid(raise_exception=True)
        endpoint, secret = register_endpoint(
            merchant=self.merchant, environment=self.environment, **body.validated_data
        )
        return Response(webhook_record(endpoint, secret=secret), status=201)

    @extend_schema(summary="List webhooks", parameters=[ListQuery], responses=WebhookSchema(many=True))
    def list(self, request: Request) -> Response:
        own = Endpoint.objects.of(self.merchant, self.environment).registered()
        return Response(
            page(
                own,
                read_query(ListQuery, request),
                public_id=ids.WEBHOOK,
                render=webhook_record,
                total=lambda keys: own.filter(keys.condition).count(),
            )
        )

    @extend_schema(summary="Get a webhook", responses=WebhookSchema, examples=examples.RETRIEVE)
    def retrieve(self, request: Request, webhook_id: str) -> Response:
        return Response(webhook_record(self._endpoint(webhook_id)))

    @refuses(WebhookOfPayments)
    @extend_schema(
        summary="Update a webhook", request=WebhookChangesSerializer, responses=WebhookSchema, examples=examples.UPDATE
    )
    def update(self, request: Request, webhook_id: str) -> Response:
        endpoint = self._endpoint(webhook_id)
        body = WebhookChangesSerializer(data=request.data, context={"environment": self.environment})
        body.is_valid(raise_exception=True)
        return Response(webhook_record(update_endpoint(endpoint=endpoint, changes=body.to_changes())))

    @refuses(WebhookOfPayments)
    @extend_schema(summary="Delete a webhook", responses={200: DeletedWebhookSchema}, examples=examples.DELETE)
    def destroy(self, request: Request, webhook_id: str) -> Response:
        endpoint = self._endpoint(webhook_id)
        delete_endpoint(endpoint=endpoint)
        return Response({"id": endpoint.public_id, "object": "webhook", "deleted": True})

    @refuses(WebhookDisabled)
    @extend_schema(
        summary="Send a test event", request=EmptySerializer, responses=DeliverySchema, examples=examples.TEST
    )
    def test(self, request: Request, webhook_id: str) -> Response:
        EmptySerializer(data=request.data).is_valid(raise_exception=True)
        return Response(_shown(send_test(endpoint=self._endpoint(webhook_id))))

    @refuses(WebhookOfPayments)
    @extend_schema(
        summary="Give a webhook a new secret",
        request=EmptySerializer,
        responses=WebhookWithSecretSchema,
        examples=examples.ROTATE,
    )
    def rotate(self, request: Request, webhook_id: str) -> Response:
        EmptySerializer(data=request.data).is_valid(raise_exception=True)
        endpoint, secret = rotate_secret(endpoint=self._endpoint(webhook_id))
        return Response(webhook_record(endpoint, secret=secret))

    @extend_schema(
        summary="Give the account a new secret, for the webhookUrl of payments",
        request=EmptySerializer,
        responses=AccountSecretSchema,
        examples=examples.ROTATE_ACCOUNT_SECRET,
    )
    def rotate_account_secret(self, request: Request) -> Response:
        EmptySerializer(data=request.data).is_valid(raise_exception=True)
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
        summary="Send the events of a span of time again",
        request=ReplaySerializer,
        responses=ReplaySchema,
        examples=examples.REPLAY,
    )
    def replay(self, request: Request, webhook_id: str) -> Response:
        endpoint = self._endpoint(webhook_id)
        body = ReplaySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        asked = body.validated_data
        count = replay(
            endpoint=endpoint,
            created_gte=asked["createdGte"],
            created_lte=asked["createdLte"],
            types=asked.get("types"),
        )
        return Response({"object": "replay", "endpoint": endpoint.public_id, "deliveryCount": count})

    def seal_reply(self, body: bytes) -> bytes:
        """Replies here hold secrets, and what is kept for a repeated request must not."""
        return encrypt(body.decode(), owner=self._owner_of_replies())

    def unseal_reply(self, sealed: bytes) -> bytes:
        return decrypt(sealed, owner=self._owner_of_replies()).encode()

    def _owner_of_replies(self) -> str:
        return f"replies {self.merchant.pk} {self.environment}"

    def _endpoint(self, public_id: str) -> Endpoint:
        key = ids.WEBHOOK.decode(public_id)
        endpoint = key and Endpoint.objects.of(self.merchant, self.environment).existing().filter(pk=key).first()
        if not endpoint:
            raise no_such(ids.WEBHOOK, public_id)
        return endpoint


class EventViewSet(MerchantViewSet):
    """What happened, whether or not anybody was told."""

    scopes: ClassVar = {"list": Scope.WEBHOOKS_READ, "retrieve": Scope.WEBHOOKS_READ}

    @extend_schema(summary="List events", parameters=[EventListQuery], responses=EventSchema(many=True))
    def list(self, request: Request) -> Response:
        query = read_query(EventListQuery, request)
        narrow = Q(type=query["type"]) if "type" in query else Q()
        own = Event.objects.of(self.merchant, self.environment)
        return Response(
            page(
                own,
                query,
                public_id=ids.EVENT,
                narrow=narrow,
                render=event_record,
                prepare=complete,
                total=lambda keys: own.filter(narrow, keys.condition).count(),
            )
        )

    @extend_schema(summary="Get an event", responses=EventSchema, examples=examples.EVENT_SHOWN)
    def retrieve(self, request: Request, event_id: str) -> Response:
        key = ids.EVENT.decode(event_id)
        event = key and Event.objects.of(self.merchant, self.environment).filter(pk=key).first()
        if not event:
            raise no_such(ids.EVENT, event_id)
        return Response(event_record(event))


class DeliveryViewSet(MerchantViewSet):
    """Which event went to which endpoint, and how every attempt ended."""

    scopes: ClassVar = {
        "list": Scope.WEBHOOKS_READ,
        "retrieve": Scope.WEBHOOKS_READ,
        "redeliver": Scope.WEBHOOKS_WRITE,
    }

    @extend_schema(summary="List deliveries", parameters=[DeliveryListQuery], responses=DeliverySchema(many=True))
    def list(self, request: Request) -> Response:
        query = read_query(DeliveryListQuery, request)
        narrow = Q(**{name: query[name] for name in ("endpoint", "event", "status") if name in query})
        own = Delivery.objects.of(self.merchant, self.environment)
        return Response(
            page(
                own.to_show(),
                query,
                public_id=ids.DELIVERY,
                narrow=narrow,
                render=delivery_record,
                total=lambda keys: own.filter(narrow, keys.condition).count(),
            )
        )

    @extend_schema(summary="Get a delivery", responses=DeliverySchema, examples=examples.DELIVERED)
    def retrieve(self, request: Request, delivery_id: str) -> Response:
        return Response(_shown(self._delivery(delivery_id)))

    @refuses(WebhookDisabled, WebhookDeleted)
    @extend_schema(
        summary="Send a delivery again", request=EmptySerializer, responses=DeliverySchema, examples=examples.REDELIVER
    )
    def redeliver(self, request: Request, delivery_id: str) -> Response:
        EmptySerializer(data=request.data).is_valid(raise_exception=True)
        return Response(_shown(redeliver(delivery=self._delivery(delivery_id))))

    def _delivery(self, public_id: str) -> Delivery:
        key = ids.DELIVERY.decode(public_id)
        delivery = key and Delivery.objects.of(self.merchant, self.environment).filter(pk=key).first()
        if not delivery:
            raise no_such(ids.DELIVERY, public_id)
        return delivery


def _shown(delivery: Delivery) -> dict[str, object]:
    return delivery_record(Delivery.objects.to_show().get(pk=delivery.pk))
