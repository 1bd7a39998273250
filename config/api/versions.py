"""Versions of the API by date, and operations that are deprecated: tables that headers and the reference are made of.

docs/releases.md has the policy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.utils.http import http_date

from config.api.parsers import shown
from config.errors import DomainError

HEADER: Final = "Ballast-Version"
PRODUCTION_PREFIX: Final = "/v1/"

VERSIONS: Final = (date(2026, 11, 29),)
"""Those that are served, the oldest first: it replies to requests that name none."""


@dataclass(frozen=True)
class Deprecation:
    """An operation that is going to end: `ends` is the day from which it may be gone, if that is known."""

    operation: str
    since: date
    ends: date | None
    instead: str

    @property
    def words(self) -> str:
        """A sentence for the reference and for clients that are generated."""
        end = f" and ends on {self.ends}" if self.ends else ""
        return f"Deprecated since {self.since}{end}: {self.instead}"


DEPRECATIONS: Final[tuple[Deprecation, ...]] = ()
"""A row for each deprecated operation, by its `operationId`."""


class UnknownVersion(DomainError):
    type, code, status = "invalid_request_error", "unknown_version", 400
    message = f"{HEADER} must name a version of the API, as {VERSIONS[-1]}, or be left out."


def requested_version(request: HttpRequest) -> date:
    """The version that a request asks for by its header; UnknownVersion when there is none of that date."""
    given = request.headers.get(HEADER)
    if given is None:
        return VERSIONS[0]
    found = next((version for version in VERSIONS if str(version) == given.strip()), None)
    if found is None:
        raise UnknownVersion(
            f"{HEADER}: there is no version {shown(given)}. Send {_listed()}, or leave the header out.", param=HEADER
        )
    return found


def _listed() -> str:
    return " or ".join(str(version) for version in VERSIONS)


def resource_of(path: str) -> str:
    """The resource that a path of either environment names: `payment-links`."""
    return path[path.find(PRODUCTION_PREFIX) + len(PRODUCTION_PREFIX) :].partition("/")[0]


def operation_of(path: str, action: str) -> str:
    """The `operationId` of a viewset's action at a path."""
    return f"{resource_of(path).replace('-', '_')}_{action}"


def deprecation_of(operation: str) -> Deprecation | None:
    return next((each for each in DEPRECATIONS if each.operation == operation), None)


def deprecation_headers(path: str, action: str) -> Iterator[tuple[str, str]]:
    """`Deprecation` (RFC 9745) with the page that says more, and `Sunset` (RFC 8594), of a deprecated operation."""
    if (found := deprecation_of(operation_of(path, action))) is None:
        return
    page = f"{settings.PUBLIC_URL}/docs/api/{resource_of(path)}#{found.operation}"
    yield "Deprecation", f"@{_seconds(found.since)}"
    yield "Link", f'<{page}>; rel="deprecation"; type="text/html"'
    if found.ends:
        yield "Sunset", http_date(_seconds(found.ends))


def _seconds(day: date) -> int:
    return int(datetime.combine(day, time.min, UTC).timestamp())
