"""Filters of the log of requests, for the dashboard and the API. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.db.models import Q

METHODS: Final = ("GET", "POST", "PATCH", "DELETE")
STATUSES: Final[Mapping[str, Q]] = {
    "2xx": Q(status__gte=200, status__lt=300),
    "4xx": Q(status__gte=400, status__lt=500),
    "5xx": Q(status__gte=500),
    "error": Q(status__gte=400),
}
MOST_LOOKED_THROUGH: Final = 20_000
"""Requests that are looked through for a path, a method or a key, to which no index leads."""


def scanned(query: Mapping[str, Any]) -> Q:
    """The condition of the filters `path`, `method` and `key`, to which no index leads; empty without any."""
    columns = {"path": "path__contains", "method": "method", "key": "public_key"}
    return Q(**{column: query[name] for name, column in columns.items() if query.get(name)})
