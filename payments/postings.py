"""Facts about payments as ledger postings. Pure: builds drafts, writes nothing.

Amounts are positive; a Line adds to an asset with a plus and to a liability with a minus, so every draft sums
to zero. References carry a number, because a reorg can undo a booking and make it again.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from config.money import Asset
from merchants.ledger.chart import AccountKind, suspense
from merchants.ledger.posting import AccountRef, Line, PostingDraft
from payments.chains.networks import SHARED_WALLETS
from payments.models import Deposit, Discrepancy, Payment, Sweep
from payments.states import DiscrepancyKind
from payments.transfers.postings import gas_account, hot_account, payout_account, token_fee_account

PAYMENT = "payment"
"""`Deposit.booked_to` of money that counts for its payment; otherwise a suspense account's kind."""


def chain_account(network: str, asset: str) -> AccountRef:
    """The coins where deposits arrive: at addresses of their own, or on some networks at the hot wallet itself."""
    if network in SHARED_WALLETS:
        return hot_account(network, asset)
    return AccountRef(network, asset, AccountKind.CHAIN_DEPOSIT)


def clearing_account(payment: Payment) -> AccountRef:
    """Received for the payment and not yet released: empty before the first deposit and after the last decision."""
    return AccountRef(payment.network, payment.cryptocurrency, AccountKind.PAYMENT, str(payment.id))


def available_account(payment: Payment, network: str, asset: str) -> AccountRef:
    return AccountRef(network, asset, AccountKind.MERCHANT_AVAILABLE, str(payment.merchant_id))


def receivable_account(payment: Payment, network: str, asset: str) -> AccountRef:
    return AccountRef(network, asset, AccountKind.MERCHANT_RECEIVABLE, str(payment.merchant_id))


def suspense_account(payment: Payment, kind: str, network: str, asset: str) -> AccountRef:
    return AccountRef(network, asset, suspense(kind), str(payment.id))


def deposit_account(deposit: Deposit, payment: Payment | None, booked_to: str) -> AccountRef:
    """The liability that owes this deposit to somebody; to nobody known yet when it names no payment."""
    if booked_to == PAYMENT and payment:
        return clearing_account(payment)
    owner = str(payment.id if payment else deposit.id)
    return AccountRef(deposit.network, deposit.asset, AccountKind(booked_to), owner)


def refundable_account(payment: Payment, discrepancy: Discrepancy | None) -> AccountRef:
    """Where the money is that a refund takes: in suspense, or with the merchant."""
    if discrepancy is None:
        return available_account(payment, payment.network, payment.cryptocurrency)
    return suspense_account(payment, discrepancy.kind, discrepancy.network, discrepancy.asset)


def coins_account(deposit: Deposit) -> AccountRef:
    """The coins of a deposit, which a sweep may have brought to the hot wallet."""
    if deposit.is_swept:
        return hot_account(deposit.network, deposit.asset)
    return chain_account(deposit.network, deposit.asset)


def deposit_booked(deposit: Deposit, payment: Payment | None, booked_to: str) -> PostingDraft:
    """A confirmed deposit is ours on the chain, and owed to whoever `booked_to` says."""
    kind = "deposit_credited" if booked_to == PAYMENT else "deposit_held"
    return PostingDraft(
        kind=kind,
        reference=f"{deposit.environment}:{deposit}:{deposit.booking_count}",
        lines=(
            Line(coins_account(deposit), deposit.amount),
            Line(deposit_account(deposit, payment, booked_to), -deposit.amount),
        ),
    )


def deposit_reversed(deposit: Deposit, coins: Iterable[Line], owed_by: Iterable[Line]) -> PostingDraft:
    """A booked deposit was undone by the chain; `coins` and `owed_by` say what is less for it, ours and owed."""
    return PostingDraft(
        kind="deposit_reversed",
        reference=f"{deposit.environment}:{deposit}:{deposit.booking_count}",
        lines=(*coins, *owed_by),
    )


def payment_released(payment: Payment, *, released: int, surplus: int, owed: int) -> PostingDraft:
    """A completed payment's money becomes the merchant's; what was too much waits in suspense.

    `owed` is what the merchant owes in this coin: that is paid back first.
    """
    lines = [Line(clearing_account(payment), released + surplus)]
    lines += _to_merchant(payment, payment.network, payment.cryptocurrency, released, owed)
    if surplus:
        lines.append(Line(_own_suspense(payment, DiscrepancyKind.OVERPAID), -surplus))
    return _of_payment(payment, "payment_released", lines)


def window_closed(payment: Payment, *, short: int) -> PostingDraft:
    """Too little by the end of the window: it waits in suspense for a decision."""
    return _of_payment(
        payment,
        "window_closed",
        [Line(clearing_account(payment), short), Line(_own_suspense(payment, DiscrepancyKind.UNDERPAID), -short)],
    )


