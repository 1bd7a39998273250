"""Endpoints, deliveries and attempts as the merchant's pages show them."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from http import HTTPStatus

from django.contrib.postgres.fields import ArrayField
from django.db.models import Count, Func, IntegerField, OuterRef, Prefetch, QuerySet, Subquery, UUIDField, Value
from django.utils.dateformat import format as date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from config import ids
from config.pages.wording import percent, short_id, whole
from webhooks.events.catalogue import EVERYTHING
from webhooks.models import REPLY_START_BYTES, Attempt, Delivery, Endpoint, Event
from webhooks.schedule import ATTEMPTS
from webhooks.states import DeliveryStatus, DisabledReason, EndpointStatus

HOURS = 24
BAR_WIDTH, BAR_STEP, BAR_HEIGHT = 4, 5, 24
LEAST_HEIGHT = 4
"""Smallest height of the part of a bar for deliveries that have not arrived, so that it can be seen."""

OBJECT_KINDS = {"payment": ids.PAYMENT, "refund": ids.REFUND, "settlement": ids.SETTLEMENT, "webhook": ids.WEBHOOK}
"""The kind of record that an event is about, by the first word of its type."""


# --- what happened -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """One event on the timeline of the record it is about; `words` describe the types of events there."""

    event: Event
    words: Mapping[str, str | Promise]

    @property
    def at(self) -> datetime:
        return self.event.created_at

    @property
    def title(self) -> str:
        return str(self.words.get(self.event.type, self.event.type))


# --- the last day ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bar:
    """One hour of the chart: what arrived at the bottom, above it what still may, on top what will not."""

    x: int
    delivered: int
    pending: int
    lost: int

    @property
    def total(self) -> int:
        return self.delivered + self.pending + self.lost

    @property
    def lost_height(self) -> int:
        return self._height(self.lost) if self.lost < self.total else BAR_HEIGHT

    @property
    def pending_height(self) -> int:
        room = BAR_HEIGHT - self.lost_height
        return min(self._height(self.pending), room - 1) if self.delivered else room

    @property
    def delivered_height(self) -> int:
        return BAR_HEIGHT - self.delivered_y

    @property
    def delivered_y(self) -> int:
        return self.lost_height + self.pending_height

    def _height(self, number: int) -> int:
        return max(LEAST_HEIGHT, BAR_HEIGHT * number // self.total) if number else 0


@dataclass(frozen=True)
class LastDay:
    """Number of an endpoint's deliveries of the last 24 hours that have arrived, hour by hour."""

    bars: tuple[Bar, ...]

    @property
    def delivered(self) -> int:
        return sum(bar.delivered for bar in self.bars)

    @property
    def total(self) -> int:
        return sum(bar.total for bar in self.bars)

    @property
    def pending(self) -> int:
        return sum(bar.pending for bar in self.bars)

    @property
    def share(self) -> str:
        """The share that arrived, rounded down, so that 100 % means all."""
        if not self.total:
            return ""
        tenths = 1000 * self.delivered // self.total
        return percent(Decimal(tenths) / 10, digits=1 if tenths % 10 else 0)

    @property
    def words(self) -> str:
        words = _("%(delivered)s of %(total)s delivered in the last 24 hours")
        if self.pending:
            words = _("%(delivered)s of %(total)s delivered in the last 24 hours, %(pending)s still to come")
        counts = {"delivered": self.delivered, "total": self.total, "pending": self.pending}
        return words % {name: whole(count) for name, count in counts.items()}


class _BucketOf(Func):
    """Index of the range between sorted keys that a key lies in, counted from 1."""

    function = "width_bucket"
    output_field = IntegerField()


def last_days(endpoints: Collection[Endpoint], now: datetime) -> dict[uuid.UUID, LastDay]:
    """The last day of each endpoint, read from the index alone: hours are ranges of keys."""
    starts = [ids.first_uuid_at(now - timedelta(hours=hours)) for hours in range(HOURS, 0, -1)]
    counts = (
        Delivery.objects.filter(endpoint__in=endpoints, pk__gte=starts[0])
        .annotate(hour=_BucketOf("pk", Value(starts, ArrayField(UUIDField()))))
        .values_list("endpoint_id", "hour", "status")
        .annotate(number=Count("pk"))
        .order_by()
    )
    found: dict[tuple[uuid.UUID, int], Counter[str]] = defaultdict(Counter)
    for endpoint_id, hour, status, number in counts:
        found[endpoint_id, hour][status] += number
    return {
        endpoint.pk: LastDay(
            tuple(_bar((hour - 1) * BAR_STEP, found[endpoint.pk, hour]) for hour in range(1, HOURS + 1))
        )
        for endpoint in endpoints
    }


def _bar(x: int, numbers: Counter[str]) -> Bar:
    delivered, pending = numbers[DeliveryStatus.DELIVERED], numbers[DeliveryStatus.PENDING]
    return Bar(x, delivered, pending, lost=numbers.total() - delivered - pending)


# --- endpoints ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EndpointRow:
    """An endpoint as the list shows it."""

    endpoint: Endpoint
    last: DeliveryRow | None
    last_day: LastDay

    @property
    def public_id(self) -> str:
        return self.endpoint.public_id

    @property
    def host(self) -> str:
        return host_of(self.endpoint.url)

    @property
    def path(self) -> str:
        return self.endpoint.url.removeprefix("https://").removeprefix(self.host)

    @property
    def events(self) -> str:
        return _("Everything") if EVERYTHING in self.endpoint.events else ", ".join(self.endpoint.events)

    @property
    def status(self) -> tuple[str, str]:
        return endpoint_badge(self.endpoint)

    @property
    def why(self) -> str:
        return endpoint_reason(self.endpoint)


