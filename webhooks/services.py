"""Changes of endpoints, of their secrets and deliveries, on request of a person or their system."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, TypedDict

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from config import ids
from config.api.pagination import KeyRange
from config.database.bulk_insert import insert_together
from config.environments import Environment
from config.errors import DomainError, InvalidParameter, NotFound
from merchants.models import Merchant
from webhooks.endpoints.secrets import SecretUnreadable, encrypt, new_secret, owner_of, reencrypt
from webhooks.endpoints.targets import url_problem
from webhooks.events import samples
from webhooks.events.catalogue import CATALOGUE, EVERYTHING, WEBHOOK_TEST
from webhooks.events.recording import build_event, wake_dispatcher
from webhooks.models import Delivery, Endpoint, Event, SigningSecret
from webhooks.records import webhook_record
from webhooks.schedule import ATTEMPTS
from webhooks.states import DELIVERY_MOVES, ENDPOINT_MOVES, DeliveryStatus, DisabledReason, EndpointStatus

logger = structlog.get_logger(__name__)

ENDPOINTS_MAX: Final = 50
"""Endpoints of a merchant in each environment, at most."""

DESCRIPTION_MAX: Final = 200
PREVIOUS_SECRET_LIVES: Final = timedelta(hours=24)
REPLAY_MAX: Final = 10_000
"""Events of one replay, at most."""

_INSERT_BATCH: Final = 1000

Reencryption = Literal["reencrypted", "current", "unreadable"]


class TooManyWebhooks(DomainError):
    code = "too_many_webhooks"
    message = f"A merchant has at most {ENDPOINTS_MAX} webhooks in each environment. Delete one first."


class WebhookDisabled(DomainError):
    code = "webhook_disabled"
    message = "This webhook is disabled. Enable it first."


class WebhookDeleted(DomainError):
    code = "webhook_deleted"
    message = "The webhook of this delivery was deleted."


class WebhookOfPayments(DomainError):
    code = "webhook_of_payments"
    message = "This is the webhookUrl of payments: you can only enable, disable, test and replay it."


class ReplayTooLarge(DomainError):
    code = "replay_too_large"
    message = f"This span holds more than {REPLAY_MAX:,} events. Replay it in shorter spans."


class SampleOfProduction(DomainError):
    code = "sample_of_production"
    message = "Samples are sent in the sandbox alone. In production there is webhook.test."


class EndpointChanges(TypedDict, total=False):
    """Fields `update_endpoint` may change; an omitted one stays as it is."""

    url: str
    events: Sequence[str]
    description: str
    status: str


# --- endpoints ---------------------------------------------------------------------------------------


def register_endpoint(
    *, merchant: Merchant, environment: str, url: str, events: Collection[str] = (EVERYTHING,), description: str = ""
) -> tuple[Endpoint, str]:
    """Make an endpoint that is sent events from now on; returns it and its secret, which is never shown again."""
    _check_url(url, environment)
    _check_description(description)
    endpoint = Endpoint(
        merchant=merchant, environment=environment, url=url, description=description, events=_checked_events(events)
    )
    secret = new_secret()
    endpoint.secret_encrypted = encrypt(secret, owner=owner_of(endpoint))
    with transaction.atomic():
        Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
        if Endpoint.objects.of(merchant, environment).registered().count() >= ENDPOINTS_MAX:
            raise TooManyWebhooks
        endpoint.save(force_insert=True)
    return endpoint, secret


def update_endpoint(*, endpoint: Endpoint, changes: EndpointChanges) -> Endpoint:
    """Change what is given. Pending deliveries go to the new URL."""
    with transaction.atomic():
        endpoint = _locked(endpoint)
        if changes.keys() - {"status"}:
            _require_registered(endpoint)
        if "url" in changes and changes["url"] != endpoint.url:
            _check_url(changes["url"], endpoint.environment)
            endpoint.url = changes["url"]
            endpoint.failing_since = None  # the old URL failed, not the new one
        if "events" in changes and (events := _checked_events(changes["events"])) != endpoint.events:
            endpoint.events, endpoint.events_changed_at = events, timezone.now()
        if "description" in changes:
            _check_description(changes["description"])
            endpoint.description = changes["description"]
        endpoint.save(update_fields=["url", "failing_since", "events", "events_changed_at", "description"])
        match changes.get("status"):
            case EndpointStatus.ENABLED:
                return enable_endpoint(endpoint=endpoint)
            case EndpointStatus.DISABLED:
                return disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
        return endpoint


def enable_endpoint(*, endpoint: Endpoint) -> Endpoint:
    """Send it events again from now on; those it missed can be replayed. Does nothing when it is enabled."""
    with transaction.atomic():
        endpoint = _locked(endpoint)
        if endpoint.status == EndpointStatus.ENABLED:
            return endpoint
        ENDPOINT_MOVES.check(endpoint.status, EndpointStatus.ENABLED)
        endpoint.status, endpoint.disabled_reason, endpoint.disabled_at = EndpointStatus.ENABLED, "", None
        endpoint.failing_since, endpoint.is_mail_due, endpoint.subscribed_at = None, False, timezone.now()
        endpoint.save(
            update_fields=[
                "status",
                "disabled_reason",
                "disabled_at",
                "failing_since",
                "is_mail_due",
                "subscribed_at",
            ]
        )
        return endpoint


def disable_endpoint(*, endpoint: Endpoint, reason: DisabledReason) -> Endpoint:
    """Send it nothing any more, and discard what waits. The merchant gets a mail unless it did this itself."""
    with transaction.atomic():
        endpoint = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        if endpoint.deleted_at or endpoint.status == EndpointStatus.DISABLED:
            return endpoint
        ENDPOINT_MOVES.check(endpoint.status, EndpointStatus.DISABLED)
        endpoint.status, endpoint.disabled_reason = EndpointStatus.DISABLED, reason
        endpoint.disabled_at = timezone.now()
        endpoint.is_mail_due = reason != DisabledReason.MERCHANT
        endpoint.save(update_fields=["status", "disabled_reason", "disabled_at", "is_mail_due"])
        _discard_pending(endpoint)
        return endpoint


def delete_endpoint(*, endpoint: Endpoint) -> None:
    """Delete it for good. Its deliveries can still be looked up."""
    with transaction.atomic():
        endpoint = _locked(endpoint)
        _require_registered(endpoint)
        if endpoint.status == EndpointStatus.ENABLED:
            endpoint = disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
        endpoint.deleted_at, endpoint.is_mail_due = timezone.now(), False
        endpoint.save(update_fields=["deleted_at", "is_mail_due"])


# --- secrets -----------------------------------------------------------------------------------------


def rotate_secret(*, endpoint: Endpoint) -> tuple[Endpoint, str]:
    """Make a new secret. The previous one also signs for a day, so that receivers can change over without a gap."""
    with transaction.atomic():
        endpoint = _locked(endpoint)
        _require_registered(endpoint)
        secret = new_secret()
        endpoint.previous_secret_encrypted = endpoint.secret_encrypted
        endpoint.previous_secret_expires_at = timezone.now() + PREVIOUS_SECRET_LIVES
        endpoint.secret_encrypted = encrypt(secret, owner=owner_of(endpoint))
        endpoint.save(update_fields=["secret_encrypted", "previous_secret_encrypted", "previous_secret_expires_at"])
        return endpoint, secret


def account_secret(*, merchant_id: uuid.UUID, environment: str) -> SigningSecret:
    """The secret that signs deliveries to payments' own URLs; made when it is first needed."""
    own = SigningSecret.objects.filter(merchant_id=merchant_id, environment=environment)
    if (found := own.first()) is not None:
        return found
    made = SigningSecret(merchant_id=merchant_id, environment=environment)
    made.encrypted = encrypt(new_secret(), owner=owner_of(made))
    SigningSecret.objects.bulk_create([made], ignore_conflicts=True)
    return own.get()


