"""Invariants of events, endpoints and deliveries."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.utils import timezone

from config import ids
from merchants.ledger.checking import Finding, Records, Scope, Severity, invariant, share_by
from webhooks.events.catalogue import EVERYTHING, WEBHOOK_TEST
from webhooks.purging import kept_since

OLDEST_WAIT_MAX = timedelta(minutes=5)
"""Longest time a due delivery may wait before it is a finding about the workers."""

SETTLING = timedelta(minutes=1)
"""Around a change of an endpoint it is not known by which of its two states an event was fanned out."""

share_by("webhooks_event")

# The first key of an instant, as config.ids makes it: 48 bits of milliseconds, and the least that may follow them.
_FIRST_KEY = """
    (lpad(to_hex((extract(epoch FROM %(settling)s::interval
        + greatest(endpoint.subscribed_at, endpoint.events_changed_at)) * 1000)::bigint), 12, '0')
        || '70008000000000000000')::uuid
"""

NOT_DELIVERED = f"""
    SELECT event.id, event.type, endpoint.id, endpoint.url
    FROM webhooks_endpoint AS endpoint
    JOIN webhooks_event AS event ON event.merchant_id = endpoint.merchant_id
        AND event.environment = endpoint.environment AND event.id >= {_FIRST_KEY}
    WHERE endpoint.status = 'enabled' AND endpoint.deleted_at IS NULL AND event.is_fanned_out
        AND event.environment = ANY(%(environments)s) AND {{events}}
        AND event.type <> %(test)s
        AND CASE WHEN endpoint.is_direct THEN event.direct_url = endpoint.url
            ELSE endpoint.events && ARRAY[%(everything)s, event.type]::varchar[] END
        AND NOT EXISTS (
            SELECT FROM webhooks_delivery AS delivery
            WHERE delivery.event_id = event.id AND delivery.endpoint_id = endpoint.id
        )
"""  # noqa: S608 - no value of a caller is part of the text


@invariant("W1", "every event has a delivery for each endpoint that was listening to it")
def listeners_have_deliveries(scope: Scope) -> Iterator[Finding]:
    """Checks events since an endpoint's list of events or its status last changed; older ones cannot be checked."""
    if scope.network:
        return  # events belong to no network
    query = NOT_DELIVERED.format(events=scope.keys("event.id"))
    rows = scope.rows(query, settling=SETTLING, test=WEBHOOK_TEST, everything=EVERYTHING)
    for event_id, type, endpoint_id, url in rows:
        yield Finding(
            f"event {event_id} ({type})",
            f"a delivery to endpoint {endpoint_id} ({url})",
            "none",
            "replay the time around this event to the endpoint",
            key=event_id,
        )


STRANDED = """
    SELECT delivery.id, endpoint.url, endpoint.status, endpoint.deleted_at IS NOT NULL
    FROM webhooks_delivery AS delivery JOIN webhooks_endpoint AS endpoint ON endpoint.id = delivery.endpoint_id
    WHERE delivery.status = 'pending' AND delivery.environment = ANY(%(environments)s)
        AND (endpoint.status <> 'enabled' OR endpoint.deleted_at IS NOT NULL OR delivery.attempts_left = 0)
"""


@invariant("W2", "whatever waits to be sent can be sent", severity=Severity.WARNING)
def pending_deliveries_can_be_sent(scope: Scope) -> Iterator[Finding]:
    if scope.network:
        return
    for key, url, status, is_deleted in scope.rows(STRANDED):
        yield Finding(
            f"delivery {key} to {url}",
            "an enabled endpoint and attempts left",
            "deleted" if is_deleted else f"{status}, or no attempt left",
            "enable the endpoint to have it sent, or leave it",
        )


EVENTS_WAITING = """
    SELECT event.environment, count(*), min(event.id::text) FROM webhooks_event AS event
    WHERE NOT event.is_fanned_out AND event.environment = ANY(%(environments)s) AND event.id < %(before)s
    GROUP BY event.environment
"""

# An endpoint that fails or recovers is sent to slowly on purpose.
DELIVERIES_WAITING = """
    SELECT delivery.environment, count(*), min(delivery.next_attempt_at)
    FROM webhooks_delivery AS delivery JOIN webhooks_endpoint AS endpoint ON endpoint.id = delivery.endpoint_id
    WHERE delivery.status = 'pending' AND delivery.environment = ANY(%(environments)s)
        AND delivery.next_attempt_at < %(before)s
        AND endpoint.status = 'enabled' AND endpoint.failing_since IS NULL AND NOT endpoint.is_recovering
    GROUP BY delivery.environment
"""


@invariant("W3", "nothing waits to be sent for longer than it should", severity=Severity.WARNING)
def deliveries_are_prompt(scope: Scope) -> Iterator[Finding]:
    if scope.network:
        return
    before = timezone.now() - OLDEST_WAIT_MAX
    for environment, count, oldest in scope.rows(EVENTS_WAITING, before=ids.first_uuid_at(before)):
        yield _late(environment, "events without deliveries", count, ids.created_at_of(uuid.UUID(oldest)))
    for environment, count, oldest in scope.rows(DELIVERIES_WAITING, before=before):
        yield _late(environment, "deliveries that are due", count, oldest)


def _late(environment: str, what: str, count: int, oldest: datetime) -> Finding:
    return Finding(
        f"{environment}: {count} {what}",
        f"sent within {OLDEST_WAIT_MAX // timedelta(minutes=1)} minutes",
        f"waiting since {oldest:%Y-%m-%d %H:%M:%S}",
        "see that beat and the webhooks worker run, and that there are enough of them",
    )


def changes_without_event(scope: Scope, records: Records) -> Iterator[Finding]:
    """Finds records with a version that has no event. For the apps whose records have versions.

    They have an environment and a network. Of those made before the oldest event that is kept, some events may be
    deleted: they are skipped.
    """
    noun = records.name
    query = f"""
        SELECT {noun}.environment, {noun}.network, {noun}.id, {noun}.version, coalesce(max(event.version), 0),
            count(DISTINCT event.version)
        FROM {records.table} AS {noun} LEFT JOIN webhooks_event AS event ON event.object_id = {noun}.id
        WHERE {noun}.environment = ANY(%(environments)s) AND (%(network)s::text IS NULL OR {noun}.network = %(network)s)
            AND {scope.records(records)} AND (%(kept_since)s::uuid IS NULL OR {noun}.id >= %(kept_since)s)
        GROUP BY {noun}.id HAVING {noun}.version <> coalesce(max(event.version), 0)
            OR {noun}.version <> count(DISTINCT event.version)
    """  # noqa: S608 - names of our own tables
    since = kept_since()
    oldest = ids.first_uuid_at(since) if since else None
    for environment, network, key, version, last, count in scope.rows(query, kept_since=oldest):
        yield Finding(
            f"{noun} {key}",
            f"events of versions 1 to {version}",
            f"{count} versions, the last is {last}",
            "find out which change wrote no event; its webhook was never sent",
            environment=environment,
            network=network,
            key=key,
        )
