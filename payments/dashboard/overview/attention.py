"""A merchant's open tasks: a link for each kind of thing that waits, counted by one query."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import CharField, F, Q, QuerySet, Value
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from config.hooks import Hook
from merchants.models import ApiKey, Merchant
from merchants.pages.keys import ROTATION_REMINDER
from payments.dashboard.decisions.rows import refunds_waiting, settlements_waiting, undecided
from webhooks.models import Endpoint
from webhooks.states import DisabledReason, EndpointStatus

EXPIRES_SOON = timedelta(days=14)
OF_DECISIONS = ("decisions", "settlements", "refunds")
"""The kinds that the page of decisions shows."""

refunds_held: Hook[[Merchant, str], QuerySet[Any]] = Hook("refunds_held")
"""Refunds of a merchant in an environment that wait until a payer's account holds the coin; refunds provide them."""

MOST_COUNTED = 100
"""Largest count of each kind; more are shown as this many and more."""


@dataclass(frozen=True)
class Item:
    """So many things of a kind that wait, in words, and the page where they are dealt with."""

    kind: str
    number: int
    words: str
    url: str


def needs_attention(merchant: Merchant, environment: str, now: datetime) -> list[Item]:
    """The most urgent first; empty when nothing waits."""
    waiting: dict[str, QuerySet[Any]] = {
        "decisions": undecided(merchant, environment),
        "settlements": settlements_waiting(merchant, environment).records,
        "refunds": refunds_waiting(merchant, environment).records,
        "accounts": refunds_held(merchant, environment),
        "webhooks": _failing(merchant, environment),
        "expiring": _expiring(merchant, environment, now),
        "old": _old(merchant, environment, now),
    }
    first, *others = [_marked(kind, rows) for kind, rows in waiting.items()]
    numbers = Counter(kind for kind, _key in first.union(*others, all=True))
    decisions = reverse("dashboard_decisions")
    pages = {
        "decisions": decisions,
        "settlements": f"{decisions}?kind=settlement",
        "refunds": f"{decisions}?kind=refund",
        "accounts": f"{reverse('dashboard_refunds')}?status=pending",
        "webhooks": reverse("dashboard_webhooks"),
        "expiring": reverse("dashboard_keys"),
        "old": reverse("dashboard_keys"),
    }
    return [Item(kind, numbers[kind], _words(kind, numbers[kind]), pages[kind]) for kind in waiting if numbers[kind]]


def _marked(kind: str, rows: QuerySet[Any]) -> QuerySet[Any, Any]:
    rows = rows.order_by().annotate(kind_of_item=Value(kind, output_field=CharField()))
    return rows.values_list("kind_of_item", "pk")[:MOST_COUNTED]


def _failing(merchant: Merchant, environment: str) -> QuerySet[Endpoint]:
    failing = Q(status=EndpointStatus.ENABLED, failing_since__isnull=False)
    disabled = Q(status=EndpointStatus.DISABLED) & ~Q(disabled_reason=DisabledReason.MERCHANT)
    return Endpoint.objects.of(merchant, environment).registered().filter(failing | disabled)


def _expiring(merchant: Merchant, environment: str, now: datetime) -> QuerySet[ApiKey]:
    """Keys in use that end soon: they expire, or were replaced and are used nevertheless."""
    live = ApiKey.objects.of(merchant, environment).live()
    expiring = Q(retires_at__isnull=True, expires_at__gt=now, expires_at__lte=now + EXPIRES_SOON)
    still_used = Q(retires_at__gt=now, last_used_at__gt=F("replaced_by__created_at"))
    return live.filter(expiring | still_used & (Q(expires_at__isnull=True) | Q(expires_at__gt=now)))


def _old(merchant: Merchant, environment: str, now: datetime) -> QuerySet[ApiKey]:
    """Keys older than they should become; those that expire soon anyway are listed as such."""
    live = ApiKey.objects.of(merchant, environment).live().filter(retires_at__isnull=True)
    live = live.filter(created_at__lte=now - ROTATION_REMINDER)
    return live.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now + EXPIRES_SOON))


def _words(kind: str, number: int) -> str:
    match kind:
        case "decisions":
            words = ngettext(
                "%(number)s payment waits for your decision", "%(number)s payments wait for your decision", number
            )
        case "settlements":
            words = ngettext("%(number)s settlement is held", "%(number)s settlements are held", number)
        case "refunds":
            words = ngettext("%(number)s refund waits for an address", "%(number)s refunds wait for an address", number)
        case "accounts":
            words = ngettext(
                "%(number)s refund waits for the payer's account",
                "%(number)s refunds wait for payers' accounts",
                number,
            )
        case "webhooks":
            words = ngettext("%(number)s webhook fails", "%(number)s webhooks fail", number)
        case "expiring":
            words = ngettext(
                "%(number)s key pair in use ends within two weeks",
                "%(number)s key pairs in use end within two weeks",
                number,
            )
        case _:
            words = ngettext(
                "%(number)s key pair is older than 90 days", "%(number)s key pairs are older than 90 days", number
            )
    return words % {"number": _("%(number)d or more") % {"number": number} if number == MOST_COUNTED else number}