def rotate_account_secret(*, merchant: Merchant, environment: str) -> tuple[str, datetime]:
    """Make a new secret of the account; returns it, and the instant until which the previous one also signs."""
    with transaction.atomic():
        held = account_secret(merchant_id=merchant.pk, environment=environment)
        held = SigningSecret.objects.select_for_update().get(pk=held.pk)
        secret = new_secret()
        held.previous_encrypted = held.encrypted
        held.previous_expires_at = expires_at = timezone.now() + PREVIOUS_SECRET_LIVES
        held.encrypted = encrypt(secret, owner=owner_of(held))
        held.save(update_fields=["encrypted", "previous_encrypted", "previous_expires_at"])
        return secret, expires_at


def reencrypt_secrets() -> Counter[Reencryption]:
    """Encrypt every stored secret with the current key; returns how many had which result."""
    holders: Iterable[Endpoint | SigningSecret] = [*Endpoint.objects.all(), *SigningSecret.objects.all()]
    return Counter(_reencrypt(holder) for holder in holders)


def _reencrypt(holder: Endpoint | SigningSecret) -> Reencryption:
    """A secret that none of the keys can decrypt stays as it is."""
    with transaction.atomic():
        if isinstance(holder, Endpoint):
            holder.refresh_from_db(from_queryset=Endpoint.objects.select_for_update(no_key=True))
            names = ["secret_encrypted", "previous_secret_encrypted"]
        else:
            holder.refresh_from_db(from_queryset=SigningSecret.objects.select_for_update(no_key=True))
            names = ["encrypted", "previous_encrypted"]
        owner = owner_of(holder)
        stored = {name: bytes(blob) for name in names if (blob := getattr(holder, name)) is not None}
        try:
            current = {name: reencrypt(blob, owner=owner) for name, blob in stored.items()}
        except SecretUnreadable as error:
            logger.error("webhook_secret_unreadable", holder=owner, error=str(error))
            return "unreadable"
        if current == stored:
            return "current"
        for name, blob in current.items():
            setattr(holder, name, blob)
        holder.save(update_fields=list(current))
        return "reencrypted"


