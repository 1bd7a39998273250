"""Rows of the page of decisions: the event, and the result of each choice."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from config.errors import DomainError
from config.hooks import Hook
from config.pages import wording
from merchants.ledger.chart import AccountKind
from merchants.models import Merchant
from merchants.wording import exact
from payments.chains import registry
from payments.dashboard.rows import order_and_customer
from payments.models import Deposit, Discrepancy, Payment
from payments.states import DiscrepancyKind, DiscrepancyStatus, PaymentStatus
from payments.suspense.acceptance import Acceptance, DiscrepancyResolved, preview_acceptance

MOST_TRANSFERS = 100
"""A payment with more transfers than this is looked into on the page of its decision only."""

SENDERS_SHOWN = 3


class ShownChanged(DomainError):
    code = "shown_changed"

    def __init__(self) -> None:
        super().__init__(_("The result of this action has changed since you opened the page. Check it again."))


@dataclass(frozen=True, slots=True)
class GivingBack:
    """Result of giving money back, in base units; `fiat` is its worth in minor units, where it was quoted.

    `sender` is the one address it came from, as far as it is known without a query to the network. `status` is that of
    the payment once the money has arrived.
    """

    amount: int
    fiat: int | None
    sender: str
    is_possible: bool
    status: PaymentStatus


giving_back: Hook[[Discrepancy, Payment, Sequence[Deposit]], GivingBack] = Hook("giving_back")
"""Preview of giving a discrepancy back, by the payment and all its transfers; refunds provide it."""


@dataclass(frozen=True)
class RecordRow:
    """A refund or settlement that waits, as the page of decisions shows it."""

    key: uuid.UUID
    label: str
    title: str
    happened: str
    what_next: str
    url: str
    action: str
    created_at: datetime


@dataclass(frozen=True)
class Waiting:
    """The records of an upper app that wait for a merchant, and how one is shown."""

    records: QuerySet[Any]
    row: Callable[[Any], RecordRow]


refunds_waiting: Hook[[Merchant, str], Waiting] = Hook("refunds_waiting")
"""Refunds of a merchant in an environment that wait for an address; refunds provide them."""

settlements_waiting: Hook[[Merchant, str], Waiting] = Hook("settlements_waiting")
"""Settlements of a merchant in an environment that wait, or wait for it to decide; settlements provide them."""


@dataclass(frozen=True)
class DecisionRow:
    """Money that waits for its merchant, with the results of accepting it and of giving it back.

    `acceptance` is None while there is no preview of accepting, and in a list. `senders` are the addresses that the
    money came from.
    """

    discrepancy: Discrepancy
    payment: Payment
    acceptance: Acceptance | None
    giving_back: GivingBack
    senders: tuple[str, ...] = ()

    @property
    def key(self) -> uuid.UUID:
        return self.discrepancy.pk

    @property
    def created_at(self) -> datetime:
        return self.discrepancy.created_at

    @property
    def label(self) -> str:
        return str(DiscrepancyKind(self.discrepancy.kind).label)

    @property
    def title(self) -> str:
        return self._coins(self.discrepancy.amount)

    @property
    def worth(self) -> str:
        """Worth at the payment's rate; empty for a coin that was not quoted."""
        fiat = self.giving_back.fiat
        return "" if fiat is None else wording.fiat(fiat, self.payment.currency)

    @property
    def about(self) -> list[tuple[str, str]]:
        """Identity of the money: the order and the customer by the payment's metadata, its link, and its senders."""
        order, customer = order_and_customer(self.payment)
        link = self.payment.payment_link
        shown, more = self.senders[:SENDERS_SHOWN], len(self.senders) - SENDERS_SHOWN
        senders = ", ".join(shown)
        if more > 0:
            senders = _("%(addresses)s and %(number)d more") % {"addresses": senders, "number": more}
        return [
            (_("Order"), order),
            (_("Customer"), customer),
            (_("Payment link"), link.description if link else ""),
            (_("Sent from"), senders),
        ]

    @property
    def happened(self) -> str:
        """The event, in a sentence."""
        payment, deposit = self.payment, self.discrepancy.deposit
        return self._sentence() % {
            "amount": self.title,
            "due": self._own(payment.due),
            "received": self._own(payment.received),
            "missing": self._own(payment.due - payment.received),
            "arrived": exact(deposit.first_block_time if deposit else self.created_at),
            "ended": exact(payment.expires_at),
            "where": self._network(self.discrepancy.network),
            "network": self._network(payment.network),
        }

    def _sentence(self) -> str:
        match self.discrepancy.kind:
            case DiscrepancyKind.LATE if self.payment.status == PaymentStatus.CANCELLED:
                return _("%(amount)s arrived on %(arrived)s for a cancelled payment of %(due)s.")
            case DiscrepancyKind.LATE:
                return _("%(amount)s arrived on %(arrived)s. The payment of %(due)s had to be paid by %(ended)s.")
            case DiscrepancyKind.OVERPAID:
                return _("%(received)s arrived for a payment of %(due)s: %(amount)s too much.")
            case DiscrepancyKind.UNDERPAID:
                return _("%(received)s of %(due)s arrived in time: %(missing)s were missing.")
            case DiscrepancyKind.WRONG_TOKEN:
                return _("%(amount)s arrived, and the payment asked for %(due)s.")
            case _:
                return _("%(amount)s arrived on %(where)s, and the payment asked for %(due)s on %(network)s.")

    @property
    def if_accepted(self) -> str:
        """Result of accepting, to the last digit; empty while that is not known."""
        done = self.acceptance
        if done is None:
            return ""
        words = [_("%(amount)s are added to your balance.") % {"amount": self._coins(done.gained)}]
        if done.repaid:
            words.append(_("%(amount)s of it repay what you owe.") % {"amount": self._coins(done.repaid)})
        if done.surplus:
            words.append(
                _("%(amount)s are more than was asked for. They wait for a separate decision.")
                % {"amount": self._coins(done.surplus)}
            )
        words.append(self._becomes(done.status))
        link = self.payment.payment_link
        gave_back = (PaymentStatus.EXPIRED, PaymentStatus.CANCELLED)
        if link and link.max_uses is not None and self.payment.status in gave_back and done.status not in gave_back:
            words.append(
                _(
                    "The payment link has already offered this payment’s place to other payers: it may now be "
                    "paid more than %(all)s times."
                )
                % {"all": wording.whole(link.max_uses)}
            )
        return " ".join(words)

    @property
    def if_given_back(self) -> str:
        """Result of giving it back, to the last digit."""
        given = self.giving_back
        if not given.is_possible:
            return _("Everything that came in for this payment is already refunded.")
        values = {"amount": self._coins(given.amount), "sender": wording.short_hash(given.sender)}
        words = _("%(amount)s go back to the payer, who needs to give an address.") % values
        if given.sender:
            words = _("%(amount)s go back to the sender, %(sender)s.") % values
        return " ".join([words, _("Your balance does not change, and no fee is taken."), self._becomes(given.status)])

    def _becomes(self, status: PaymentStatus) -> str:
        values = {"status": PaymentStatus(status).label}
        if status == self.payment.status:
            return _("The payment stays “%(status)s”.") % values
        return _("The payment becomes “%(status)s”.") % values

    @property
    def fingerprint(self) -> str:
        """Changes when what a choice would do has changed since it was shown."""
        shown = self.acceptance, self.giving_back.amount, self.giving_back.is_possible, self.discrepancy.status
        return sha256(repr(shown).encode()).hexdigest()

    def _coins(self, units: int) -> str:
        return wording.coins(units, self.discrepancy.decimals, self.discrepancy.asset)

    def _own(self, units: int) -> str:
        """An amount of the payment's coin."""
        return wording.coins(units, self.payment.decimals, self.payment.cryptocurrency)

    def _network(self, network: str) -> str:
        return registry.known_profile(self.discrepancy.environment, network).name


