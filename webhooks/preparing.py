"""From a claim to a request that can be sent: the address, the exact bytes of the body, and the secrets that sign."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from django.conf import settings

from config import ids
from config.api.renderers import render_json
from config.environments import Environment
from webhooks.claiming import Claim
from webhooks.models import Endpoint, Event, SigningSecret
from webhooks.records import event_record
from webhooks.secrets import SecretUnreadable, live_secrets
from webhooks.services import account_secret
from webhooks.targets import url_problem

logger = structlog.get_logger(__name__)

USER_AGENT = "Ballast-Webhooks/1"

BODIES_KEPT = TARGETS_KEPT = 1000
_DEFINING_FIELDS = ("pk", "url", "secret_encrypted", "is_direct", "previous_secret_expires_at")


@dataclass(frozen=True, slots=True)
class Prepared:
    """One request: what to send where, signed with what; or why nothing can be sent."""

    claim: Claim
    url: str
    message_id: str
    body: bytes
    secrets: tuple[str, ...]
    allow_loopback: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Target:
    """What an endpoint's requests have in common."""

    url: str
    secrets: tuple[str, ...]
    allow_loopback: bool
    problem: str


class Preparation:
    """Reads what claims need, and remembers bodies for a while: one event goes to many endpoints."""

    def __init__(self) -> None:
        self._bodies: dict[uuid.UUID, bytes] = {}
        self._targets: dict[tuple[object, ...], _Target] = {}

    def prepare(self, claims: Sequence[Claim], *, now: datetime) -> list[Prepared]:
        """Every claim is answered: a delivery that cannot be sent fails alone."""
        if not claims:
            return []
        bodies = self._bodies_of({claim.event_id for claim in claims})
        targets = self._targets_of({claim.endpoint_id for claim in claims}, now)
        prepared = []
        for claim in claims:
            target = targets[claim.endpoint_id]
            prepared.append(
                Prepared(
                    claim=claim,
                    url=target.url,
                    message_id=ids.EVENT.encode(claim.event_id),
                    body=bodies[claim.event_id],
                    secrets=target.secrets,
                    allow_loopback=target.allow_loopback,
                    problem=target.problem,
                )
            )
        return prepared

    def _bodies_of(self, event_ids: set[uuid.UUID]) -> dict[uuid.UUID, bytes]:
        """Events never change, so a body that was rendered once is what any later attempt sends too."""
        missing = event_ids - self._bodies.keys()
        if missing:
            if len(self._bodies) > BODIES_KEPT:
                self._bodies = {key: self._bodies[key] for key in event_ids - missing}
            for event in Event.objects.filter(pk__in=missing):
                self._bodies[event.pk] = render_json(event_record(event))
        return self._bodies

    def _targets_of(self, endpoint_ids: set[uuid.UUID], now: datetime) -> dict[uuid.UUID, _Target]:
        """Made anew when an address or a secret is not what it was: to decrypt one costs as much as to send."""
        targets = {}
        for row in Endpoint.objects.filter(pk__in=endpoint_ids).values_list(*_DEFINING_FIELDS):
            key, *_, is_direct, expires_at = row
            known_as = (row, expires_at is not None and expires_at > now)
            target = None if is_direct else self._targets.get(known_as)
            if target is None:
                if len(self._targets) > TARGETS_KEPT:
                    self._targets.clear()
                target = self._targets[known_as] = _make_target(Endpoint.objects.get(pk=key), now)
            targets[key] = target
        return targets


def _make_target(endpoint: Endpoint, now: datetime) -> _Target:
    allow_loopback = settings.WEBHOOK_ALLOW_LOOPBACK and endpoint.environment == Environment.SANDBOX
    problem = url_problem(
        endpoint.url,
        environment=endpoint.environment,
        production_ports=settings.WEBHOOK_PORTS,
        allow_loopback=allow_loopback,
    )
    holder: Endpoint | SigningSecret = endpoint
    if endpoint.is_direct:
        holder = account_secret(merchant_id=endpoint.merchant_id, environment=endpoint.environment)
    secrets: tuple[str, ...] = ()
    try:
        secrets = tuple(live_secrets(holder, now))
    except SecretUnreadable as error:
        logger.error("webhook_secret_unreadable", endpoint=endpoint.public_id, error=str(error))
        problem = "The secret of this webhook cannot be read any more. Rotate it."
    return _Target(endpoint.url, secrets, allow_loopback, problem or "")
