"""/v1/invoices: parse, read, render."""

from __future__ import annotations

from typing import ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config import ids
from config.api.fields import read_query
from merchants.access.scopes import Scope
from merchants.access.viewsets import MerchantViewSet
from settlements.invoices.documents import invoice_record, invoice_reply
from settlements.invoices.models import Invoice
from settlements.invoices.serializers import JSON, InvoiceListQuery, InvoiceQuery, InvoiceSchema


class InvoiceViewSet(MerchantViewSet):
    """Invoices of the key's merchant in the key's environment."""

    queried: ClassVar = ("list", "retrieve")
    scopes: ClassVar = {"retrieve": Scope.SETTLEMENTS_READ, "list": Scope.SETTLEMENTS_READ}

    @extend_schema(
        summary="List invoices",
        description="Invoices for fees, and credit notes for returned fees. Newest first.",
        parameters=[InvoiceListQuery],
        responses=InvoiceSchema(many=True),
    )
    def list(self, request: Request) -> Response:
        return self.listed(
            Invoice.objects.of(self.merchant, self.environment),
            read_query(InvoiceListQuery, request),
            kind=ids.INVOICE,
            filters={"kind": "kind"},
            render=invoice_record,
        )

    @extend_schema(
        summary="Get an invoice",
        description="An invoice or credit note, as it was issued. `format` chooses a file instead.",
        parameters=[InvoiceQuery],
        responses={
            (200, "application/json"): InvoiceSchema,
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "application/pdf"): OpenApiTypes.BINARY,
        },
    )
    def retrieve(self, request: Request, invoice_id: str) -> Response | HttpResponse:
        query = read_query(InvoiceQuery, request)
        invoice = self.find(ids.INVOICE, invoice_id, Invoice.objects.of(self.merchant, self.environment))
        if query["format"] == JSON:
            return Response(invoice_record(invoice))
        return invoice_reply(invoice, query["format"])
