"""An invoice as the record of the API, and as a file. Every digit is shown."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse

from config import ids
from config.api.renderers import format_instant, render_json
from config.money import FIAT_DIGITS, from_units
from config.pages.files import csv_lines, file_headers, text_cell
from settlements.invoices.models import Invoice
from settlements.invoices.paper import invoice_pdf

CSV_COLUMNS = (
    "number", "kind", "issued_at", "month", "type", "network", "cryptocurrency", "amount", "rate", "rate_source",
    "rated_at", "worth", "currency", "tax_rate", "tax_note", "recipient", "recipient_country", "recipient_tax_id",
)  # fmt: skip

OF_LINES = ("network", "cryptocurrency", "amount", "rate", "rateSource", "ratedAt", "net")
"""The fields of a line, in the order of their columns."""


def money(units: int, currency: str) -> str:
    """`12.50`, with all digits of the currency."""
    digits = FIAT_DIGITS[currency]
    return f"{from_units(units, digits):.{digits}f}"


def invoice_record(invoice: Invoice) -> dict[str, Any]:
    return {
        "id": invoice.public_id,
        "object": "invoice",
        "kind": invoice.kind,
        "number": invoice.number,
        "month": invoice.month,
        "periodStart": invoice.period_start,
        "periodEnd": invoice.period_end,
        "issuer": invoice.issuer,
        "recipient": invoice.recipient,
        "lines": invoice.lines,
        "currency": invoice.currency,
        "netAmount": money(invoice.net, invoice.currency),
        "taxRate": f"{invoice.tax_rate:f}",
        "taxAmount": money(invoice.tax, invoice.currency),
        "taxNote": invoice.tax_note or None,
        "totalAmount": money(invoice.total, invoice.currency),
        "correctsInvoiceId": ids.INVOICE.encode(invoice.corrects_id) if invoice.corrects_id else None,
        "environment": invoice.environment,
        "createdAt": invoice.created_at,
    }


def invoice_csv(invoice: Invoice) -> str:
    """A row for the fee of each coin on each network, and one each for `net`, `tax` and `total`."""
    named = (invoice.number, invoice.kind, format_instant(invoice.created_at), invoice.month)
    whom = [text_cell(str(invoice.recipient[field])) for field in ("name", "country", "taxId")]
    taxed = (invoice.currency, f"{invoice.tax_rate:f}", text_cell(invoice.tax_note), *whom)
    rows = [("fee", *(line[field] for field in OF_LINES)) for line in invoice.lines]
    for type_, units in (("net", invoice.net), ("tax", invoice.tax), ("total", invoice.total)):
        rows.append((type_, *[""] * 6, money(units, invoice.currency)))
    return "".join(csv_lines([CSV_COLUMNS, *((*named, *row, *taxed) for row in rows)]))


def invoice_reply(invoice: Invoice, form: str) -> HttpResponse:
    """The invoice as a file: `csv`, `json` or `pdf`; Http404 for another form."""
    content: str | bytes
    match form:
        case "csv":
            content = invoice_csv(invoice)
        case "json":
            content = render_json(invoice_record(invoice))
        case "pdf":
            content = invoice_pdf(invoice)
        case _:
            raise Http404
    return HttpResponse(content, headers=file_headers(f"{invoice.public_id}.{form}"))