def payment_reopened(payment: Payment, taken_back: tuple[Line, ...]) -> PostingDraft:
    """What had left the clearing account returns to it; `taken_back` are the lines that give it up."""
    total = sum(line.amount for line in taken_back)
    return _of_payment(payment, "payment_reopened", [*taken_back, Line(clearing_account(payment), -total)])


def suspense_accepted(payment: Payment, kind: str, amount: int) -> PostingDraft:
    """Somebody took short or late money as enough: it counts for the payment."""
    return _of_payment(
        payment,
        "suspense_accepted",
        [Line(_own_suspense(payment, kind), amount), Line(clearing_account(payment), -amount)],
    )


def suspense_kept(payment: Payment, kind: str, *, network: str, asset: str, amount: int, owed: int) -> PostingDraft:
    """Somebody let the merchant keep money that is no part of the payment. What the merchant owes is repaid first."""
    return _of_payment(
        payment,
        "suspense_kept",
        [
            Line(suspense_account(payment, kind, network, asset), amount),
            *_to_merchant(payment, network, asset, amount, owed),
        ],
    )


def refund_reserved(
    payment: Payment, discrepancy: Discrepancy | None, *, amount: int, payout_id: uuid.UUID, refund_public_id: str
) -> PostingDraft:
    """Money of a payment is set aside for going back to the payer."""
    source = refundable_account(payment, discrepancy)
    return PostingDraft(
        kind="refund_reserved",
        reference=refund_public_id,
        lines=(Line(source, amount), Line(payout_account(source.network, source.asset, payout_id), -amount)),
    )


def refund_voided(
    payment: Payment,
    discrepancy: Discrepancy | None,
    *,
    amount: int,
    payout_id: uuid.UUID,
    refund_public_id: str,
    owed: int | None,
) -> PostingDraft:
    """It did not go back after all, and is where it was.

    `owed` is None while that is suspense; else what the merchant owes in this coin, which is repaid first.
    """
    source = refundable_account(payment, discrepancy)
    back = (
        [Line(source, -amount)] if owed is None else _to_merchant(payment, source.network, source.asset, amount, owed)
    )
    return PostingDraft(
        kind="refund_voided",
        reference=refund_public_id,
        lines=(Line(payout_account(source.network, source.asset, payout_id), amount), *back),
    )


def sweep_final(sweep: Sweep) -> PostingDraft:
    """A sweep has brought coins to the hot wallet for good."""
    transfer = sweep.transfer
    return PostingDraft(
        kind="sweep_final",
        reference=f"{transfer.network}:{transfer.transaction_hash}",
        lines=(
            Line(hot_account(transfer.network, sweep.asset), sweep.moved),
            Line(chain_account(transfer.network, sweep.asset), -sweep.moved),
        ),
    )


def sweep_fee(sweep: Sweep, fee: int) -> PostingDraft:
    """What the token kept of what a sweep took from deposit addresses: the operator bears that."""
    transfer = sweep.transfer
    return PostingDraft(
        kind="token_fee_kept",
        reference=f"{transfer.network}:{transfer.transaction_hash}",
        lines=(
            Line(token_fee_account(transfer.network, sweep.asset), fee),
            Line(chain_account(transfer.network, sweep.asset), -fee),
        ),
    )


def native_swept(sweep: Sweep, native: Asset) -> PostingDraft:
    """A sweep has brought the network's own coin to the hot wallet, where it pays fees, as an operator asked."""
    transfer = sweep.transfer
    return PostingDraft(
        kind="native_swept",
        reference=f"{transfer.network}:{transfer.transaction_hash}",
        lines=(
            Line(gas_account(native), sweep.moved),
            Line(AccountRef(native.network, native.code, AccountKind.TREASURY), -sweep.moved),
        ),
    )


def suspense_taken(deposit: Deposit, kind: str) -> PostingDraft:
    """What arrived without a name were coins of the operator's own."""
    return PostingDraft(
        kind="treasury_in",
        reference=f"{deposit.environment}:{deposit}:{deposit.booking_count}",
        lines=(
            Line(deposit_account(deposit, None, suspense(kind)), deposit.amount),
            Line(AccountRef(deposit.network, deposit.asset, AccountKind.TREASURY), -deposit.amount),
        ),
    )


def _to_merchant(payment: Payment, network: str, asset: str, amount: int, owed: int) -> list[Line]:
    repaid = min(amount, owed)
    lines = [
        Line(receivable_account(payment, network, asset), -repaid),
        Line(available_account(payment, network, asset), repaid - amount),
    ]
    return [line for line in lines if line.amount]


def _own_suspense(payment: Payment, kind: str) -> AccountRef:
    return suspense_account(payment, kind, payment.network, payment.cryptocurrency)


def _of_payment(payment: Payment, kind: str, lines: list[Line]) -> PostingDraft:
    return PostingDraft(kind=kind, reference=f"{payment.id}:{payment.booking_count}", lines=tuple(lines))
