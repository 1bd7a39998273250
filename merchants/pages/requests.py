"""The merchant's pages of its API requests and their replies."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from django import forms
from django.conf import settings
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config import ids
from config.api.renderers import read_json, render_json
from config.database.replica import reads_from_replica
from config.pages.wording import whole
from config.process.logs import REDACTED
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.models import ApiKey
from merchants.pages import curl
from merchants.pages.forms import FilterForm
from merchants.pages.listing import list_context
from merchants.request_log.bodies import MOST_BYTES
from merchants.request_log.filters import METHODS, MOST_LOOKED_THROUGH, STATUSES, scanned
from merchants.request_log.models import LoggedRequest
from merchants.roles import Permission
from merchants.wording import exact

SECTION = "dashboard_requests"
KEYS_OFFERED = 100
COLUMNS = (
    {"label": gettext_lazy("Request")},
    {"label": gettext_lazy("Status")},
    {"label": gettext_lazy("Time")},
    {"label": gettext_lazy("Duration"), "number": True},
    {"label": gettext_lazy("Key")},
)
OUTCOMES = {
    "2": ("2xx", STATUSES["2xx"]),
    "4": ("4xx", STATUSES["4xx"]),
    "5": ("5xx", STATUSES["5xx"]),
    "e": (gettext_lazy("Any error"), STATUSES["error"]),
}


class RequestFilterForm(FilterForm):
    """The filters of the log of requests. `keys` are names of key pairs by their public halves."""

    path = forms.CharField(label=gettext_lazy("Path contains"), required=False, max_length=100)
    id = forms.CharField(label=gettext_lazy("Request id"), required=False, max_length=64)
    outcome = forms.ChoiceField(
        label=gettext_lazy("Status"),
        required=False,
        choices=[("", gettext_lazy("Any status")), *((name, label) for name, (label, _found) in OUTCOMES.items())],
    )
    method = forms.ChoiceField(
        label=gettext_lazy("Method"),
        required=False,
        choices=[("", gettext_lazy("Any method")), *((each, each) for each in METHODS)],
    )
    key = forms.ChoiceField(label=gettext_lazy("Key"), required=False)

    def __init__(self, data: Any, *, keys: Mapping[str, str]) -> None:
        super().__init__(data)
        cast("forms.ChoiceField", self.fields["key"]).choices = [("", gettext_lazy("Any key")), *keys.items()]

    @property
    def is_looked_for(self) -> bool:
        """True if rows have to be scanned, because no index leads to a searched field."""
        return bool(self.fits())

    def narrowed(self, own: QuerySet[LoggedRequest]) -> QuerySet[LoggedRequest]:
        """Rows an index leads to: by id and by status."""
        query = self.cleaned_data
        by_id = Q(request_id=query["id"].strip()) if query["id"] else Q()
        return own.filter(by_id, OUTCOMES[query["outcome"]][1] if query["outcome"] else Q())

    def fits(self) -> Q:
        """The rest of it."""
        return scanned(self.cleaned_data)


@dataclass(frozen=True)
class RequestRow:
    """A logged request as the list and its own page show it; `keys` are names of key pairs by their public halves."""

    logged: LoggedRequest
    keys: Mapping[str, str]

    @property
    def badge(self) -> str:
        status = self.logged.status
        return "good" if status < 400 else "warn" if status < 500 else "bad"

    @property
    def status(self) -> str:
        status = self.logged.status
        known = status in HTTPStatus._value2member_map_
        return f"{status} {HTTPStatus(status).phrase}" if known else str(status)

    @property
    def path_parts(self) -> list[str]:
        """The path in pieces, each up to a slash: where a narrow screen may break it."""
        return re.findall("[^/]*/|[^/]+", self.logged.path)

    @property
    def duration(self) -> str:
        milliseconds = self.logged.duration_milliseconds
        return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds // 100 / 10:.1f} s"

    @property
    def key(self) -> str:
        """The name of its key pair; the public half of one that is not known any more."""
        return self.keys.get(self.logged.public_key, self.logged.public_key)


@never_cache
@require_safe
@member_required(permission=Permission.SEE_REQUEST_LOG)
@reads_from_replica
def list_requests(request: MemberRequest) -> HttpResponse:
    keys = _names_of_keys(request)
    form = RequestFilterForm(request.GET, keys=keys)
    context: dict[str, object] = {
        "section": SECTION,
        "form": form,
        "columns": COLUMNS,
        "rows": [],
        "kept_days": settings.REQUESTS_KEPT_DAYS,
    }
    if form.is_valid():
        own = form.narrowed(LoggedRequest.objects.of(request.merchant, request.environment)).defer("body", "reply")
        context |= list_context(
            request,
            form,
            own,
            kind=ids.LOGGED_REQUEST,
            view=SECTION,
            row=lambda logged: RequestRow(logged, keys),
            search=partial(_search, form) if form.is_looked_for else None,
        )
        context["looked_through"] = whole(MOST_LOOKED_THROUGH) if context["searches_further"] else ""
    return render(request, "dashboard/requests/list.html", context)


def _search(
    form: RequestFilterForm, own: QuerySet[LoggedRequest], before: uuid.UUID | None, limit: int
) -> tuple[list[LoggedRequest], uuid.UUID | None]:
    """The newest requests that fit, among the MOST_LOOKED_THROUGH below a key, and the last of these if there are more.
    The page offers to look further."""
    window = own.filter(Q(pk__lt=before) if before else Q()).order_by("-pk")
    end = window.values_list("pk", flat=True)[MOST_LOOKED_THROUGH - 1 : MOST_LOOKED_THROUGH].first()
    found = window.filter(form.fits(), Q(pk__gte=end) if end else Q())
    return list(found[:limit]), end


@never_cache
@require_safe
@member_required(permission=Permission.SEE_REQUEST_LOG)
def show_request(request: MemberRequest, logged_id: str) -> HttpResponse:
    own = LoggedRequest.objects.of(request.merchant, request.environment)
    logged = get_object_or_404(own, pk=ids.LOGGED_REQUEST.decode(logged_id))
    key = ApiKey.objects.of(request.merchant, request.environment).filter(public_key=logged.public_key).first()
    row = RequestRow(logged, {logged.public_key: key.name} if key else {})
    is_complete = logged.body_bytes <= MOST_BYTES
    context = {
        "section": SECTION,
        "row": row,
        "logged": logged,
        "facts": _facts(row),
        "body": _indented(logged.body),
        "reply": _indented(logged.reply),
        "is_body_cut": not is_complete,
        "is_reply_cut": logged.reply_bytes > MOST_BYTES,
        "kept": f"{MOST_BYTES // 1024} KiB",
        "curl": _as_curl(logged) if is_complete else "",
        "lacks_secrets": REDACTED in f"{logged.path}{logged.query}{logged.body}{logged.idempotency_key}",
        "is_signed": key is not None and key.require_signature,
    }
    return render(request, "dashboard/requests/detail.html", context)


def _names_of_keys(request: MemberRequest) -> dict[str, str]:
    own = ApiKey.objects.of(request.merchant, request.environment).order_by("-pk")[:KEYS_OFFERED]
    return dict(own.values_list("public_key", "name"))


def _as_curl(logged: LoggedRequest) -> str:
    path = f"{logged.path}?{logged.query}" if logged.query else logged.path
    return curl.command(logged.method, path, body=logged.body, idempotency_key=logged.idempotency_key)


def _facts(row: RequestRow) -> list[tuple[str, str]]:
    logged = row.logged
    return [
        (_("Request id"), logged.request_id),
        (_("Time"), exact(logged.created_at)),
        (_("Duration"), row.duration),
        (_("Error code"), logged.error_code),
        (_("Key"), f"{row.key} ({logged.public_key})" if row.key != logged.public_key else logged.public_key),
        (_("From"), str(logged.address or "")),
        (_("Idempotency key"), logged.idempotency_key),
    ]


def _indented(text: str) -> str:
    """JSON over several lines; anything else as it is."""
    try:
        return render_json(read_json(text), indented=True).decode()
    except ValueError:
        return text
