"""Undoing bookings that rest on a transfer the chain no longer confirms. What follows is judged afresh."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.utils import timezone

from merchants.ledger.posting import AccountRef, InsufficientFunds, Line, lock_accounts
from payments import postings
from payments.changes import Changes
from payments.models import Deposit, Discrepancy, Payment
from payments.states import (
    DEPOSIT_MOVES,
    DISCREPANCY_MOVES,
    DepositStatus,
    DiscrepancyKind,
    DiscrepancyStatus,
)
from payments.transfers.postings import hot_account

Balances = dict[AccountRef, int]
"""Locked accounts and what is left in them, counting what this judgement has taken already."""


def undo_lost_bookings(
    payment: Payment, deposits: Iterable[Deposit], confirmed: set[uuid.UUID], changes: Changes
) -> None:
    """Take back every booking of a deposit that is not confirmed any more."""
    for deposit in deposits:
        if deposit.booked_to and deposit.status == DepositStatus.SEEN and deposit.id in confirmed:
            _credit_again(deposit)
    lost = [deposit for deposit in deposits if deposit.booked_to and deposit.id not in confirmed]
    if not lost:
        return
    balances = lock_accounts(_accounts(payment, lost), environment=payment.environment)
    if any(deposit.booked_to == postings.PAYMENT for deposit in lost):
        _reopen(payment, balances, changes)
    for deposit in lost:
        if deposit.booked_to == postings.PAYMENT:
            for discrepancy in deposit.discrepancies.select_for_update().exclude(status=DiscrepancyStatus.VOID):
                _void(discrepancy)  # accepted late money: should it come back, it is late again
            owed_by = (Line(postings.clearing_account(payment), deposit.amount),)
            _reverse(deposit, owed_by, balances, changes)
        else:
            reverse_held(deposit, payment, balances, changes)
        changes.tell_reversal()


def reverse_held(deposit: Deposit, payment: Payment | None, balances: Balances, changes: Changes) -> None:
    """Take back a deposit that is in suspense, or that was taken out of it by a decision."""
    discrepancy = deposit.discrepancies.select_for_update().exclude(status=DiscrepancyStatus.VOID).get()
    account = postings.deposit_account(deposit, payment, deposit.booked_to)
    _reverse(deposit, _taken_back(discrepancy, account, payment, balances), balances, changes)


def _credit_again(deposit: Deposit) -> None:
    """Mined again in another block, and deep enough already: nothing to undo."""
    DEPOSIT_MOVES.check(deposit.status, DepositStatus.CREDITED)
    deposit.status = DepositStatus.CREDITED
    deposit.save(update_fields=["status"])


def _reverse(deposit: Deposit, owed_by: tuple[Line, ...], balances: Balances, changes: Changes) -> None:
    deposit.booking_count += 1
    deposit.booked_to, deposit.credited_at = "", None
    deposit.save(update_fields=["booked_to", "credited_at", "booking_count"])
    changes.drafts.append(postings.deposit_reversed(deposit, _lost_coins(deposit, balances), owed_by))


def _lost_coins(deposit: Deposit, balances: Balances) -> list[Line]:
    """The coins that are not there after all: taken from where the deposit's own are, by the books.

    A sweep empties whole addresses, and what it brought is spent. When the deposit's coins are not all there any more,
    the rest is missing at the other place.
    """
    network, asset = deposit.network, deposit.asset
    left, lines = deposit.amount, []
    places = [postings.coins_account(deposit), postings.chain_account(network, asset), hot_account(network, asset)]
    for place in dict.fromkeys(places):
        if taken := min(left, balances.get(place, left)):
            lines.append(Line(place, -taken))
            left -= taken
            if place in balances:
                balances[place] -= taken
    if left:
        raise InsufficientFunds(places[0], available=deposit.amount - left, needed=deposit.amount)
    return lines


def _reopen(payment: Payment, balances: Balances, changes: Changes) -> None:
    """Bring everything that left the clearing account back into it, so that the judge can start afresh.

    What a person took as enough is not all there any more: less than that is for a person to accept again.
    """
    network, asset = payment.network, payment.cryptocurrency
    lines: list[Line] = []
    if payment.released:
        lines += _from_merchant(payment, network, asset, payment.released, balances)
    held = payment.discrepancies.select_for_update().exclude(status=DiscrepancyStatus.VOID)
    for discrepancy in held.filter(kind__in=[DiscrepancyKind.OVERPAID, DiscrepancyKind.UNDERPAID]):
        if discrepancy.kind == DiscrepancyKind.UNDERPAID and payment.closed_at is None:
            _void(discrepancy)  # accepted: its money is in the clearing account, or released with the rest
            continue
        account = postings.suspense_account(payment, discrepancy.kind, network, asset)
        lines += _taken_back(discrepancy, account, payment, balances)
    if lines:
        payment.booking_count += 1
        changes.drafts.append(postings.payment_reopened(payment, _merged(lines)))
    payment.released = payment.surplus = payment.short = 0
    payment.closed_at, payment.accepted = None, False


def _taken_back(
    discrepancy: Discrepancy, account: AccountRef, payment: Payment | None, balances: Balances
) -> tuple[Line, ...]:
    """The lines that give up the money of a discrepancy when it turns out never to have arrived.

    What was accepted is the merchant's by then. What was refunded is gone, or reserved for going: the merchant owes it.
    """
    was_open = discrepancy.status == DiscrepancyStatus.OPEN
    _void(discrepancy)
    if was_open or payment is None:
        return (Line(account, discrepancy.amount),)
    return tuple(_from_merchant(payment, discrepancy.network, discrepancy.asset, discrepancy.amount, balances))


def _void(discrepancy: Discrepancy) -> None:
    DISCREPANCY_MOVES.check(discrepancy.status, DiscrepancyStatus.VOID)
    discrepancy.status, discrepancy.resolved_at = DiscrepancyStatus.VOID, timezone.now()
    discrepancy.save(update_fields=["status", "resolved_at"])


def _from_merchant(payment: Payment, network: str, asset: str, amount: int, balances: Balances) -> list[Line]:
    """Out of the merchant's balance as far as it goes; the rest is what the merchant owes."""
    available = postings.available_account(payment, network, asset)
    there = min(amount, balances[available])
    balances[available] -= there
    lines = [Line(available, there)] if there else []
    if amount > there:
        lines.append(Line(postings.receivable_account(payment, network, asset), amount - there))
    return lines


def _accounts(payment: Payment, lost: Iterable[Deposit]) -> set[AccountRef]:
    """Every account that undoing these deposits may touch."""
    accounts = {postings.clearing_account(payment)}
    for kind in (DiscrepancyKind.OVERPAID, DiscrepancyKind.UNDERPAID):
        accounts.add(postings.suspense_account(payment, kind, payment.network, payment.cryptocurrency))
    places = {(deposit.network, deposit.asset) for deposit in lost} | {(payment.network, payment.cryptocurrency)}
    for network, asset in places:
        accounts.add(postings.chain_account(network, asset))
        accounts.add(hot_account(network, asset))
        accounts.add(postings.available_account(payment, network, asset))
        accounts.add(postings.receivable_account(payment, network, asset))
    accounts.update(postings.deposit_account(deposit, payment, deposit.booked_to) for deposit in lost)
    return accounts


def _merged(lines: Iterable[Line]) -> tuple[Line, ...]:
    totals: dict[AccountRef, int] = {}
    for line in lines:
        totals[line.account] = totals.get(line.account, 0) + line.amount
    return tuple(Line(account, amount) for account, amount in totals.items())
