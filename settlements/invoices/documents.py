"""An invoice as the record of the API, and as CSV. Every digit is shown."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

from config import ids
from config.api.renderers import format_instant
from config.money import FIAT_DIGITS, from_units
from config.pages.csv_cells import text_cell
from settlements.invoices.models import Invoice

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
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(CSV_COLUMNS)
    named = (invoice.number, invoice.kind, format_instant(invoice.created_at), invoice.month)
    whom = [text_cell(str(invoice.recipient[field])) for field in ("name", "country", "taxId")]
    taxed = (f"{invoice.tax_rate:f}", text_cell(invoice.tax_note), *whom)
    for line in invoice.lines:
        cells = [
            line[field] for field in ("network", "cryptocurrency", "amount", "rate", "rateSource", "ratedAt", "net")
        ]
        writer.writerow((*named, "fee", *cells, invoice.currency, *taxed))
    for type_, units in (("net", invoice.net), ("tax", invoice.tax), ("total", invoice.total)):
        writer.writerow((*named, type_, *[""] * 6, money(units, invoice.currency), invoice.currency, *taxed))
    return text.getvalue()
