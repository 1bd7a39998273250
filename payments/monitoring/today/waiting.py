"""What waits for somebody: how much of it, since when, and what it is worth, by one query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, Model, Q, QuerySet, TextField
from django.db.models.functions import Cast, Now

from config import ids
from config.admin.values import dollars, list_of
from config.coins import COINS, usd_worth
from config.environments import Environment
from config.hooks import Hook
from merchants.models import Merchant
from merchants.people.models import SignUp
from payments.deposits.models import PayerReturn
from payments.models import Discrepancy
from payments.states import DiscrepancyKind, DiscrepancyStatus, ReturnStatus
from payments.transfers.models import Payout
from payments.transfers.states import PayoutStatus
from payments.treasury.losses.models import MissingCoins, MissingStatus
from webhooks.models import Delivery, Endpoint, Event
from webhooks.states import DeliveryStatus, DisabledReason, EndpointStatus

MOST_COUNTED = 500
"""Largest count of each kind; more are shown as this many and more."""


@dataclass(frozen=True)
class Kind:
    """One kind of thing that waits: its rows, the column of its age, that of its coin where it is money, and the
    filter of its list in the admin."""

    title: str
    rows: QuerySet[Any]
    age: str = "id"
    coin: str = ""
    shown: dict[str, str] | None = None

    @property
    def model(self) -> type[Model]:
        return self.rows.model

    @property
    def permission(self) -> str:
        return f"{self.model._meta.app_label}.view_{self.model._meta.model_name}"

    @property
    def has_environments(self) -> bool:
        return self.has("environment")

    def has(self, name: str) -> bool:
        return any(field.name == name for field in self.model._meta.get_fields())

    def of(self, merchant: Merchant) -> Kind:
        """The same of one merchant."""
        shown = (self.shown or {}) | {"merchant__id__exact": str(merchant.pk)}
        return replace(self, rows=self.rows.filter(merchant=merchant), shown=shown)


refunds_to_see: Hook[[], list[Kind]] = Hook("refunds_to_see")
"""Kinds of refunds that wait; refunds provide them."""

settlements_to_see: Hook[[], list[Kind]] = Hook("settlements_to_see")
"""Kinds of settlements that wait; settlements provide them."""


@dataclass(frozen=True)
class Waiting:
    """So much of a kind in an environment; `worth` is empty for what is no money."""

    title: str
    environment: str
    number: int
    oldest: datetime
    worth: str
    url: str

    @property
    def count(self) -> str:
        return f"{MOST_COUNTED}+" if self.number > MOST_COUNTED else str(self.number)


def kinds() -> list[Kind]:
    """Every kind, the most urgent first."""
    suspense = Discrepancy.objects.filter(status=DiscrepancyStatus.OPEN)
    failing = Q(status=EndpointStatus.ENABLED, failing_since__isnull=False)
    disabled = Q(status=EndpointStatus.DISABLED) & ~Q(disabled_reason=DisabledReason.MERCHANT)
    is_open = {"status__exact": "open"}
    return [
        Kind(
            "Coins missing at deposit addresses",
            MissingCoins.objects.filter(status=MissingStatus.OPEN),
            "found_at",
            "asset",
            is_open,
        ),
        Kind(
            "Payouts held",
            Payout.objects.filter(status=PayoutStatus.HELD),
            coin="asset",
            shown={"status__exact": PayoutStatus.HELD.value},
        ),
        Kind(
            "Money in suspense that names no payment",
            suspense.filter(payment__isnull=True),
            coin="asset",
            shown=is_open | {"payment__isempty": "1"},
        ),
        Kind(
            "Money held for review",
            suspense.filter(kind=DiscrepancyKind.REVIEW),
            coin="asset",
            shown=is_open | {"kind__exact": DiscrepancyKind.REVIEW.value},
        ),
        Kind(
            "Senders who asked for their money back",
            PayerReturn.objects.filter(status=ReturnStatus.PROVEN),
            coin="asset",
            shown={"status__exact": ReturnStatus.PROVEN.value},
        ),
        *refunds_to_see(),
        *settlements_to_see(),
        Kind(
            "Decisions of merchants",
            suspense.filter(payment__isnull=False).exclude(kind=DiscrepancyKind.REVIEW),
            coin="asset",
            shown=is_open | {"payment__isempty": "0"},
        ),
        Kind(
            "Sign-ups to approve",
            SignUp.objects.filter(needs_approval=True),
            "requested_at",
            shown={"needs_approval__exact": "1"},
        ),
        Kind("Webhook endpoints that fail", Endpoint.objects.registered().filter(failing | disabled)),
        Kind(
            "Events without deliveries yet",
            Event.objects.filter(is_fanned_out=False),
            shown={"is_fanned_out__exact": "0"},
        ),
        Kind(
            "Webhook deliveries that are due",
            Delivery.objects.filter(status=DeliveryStatus.PENDING, next_attempt_at__lte=Now()),
            "next_attempt_at",
            shown={"status__exact": DeliveryStatus.PENDING.value},
        ),
    ]


def what_waits(may_see: Callable[[str], bool], merchant: Merchant | None = None) -> list[Waiting]:
    """What waits, of all merchants or of one, of every kind that somebody with these permissions may see, production
    first. One query."""
    seen = [kind for kind in kinds() if may_see(kind.permission)]
    if merchant is not None:
        seen = [kind.of(merchant) for kind in seen if kind.has("merchant")]
    parts = [
        _part(number, kind, environment)
        for number, kind in enumerate(seen)
        for environment in (Environment.values if kind.has_environments else [Environment.PRODUCTION.value])
    ]
    if not parts:
        return []
    rows: defaultdict[tuple[str, int], list[Any]] = defaultdict(list)
    parameters: list[Any] = [each for _, own in parts for each in own]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(text for text, _ in parts), parameters)
        for number, environment, *row in cursor.fetchall():
            rows[environment, number].append(row)
    return [_waiting(seen[number], environment, rows[environment, number]) for environment, number in sorted(rows)]


def _part(number: int, kind: Kind, environment: str) -> tuple[str, Sequence[object]]:
    """The statement that counts a kind: its oldest rows, one more than are counted, by coin."""
    rows = kind.rows.filter(environment=environment) if kind.has_environments else kind.rows
    columns: dict[str, Any] = {"age": Cast(kind.age, TextField())}
    if kind.coin:
        columns |= {"coin": F(kind.coin), "digits": F("decimals"), "units": F("amount")}
    oldest = rows.order_by(kind.age).values(**columns)[: MOST_COUNTED + 1]
    text, parameters = oldest.query.sql_with_params()
    coin = "coin, digits, sum(units)" if kind.coin else "'', 0, 0"
    by = " GROUP BY coin, digits" if kind.coin else " HAVING count(*) > 0"
    counted = f"SELECT %s::int, %s, count(*), min(age), {coin} FROM ({text}) AS oldest{by}"  # noqa: S608
    return counted, [number, environment, *parameters]


def _waiting(kind: Kind, environment: str, rows: Sequence[Sequence[Any]]) -> Waiting:
    worth = sum(usd_worth(coin, int(units), digits) for _count, _age, coin, digits, units in rows if coin in COINS)
    shown = (kind.shown or {}) | ({"environment__exact": environment} if kind.has_environments else {})
    return Waiting(
        title=kind.title,
        environment=environment,
        number=sum(row[0] for row in rows),
        oldest=min(map(_instant, (row[1] for row in rows))),
        worth=dollars(worth) if kind.coin else "",
        url=list_of(kind.model, shown),
    )


def _instant(age: str) -> datetime:
    """The time of a row: that in its key, or as PostgreSQL writes it."""
    try:
        return ids.created_at_of(UUID(age))
    except ValueError:
        return datetime.fromisoformat(age)
