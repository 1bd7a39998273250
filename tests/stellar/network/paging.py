"""Pages of records: cursor, limit and order as Horizon takes them, and what it says of wrong ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.stellar.network.links import Links
from tests.stellar.network.problems import bad_request, before_history

USUAL_LIMIT, LARGEST_LIMIT = 10, 200
_END = 1 << 63


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of some rows is asked for."""

    cursor: str
    """As it was given; `now` is a token already."""
    token: int
    """Where to begin: after this token, or before it when the order is descending."""
    position: int
    """Within the token, where records share one: effects of the same operation. 0 for the others."""
    limit: int
    ascending: bool

    @property
    def order(self) -> str:
        return "asc" if self.ascending else "desc"

    def wants(self, token: int, position: int = 0) -> bool:
        """Whether a row at this place comes after the cursor."""
        place, cursor = (token, position), (self.token, self.position)
        return place > cursor if self.ascending else place < cursor


def page_of(query: Mapping[str, str], *, latest: int, elder: int) -> Page:
    """The page that a query asks for, of a Horizon that has the ledgers from `elder` to `latest`."""
    limit, order, cursor = query.get("limit", ""), query.get("order", "asc"), query.get("cursor", "")
    if limit and not (limit.isdigit() and int(limit)):
        raise bad_request("limit", "unparseable value")
    if limit and int(limit) > LARGEST_LIMIT:
        raise bad_request("limit", f"invalid limit: value provided that is over limit max of {LARGEST_LIMIT}")
    if order not in ("asc", "desc"):
        raise bad_request("order", "order: invalid value")
    if cursor == "now":
        cursor = str((latest + 1 << 32) - 1)
    ascending = order == "asc"
    token, position = 0 if ascending else _END, 0
    if cursor:
        parts = cursor.split("-", 1)
        if not parts[0].isdigit():
            raise bad_request("cursor", "cursor: invalid value")
        token, position = int(parts[0]), int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0
        if not ascending and token >> 32 < elder:
            raise before_history()
    return Page(cursor, token, position, int(limit or USUAL_LIMIT), ascending)


def page_body(
    links: Links, path: str, query: Mapping[str, str], page: Page, records: Iterable[dict[str, Any]]
) -> dict[str, Any]:
    """The page itself. It has links to the next and the previous one even when it is empty."""
    rows = list(records)
    asked = {name: value for name, value in query.items() if name in _KEPT}
    asked |= {"cursor": page.cursor, "limit": str(page.limit)}
    first, last = (rows[0]["paging_token"], rows[-1]["paging_token"]) if rows else (page.cursor, page.cursor)
    said = links.page(path, asked, order=page.order, first=first, last=last)
    return {"_links": said, "_embedded": {"records": rows}}


_KEPT = ("asset", "claimant", "include_failed", "join", "sponsor")
