"""Invoices as operators see them, and how each merchant's tax is worked out."""

from __future__ import annotations

from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from config.admin.base import LongList, ReadOnly
from config.admin.columns import RecordPage
from settlements.invoices.models import BillingDetails, Invoice, InvoiceSeries
from settlements.invoices.paper import page_of


@admin.register(Invoice)
class InvoiceAdmin(ReadOnly, LongList, RecordPage[Invoice]):
    list_display = ("number", "kind", "merchant", "month", "total", "tax_rate", "created_at", "page")
    list_filter = ("environment", "kind", "month", "currency")
    list_select_related = ("merchant",)
    search_fields = ("number__exact", "merchant__name")

    @admin.display(description="Page")
    def page(self, invoice: Invoice) -> str:
        return format_html('<a href="{}">for paper</a>', reverse("admin:invoice_page", args=[invoice.pk]))

    def get_urls(self) -> list[URLPattern]:
        shown = self.admin_site.admin_view(self.show_page)
        return [path("<uuid:key>/page", shown, name="invoice_page"), *super().get_urls()]

    def show_page(self, request: HttpRequest, key: UUID) -> HttpResponse:
        """The invoice as its merchant sees it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return render(request, "admin/invoice.html", page_of(get_object_or_404(Invoice, pk=key)))


@admin.register(BillingDetails)
class BillingDetailsAdmin(LongList, RecordPage[BillingDetails]):
    list_display = ("merchant", "name", "country", "tax_id", "treatment")
    list_filter = ("treatment", "country")
    list_select_related = ("merchant",)
    search_fields = ("merchant__name", "name", "tax_id")
    readonly_fields = ("merchant", "name", "address", "country", "tax_id")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: BillingDetails | None = None) -> bool:
        return False


@admin.register(InvoiceSeries)
class InvoiceSeriesAdmin(ReadOnly, RecordPage[InvoiceSeries]):
    list_display = ("environment", "last_number", "begins_on")
