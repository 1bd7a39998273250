"""The merchant's invoices: the list, each one as a page that is also for paper, the files, and whom they are for."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from config import ids
from config.database.replica import reads_from_replica
from config.pages.wording import fiat
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.audit.recording import fields_of
from merchants.pages.forms import LookMixin
from merchants.roles import Action
from settlements.invoices.documents import invoice_reply
from settlements.invoices.issuer import issuer
from settlements.invoices.models import BillingDetails, Invoice
from settlements.invoices.paper import day_of, month_of, page_of

SECTION = "dashboard_invoices"
SHOWN = 120
"""Ten years of months; the API has them all."""


class BillingForm(LookMixin):
    """Recipient of a merchant's invoices."""

    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=120, help_text=gettext_lazy("The legal name of your business.")
    )
    address = forms.CharField(
        label=gettext_lazy("Address"), max_length=400, widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off"})
    )
    country = forms.CharField(
        label=gettext_lazy("Country"), max_length=2, help_text=gettext_lazy("Its code of two letters, such as DE.")
    )
    tax_id = forms.CharField(
        label=gettext_lazy("Tax id"),
        max_length=30,
        required=False,
        help_text=gettext_lazy("For example your VAT number."),
    )

    def clean_country(self) -> str:
        country = str(self.cleaned_data["country"]).upper()
        if len(country) != 2 or not country.isascii() or not country.isalpha():
            raise ValidationError(gettext_lazy("Enter a two-letter code, such as DE."))
        return country


@never_cache
@require_safe
@member_required
@reads_from_replica
def list_invoices(request: MemberRequest) -> HttpResponse:
    own = Invoice.objects.of(request.merchant, request.environment).order_by("-pk")[:SHOWN]
    context = {
        "section": SECTION,
        "invoices": [_row(invoice) for invoice in own],
        "details": BillingDetails.objects.filter(merchant=request.merchant).first(),
        "are_issued": issuer() is not None,
    }
    return render(request, "dashboard/invoices/list.html", context)


@never_cache
@require_safe
@member_required
def show_invoice(request: MemberRequest, invoice_id: str) -> HttpResponse:
    context = {"section": SECTION, **page_of(_own(request, invoice_id))}
    return render(request, "dashboard/invoices/invoice.html", context)


@never_cache
@require_safe
@member_required
def download_invoice(request: MemberRequest, invoice_id: str) -> HttpResponse:
    return invoice_reply(_own(request, invoice_id), request.GET.get("format", "csv"))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.CHANGE_BILLING)
def change_billing(request: MemberRequest) -> HttpResponse:
    """Invoices that are issued from now on are made out to these; those that are issued stay as they are."""
    known = BillingDetails.objects.filter(merchant=request.merchant).first()
    before = fields_of(known, "name", "address", "country", "tax_id") if known else {}
    form = BillingForm(request.POST if request.method == "POST" else None, initial=before)
    if request.method == "POST" and form.is_valid():
        details = known or BillingDetails(merchant=request.merchant)
        for name in ("name", "address", "country", "tax_id"):
            setattr(details, name, form.cleaned_data[name])
        details.save()
        request.action.done(before=before, after=fields_of(details, "name", "address", "country", "tax_id"))
        messages.success(request, gettext("New invoices use these details from now on."))
        return redirect("dashboard_invoices")
    context = {"section": SECTION, "form": form}
    return render(request, "dashboard/invoices/billing.html", context, status=400 if form.errors else 200)


def _row(invoice: Invoice) -> dict[str, object]:
    return {
        "invoice": invoice,
        "kind": invoice.get_kind_display(),
        "total": fiat(invoice.total, invoice.currency),
        "month": month_of(invoice),
        "issued_on": day_of(invoice),
    }


def _own(request: MemberRequest, invoice_id: str) -> Invoice:
    key = ids.INVOICE.decode(invoice_id)
    return get_object_or_404(Invoice.objects.of(request.merchant, request.environment), pk=key)
