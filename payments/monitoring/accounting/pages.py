"""Reports of the ledger in the admin: balances at an instant, the ledger as a file, the house's result."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.core.validators import MaxValueValidator
from django.db.models import Q
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config import ids
from config.admin.values import words_of
from config.database.replica import reads_from_replica
from config.environments import Environment
from config.pages.files import file_headers
from config.pages.wording import coins
from merchants.ledger.chart import Group
from merchants.models import Merchant
from payments.monitoring.accounting.files import FORMATS, file_name
from payments.monitoring.accounting.periods import Days
from payments.monitoring.accounting.result import ResultRow, months_between, result_by_account, result_csv, result_of
from payments.monitoring.accounting.totals import CoinTotals, balances_at, scale
from payments.suspense.balances import in_suspense
from payments.treasury.wallet_balances import one_view_of_the_ledger

MERCHANTS_NAMED = 20
MONTHS_MAX = 60
MAY_SEE = ("ledger.view_account", "ledger.view_posting")


NOT_AFTER = MaxValueValidator(date(2999, 12, 31), "This day is too far ahead: choose an earlier one.")


class BalancesForm(forms.Form):
    environment = forms.ChoiceField(choices=Environment.choices, initial=Environment.PRODUCTION)
    at = forms.DateTimeField(
        label="At (UTC)",
        required=False,
        help_text="Such as 2027-01-31 23:59. Empty: now.",
        widget=forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs={"type": "datetime-local"}),
    )
    merchant = forms.CharField(
        label="Merchant", required=False, max_length=120, help_text="Its id, or a part of its name. Empty: everybody."
    )

    def clean_at(self) -> datetime | None:
        at: datetime | None = self.cleaned_data["at"]
        if at is None:
            return None
        at = at.replace(tzinfo=UTC)
        if at > timezone.now():
            raise forms.ValidationError("This instant is in the future: choose one that has passed.")
        return at


class LedgerForm(forms.Form):
    environment = forms.ChoiceField(choices=Environment.choices, initial=Environment.PRODUCTION)
    first = forms.DateField(label="From (UTC)", widget=forms.DateInput(attrs={"type": "date"}))
    last = forms.DateField(
        label="To (UTC)",
        help_text="The last day, included.",
        validators=[NOT_AFTER],
        widget=forms.DateInput(attrs={"type": "date"}),
    )
    form = forms.ChoiceField(label="As", choices=[(name, each[1]) for name, each in FORMATS.items()])

    def clean(self) -> dict[str, Any]:
        entered = super().clean() or self.cleaned_data
        if not self.errors and entered["last"] < entered["first"]:
            raise forms.ValidationError({"last": "The last day is before the first one: choose a later day."})
        return entered


class ResultForm(forms.Form):
    environment = forms.ChoiceField(choices=Environment.choices, initial=Environment.PRODUCTION)
    first = forms.DateField(label="From the month of", widget=forms.DateInput(attrs={"type": "date"}))
    last = forms.DateField(
        label="To the month of", validators=[NOT_AFTER], widget=forms.DateInput(attrs={"type": "date"})
    )

    def clean(self) -> dict[str, Any]:
        entered = super().clean() or self.cleaned_data
        if self.errors:
            return entered
        if entered["last"] < entered["first"]:
            raise forms.ValidationError({"last": "The last month is before the first one: choose a later day."})
        if len(months_between(entered["first"], entered["last"])) > MONTHS_MAX:
            raise forms.ValidationError({"last": f"No more than {MONTHS_MAX} months at once: choose an earlier day."})
        return entered


@never_cache
@require_safe
@admin.site.admin_view
@reads_from_replica
def show_accounting(request: HttpRequest) -> HttpResponse:
    """The page with both forms, and the requested balances."""
    _require_rights(request)
    entered = BalancesForm(request.GET) if "environment" in request.GET else BalancesForm()
    shown = _balances(entered) if entered.is_bound and entered.is_valid() else {}
    return _page(request, entered, _of_last_month(), **shown)


@never_cache
@require_safe
@admin.site.admin_view
@reads_from_replica
def download_ledger(request: HttpRequest) -> HttpResponse | FileResponse:
    """The ledger of the requested period, as a file; the page again where something is wrong with it."""
    _require_rights(request)
    entered = LedgerForm(request.GET)
    if not entered.is_valid():
        return _page(request, BalancesForm(), entered, status=400)
    environment, form = entered.cleaned_data["environment"], entered.cleaned_data["form"]
    days = Days(entered.cleaned_data["first"], entered.cleaned_data["last"])
    # Written to disk first: a slow reader would hold the view of the database open.
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the reply closes it
    with one_view_of_the_ledger():
        for text in FORMATS[form][0](environment, days):
            file.write(text.encode())
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=file_name(environment, days, form))


@never_cache
@require_safe
@admin.site.admin_view
@reads_from_replica
def show_result(request: HttpRequest) -> HttpResponse:
    """Income and expenses of the house by month, coin and account; as CSV with `?format=csv`."""
    _require_rights(request)
    today = timezone.now().astimezone(UTC).date()
    begun = today.replace(day=1) - timedelta(days=1)
    entered = ResultForm(request.GET if "environment" in request.GET else None, initial={"first": begun, "last": today})
    context: dict[str, Any] = {**admin.site.each_context(request), "title": "The house's result", "form": entered}
    if not entered.is_bound or not entered.is_valid():
        return render(request, "admin/result.html", context, status=400 if entered.is_bound else 200)
    environment = entered.cleaned_data["environment"]
    months = months_between(entered.cleaned_data["first"], entered.cleaned_data["last"])
    if request.GET.get("format") == "csv":
        name = f"ballast-{environment}-result-{months[0].first:%Y-%m}-{months[-1].first:%Y-%m}.csv"
        return HttpResponse("".join(result_csv(environment, months)), headers=file_headers(name))
    is_one = len(months) == 1
    rows = list(result_of(environment, months) if is_one else result_by_account(environment, months))
    context |= {"groups": _by_coin(rows), "query": request.GET.urlencode(), "by_postings": is_one}
    return render(request, "admin/result.html", context)


def _by_coin(rows: Iterable[ResultRow]) -> list[dict[str, Any]]:
    """The rows of each month and coin, with what the results of it sum to."""
    found: list[dict[str, Any]] = []
    for (month, network, asset), own in groupby(rows, key=lambda row: (row.month, row.network, row.asset)):
        group = list(own)
        decimals = group[0].decimals
        result = sum(row.amount for row in group if row.is_result)
        told = [(row, words_of(row.posting_kind), coins(row.amount, decimals, asset)) for row in group]
        found.append(
            {
                "name": f"{date_format(month.first, 'F Y')}: {asset} on {network}",
                "month": month,
                "result_rows": [each for each in told if each[0].is_result],
                "result": coins(result, decimals, asset),
                "capital_rows": [each for each in told if not each[0].is_result],
            }
        )
    return found


def _require_rights(request: HttpRequest) -> None:
    if not request.user.has_perms(MAY_SEE):
        raise PermissionDenied


def _page(
    request: HttpRequest, balances: BalancesForm, ledger: LedgerForm, *, status: int = 200, **shown: Any
) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "title": "Accounting",
        "balances_form": balances,
        "ledger_form": ledger,
        **shown,
    }
    return render(request, "admin/accounting.html", context, status=status)


def _of_last_month() -> LedgerForm:
    last = timezone.now().astimezone(UTC).date().replace(day=1) - timedelta(days=1)
    return LedgerForm(initial={"first": last.replace(day=1), "last": last})


def _balances(entered: BalancesForm) -> dict[str, Any]:
    environment, name = entered.cleaned_data["environment"], entered.cleaned_data["merchant"].strip()
    at = entered.cleaned_data["at"]
    shown: dict[str, Any] = {"at": at or timezone.now(), "environment": environment}
    if not name:
        with one_view_of_the_ledger():
            return {**shown, "sections": [_section(coin, None) for coin in balances_at(environment, at)]}
    found = _merchants_named(name)
    if len(found) != 1:
        return {**shown, "merchants": found, "is_unknown": not found}
    return {**shown, "merchant": found[0], "sections": _of_merchant(found[0], environment, at)}


def _merchants_named(name: str) -> list[Merchant]:
    """The merchants with this id, or with this in their name or address; no more than can be chosen from."""
    if key := ids.MERCHANT.decode(name):
        return list(Merchant.objects.filter(pk=key))
    found = Merchant.objects.filter(Q(name__icontains=name) | Q(email__icontains=name))
    return list(found.order_by("name", "pk")[:MERCHANTS_NAMED])


def _of_merchant(merchant: Merchant, environment: str, at: datetime | None) -> list[dict[str, Any]]:
    with one_view_of_the_ledger():
        own = {(coin.network, coin.asset): coin for coin in balances_at(environment, at, merchant=merchant)}
        suspense = in_suspense(merchant, environment, at)
    for key in suspense.keys() - own.keys():
        own[key] = CoinTotals(*key, scale(environment, *key))
    return [_section(own[key], suspense.get(key, 0)) for key in sorted(own)]


def _section(coin: CoinTotals, suspense: int | None) -> dict[str, Any]:
    """One coin on one network: its accounts, and what they sum to; with a merchant's money in suspense beside them."""

    def told(units: int) -> str:
        return coins(units, coin.decimals, coin.asset)

    return {
        "name": f"{coin.asset} on {coin.network}",
        "rows": [(kind.label, kind.value, told(units)) for kind, units in coin.by_kind.items()],
        "sums": [] if suspense is not None else [(name, told(coin.of_group(group))) for name, group in _GROUPS],
        "suspense": told(suspense) if suspense is not None else "",
    }


_GROUPS = (("Assets", Group.ASSET), ("Liabilities", Group.LIABILITY), ("The house's own", Group.EQUITY))
