"""Facts about payments as ledger postings. Pure: builds drafts, writes nothing.

Amounts are positive; a Line adds to an asset with a plus and to a liability with a minus, so every draft sums
to zero. References carry a number, because a reorg can undo a booking and make it again.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from itertools import count

from merchants.ledger.chart import AccountKind, suspense
from merchants.ledger.posting import AccountRef, InsufficientFunds, Line, PostingDraft
from payments.chains.networks import NETWORKS
from payments.deposits.assessment_effects import AssessmentEffects, DepositEffects
from payments.deposits.models import PayerReturn
from payments.models import Deposit, Discrepancy, Payment
from payments.states import OWN_KINDS, DiscrepancyKind, DiscrepancyStatus
from payments.transfers.postings import cold_account, hot_account, payout_account

Balances = Mapping[AccountRef, int]
"""Natural balances of locked accounts."""


def chain_account(network: str, asset: str) -> AccountRef:
    """The coins where deposits arrive: at addresses of their own, or on some networks at the hot wallet itself."""
    if NETWORKS[network].real.shares_account:
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
    if booked_to == AccountKind.PAYMENT and payment:
        return clearing_account(payment)
    owner = str(payment.id if payment else deposit.id)
    return AccountRef(deposit.network, deposit.asset, AccountKind(booked_to), owner)


def refundable_account(payment: Payment, discrepancy: Discrepancy | None) -> AccountRef:
    """The account that a refund takes its money from: suspense, or the merchant's balance."""
    if discrepancy is None:
        return available_account(payment, payment.network, payment.cryptocurrency)
    return suspense_account(payment, discrepancy.kind, discrepancy.network, discrepancy.asset)


def coins_account(deposit: Deposit) -> AccountRef:
    """The coins of a deposit, which a sweep may have brought to the hot or the cold wallet."""
    if deposit.sweep is not None and deposit.is_swept:
        swept_to = cold_account if deposit.sweep.cold_wallet_id else hot_account
        return swept_to(deposit.network, deposit.asset)
    return chain_account(deposit.network, deposit.asset)


def accounts_touched(payment: Payment, effects: AssessmentEffects) -> set[AccountRef]:
    """Every account that the postings of an assessment may touch."""
    deposits = [*effects.booked, *((deposit, deposit.booked_to) for deposit, _ in effects.lost)]
    accounts = {clearing_account(payment), *(_own_suspense(payment, kind) for kind in OWN_KINDS)}
    accounts.update(deposit_account(deposit, payment, kind) for deposit, kind in deposits)
    coins = {(deposit.network, deposit.asset) for deposit, _ in deposits} | {(payment.network, payment.cryptocurrency)}
    for network, asset in coins:
        accounts |= {available_account(payment, network, asset), receivable_account(payment, network, asset)}
        accounts |= {chain_account(network, asset), hot_account(network, asset), cold_account(network, asset)}
    return accounts


def assessment_postings(payment: Payment, effects: AssessmentEffects, balances: Balances) -> list[PostingDraft]:
    """The postings that an assessment leads to, in their order. `balances` are those of `accounts_touched`, locked;
    empty when nothing is lost.

    InsufficientFunds when the coins of a lost deposit are nowhere.
    """
    left, numbers = dict(balances), count(payment.booking_count + 1)
    clearing = clearing_account(payment)

    undone = [*effects.reopened, *(discrepancy for _, discrepancy in effects.lost if discrepancy)]
    refunded = [each for each in undone if each.status == DiscrepancyStatus.REFUNDED]
    drafts = [_refund_covered(payment, discrepancy, left) for discrepancy in refunded]
    back = _taken_back(payment, effects, left)
    if back:
        lines = [*back, Line(clearing, -sum(line.amount for line in back))]
        drafts.append(_of_payment(payment, "payment_reopened", lines, number=next(numbers)))
    drafts += deposit_postings(effects, payment, left)
    if effects.released or effects.surplus:
        lines = [Line(clearing, effects.released + effects.surplus)]
        if effects.released:
            available = available_account(payment, payment.network, payment.cryptocurrency)
            lines.append(Line(available, -effects.released))
        if effects.surplus:
            lines.append(Line(_own_suspense(payment, DiscrepancyKind.OVERPAID), -effects.surplus))
        drafts.append(_of_payment(payment, "payment_released", lines, number=next(numbers)))
    if effects.short:
        short = _own_suspense(payment, DiscrepancyKind.UNDERPAID)
        lines = [Line(clearing, effects.short), Line(short, -effects.short)]
        drafts.append(_of_payment(payment, "window_closed", lines, number=next(numbers)))
    return drafts


def deposit_postings(
    effects: DepositEffects, payment: Payment | None = None, left: dict[AccountRef, int] | None = None
) -> list[PostingDraft]:
    """The postings that take lost deposits out of the ledger and confirmed ones into it.

    `left` is what is left in the locked accounts; what these postings move is counted in it.
    """
    left = {} if left is None else left
    return [
        *(_deposit_reversed(deposit, discrepancy, payment, left) for deposit, discrepancy in effects.lost),
        *(_deposit_booked(deposit, payment, booked_to) for deposit, booked_to in effects.booked),
    ]


