"""An invoice in words, and as a PDF."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import get_language, gettext

from config.environments import Environment
from config.pages.pdf import Column, Paper, Table, Text, pdf_of
from config.pages.wording import fiat, grouped, rate
from merchants import wording as instants
from payments.chains import registry
from settlements.invoices.models import Invoice, InvoiceKind


def page_of(invoice: Invoice) -> dict[str, Any]:
    """The content of an invoice in words, for the pages of merchants and operators and for the PDF."""
    return {
        "invoice": invoice,
        "is_credit_note": invoice.kind == InvoiceKind.CREDIT_NOTE,
        "kind": invoice.get_kind_display(),
        "is_test": invoice.environment == Environment.SANDBOX,
        "issued_on": day_of(invoice),
        "month": month_of(invoice),
        "begins": instants.exact(invoice.period_start),
        "ends": instants.exact(invoice.period_end),
        "lines": [_line(line, invoice) for line in invoice.lines],
        "net": fiat(invoice.net, invoice.currency),
        "tax": fiat(invoice.tax, invoice.currency),
        "total": fiat(invoice.total, invoice.currency),
        "rate": rate(invoice.tax_rate),
    }


def _line(line: dict[str, str], invoice: Invoice) -> dict[str, str]:
    network = registry.known_profile(invoice.environment, line["network"]).name
    rated_at = instants.exact(datetime.fromisoformat(line["ratedAt"]))
    return {
        "what": gettext("Fees in %(coin)s on %(network)s") % {"coin": line["cryptocurrency"], "network": network},
        "amount": f"{grouped(line['amount'])} {line['cryptocurrency']}",
        "rate": f"{rate(Decimal(line['rate']))} ({line['rateSource']}, {rated_at})",
        "net": f"{grouped(line['net'])} {invoice.currency}",
    }


def day_of(invoice: Invoice) -> str:
    """The day it was issued on, UTC."""
    return date_format(invoice.created_at, "j F Y")


def month_of(invoice: Invoice) -> str:
    """`January 2026`."""
    return date_format(date.fromisoformat(f"{invoice.month}-01"), "F Y")


def invoice_pdf(invoice: Invoice) -> bytes:
    """The invoice as a PDF, with everything that its page shows."""
    shown = page_of(invoice)
    blocks: list[Text | Table] = []
    if shown["is_test"]:
        words = gettext("It was issued in the sandbox, where no money is real.")
        blocks.append(Text([words], heading=gettext("A test: this is no invoice")))
    blocks += [
        Text(_party(invoice.issuer), heading=gettext("Issued by")),
        Text(_party(invoice.recipient), heading=gettext("Billed to")),
        Text([f"{shown['month']} ({shown['begins']} – {shown['ends']})"], heading=gettext("For the period")),
        _fees(shown),
        Text(_remarks(invoice, shown)),
    ]
    title = f"{shown['kind']} {invoice.number}"
    return pdf_of(Paper(title, [shown["issued_on"]], blocks, get_language() or "en", gettext("Page")))


def _party(party: dict[str, str]) -> list[str]:
    lines = [party["name"], *party["address"].splitlines(), party["country"]]
    return [*lines, f"{gettext('Tax id')}: {party['taxId']}"] if party["taxId"] else lines


def _fees(shown: dict[str, Any]) -> Table:
    columns = [
        Column(gettext("What")),
        Column(gettext("Amount"), is_number=True),
        Column(gettext("Rate")),
        Column(gettext("Worth"), is_number=True),
    ]
    rows = [
        *([line["what"], line["amount"], line["rate"], line["net"]] for line in shown["lines"]),
        [gettext("Net"), "", "", shown["net"]],
        [f"{gettext('Tax')} ({shown['rate']} %)", "", "", shown["tax"]],
        [gettext("Credited") if shown["is_credit_note"] else gettext("Total"), "", "", shown["total"]],
    ]
    return Table(columns, rows, heading=gettext("Fees"), ends_in_total=True)


def _remarks(invoice: Invoice, shown: dict[str, Any]) -> list[str]:
    lines = [invoice.tax_note] if invoice.tax_note else []
    if invoice.corrects is not None:
        words = gettext("Returned fees that earlier invoices had charged, the last of them %(number)s.")
        lines.append(words % {"number": invoice.corrects.number})
    if shown["is_credit_note"]:
        return [*lines, gettext("This amount is already in your balance. You do not need to pay anything.")]
    return [*lines, gettext("This amount was already deducted from your settlements. You do not need to pay anything.")]
