"""The merchant's pages for refunds by file: the upload, the preview, the progress, and the result as a file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from config import ids
from config.money import FIAT_DIGITS, from_units
from config.pages import wording
from config.pages.files import csv_lines, file_headers, text_cell
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.ledger.balances import merchant_balances
from merchants.models import Merchant
from merchants.roles import Action, Permission
from payments.chains import registry
from refunds.batches.files import COLUMNS, MOST_BYTES, MOST_ROWS, Fault, read_file
from refunds.batches.services import confirm_batch, preview_file
from refunds.models import RefundBatch, RefundBatchRow
from refunds.pages.forms import RefundFileForm
from refunds.plans.planning import returns_fees
from refunds.wording import terms

SECTION = "dashboard_refunds"
FAULTS_SHOWN = 50

ROW_COLUMNS = (
    {"label": gettext_lazy("Line"), "number": True},
    {"label": gettext_lazy("Payment")},
    {"label": gettext_lazy("Amount"), "number": True},
    {"label": gettext_lazy("To")},
    {"label": gettext_lazy("State")},
)
RESULT_COLUMNS = ("line", "payment", "amount", "currency", "crypto_amount", "coin", "state", "refund", "problem")


@dataclass(frozen=True)
class BatchRow:
    """A row of a batch as its page shows it."""

    row: RefundBatchRow
    is_confirmed: bool

    @property
    def price(self) -> str:
        return wording.fiat(self.row.fiat_amount, self.row.payment.currency)

    @property
    def coins(self) -> str:
        return wording.coins(self.row.amount, self.row.payment.decimals, self.row.payment.cryptocurrency)

    @property
    def payment_reference(self) -> str:
        return wording.short_id(self.row.payment.public_id)

    @property
    def destination(self) -> str:
        """The destination, as far as it is known."""
        if self.row.destination:
            return wording.short_hash(self.row.destination)
        return _("the sender") if self.row.has_sender else _("an address that the payer enters")

    @property
    def badge(self) -> str:
        if self.row.problem:
            return "bad"
        return "pending" if self.row.refund is None else self.row.refund.status

    @property
    def state(self) -> str:
        if self.row.problem:
            return _("Not refunded")
        if self.row.refund is not None:
            return self.row.refund.get_status_display()
        return _("Waiting") if self.is_confirmed else _("To be refunded")


@dataclass(frozen=True)
class Total:
    """Sum of the rows of a coin on a network, beside the merchant's available balance."""

    coins: str
    network: str
    rows: int
    available: str
    is_covered: bool


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.UPLOAD_REFUNDS)
def upload(request: MemberRequest) -> HttpResponse:
    """Reads a file and leads to its preview, or names every line that is at fault. Refunds nothing."""
    form = RefundFileForm(request.POST or None, request.FILES or None) if request.method == "POST" else RefundFileForm()
    faults: Sequence[Fault] = ()
    if request.method == "POST" and form.is_valid():
        file = read_file(form.cleaned_data["file"].read(MOST_BYTES + 1))
        faults = file.faults
        if not faults:
            found = preview_file(
                file, merchant=request.merchant, environment=request.environment, uploaded_by=request.user.email
            )
            if isinstance(found, RefundBatch):
                if found.confirmed_at is not None:
                    messages.info(request, _("This file was already refunded. Here is the result."))
                    request.action.refused()
                else:
                    request.action.done(found)
                return redirect("dashboard_refund_batch", found.public_id)
            faults = found
    context = {
        "section": SECTION,
        "form": form,
        "faults": faults[:FAULTS_SHOWN],
        "more_faults": max(0, len(faults) - FAULTS_SHOWN),
        "columns": COLUMNS,
        "most_rows": MOST_ROWS,
        "most_kib": MOST_BYTES // 1024,
    }
    return render(request, "dashboard/refunds/upload.html", context, status=400 if faults or form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(permission=Permission.SEE, action=Action.CONFIRM_REFUNDS)
def show_batch(request: MemberRequest, batch_id: str) -> HttpResponse:
    """The preview of a file, and once it is confirmed how far it is. A second confirmation does nothing."""
    batch = _own_batch(request, batch_id)
    if request.method == "POST":
        if confirm_batch(batch, confirmed_by=request.user.email):
            messages.success(request, _("The refunds are being created, row by row."))
        else:
            messages.info(request, _("This file was already confirmed. Nothing was refunded twice."))
            request.action.refused()
        return redirect("dashboard_refund_batch", batch.public_id)
    rows = _rows_of(batch)
    done = sum(row.row.done_at is not None for row in rows)
    totals = _totals(request.merchant, request.environment, rows)
    context = {
        "section": SECTION,
        "batch": batch,
        "columns": ROW_COLUMNS,
        "rows": rows,
        "done": done,
        "row_count": len(rows),
        "refused": sum(bool(row.row.problem) for row in rows),
        "is_running": batch.confirmed_at is not None and done < len(rows),
        "totals": totals,
        "is_covered": all(total.is_covered for total in totals),
        "terms": terms(returns_fee=returns_fees()),
        "heading": ngettext("%(number)s refund from a file", "%(number)s refunds from a file", len(rows))
        % {"number": len(rows)},
    }
    return render(request, "dashboard/refunds/batch.html", context)


@never_cache
@require_safe
@member_required
def download_result(request: MemberRequest, batch_id: str) -> HttpResponse:
    """Every row of the file with what came of it, as CSV."""
    batch = _own_batch(request, batch_id)
    lines = csv_lines([RESULT_COLUMNS, *map(_result_of, _rows_of(batch))])
    return HttpResponse("".join(lines), headers=file_headers(f"ballast-refunds-{batch.public_id}.csv"))


def _result_of(item: BatchRow) -> tuple[object, ...]:
    row, payment = item.row, item.row.payment
    return (
        row.line,
        payment.public_id,
        f"{from_units(row.fiat_amount, FIAT_DIGITS[payment.currency]):f}",
        payment.currency,
        f"{from_units(row.amount, payment.decimals):f}",
        payment.cryptocurrency,
        row.refund.status if row.refund else "not_refunded" if row.problem else "waiting",
        row.refund.public_id if row.refund else "",
        text_cell(row.problem),
    )


def _rows_of(batch: RefundBatch) -> list[BatchRow]:
    rows = batch.rows.select_related("payment", "refund").defer("payment__qr_png").order_by("line")
    return [BatchRow(row, batch.confirmed_at is not None) for row in rows]


def _totals(merchant: Merchant, environment: str, rows: Sequence[BatchRow]) -> list[Total]:
    """Sums still to be refunded, by coin and network; of all rows once everything is made."""
    held = {(each.network, each.asset): each.available for each in merchant_balances(merchant, environment)}
    by_coin: defaultdict[tuple[str, str], list[RefundBatchRow]] = defaultdict(list)
    for item in rows:
        by_coin[item.row.payment.network, item.row.payment.cryptocurrency].append(item.row)
    totals = []
    for (network, coin), found in sorted(by_coin.items()):
        decimals, available = found[0].payment.decimals, held.get((network, coin), 0)
        due = sum(int(row.amount) for row in found if row.done_at is None)
        totals.append(
            Total(
                coins=wording.coins(sum(int(row.amount) for row in found), decimals, coin),
                network=registry.known_profile(environment, network).name,
                rows=len(found),
                available=wording.coins(available, decimals, coin),
                is_covered=due <= available,
            )
        )
    return totals


def _own_batch(request: MemberRequest, batch_id: str) -> RefundBatch:
    own = RefundBatch.objects.of(request.merchant, request.environment)
    return get_object_or_404(own, pk=ids.REFUND_BATCH.decode(batch_id))