# --- deliveries --------------------------------------------------------------------------------------


def send_test(*, endpoint: Endpoint, sample_of: str = "") -> Delivery:
    """Send `webhook.test` to this endpoint alone; in the sandbox also a sample of another event, tried once."""
    with transaction.atomic():
        endpoint = _locked(endpoint)
        _require_enabled(endpoint)
        last = Event.objects.filter(object_id=endpoint.pk).aggregate(version=Max("version"))["version"]
        event = build_test(endpoint, sample_of, version=(last or 0) + 1)
        delivery = _new_delivery(endpoint, event.pk, timezone.now())
        if sample_of:
            delivery.attempts_left = 1
        insert_together(event, delivery)
        wake_dispatcher()
        return delivery


def build_test(endpoint: Endpoint, sample_of: str, *, version: int) -> Event:
    """The event of a test, not yet stored. A sample is about a record that does not exist, with an id of its own.

    Samples are for the sandbox alone: signed for production, one could pass for a payment.
    """
    if sample_of and endpoint.environment != Environment.SANDBOX:
        raise SampleOfProduction
    event = build_event(
        merchant_id=endpoint.merchant_id,
        environment=endpoint.environment,
        type=WEBHOOK_TEST,
        object_id=endpoint.pk,
        version=version,
        payload=webhook_record(endpoint),
    )
    if sample_of:
        record = dict(samples.sample_of(sample_of)["data"]["object"])
        kind = next(kind for kind in ids.KINDS if kind.noun == record["object"])
        event.payload = {**record, "id": kind.encode(ids.new_uuid())}
        event.sample_of = sample_of
    event.is_fanned_out = True
    return event


def redeliver(*, delivery: Delivery) -> Delivery:
    """Send it again now: an ended delivery gets all its attempts again, a pending one is due at once."""
    with transaction.atomic():
        endpoint = Endpoint.objects.select_for_update(no_key=True).get(pk=delivery.endpoint_id)
        if endpoint.deleted_at:
            raise WebhookDeleted
        _require_enabled(endpoint)
        _send_again([delivery.pk], endpoint, timezone.now())
        wake_dispatcher()
        return Delivery.objects.get(pk=delivery.pk)


