"""Payments and transfers as tables show them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from config.pages import wording
from merchants.ledger.chart import AccountKind
from payments.chains import registry
from payments.dashboard.search.texts import Match
from payments.models import Deposit, Discrepancy, Payment
from payments.states import DepositStatus, DiscrepancyKind, DiscrepancyStatus

PAYMENT_COLUMNS = (
    {"label": gettext_lazy("Amount"), "number": True},
    {"label": gettext_lazy("Status")},
    {"label": gettext_lazy("Received"), "number": True},
    {"label": gettext_lazy("For")},
    {"label": gettext_lazy("Created")},
)
RECENT_COLUMNS = PAYMENT_COLUMNS[:4]
DEPOSIT_COLUMNS = (
    {"label": gettext_lazy("On-chain transaction")},
    {"label": gettext_lazy("Amount"), "number": True},
    {"label": gettext_lazy("Confirmations"), "number": True},
    {"label": gettext_lazy("Status")},
)


_NAMES_OF_ORDERS = (
    "order", "ordernumber", "orderid", "orderref", "orderreference", "invoice", "invoicenumber", "invoiceid",
    "reference",
)  # fmt: skip
_NAMES_OF_CUSTOMERS = ("customer", "customername", "customerid", "customeremail", "name", "email")
"""Names of the order and the customer in shops' metadata, the most specific first; without case, `_` and `-`."""


def what_for(payment: Payment) -> str:
    """The order or the customer that the metadata names, else its description or that of its payment link."""
    order, customer = order_and_customer(payment)
    of_link = payment.payment_link.description if payment.payment_link else ""
    return order or customer or payment.description or of_link


def order_and_customer(payment: Payment) -> tuple[str, str]:
    """The order and the customer in the metadata; empty for what it does not name."""
    named = {
        name.lower().replace("_", "").replace("-", ""): str(value)
        for name, value in payment.metadata.items()
        if isinstance(value, str | int) and str(value).strip()
    }
    order, customer = (
        next((named[name] for name in names if name in named), "") for names in (_NAMES_OF_ORDERS, _NAMES_OF_CUSTOMERS)
    )
    return order, customer


@dataclass(frozen=True)
class PaymentRow:
    """A payment as lists show it. What it is for and whether it waits come with `PaymentQuerySet.for_lists`."""

    payment: Payment

    @property
    def price(self) -> str:
        return wording.fiat(self.payment.fiat_amount, self.payment.currency)

    @property
    def reference(self) -> str:
        return wording.short_id(self.payment.public_id)

    @property
    def network(self) -> str:
        return registry.known_profile(self.payment.environment, self.payment.network).name

    @property
    def received(self) -> str:
        """Amount that came in time and is confirmed, or was accepted; empty where nothing did."""
        if not self.payment.received:
            return ""
        units = wording.coins_held(self.payment.received, self.payment.decimals)
        return f"{wording.grouped(units)} {self.coin}"

    @property
    def what_for(self) -> str:
        return what_for(self.payment)

    @property
    def match(self) -> Match | None:
        """The part of it that was searched for; it comes with `Searched.with_matches`."""
        return getattr(self.payment, "match", None)

    @property
    def waits_for_decision(self) -> bool:
        return bool(getattr(self.payment, "waits_for_decision", False))

    @property
    def due(self) -> str:
        return f"{wording.grouped(wording.coins_to_send(self.payment.due, self.payment.decimals))} {self.coin}"

    @property
    def coin(self) -> str:
        return self.payment.cryptocurrency


@dataclass(frozen=True)
class RefundsOfPayment:
    """The newest refunds of a payment, for its page."""

    columns: tuple[Mapping[str, str | Promise], ...]
    rows: Sequence[object]
    keys: Sequence[uuid.UUID]
    given_back: frozenset[uuid.UUID | None]
    """The discrepancies whose money has arrived at the payer."""
    is_possible: bool
    """True if something is left to give back."""


@dataclass(frozen=True)
class DepositRow:
    """An on-chain transfer as the payment's page shows it, with the newest block of its network.

    `decisions` are the discrepancies of the payment that are not void, `given_back` those of them whose refund has
    arrived.
    """

    deposit: Deposit
    payment: Payment
    head: int
    decisions: Sequence[Discrepancy] = ()
    given_back: frozenset[uuid.UUID | None] = frozenset()

    @property
    def badge(self) -> str:
        return self._standing[0]

    @property
    def status(self) -> str:
        """Status in words. `Credited` is only what the merchant has, or had until it gave it back."""
        return self._standing[1]

    @property
    def note(self) -> str:
        """The reason for the status, or what it waits for."""
        return self._standing[2]

    @cached_property
    def _standing(self) -> tuple[str, str, str]:
        """Badge, status and note."""
        match self.deposit.status:
            case DepositStatus.ORPHANED:
                return "orphaned", _("Undone"), _("by a reorganisation of the network")
            case DepositStatus.SEEN:
                is_late = self.deposit.first_block_time > self.payment.expires_at
                return ("warn" if is_late else "seen"), _("Confirming"), _("arrived late") if is_late else ""
        if self.deposit.booked_to not in ("", AccountKind.PAYMENT):
            own = [each for each in self.decisions if each.deposit_id == self.deposit.pk]
            kind = str(DiscrepancyKind(self.deposit.booked_to.removeprefix("suspense:")).label)
            return self._decided(own[-1] if own else None, kind)
        short = [each for each in self.decisions if each.kind == DiscrepancyKind.UNDERPAID]
        if self.payment.short and short:
            return self._decided(short[-1], _("Too little"))
        if not self.payment.released:
            return "warn", _("Confirmed"), _("not enough yet")
        if self.deposit.missing:
            return "credited", _("Credited"), _("missing on the network")
        surplus = [each for each in self.decisions if each.kind == DiscrepancyKind.OVERPAID]
        waits = any(each.status == DiscrepancyStatus.OPEN for each in surplus)
        return "credited", _("Credited"), _("a part waits for your decision") if waits else ""

    def _decided(self, decision: Discrepancy | None, kind: str) -> tuple[str, str, str]:
        """The standing of a transfer that did not count for its payment by itself."""
        if decision is None or decision.status == DiscrepancyStatus.OPEN:
            in_review = decision is not None and decision.kind == DiscrepancyKind.REVIEW
            return "warn", kind, "" if in_review else _("waits for your decision")
        if decision.status == DiscrepancyStatus.ACCEPTED:
            return "credited", _("Accepted"), kind
        arrived = decision.pk in self.given_back
        return ("calm", _("Refunded"), kind) if arrived else ("pending", _("Being refunded"), kind)

    @property
    def amount(self) -> str:
        units = wording.grouped(wording.coins_held(self.deposit.amount, self.deposit.decimals))
        return f"{units} {self.deposit.asset}"

    @property
    def short_hash(self) -> str:
        return wording.short_hash(self.deposit.transaction_hash)

    @property
    def conflict(self) -> str:
        """A note about a memo beside a muxed address with another one."""
        if not self.deposit.conflicting_memo:
            return ""
        return _("Its memo was %(memo)s, but it was sent to the muxed address of this payment. The address counts.") % {
            "memo": self.deposit.conflicting_memo
        }

    @property
    def confirmations(self) -> int:
        return 0 if self.deposit.status == DepositStatus.ORPHANED else max(0, self.head - self.deposit.height + 1)
