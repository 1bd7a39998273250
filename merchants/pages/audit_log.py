"""The merchant's page of its audit log: what people did, and the same as a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config import ids
from config.api.renderers import format_instant, render_json
from config.database.replica import reads_from_replica
from config.pages.files import csv_lines, file_headers, text_cell
from merchants import wording
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.audit.models import LoggedAction
from merchants.models import User
from merchants.pages.forms import AuditFilterForm
from merchants.pages.listing import list_context
from merchants.roles import Permission, Role

SECTION = "dashboard_audit"
EXPORTED_AT_ONCE = 1_000
"""Rows of one statement of an export."""

_PAGES = {ids.PAYMENT: "payment", ids.REFUND: "refund", ids.SETTLEMENT: "settlement", ids.DELIVERY: "delivery"}
"""The records that have a page of their own as long as they exist, by the end of its name."""

CSV_COLUMNS = (
    "time",
    "person",
    "role",
    "action",
    "what",
    "record",
    "environment",
    "address",
    "device",
    "before",
    "after",
    "id",
)


@dataclass(frozen=True)
class Change:
    """A field that an action changed, as the page shows it."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class ActionRow:
    """A logged action as the page shows it."""

    logged: LoggedAction

    @property
    def role(self) -> str:
        role = self.logged.role
        return str(Role(role).label) if role in Role.values else role

    @property
    def record_url(self) -> str:
        """The page of the record; empty when it has none."""
        found = [page for kind, page in _PAGES.items() if kind.decode(self.logged.record)]
        return reverse(f"dashboard_{found[0]}", args=[self.logged.record]) if found else ""

    @property
    def origin(self) -> str:
        return ", ".join(filter(None, (wording.device(self.logged.device), self.logged.address)))

    @property
    def changes(self) -> list[Change]:
        before, after = self.logged.before, self.logged.after
        return [
            Change(name.replace("_", " ").capitalize(), _shown(before.get(name)), _shown(after.get(name)))
            for name in {**before, **after}
        ]


def _shown(value: Any) -> str:
    """A value of the log as text: lists by commas, nothing as nothing."""
    if value is None or value in ("", []):
        return ""
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return value if isinstance(value, str) else render_json(value).decode()


@never_cache
@require_safe
@member_required(permission=Permission.SEE_AUDIT_LOG)
@reads_from_replica
def list_actions(request: MemberRequest) -> HttpResponse:
    form = _filter_form(request)
    context: dict[str, object] = {"section": SECTION, "form": form, "rows": []}
    if form.is_valid():
        page = list_context(
            request, form, _matching(request, form), kind=ids.ACTION, view="dashboard_audit", row=ActionRow
        )
        count = len(page["rows"])
        words = ngettext("%(count)d action, newest first", "%(count)d actions, newest first", count)
        context |= {**page, "words": words % {"count": count}, "query": request.GET.urlencode()}
    return render(request, "dashboard/audit/list.html", context)


@never_cache
@require_safe
@member_required(permission=Permission.SEE_AUDIT_LOG)
@reads_from_replica
def export_actions(request: MemberRequest) -> HttpResponseBase:
    """The actions that the filters leave, as CSV, newest first. A filter that is wrong leads back to the page."""
    form = _filter_form(request)
    if not form.is_valid():
        return redirect(f"{reverse('dashboard_audit')}?{request.GET.urlencode()}")
    matching = _matching(request, form).filter(form.keys().condition)
    name = f"ballast-audit-log-{timezone.now():%Y-%m-%d}.csv"
    return StreamingHttpResponse(csv_lines(_csv_rows(matching)), headers=file_headers(name))


def _filter_form(request: MemberRequest) -> AuditFilterForm:
    """With everybody who is in the log, whether or not they are still members."""
    logged = LoggedAction.objects.filter(merchant=request.merchant).values("person")
    people = User.objects.filter(pk__in=logged).order_by("email").values_list("pk", "email")
    return AuditFilterForm(request.GET, people=people)


def _matching(request: MemberRequest, form: AuditFilterForm) -> QuerySet[LoggedAction]:
    query = form.cleaned_data
    chosen = {name: query[name] for name in ("person", "action") if query[name]}
    return LoggedAction.objects.of(request.merchant, request.environment).filter(**chosen)


def _csv_rows(matching: QuerySet[LoggedAction]) -> Iterator[Sequence[str]]:
    """A few rows at a time, so that a long log takes neither memory nor a long statement."""
    yield CSV_COLUMNS
    rows = list(matching.order_by("-pk")[:EXPORTED_AT_ONCE])
    while rows:
        yield from map(_cells, rows)
        rows = list(matching.filter(pk__lt=rows[-1].pk).order_by("-pk")[:EXPORTED_AT_ONCE])


def _cells(row: LoggedAction) -> tuple[str, ...]:
    return (
        format_instant(row.created_at),
        text_cell(row.email),
        row.role,
        row.action,
        row.words,
        row.record,
        row.environment,
        row.address or "",
        text_cell(row.device),
        render_json(row.before).decode(),
        render_json(row.after).decode(),
        row.public_id,
    )
