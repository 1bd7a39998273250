"""Makes requests from due deliveries: the address, the exact bytes of the body, and the secrets that sign them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

import structlog
from django.conf import settings

from config.api.renderers import render_json
from config.environments import Environment
from config.periodic.containment import contained
from webhooks.endpoints.secrets import SecretUnreadable, live_secrets
from webhooks.endpoints.targets import url_problem
from webhooks.events.rebuilding import complete
from webhooks.models import Endpoint, Event, SigningSecret
from webhooks.records import event_record
from webhooks.sending.due_deliveries import DueDelivery
from webhooks.services import account_secret

logger = structlog.get_logger(__name__)

USER_AGENT = "Ballast-Webhooks/1"

MESSAGES_KEPT = TARGETS_KEPT = 1000
_FOR_EVER = datetime.max.replace(tzinfo=UTC)
_DEFINING_FIELDS = (
    "merchant_id", "environment", "url", "is_direct",
    "secret_encrypted", "previous_secret_encrypted", "previous_secret_expires_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Message:
    """An event as every endpoint is sent it."""

    id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Target:
    """Common data of all requests to an endpoint: the URL and the secrets; or the problem why nothing can be sent."""

    url: str
    secrets: tuple[str, ...]
    allow_loopback: bool
    problem: str
    version: str
    good_until: datetime
    """One of the secrets may end then."""

    def is_good(self, version: str, now: datetime) -> bool:
        return self.version == version and now < self.good_until


_UNREADABLE = Target(
    "", (), allow_loopback=False, problem="Ballast could not read this webhook.", version="", good_until=_FOR_EVER
)


class Prepared(NamedTuple):
    """One request."""

    due: DueDelivery
    target: Target
    message: Message


class Preparation:
    """Reads what requests need, and keeps it for a while: one event goes to many endpoints, and many events to one."""

    def __init__(self) -> None:
        self._messages: dict[uuid.UUID, Message] = {}
        self._targets: dict[uuid.UUID, Target] = {}

    def prepare(self, deliveries: Sequence[DueDelivery], *, now: datetime) -> list[Prepared]:
        """One request for each delivery: one that cannot be sent carries its problem, and fails alone."""
        if not deliveries:
            return []
        messages = self._messages_of({each.event_id for each in deliveries})
        targets = self._targets_of({each.endpoint_id: each.endpoint_version for each in deliveries}, now)
        return [_prepared(each, targets.get(each.endpoint_id), messages.get(each.event_id)) for each in deliveries]

    def _messages_of(self, event_ids: set[uuid.UUID]) -> dict[uuid.UUID, Message]:
        """Events never change, so a body is rendered once and sent by every attempt."""
        missing = event_ids - self._messages.keys()
        if missing:
            if len(self._messages) > MESSAGES_KEPT:
                self._messages = {key: self._messages[key] for key in event_ids - missing}
            for event in complete(list(Event.objects.filter(pk__in=missing))):
                with contained("webhook_event_not_rendered", webhook_event=event.public_id):
                    self._messages[event.pk] = Message(event.public_id, render_json(event_record(event)))
        return self._messages

    def _targets_of(self, versions: dict[uuid.UUID, str], now: datetime) -> dict[uuid.UUID, Target]:
        """Made again only when an endpoint has changed: decrypting a secret costs more than sending."""
        known = {key: self._targets[key] for key in versions.keys() & self._targets.keys()}
        old = [key for key, version in versions.items() if key not in known or not known[key].is_good(version, now)]
        if old:
            if len(self._targets) > TARGETS_KEPT:
                self._targets = known
            for endpoint in Endpoint.objects.filter(pk__in=old).only(*_DEFINING_FIELDS):
                with contained("webhook_endpoint_not_read", endpoint=endpoint.public_id):
                    self._targets[endpoint.pk] = _make_target(endpoint, versions[endpoint.pk], now)
        return self._targets


def _prepared(due: DueDelivery, target: Target | None, message: Message | None) -> Prepared:
    """The prepared delivery. Unreadable data becomes an attempt that fails, with that reason: otherwise it would be
    taken for ever."""
    if target is None:
        target = _UNREADABLE
    elif message is None:
        target = replace(target, problem="Ballast could not put this event into words.")
    return Prepared(due, target, message or Message("", b""))


def _make_target(endpoint: Endpoint, version: str, now: datetime) -> Target:
    allow_loopback = settings.WEBHOOK_ALLOW_LOOPBACK and endpoint.environment == Environment.SANDBOX
    problem = url_problem(
        endpoint.url,
        environment=endpoint.environment,
        production_ports=settings.WEBHOOK_PORTS,
        allow_loopback=allow_loopback,
    )
    holder: Endpoint | SigningSecret = endpoint
    expires_at = endpoint.previous_secret_expires_at
    good_until = expires_at if expires_at and expires_at > now else _FOR_EVER
    if endpoint.is_direct:
        holder = account_secret(merchant_id=endpoint.merchant_id, environment=endpoint.environment)
        good_until = now  # the account's secret changes without the endpoint
    secrets: tuple[str, ...] = ()
    try:
        secrets = tuple(live_secrets(holder, now))
    except SecretUnreadable as error:
        logger.error("webhook_secret_unreadable", endpoint=endpoint.public_id, error=str(error))
        problem = "The secret of this webhook cannot be read any more. Rotate it."
    return Target(endpoint.url, secrets, allow_loopback, problem or "", version, good_until)
