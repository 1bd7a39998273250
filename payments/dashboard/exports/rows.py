"""The rows of an export: a payment each, as CSV that no spreadsheet reads as a formula."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from config import ids
from config.api.renderers import format_instant, render_json
from config.money import FIAT_DIGITS, from_units
from config.pages.files import csv_lines, text_cell
from payments.models import Deposit

COLUMNS = (
    "id",
    "created_at",
    "status",
    "amount",
    "currency",
    "crypto_amount",
    "received",
    "refunded",
    "cryptocurrency",
    "network",
    "deposit_address",
    "memo",
    "expires_at",
    "completed_at",
    "transaction_hashes",
    "metadata",
    "description",
    "items",
    "note",
)

READ = (
    "pk", "status", "fiat_amount", "currency", "due", "received", "refunded", "decimals", "cryptocurrency", "network",
    "deposit_address", "memo", "expires_at", "completed_at", "deposit_count", "metadata",
    "description", "items", "note",
)  # fmt: skip
"""The columns of a payment that a row is made of."""


def heading() -> str:
    return "".join(csv_lines([COLUMNS]))


def rows_csv(payments: Sequence[Any]) -> str:
    """A line for each payment that was read by READ."""
    hashes = _hashes([payment.pk for payment in payments if payment.deposit_count])
    return "".join(csv_lines(_cells(payment, hashes[payment.pk]) for payment in payments))


def _cells(payment: Any, hashes: Sequence[str]) -> tuple[str, ...]:
    def coins(units: int) -> str:
        return f"{from_units(units, payment.decimals):f}"

    return (
        ids.PAYMENT.encode(payment.pk),
        format_instant(ids.created_at_of(payment.pk)),
        payment.status,
        f"{from_units(payment.fiat_amount, FIAT_DIGITS[payment.currency]):f}",
        payment.currency,
        coins(payment.due),
        coins(payment.received),
        coins(payment.refunded),
        payment.cryptocurrency,
        payment.network,
        text_cell(payment.deposit_address),
        text_cell(payment.memo),
        format_instant(payment.expires_at),
        format_instant(payment.completed_at) if payment.completed_at else "",
        " ".join(hashes),
        text_cell(render_json(payment.metadata).decode()) if payment.metadata else "",
        text_cell(payment.description),
        text_cell(render_json(payment.items).decode()) if payment.items else "",
        text_cell(payment.note),
    )


def _hashes(keys: list[uuid.UUID]) -> dict[uuid.UUID, list[str]]:
    """The on-chain transactions that were seen for each payment, in the order in which they were."""
    found: defaultdict[uuid.UUID, list[str]] = defaultdict(list)
    seen = Deposit.objects.filter(payment__in=keys).order_by("payment_id", "pk") if keys else Deposit.objects.none()
    for payment_id, transaction_hash in seen.values_list("payment_id", "transaction_hash"):
        if transaction_hash not in found[payment_id]:
            found[payment_id].append(transaction_hash)
    return found


def read(payments: Any) -> list[Any]:
    """The payments of this query, with the columns of a row alone."""
    return list(payments.values_list(*READ, named=True))
