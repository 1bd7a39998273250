"""Suggests the payment an unattributed deposit may belong to: by missing amount when it came, by a similar memo, or by
the payment's own address. Only ever a hint."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, Q, QuerySet

from config import ids
from config.database.database_time import CLOCKS_APART
from config.pages import wording
from payments.chains.networks import NETWORKS
from payments.deposits.addresses import is_older
from payments.models import Deposit, Discrepancy, Payment
from payments.states import DiscrepancyKind, DiscrepancyStatus, PaymentStatus

MOST_SUGGESTED = 20
NEAR_PERCENT = 5
NEAR_IN_TIME = timedelta(days=1)
DIGITS = "0123456789"
SHORTEST_MEMO, LONGEST_MEMO = 9, 24
"""Digits of a number that can be a memo with a mistake: those of payments have 10 to 16."""
_LACKING = [PaymentStatus.CREATED, PaymentStatus.UNDERPAID, PaymentStatus.EXPIRED]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A payment that money may be for, and what speaks for it."""

    payment: Payment
    is_exact: bool
    """True if it lacks exactly this money, and its window was open when it came."""
    is_sender_known: bool
    """The same address has paid this merchant before."""
    is_named: bool
    """The merchant has named the on-chain transaction for this payment."""
    is_memo_similar: bool = False
    """True if its memo is the one that came but for one digit, or stands in the text that came."""
    is_address_own: bool = False
    """The money came to this payment's own address, before the payment existed."""

    def __str__(self) -> str:
        return f"{self.payment.public_id} of {self.payment.merchant.name} ({', '.join(self.reasons)})"

    @property
    def reasons(self) -> list[str]:
        """What speaks for it, in words."""
        reasons = ["lacks exactly this amount" if self.is_exact else self._lacks()]
        reasons += ["it has the address that the money came to"] * self.is_address_own
        reasons += [f"its memo is {self.payment.memo}"] * self.is_memo_similar
        reasons += ["its merchant has named this transaction"] * self.is_named
        reasons += ["this sender has paid the same merchant before"] * self.is_sender_known
        return reasons

    def _lacks(self) -> str:
        payment = self.payment
        lacks = wording.coins(max(0, payment.due - payment.received), payment.decimals, payment.cryptocurrency)
        return f"lacks {lacks}, and could be paid until {payment.closes_at:%Y-%m-%d %H:%M} UTC"


def waiting_for_payment() -> Q:
    """Money in suspense that belongs to no payment and can be given one: it is unrequested, or no memo names the
    payment that it is for."""
    return Q(
        status=DiscrepancyStatus.OPEN,
        payment__isnull=True,
        deposit__isnull=False,
        kind__in=[DiscrepancyKind.NO_MEMO, DiscrepancyKind.UNASKED],
        merchant=None,
    )


def suggestions(discrepancy: Discrepancy) -> list[Suggestion]:
    """The payments that such money may be for, those that most speaks for first."""
    deposit = discrepancy.deposit
    if deposit is None or discrepancy.payment_id:
        return []
    if not NETWORKS[discrepancy.network].real.shares_account:
        return [_of_address(payment, deposit) for payment in _at_address(deposit)]
    named = {each.payment_id: each.payment for each in discrepancy.named_for.select_related("payment__merchant")}
    similar = _by_key(_with_similar_memo(deposit))
    lacks = _by_key(_lacking(deposit))
    found = {**_by_key(_lacking_about(deposit)), **lacks, **similar, **named}
    merchants = {payment.merchant_id for payment in found.values()}
    before = Deposit.objects.filter(environment=deposit.environment, network=deposit.network, sender=deposit.sender)
    paid_before = set(
        before.filter(payment__merchant__in=merchants).values_list("payment__merchant_id", flat=True).distinct()
    )
    listed = [
        Suggestion(payment, key in lacks, payment.merchant_id in paid_before, key in named, key in similar)
        for key, payment in found.items()
    ]
    listed.sort(
        key=lambda each: (not each.is_named, not each.is_memo_similar, not each.is_exact, not each.is_sender_known)
    )
    return listed[:MOST_SUGGESTED]


def _by_key(payments: QuerySet[Payment]) -> dict[uuid.UUID, Payment]:
    """The newest of them, with their merchants."""
    return {payment.pk: payment for payment in payments.select_related("merchant").order_by("-id")[:MOST_SUGGESTED]}


def _of_address(payment: Payment, deposit: Deposit) -> Suggestion:
    is_exact = payment.due - payment.received == deposit.amount and payment.cryptocurrency == deposit.asset
    return Suggestion(payment, is_exact, is_sender_known=False, is_named=False, is_address_own=True)


def suggested_payment(found: list[Suggestion]) -> Payment | None:
    """The one payment that the suggestion names: the only one that lacked this money, or the only one of them whose
    merchant this sender has paid."""
    exact = [each for each in found if each.is_exact]
    best = [each for each in exact if each.is_sender_known] or exact
    return best[0].payment if len(best) == 1 else None