def replay(
    *, endpoint: Endpoint, created_gte: datetime, created_lte: datetime, types: Iterable[str] | None = None
) -> int:
    """Send everything of a span of time again, whatever became of it before; returns how many deliveries.

    Without types, those that the endpoint listens to. Events from before it was registered, or from while it was
    disabled, are sent too.
    """
    keys = KeyRange.between(created_gte, created_lte)
    if keys.is_empty:
        raise InvalidParameter("createdLte must not be before createdGte.", param="createdLte")
    with transaction.atomic():
        endpoint = _locked(endpoint)
        _require_enabled(endpoint)
        events = Event.objects.filter(
            keys.condition, merchant_id=endpoint.merchant_id, environment=endpoint.environment
        ).exclude(type=WEBHOOK_TEST)
        wanted = endpoint.events if types is None else _checked_events(list(types), param="types")
        if EVERYTHING not in wanted:
            events = events.filter(type__in=wanted)
        if endpoint.is_direct:
            events = events.filter(direct_url=endpoint.url)
        found = list(events.order_by("pk").values_list("pk", flat=True)[: REPLAY_MAX + 1])
        if len(found) > REPLAY_MAX:
            raise ReplayTooLarge
        now = timezone.now()
        known = dict(Delivery.objects.filter(endpoint=endpoint, event__in=found).values_list("event_id", "pk"))
        _send_again(known.values(), endpoint, now)
        new = [_new_delivery(endpoint, event_id, now) for event_id in found if event_id not in known]
        # The fan-out may have inserted one at the same moment; its delivery will do.
        Delivery.objects.bulk_create(new, batch_size=_INSERT_BATCH, ignore_conflicts=True)
        wake_dispatcher()
        return len(found)


def _new_delivery(endpoint: Endpoint, event_id: uuid.UUID, now: datetime) -> Delivery:
    return Delivery(
        merchant_id=endpoint.merchant_id,
        environment=endpoint.environment,
        event_id=event_id,
        endpoint=endpoint,
        attempts_left=ATTEMPTS,
        next_attempt_at=now,
    )


def _send_again(keys: Iterable[uuid.UUID], endpoint: Endpoint, now: datetime) -> None:
    """Make deliveries of a locked endpoint due now. One that is being sent just now is not sent twice."""
    own = Delivery.objects.filter(pk__in=list(keys), endpoint=endpoint)
    own.filter(status=DeliveryStatus.PENDING).update(next_attempt_at=now)
    for ended in (DeliveryStatus.DELIVERED, DeliveryStatus.FAILED, DeliveryStatus.DISCARDED):
        DELIVERY_MOVES.check(ended, DeliveryStatus.PENDING)
        own.filter(status=ended).update(
            status=DeliveryStatus.PENDING,
            attempts_left=ATTEMPTS,
            early_tries=0,
            next_attempt_at=now,
            delivered_at=None,
        )


def _discard_pending(endpoint: Endpoint) -> None:
    """Discard pending deliveries of a locked endpoint. A request on its way goes on, and its attempt is recorded."""
    DELIVERY_MOVES.check(DeliveryStatus.PENDING, DeliveryStatus.DISCARDED)
    pending = Delivery.objects.filter(endpoint=endpoint, status=DeliveryStatus.PENDING)
    pending.update(status=DeliveryStatus.DISCARDED, next_attempt_at=None)


# --- shared checks -----------------------------------------------------------------------------------


def _locked(endpoint: Endpoint) -> Endpoint:
    found = Endpoint.objects.existing().select_for_update(no_key=True).filter(pk=endpoint.pk).first()
    if found is None:
        raise NotFound("No such webhook.")
    return found


def _require_registered(endpoint: Endpoint) -> None:
    if endpoint.is_direct:
        raise WebhookOfPayments


def _require_enabled(endpoint: Endpoint) -> None:
    if endpoint.status != EndpointStatus.ENABLED:
        raise WebhookDisabled


def _check_url(url: str, environment: str) -> None:
    problem = url_problem(
        url,
        environment=environment,
        production_ports=settings.WEBHOOK_PORTS,
        allow_loopback=settings.WEBHOOK_ALLOW_LOOPBACK,
    )
    if problem:
        raise InvalidParameter(problem, param="url")


def _check_description(text: str) -> None:
    if len(text) > DESCRIPTION_MAX:
        raise InvalidParameter(f"Must have at most {DESCRIPTION_MAX} characters.", param="description")


def _checked_events(events: Collection[str], *, param: str = "events") -> list[str]:
    """The events in the order of the catalogue, each once; `*` stands for all."""
    if not events:
        raise InvalidParameter(f"Must name at least one event, or {EVERYTHING} for all.", param=param)
    if unknown := set(events) - {EVERYTHING, *CATALOGUE}:
        raise InvalidParameter(f"There is no event {min(unknown)[:60]!r}.", param=param)
    return [EVERYTHING] if EVERYTHING in events else [name for name in CATALOGUE if name in events]
