"""The refunds on the page of a payment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from config import ids
from config.pages import wording
from payments.dashboard.rows import RefundsOfPayment
from payments.dashboard.timeline import Story, coins_of
from payments.models import Discrepancy, Payment
from payments.states import DiscrepancyStatus
from payments.suspense import refund_accounting
from refunds.pages.refunds import COLUMNS_OF_PAYMENT, RefundRow
from refunds.states import SENT, RefundStatus
from webhooks.events import catalogue as catalogue

_WORDS = {
    catalogue.REFUND_CREATED: _("Refund created, and the money reserved"),
    catalogue.REFUND_REQUIRES_ACTION: _("Refund needs an address before it can be sent"),
    catalogue.REFUND_PENDING: _("Refund has an address, waiting to be sent"),
    catalogue.REFUND_PROCESSING: _("Refund signed, and on its way"),
    catalogue.REFUND_COMPLETED: _("Refund completed: final on its network"),
    catalogue.REFUND_FAILED: _("Refund failed: the money is back where it was"),
    catalogue.REFUND_CANCELLED: _("Refund cancelled: the money is back where it was"),
}
MOST_OF_PAYMENT = 50
"""Of a payment with more refunds, its page shows the newest, and the list all of them."""


def refunds_of(payment: Payment, discrepancies: Sequence[Discrepancy]) -> RefundsOfPayment:
    """The newest refunds of a payment, by one query. `discrepancies` are all of the payment's that are not void."""
    newest = payment.refunds.select_related("payment").defer("payment__qr_png").order_by("-id")
    rows = [RefundRow(refund) for refund in newest[:MOST_OF_PAYMENT]]
    waiting = [each for each in discrepancies if each.status == DiscrepancyStatus.OPEN]
    return RefundsOfPayment(
        columns=COLUMNS_OF_PAYMENT,
        rows=rows,
        keys=[row.refund.pk for row in rows],
        given_back=frozenset(row.refund.discrepancy_id for row in rows if row.refund.status == RefundStatus.COMPLETED),
        is_possible=refund_accounting.refundable(payment, discrepancies) > 0
        or any(refund_accounting.may_be_given_back(payment, each) for each in waiting),
    )


def refund_sent(payment: Payment) -> str:
    """The amount of the newest refund that is on its way or there; empty where there is none."""
    newest = payment.refunds.filter(status__in=SENT).order_by("id").last()
    return wording.coins(newest.amount, newest.decimals, newest.cryptocurrency) if newest else ""


def refund_story() -> Story:
    """The timeline entries for events of a payment's refunds."""
    return Story(_WORDS, _amount_of, ids.REFUND, "dashboard_refund", _("The refund"))


def _amount_of(record: Mapping[str, Any]) -> str:
    return coins_of(record, "cryptoAmount")
