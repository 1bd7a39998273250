"""Every list of the API with every filter and every pair of filters, at its first page, its middle and its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:
    from django.db.models import Model

    from tests.bench.viewing import Shop

FILTERS: dict[str, dict[str, list[dict[str, str]]]] = {
    "/payments": {
        "status": [{"status": "completed"}, {"status": "cancelled"}, {"status": "refunded"}],
        "network": [{"network": "polygon"}],
        "cryptocurrency": [{"cryptocurrency": "DAI"}],
        "currency": [{"currency": "EUR"}, {"currency": "CHF"}],
        "amount": [{"currency": "USD", "amount_gte": "9"}, {"currency": "USD", "amount_lte": "2"}],
        "metadata": [{"metadata[wish]": "gift-wrap"}, {"metadata[order]": "order-777"}, {"metadata[order]": "none"}],
        "paymentLink": [{"paymentLink": "{link}"}],
        "created": [{"created_gte": "{middle_day}"}, {"created_lte": "{middle_day}"}],
    },
    "/refunds": {
        "status": [{"status": "cancelled"}, {"status": "completed"}],
        "paymentId": [{"paymentId": "{completed}"}],
        "created": [{"created_gte": "{middle_day}"}, {"created_lte": "{middle_day}"}],
    },
    "/settlements": {
        "status": [{"status": "completed"}, {"status": "failed"}],
        "created": [{"startDate": "{middle_day}"}, {"endDate": "{middle_day}"}],
    },
    "/events": {
        "type": [{"type": "payment.completed"}, {"type": "payment.reversed"}],
        "created": [{"created_gte": "{middle_day}"}, {"created_lte": "{middle_day}"}],
    },
    "/deliveries": {
        "status": [{"status": "delivered"}, {"status": "failed"}],
        "endpoint": [{"endpoint": "{webhook}"}],
        "event": [{"event": "{event}"}],
        "created": [{"created_gte": "{middle_day}"}, {"created_lte": "{middle_day}"}],
    },
    "/discrepancies": {
        "status": [{"status": "open"}, {"status": "refunded"}],
        "kind": [{"kind": "overpaid"}, {"kind": "late"}],
        "created": [{"created_gte": "{middle_day}"}, {"created_lte": "{middle_day}"}],
    },
    "/requests": {
        "status": [{"status": "2xx"}, {"status": "4xx"}],
        "method": [{"method": "GET"}, {"method": "DELETE"}],
        "created": [{"created_gte": "{middle_day}"}, {"created_lte": "{middle_day}"}],
    },
    "/payment-links": {"created": [{"created_gte": "{middle_day}"}, {"created_lte": "{middle_day}"}]},
    "/invoices": {"kind": [{"kind": "invoice"}, {"kind": "credit_note"}]},
}
"""Each filter with values of which there are many, few or none."""


@dataclass(frozen=True)
class Question:
    """A page of a list. `kind` says how many filters it has."""

    path: str
    position: str
    kind: str
    filters: dict[str, str]
    after: str = ""

    @property
    def shown(self) -> str:
        return "&".join(f"{name}={value}" for name, value in self.filters.items()) or "-"

    def address(self, limit: int) -> str:
        cursor = {"starting_after": self.after} if self.after else {}
        return f"{self.path}?{urlencode({**self.filters, **cursor, 'limit': str(limit)})}"


def questions(shop: Shop) -> Iterator[Question]:
    """In the same order for every shop."""
    from merchants.request_log.models import LoggedRequest
    from payments.links.models import PaymentLink
    from payments.models import Discrepancy, Payment
    from refunds.models import Refund
    from settlements.invoices.models import Invoice
    from settlements.models import Settlement
    from webhooks.models import Delivery, Event

    models = (Payment, Refund, Settlement, Event, Delivery, Discrepancy, LoggedRequest, PaymentLink, Invoice)
    for (path, filters), model in zip(FILTERS.items(), models, strict=True):
        yield from _of_list(shop, path, filters, model)


def _of_list(shop: Shop, path: str, filters: dict[str, list[dict[str, str]]], model: type[Model]) -> Iterator[Question]:
    single = [value for values in filters.values() for value in values]
    pairs = [
        {**one, **other}
        for first, second in combinations(filters.values(), 2)
        for one in first
        for other in second
        if all(other.get(name, value) == value for name, value in one.items())
    ]
    chosen = [("no filter", {}), *(("a filter", each) for each in single), *(("two filters", each) for each in pairs)]
    for position, after in shop.positions(model).items():
        for kind, each in chosen:
            named = {name: value.format(**shop.values) for name, value in each.items()}
            yield Question(path, position, kind, named, after)