def address_of(discrepancy: Discrepancy) -> str:
    """Address of the list of decisions with this one first on its page."""
    after = uuid.UUID(int=discrepancy.pk.int + 1)
    return f"{reverse('dashboard_decisions')}?before={after}#{discrepancy.public_id}"


def undecided(merchant: Merchant, environment: str) -> QuerySet[Discrepancy]:
    """Money of a merchant's payments that waits for its decision."""
    return Discrepancy.objects.filter(
        merchant=merchant, environment=environment, status=DiscrepancyStatus.OPEN, payment__isnull=False
    ).decidable()


def payment_of(discrepancy: Discrepancy) -> Payment:
    """The payment that the money was sent for; what merchants decide about always names one."""
    if discrepancy.payment is None:
        raise RuntimeError(f"{discrepancy} names no payment")
    return discrepancy.payment


def decision_rows(discrepancies: Sequence[Discrepancy]) -> list[DecisionRow]:
    """The rows of these open discrepancies, read at once however many they are; without what accepting would do."""
    payments = {payment.pk: payment for payment in map(payment_of, discrepancies)}
    short = [key for key, payment in payments.items() if payment.deposit_count <= MOST_TRANSFERS]
    return _rows(discrepancies, short)


def decision_row(discrepancy: Discrepancy, *, previews: bool = True) -> DecisionRow:
    """The row of one open discrepancy, whatever its payment has received; `previews` adds the result of accepting."""
    payment = payment_of(discrepancy)
    [row] = _rows([discrepancy], [payment.pk])
    return replace(row, acceptance=preview_acceptance(discrepancy, payment)) if previews else row


def locked_as_shown(discrepancy: Discrepancy, shown: str, *, previews: bool = True) -> DecisionRow:
    """The row that a page has shown, under the lock of its payment; ShownChanged when a choice would do something else
    by now."""
    Payment.objects.select_for_update().get(pk=payment_of(discrepancy).pk)
    current = Discrepancy.objects.select_related("payment__payment_link", "deposit").get(pk=discrepancy.pk)
    if current.status != DiscrepancyStatus.OPEN:
        raise DiscrepancyResolved
    row = decision_row(current, previews=previews)
    if shown != row.fingerprint:
        raise ShownChanged
    return row


def _rows(discrepancies: Sequence[Discrepancy], looked_into: Sequence[uuid.UUID]) -> list[DecisionRow]:
    deposits: defaultdict[uuid.UUID | None, list[Deposit]] = defaultdict(list)
    for deposit in Deposit.objects.filter(payment__in=looked_into).order_by("first_block_time", "id"):
        deposits[deposit.payment_id].append(deposit)
    payments = [(each, payment_of(each)) for each in discrepancies]
    return [
        DecisionRow(each, own, None, giving_back(each, own, deposits[own.pk]), _senders(each, deposits[own.pk]))
        for each, own in payments
    ]


def _senders(discrepancy: Discrepancy, deposits: Sequence[Deposit]) -> tuple[str, ...]:
    """Senders of the money: of one transfer its sender, of a payment's money all senders, the first first."""
    if discrepancy.deposit:
        return (discrepancy.deposit.sender,)
    counted = [each.sender for each in deposits if each.booked_to == AccountKind.PAYMENT]
    return tuple(dict.fromkeys(counted or (each.sender for each in deposits)))