def _deposit_booked(deposit: Deposit, payment: Payment | None, booked_to: str) -> PostingDraft:
    """A confirmed deposit is ours on the chain, and owed to the account of `booked_to`."""
    coins, owed = coins_account(deposit), deposit_account(deposit, payment, booked_to)
    kind = "deposit_credited" if booked_to == AccountKind.PAYMENT else "deposit_held"
    return _of_deposit(deposit, kind, [Line(coins, deposit.amount), Line(owed, -deposit.amount)])


def _deposit_reversed(
    deposit: Deposit, discrepancy: Discrepancy | None, payment: Payment | None, left: dict[AccountRef, int]
) -> PostingDraft:
    """A booked deposit was undone by the chain: its coins are not there, and nobody is owed them any more."""
    if discrepancy is None:
        owed = [Line(deposit_account(deposit, payment, deposit.booked_to), deposit.amount)]
    else:
        owed = _given_up(discrepancy, deposit_account(deposit, payment, deposit.booked_to), payment, left)
    return _of_deposit(deposit, "deposit_reversed", [*_lost_coins(deposit, left), *owed])


def _lost_coins(deposit: Deposit, left: dict[AccountRef, int]) -> list[Line]:
    """The coins that are not there after all: taken from where the deposit's own are, as the ledger has it.

    A sweep empties whole addresses, and what it brought is spent. When the deposit's coins are not all there any more,
    the rest is missing at the other account. An account whose balance is not known is taken to hold enough.
    """
    network, asset = deposit.network, deposit.asset
    missing, lines = deposit.amount, []
    wallets = hot_account(network, asset), cold_account(network, asset)
    accounts = dict.fromkeys([coins_account(deposit), chain_account(network, asset), *wallets])
    for account in accounts:
        if taken := min(missing, left.get(account, missing)):
            lines.append(Line(account, -taken))
            missing -= taken
            if account in left:
                left[account] -= taken
    if missing:
        raise InsufficientFunds(next(iter(accounts)), available=deposit.amount - missing, needed=deposit.amount)
    return lines


def _taken_back(payment: Payment, effects: AssessmentEffects, left: dict[AccountRef, int]) -> list[Line]:
    """The lines that give up what had left the clearing account of a payment that is reopened, one for each account."""
    own = payment.network, payment.cryptocurrency
    lines = _from_merchant(payment, *own, effects.taken_back, left)
    for discrepancy in effects.reopened:
        lines += _given_up(discrepancy, _own_suspense(payment, discrepancy.kind), payment, left)
    totals: dict[AccountRef, int] = {}
    for line in lines:
        totals[line.account] = totals.get(line.account, 0) + line.amount
    return [Line(account, amount) for account, amount in totals.items()]


def _given_up(
    discrepancy: Discrepancy, account: AccountRef, payment: Payment | None, left: dict[AccountRef, int]
) -> list[Line]:
    """The lines that give up the money of a discrepancy when it turns out never to have arrived.

    What was accepted is the merchant's by then; all else is in suspense, or there again by `refund_covered`.
    """
    if discrepancy.status != DiscrepancyStatus.ACCEPTED or payment is None:
        return [Line(account, discrepancy.amount)]
    return _from_merchant(payment, discrepancy.network, discrepancy.asset, discrepancy.amount, left)


def _refund_covered(payment: Payment, discrepancy: Discrepancy, left: dict[AccountRef, int]) -> PostingDraft:
    """Money in suspense was refunded, and never arrived: the merchant bears that refund, and suspense has it again.

    It was never the merchant's, so it is a refund and not money undone, on which a fee may have been taken.
    """
    network, asset, amount = discrepancy.network, discrepancy.asset, discrepancy.amount
    lines = [
        *_from_merchant(payment, network, asset, amount, left),
        Line(suspense_account(payment, discrepancy.kind, network, asset), -amount),
    ]
    return PostingDraft(kind="refund_covered", reference=str(discrepancy.id), lines=tuple(lines))


def _from_merchant(payment: Payment, network: str, asset: str, amount: int, left: dict[AccountRef, int]) -> list[Line]:
    """Out of the merchant's balance as far as it goes; the rest is what the merchant owes."""
    if not amount:
        return []
    available, receivable = available_account(payment, network, asset), receivable_account(payment, network, asset)
    there = min(amount, left[available])
    left[available] -= there
    left[receivable] += amount - there
    return [line for line in (Line(available, there), Line(receivable, amount - there)) if line.amount]


def suspense_accepted(payment: Payment, kind: str, amount: int) -> PostingDraft:
    """Somebody took short or late money as enough: it counts for the payment."""
    return _of_payment(
        payment,
        "suspense_accepted",
        [Line(_own_suspense(payment, kind), amount), Line(clearing_account(payment), -amount)],
        number=payment.booking_count,
    )


