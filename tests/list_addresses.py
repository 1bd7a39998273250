"""Every list with every filter, as the code declares them: a new one is among them by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import admin
from django.forms import ChoiceField, DateField, DecimalField, Field
from django.test import RequestFactory
from django.urls import reverse

from config.api.views import openapi_document
from merchants.models import User
from merchants.pages.forms import FilterForm
from tests.dashboard.addresses import DOWNLOADS, READS, REPORTS, Records

VALUES = {
    "created_gte": "2199-01-01", "created_lte": "2000-01-01", "startDate": "2199-01-01", "endDate": "2000-01-01",
    "amount_gte": "999", "amount_lte": "2", "paymentId": "{payment}", "paymentLink": "{link}", "endpoint": "{webhook}",
    "event": "evt_00000000000000000000000000", "path": "/none", "key": "none", "request_id": "none",
    "metadata": "order-777",
}  # fmt: skip
"""Of the parameters that do not say themselves which values they take."""
TOGETHER = {"amount_gte": {"currency": "USD"}, "amount_lte": {"currency": "USD"}}
PAGING = {"limit", "starting_after", "ending_before"}


def of_the_api() -> Iterator[str]:
    """Addresses of every list, with each value of each filter."""
    for path, methods in json.loads(openapi_document())["paths"].items():
        operation = methods.get("get", {"responses": {}})
        if not re.search(r'/\w+List"', json.dumps(operation["responses"].get("200"))):
            continue
        address = path.replace("{payment_id}", "{payment}")
        yield address
        for parameter in operation["parameters"]:
            name, schema = parameter["name"], parameter["schema"]
            if parameter["in"] == "query" and name not in PAGING:
                written = f"{name}[order]" if schema.get("type") == "object" else name
                for value in _values(name, schema):
                    yield f"{address}?{urlencode({written: value, **TOGETHER.get(name, {})}, safe='{}')}"


def _values(name: str, schema: dict[str, Any]) -> list[str]:
    several = re.match(r"\^\(([\w|]+)\)\(,", schema.get("pattern", ""))
    return several[1].split("|") if several else schema.get("enum") or [VALUES[name]]


def reports(records: Records) -> Iterator[tuple[str, str]]:
    """Who may read it, and the address, of every list, report and file of one, without a filter."""
    month = f"{records.settlement.created_at:%Y-%m}"
    files = (f"/statements/{month}", f"/statements/{month}?format=pdf", "/settlements/{settlement}/statement")
    for address in (*(each for each in of_the_api() if "?" not in each), *files):
        yield "api", f"/sandbox/v1{records.in_path(address)}"
    for address in REPORTS:
        yield "owner", f"{records.in_path(address)}{'?q=usdc' * address.endswith('find')}"
    days = f"environment=sandbox&first={month}-01&last={month}-28"
    for address in (
        "search?q=usdc",
        f"accounting?{days}",
        f"accounting/result?{days}",
        f"accounting/ledger?{days}&form=journal",
    ):
        yield "operator", f"/admin/{address}"
    for model in admin.site._registry:
        yield "operator", reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def of_the_dashboard(get: Callable[[str], Any]) -> None:
    """Get every page, and again with choices in the form that narrows its list."""
    for page in (path for path in READS if path not in DOWNLOADS):
        form = (get(page).context or {}).get("form")
        if isinstance(form, FilterForm):
            for name, field in form.fields.items():
                for choice in _choices(field):
                    get(f"{page}?{urlencode({name: choice})}")


def _choices(field: Field) -> list[Any]:
    if isinstance(field, ChoiceField):
        groups = [
            each if isinstance(each, list | tuple) else [(value, each)] for value, each in cast(Any, field.choices)
        ]
        return _ends([value for group in groups for value, _ in group if value])
    if isinstance(field, DateField):
        return ["2000-01-01", "2199-01-01"]
    return ["999"] if isinstance(field, DecimalField) else ["no-such-text"]


def _ends(choices: list[Any]) -> list[Any]:
    """The first and the last of many: whatever is chosen, it is the same statement."""
    return [*dict.fromkeys(choices[:1] + choices[-1:])]


def of_the_admin(read: Callable[[str, Callable[[], Any]], Any], operator: User, *, rows: int, is_long: Any) -> None:
    """Read so many rows of every list of what there are many records of, and again with choices of its filters. `read`
    gets its name, and what reads it."""
    for model, page in admin.site._registry.items():
        if is_long(model):
            name, some = f"/admin/{model._meta.label_lower}", partial(_changes, page, operator, rows)
            changes = read(name, some)
            for spec in changes.filter_specs:
                queries = [choice["query_string"] for choice in spec.choices(changes)]
                for query in _ends([each for each in queries if each != "?"]):
                    read(f"{name}{query}", partial(some, query))


def _changes(page: Any, operator: User, rows: int, query: str = "") -> Any:
    request = RequestFactory().get(f"/admin/{query}")
    request.user = operator
    page = copy(page)
    page.list_per_page = page.list_max_show_all = rows
    changes = page.get_changelist_instance(request)
    list(changes.result_list)
    return changes