def endpoint_rows(endpoints: Collection[Endpoint], now: datetime) -> list[EndpointRow]:
    last_key = Delivery.objects.filter(endpoint=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    keys = Endpoint.objects.filter(pk__in=[endpoint.pk for endpoint in endpoints]).values_list(Subquery(last_key))
    newest = with_attempts(Delivery.objects.filter(pk__in=[key for (key,) in keys if key]))
    last = {delivery.endpoint_id: delivery_row(delivery) for delivery in newest}
    days = last_days(endpoints, now)
    return [EndpointRow(endpoint, last.get(endpoint.pk), days[endpoint.pk]) for endpoint in endpoints]


def host_of(url: str) -> str:
    """The host, short enough for a list, with the scheme unless it is https."""
    scheme, separator, rest = url.partition("://")
    host = rest.partition("/")[0].partition("?")[0]
    return host if scheme == "https" else f"{scheme}{separator}{host}"


def endpoint_badge(endpoint: Endpoint) -> tuple[str, str]:
    """Tone and label."""
    if endpoint.status == EndpointStatus.ENABLED:
        return ("warn", _("Failing")) if endpoint.failing_since else ("good", _("Enabled"))
    return ("calm" if endpoint.disabled_reason == DisabledReason.MERCHANT else "bad", _("Disabled"))


def endpoint_reason(endpoint: Endpoint) -> str:
    """The reason it is disabled, or since when it has been failing; empty when all is well."""
    if endpoint.status == EndpointStatus.DISABLED:
        return str(DisabledReason(endpoint.disabled_reason).label)
    moment = date_format(endpoint.failing_since, "j M, H:i") if endpoint.failing_since else ""
    return _("Since %(moment)s") % {"moment": moment} if moment else ""


# --- deliveries --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AttemptRow:
    """One attempt, with the reply made safe for a page."""

    attempt: Attempt

    @property
    def answer(self) -> str:
        code = self.attempt.status_code
        if code is None:
            return _("No reply")
        known = code in HTTPStatus._value2member_map_
        return f"{code} {HTTPStatus(code).phrase}" if known else str(code)

    @property
    def short_answer(self) -> str:
        return _("No reply") if self.attempt.status_code is None else str(self.attempt.status_code)

    @property
    def duration(self) -> str:
        milliseconds = self.attempt.duration_milliseconds
        return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds // 100 / 10:.1f} s"

    @property
    def tone(self) -> str:
        return "good" if self.attempt.is_success else "bad"

    @property
    def reply(self) -> str:
        """The reply's first bytes. Characters that a page cannot show, or that reverse text, are replaced."""
        text = bytes(self.attempt.reply_start).decode(errors="replace")
        return "".join(sign if sign.isprintable() or sign in "\n\t" else "\ufffd" for sign in text)

    @property
    def is_cut(self) -> bool:
        return len(self.attempt.reply_start) == REPLY_START_BYTES


@dataclass(frozen=True)
class DeliveryRow:
    """A delivery as lists show it, with its newest attempt."""

    delivery: Delivery
    last: AttemptRow | None

    @property
    def public_id(self) -> str:
        return self.delivery.public_id

    @property
    def host(self) -> str:
        return host_of(self.delivery.endpoint.url)

    @property
    def about(self) -> str:
        """The end of the record's id, by which ids differ."""
        return short_id(object_id(self.delivery))

    @property
    def status(self) -> tuple[str, str]:
        return delivery_badge(self.delivery)

    @property
    def attempts(self) -> str:
        count = self.delivery.attempt_count
        return ngettext("%d attempt", "%d attempts", count) % count


def with_attempts(deliveries: QuerySet[Delivery]) -> QuerySet[Delivery]:
    """Reads what rows show, and neither payloads nor replies."""
    attempts = Prefetch("attempts", Attempt.objects.defer("reply").order_by("number"))
    return deliveries.select_related("event", "endpoint").defer("event__payload").prefetch_related(attempts)


def delivery_row(delivery: Delivery) -> DeliveryRow:
    """Of a delivery read `with_attempts`."""
    attempts = list(delivery.attempts.all())
    return DeliveryRow(delivery, AttemptRow(attempts[-1]) if attempts else None)


def delivery_badge(delivery: Delivery) -> tuple[str, str]:
    """Tone and label, in fewer words than the status has."""
    match delivery.status:
        case DeliveryStatus.DELIVERED:
            return "good", _("Delivered")
        case DeliveryStatus.FAILED:
            return "bad", _("Given up")
        case DeliveryStatus.DISCARDED:
            return "calm", _("Discarded")
    # One that is sent once more has all its attempts again.
    has_failed = delivery.attempt_count and delivery.attempts_left < ATTEMPTS
    return ("warn", _("Retrying")) if has_failed else ("accent", _("Waiting"))


def object_id(delivery: Delivery) -> str:
    kind = OBJECT_KINDS.get(delivery.event.type.partition(".")[0])
    return kind.encode(delivery.event.object_id) if kind else ""