def suspense_kept(payment: Payment, discrepancy: Discrepancy) -> PostingDraft:
    """Somebody let the merchant keep money that is no part of the payment."""
    network, asset, amount = discrepancy.network, discrepancy.asset, discrepancy.amount
    held = suspense_account(payment, discrepancy.kind, network, asset)
    lines = [Line(held, amount), Line(available_account(payment, network, asset), -amount)]
    return _of_payment(payment, "suspense_kept", lines, number=payment.booking_count)


def refund_reserved(
    payment: Payment,
    discrepancy: Discrepancy | None,
    *,
    amount: int,
    payout_id: uuid.UUID,
    refund_public_id: str,
    left: dict[AccountRef, int] | None = None,
) -> PostingDraft:
    """Money of a payment is set aside for going back to the payer. Where it is gone already, `left` are the balances of
    the merchant's accounts: what the balance lacks is owed."""
    source = refundable_account(payment, discrepancy)
    lines = [Line(source, amount)]
    if left is not None and discrepancy is None:
        lines = _from_merchant(payment, source.network, source.asset, amount, left)
    lines.append(Line(payout_account(source.network, source.asset, payout_id), -amount))
    return PostingDraft(kind="refund_reserved", reference=refund_public_id, lines=tuple(lines))


def refund_voided(
    payment: Payment,
    discrepancy: Discrepancy | None,
    *,
    amount: int,
    payout_id: uuid.UUID,
    refund_public_id: str,
    is_undone: bool,
) -> PostingDraft:
    """The posting of a refund that did not go back after all: its money is where it was; the merchant's where that was
    suspense that `is_undone`."""
    source = refundable_account(payment, discrepancy)
    back = available_account(payment, source.network, source.asset) if is_undone else source
    return PostingDraft(
        kind="refund_voided",
        reference=refund_public_id,
        lines=(Line(payout_account(source.network, source.asset, payout_id), amount), Line(back, -amount)),
    )


def suspense_taken(deposit: Deposit, kind: str) -> PostingDraft:
    """The posting of coins without a memo that were the operator's own."""
    return PostingDraft(
        kind="treasury_in",
        reference=f"{deposit.environment}:{deposit}:{deposit.booking_count}",
        lines=(
            Line(deposit_account(deposit, None, suspense(kind)), deposit.amount),
            Line(AccountRef(deposit.network, deposit.asset, AccountKind.TREASURY), -deposit.amount),
        ),
    )


def return_reserved(returned: PayerReturn, deposit: Deposit, kind: str) -> PostingDraft:
    """Money of no payment is set aside for going back to whoever sent it."""
    held = deposit_account(deposit, None, suspense(kind))
    reserved = payout_account(deposit.network, deposit.asset, returned.pk)
    lines = (Line(held, returned.amount), Line(reserved, -returned.amount))
    return PostingDraft(kind="return_reserved", reference=returned.public_id, lines=lines)


def return_voided(returned: PayerReturn, deposit: Deposit, kind: str | None) -> PostingDraft:
    """The posting of a return that did not go back: it waits for a decision again. `kind` is None where its network has
    undone it meanwhile, so that the house has borne it: the house has its loss back."""
    held = loss_account(deposit) if kind is None else deposit_account(deposit, None, suspense(kind))
    reserved = payout_account(deposit.network, deposit.asset, returned.pk)
    lines = (Line(reserved, returned.amount), Line(held, -returned.amount))
    return PostingDraft(kind="return_voided", reference=returned.public_id, lines=lines)


def return_covered(deposit: Deposit, kind: str) -> PostingDraft:
    """The posting for money that went back to its sender and was undone by its network: the house bears what it has
    paid."""
    held = deposit_account(deposit, None, suspense(kind))
    return _of_deposit(
        deposit, "return_covered", [Line(loss_account(deposit), deposit.amount), Line(held, -deposit.amount)]
    )


def return_recovered(deposit: Deposit, kind: str) -> PostingDraft:
    """Money that went back to its sender, and was undone then, is there after all: the house's, which has paid it."""
    held = deposit_account(deposit, None, suspense(kind))
    lines = [Line(held, deposit.amount), Line(loss_account(deposit), -deposit.amount)]
    return _of_deposit(deposit, "return_recovered", lines)


def loss_account(deposit: Deposit) -> AccountRef:
    return AccountRef(deposit.network, deposit.asset, AccountKind.LOSS)


def _own_suspense(payment: Payment, kind: str) -> AccountRef:
    return suspense_account(payment, kind, payment.network, payment.cryptocurrency)


def _of_payment(payment: Payment, kind: str, lines: list[Line], *, number: int) -> PostingDraft:
    return PostingDraft(kind=kind, reference=f"{payment.id}:{number}", lines=tuple(lines))


def _of_deposit(deposit: Deposit, kind: str, lines: list[Line]) -> PostingDraft:
    reference = f"{deposit.environment}:{deposit}:{deposit.booking_count + 1}"
    height = deposit.height
    if deposit.sweep is not None and deposit.is_swept:  # its coins are in the wallet since then
        height = max(height, deposit.sweep.transfer.height or 0)
    return PostingDraft(kind=kind, reference=reference, lines=tuple(lines), height=height)
