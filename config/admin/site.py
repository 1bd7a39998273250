"""The operators' admin: lists grouped by task, and which group each belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import admin
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.text import slugify

from config.admin.values import links_for
from config.database.replica import reads_from_replica
from config.process.release import RELEASE


class Page(NamedTuple):
    """A page that is no model's list, shown to whoever has all of these permissions."""

    title: str
    route: str
    permissions: tuple[str, ...]


GROUPS: dict[str, tuple[str, ...]] = {
    "Today": ("operations.Alarm", "four_eyes.Proposal", "ledger.Stop"),
    "Money": (
        "payments.Payment", "payments.Deposit", "payments.Discrepancy", "payments.PayerReturn", "refunds.Refund",
        "settlements.Settlement", "transfers.Payout", "transfers.PayoutPolicy", "house.Withdrawal",
        "house.Funding", "house.AllowedAddress", "screening.SanctionsList", "screening.ListedAddress",
    ),
    "Merchants": (
        "merchants.Merchant", "people.SignUp", "merchant_wallets.MerchantWallet", "payments.PaymentLink",
        "merchants.ApiKey", "settlements.Debt", "settlements.DebtDecision", "settlements.DebtOffset",
        "invoices.Invoice", "invoices.BillingDetails",
    ),
    "Networks": (
        "operations.NetworkSnapshot", "transfers.Wallet", "payments.ColdWallet", "payments.ColdMove",
        "transfers.Transfer", "payments.Sweep", "payments.NativeCoin", "operations.RoleChange",
        "payments.ReadingRequest", "payments.ScanCursor",
    ),
    "Webhooks": ("webhooks.Endpoint", "webhooks.Delivery", "webhooks.Event"),
    "Ledger": (
        "ledger.Account", "ledger.Posting", "losses.MissingCoins", "ledger.ReconcileRun", "ledger.ExplainedFinding",
    ),
    "People": ("merchants.User", "people.Invitation", "audit.LoggedAction"),
    "Technical": (
        "installation.Standstill", "installation.BackupRun", "payments.BalanceChange", "settlements.SettlementRun",
        "invoices.InvoiceSeries",
        "rates.CurrentRate", "rates.RateSnapshot", "rates.RecordedRate", "simulated_chain.SimulatedNetwork",
        "simulated_chain.SimulatedAccount", "simulated_chain.SimulatedTransaction",
    ),
}  # fmt: skip
"""The models of each group, in the order of its list. A registered model that is in none fails a test."""

PAGES = {
    "Ledger": (
        Page("Accounting", "operators_accounting", ("ledger.view_account", "ledger.view_posting")),
        Page("The house's result", "operators_result", ("ledger.view_account", "ledger.view_posting")),
    ),
}

_GROUP_OF = {label: group for group, labels in GROUPS.items() for label in labels}
_ORDER = {label: number for number, label in enumerate(_GROUP_OF)}


def group_of(model: type[Model]) -> str:
    """Name of the group of a registered model; KeyError without one."""
    return _GROUP_OF[model._meta.label]


def address_of(group: str) -> str:
    """Address of the page with all lists of a group."""
    return reverse("admin:group", args=[slugify(group)])


class OperatorsSite(admin.AdminSite):
    """Django's admin with groups in the place of Python applications, in its lists and on every page."""

    site_header = site_title = "Ballast for operators"
    index_title = "Today"
    enable_nav_sidebar = False

    def get_urls(self) -> list[URLResolver | URLPattern]:
        own = path("group/<slug:group>/", self.admin_view(self.show_group), name="group")
        return [own, *super().get_urls()]

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        """Adds that links on the page lead only to what this person may open; lists may be read from a replica."""

        @wraps(view)
        def shown(request: HttpRequest, *args: Any, **options: Any) -> Any:
            with links_for(request):
                response = view(request, *args, **options)
                # Links of a list are made as its template is rendered.
                return response.render() if isinstance(response, SimpleTemplateResponse) else response

        return super().admin_view(reads_from_replica(shown) if _is_list(view) else shown, cacheable)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Adds the release, and the group and the list that the request is in, by its path; none on the first page."""
        context = super().each_context(request)
        lists = [(group, row) for group in context["available_apps"] for row in group["models"] if row["admin_url"]]
        within = [pair for pair in lists if request.path.startswith(pair[1]["admin_url"])]
        group, row = max(within, key=lambda pair: len(pair[1]["admin_url"]), default=(None, None))
        by_address = (each for each in context["available_apps"] if each["app_url"] == request.path)
        here = {"current_group": group or next(by_address, None), "current_list": row}
        return {**context, "release": RELEASE, **here}

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[dict[str, Any]]:
        """The groups that this person may see something of; with an `app_label` only its models."""
        apps: dict[str, Any] = self._build_app_dict(request, app_label)
        rows: dict[str, list[dict[str, Any]]] = {group: [] for group in GROUPS}
        for app in apps.values():
            for row in app["models"]:
                if _is_here(row["model"]):
                    rows[group_of(row["model"])].append(row)
        for group, models in rows.items():
            models.sort(key=lambda row: _ORDER[row["model"]._meta.label])
            if app_label is None:
                models += _pages(request, group)
        return [
            {
                "name": group,
                "app_label": slugify(group),
                "app_url": address_of(group),
                "has_module_perms": True,
                "models": models,
            }
            for group, models in rows.items()
            if models
        ]

    def app_index(self, request: HttpRequest, app_label: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Leads to the first page: a Python application is nothing that an operator looks for."""
        return HttpResponseRedirect(reverse("admin:index"))

    def show_group(self, request: HttpRequest, group: str) -> HttpResponse:
        """All lists of one group; 404 if there is none that this person may see."""
        found = [each for each in self.get_app_list(request) if each["app_label"] == group]
        if not found:
            raise Http404
        context = {**self.each_context(request), "title": found[0]["name"], "app_list": found, "subtitle": None}
        request.current_app = self.name
        return TemplateResponse(request, "admin/group.html", context)


def _is_list(view: Callable[..., Any]) -> bool:
    return getattr(view, "__name__", "") == "changelist_view"


def _is_here(model: type[Model]) -> bool:
    """False for the simulated networks where the sandbox is on real test networks."""
    return model._meta.app_label != "simulated_chain" or settings.SANDBOX_CHAIN == "simulated"


def _pages(request: HttpRequest, group: str) -> Iterator[dict[str, Any]]:
    for page in PAGES.get(group, ()):
        if request.user.has_perms(page.permissions):
            yield {
                "name": page.title,
                "object_name": page.route,
                "admin_url": reverse(page.route),
                "add_url": None,
                "view_only": True,
            }
