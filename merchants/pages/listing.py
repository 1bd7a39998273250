"""A page of a list on the dashboard: newest first, and each page costs the same."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import Combinable
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext_lazy

from config import ids
from config.api.pagination import KeyRange
from config.ids import PublicId
from config.pages.wording import whole
from merchants import counting
from merchants.access.log_in.sessions import MemberRequest
from merchants.pages import curl
from merchants.pages.forms import FilterForm

PAGE_SIZE = 25


@dataclass(frozen=True)
class ApiList:
    """The list of the API with the same records: its path, and by the filters of the page its parameters."""

    path: str
    parameters: Mapping[str, str]

    def context(self, environment: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """The command that reads the list as it is filtered, and whether it returns more than the page shows."""
        chosen = {name: str(value) for name, value in values.items() if value not in (None, "")}
        query = {self.parameters[name]: value for name, value in chosen.items() if name in self.parameters}
        return {
            "curl": curl.reading(environment, self.path, query),
            "is_less": not chosen.keys() <= self.parameters.keys(),
        }


BY_STATUS_AND_DAY = {"status": "status", "start": "created_gte", "end": "created_lte"}

Record = TypeVar("Record", bound=Model)


def list_context(
    request: MemberRequest,
    form: FilterForm,
    matching: QuerySet[Record],
    *,
    kind: PublicId,
    view: str,
    of: str = "",
    row: Callable[[Record], object],
    counted: counting.Counted | None = None,
    search: Callable[[QuerySet[Record], uuid.UUID | None, int], tuple[list[Record], uuid.UUID | None]] | None = None,
    api: ApiList | None = None,
) -> dict[str, Any]:
    """Context of a list's template: its rows, and the addresses of the pages around it.

    `matching` is narrowed down further by the days and the status of the valid form. The page begins after the record
    that `before` in the query names, else at the head of the list, which `view` shows, `of` a record where it is one's
    own list. `counted` adds the number of records. `search` returns at most so many of the matching ones below a key,
    newest first, for text that no index leads to; their number is not known then. `api` is where the API has the same
    list.
    """
    entered, keys = form.cleaned_data, form.keys()
    status: str = entered.get("status", "")
    address = reverse(view, args=[of] if of else None)
    matching = matching.filter(keys.condition, Q(status=status) if status else Q())
    before = kind.decode(request.GET.get("before", ""))
    following = None
    if search is not None:
        found, following = search(matching, before, PAGE_SIZE + 1)
    else:
        rows = matching.filter(Q(pk__lt=before) if before else Q())
        found = list(rows.annotate(**_total(request, counted, status, keys)).order_by("-pk")[: PAGE_SIZE + 1])
    records = found[:PAGE_SIZE]
    is_full = len(found) > PAGE_SIZE
    last = records[-1].pk if is_full else following

    def url(key: uuid.UUID | None) -> str:
        query = request.GET.copy()
        query.pop("before", None)
        if key is not None:
            query["before"] = kind.encode(key)
        return f"{address}?{query.urlencode()}" if query else address

    context = {
        "rows": [row(record) for record in records],
        "filtered": any(entered.values()),
        "first_url": url(None) if before else "",
        "next_url": url(last) if last else "",
        "searches_further": bool(following) and not is_full,
        **(api.context(request.environment, entered) if api else {}),
    }
    if counted is None:
        return {**context, "words": _some(len(records), kind, is_all=not before and not last)}
    total: int = found[0].total_of_list if found else 0  # type: ignore[attr-defined]  # the query adds it
    if entered.get("q"):
        total = matching.count()
    counted_words = _counted(total, kind)
    if total != 1:
        counted_words = gettext("%(shown)s of %(counted)s") % {"shown": len(records), "counted": counted_words}
    return {**context, "words": counted_words}


def _total(
    request: MemberRequest, counted: counting.Counted | None, status: str, keys: KeyRange
) -> dict[str, Combinable]:
    """The column with the number of records of the whole list; none where they are not counted."""
    if counted is None:
        return {}
    own: dict[str, Any] = {"merchant_id": request.merchant.pk, "environment": request.environment}
    return {"total_of_list": counting.total_of_list(counted, **own, statuses=[status] if status else None, keys=keys)}


_COUNTED: Mapping[PublicId, Promise] = {
    ids.PAYMENT: ngettext_lazy("%(number)s payment", "%(number)s payments", "count"),
    ids.PAYMENT_LINK: ngettext_lazy("%(number)s payment link", "%(number)s payment links", "count"),
    ids.REFUND: ngettext_lazy("%(number)s refund", "%(number)s refunds", "count"),
    ids.SETTLEMENT: ngettext_lazy("%(number)s settlement", "%(number)s settlements", "count"),
    ids.DELIVERY: ngettext_lazy("%(number)s delivery", "%(number)s deliveries", "count"),
    ids.ACTION: ngettext_lazy("%(number)s action", "%(number)s actions", "count"),
    ids.LOGGED_REQUEST: ngettext_lazy("%(number)s logged request", "%(number)s logged requests", "count"),
}


def _counted(number: int, kind: PublicId) -> str:
    """`1,250 payments`."""
    return str(_COUNTED[kind] % {"count": number, "number": whole(number)})


def _some(number: int, kind: PublicId, *, is_all: bool) -> str:
    """Number shown, of a list that is not counted."""
    counted = _counted(number, kind)
    return counted if is_all else gettext("%(counted)s shown") % {"counted": counted}