def may_be_for(payment: Payment) -> list[Discrepancy]:
    """Money that waits for its payment and may be for this one, as far as its merchant may know."""
    if payment.status not in _LACKING or not NETWORKS[payment.network].real.shares_account:
        return []
    waiting = Discrepancy.objects.filter(
        waiting_for_payment(),
        environment=payment.environment,
        network=payment.network,
        asset=payment.cryptocurrency,
        amount=payment.due - payment.received,
        deposit__first_block_time__gte=payment.created_at - CLOCKS_APART,
        deposit__first_block_time__lte=payment.closes_at,
    ).select_related("deposit")
    return [each for each in waiting.order_by("id")[:MOST_SUGGESTED] if suggested_payment(suggestions(each)) == payment]


def describe(discrepancy: Discrepancy) -> str:
    """The money that came and its possible payments, as sentences for the operators who decide."""
    deposit = discrepancy.deposit
    amount = wording.coins(discrepancy.amount, discrepancy.decimals, discrepancy.asset)
    if deposit is None:
        return f"{amount} on {discrepancy.network} came by no deposit of its own."
    memo = f"with the memo {deposit.memo}" if deposit.memo else "without a memo"
    if not NETWORKS[discrepancy.network].real.shares_account:
        memo = f"at {deposit.recipient}"
    if deposit.conflicting_memo:
        memo = f"for the muxed id {deposit.memo}, with the memo {deposit.conflicting_memo} beside it"
    came = f"{amount} came on {discrepancy.network} at {deposit.first_block_time:%Y-%m-%d %H:%M:%S} UTC, {memo}"
    found = suggestions(discrepancy)
    may_be = (
        "; ".join(map(str, found))
        if found
        else "no payment lacked about this amount then, and none has a memo like this one"
        if NETWORKS[discrepancy.network].real.shares_account
        else "no payment has this address yet"
    )
    sender = deposit.sender or "a sender that nobody saw"
    return f"{came}, from {sender}, in {deposit.transaction_hash}. Suggested, not proven: {may_be}."


def _at_address(deposit: Deposit) -> QuerySet[Payment]:
    """The payment that has the address a deposit came to, if there is one by now."""
    at_address = Payment.objects.filter(environment=deposit.environment).paid_at([deposit.recipient])
    return at_address.select_related("merchant")


def _lacking(deposit: Deposit) -> QuerySet[Payment]:
    """Payments that were open when a deposit came, and lack exactly its amount of its coin."""
    return Payment.objects.filter(
        environment=deposit.environment,
        network=deposit.network,
        cryptocurrency=deposit.asset,
        status__in=_LACKING,
        due=F("received") + deposit.amount,
        closes_at__gte=deposit.first_block_time,
        id__lt=ids.first_uuid_at(deposit.first_block_time + CLOCKS_APART),
    )


def _lacking_about(deposit: Deposit) -> QuerySet[Payment]:
    """Payments that lack about a deposit's amount of its coin, and were open when it came or a day before."""
    return (
        Payment.objects.filter(
            environment=deposit.environment,
            network=deposit.network,
            cryptocurrency=deposit.asset,
            status__in=_LACKING,
            closes_at__gte=deposit.first_block_time - NEAR_IN_TIME,
            id__lt=ids.first_uuid_at(deposit.first_block_time + CLOCKS_APART),
        )
        .annotate(lacks=F("due") - F("received"))
        .filter(
            lacks__gte=deposit.amount * (100 - NEAR_PERCENT) // 100,
            lacks__lte=deposit.amount * (100 + NEAR_PERCENT) // 100,
        )
    )


def _with_similar_memo(deposit: Deposit) -> QuerySet[Payment]:
    """Payments whose memo is like the one that came, whatever they lack."""
    memos = similar_memos(deposit.memo) | similar_memos(deposit.conflicting_memo)
    own = Payment.objects.filter(environment=deposit.environment).paid_at([deposit.recipient], memos)
    return own.filter(id__lt=ids.first_uuid_at(deposit.first_block_time + CLOCKS_APART))


def similar_memos(text: str) -> set[str]:
    """The memos that somebody may have meant who wrote this one: each number in it, and each that differs by a digit
    more, less or other, or by two neighbours that changed places. Short numbers are like too many."""
    found: set[str] = set()
    for number in re.findall(r"[0-9]+", text):
        if not SHORTEST_MEMO <= len(number) <= LONGEST_MEMO:
            continue
        cuts = [(number[:at], number[at:]) for at in range(len(number) + 1)]
        found.add(number)
        found |= {head + tail[1:] for head, tail in cuts if tail}
        found |= {head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1}
        found |= {head + digit + tail[1:] for head, tail in cuts if tail for digit in DIGITS}
        found |= {head + digit + tail for head, tail in cuts for digit in DIGITS}
    return found


def is_too_young(deposit: Deposit, payment: Payment) -> bool:
    """True if a payment did not exist yet when a deposit came: it cannot have been meant for it."""
    return is_older(deposit.first_block_time, payment.pk)
