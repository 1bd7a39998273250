"""Withdrawals as ledger postings. Pure: builds drafts, writes nothing."""

from __future__ import annotations

from merchants.ledger.chart import AccountKind, Group, kinds_where
from merchants.ledger.posting import AccountRef, Line, PostingDraft
from payments.transfers.postings import (
    cold_account,
    hot_account,
    moving_account,
    payout_account,
    token_fee_account,
)
from payments.treasury.house.models import Withdrawal
from payments.treasury.models import ColdMove
from payments.treasury.wallet_balances import SKIM_FINAL


def house_accounts(network: str, asset: str) -> list[AccountRef]:
    """Every account whose money is the house's own."""
    return [AccountRef(network, asset, kind) for kind in kinds_where(group=Group.EQUITY)]


def withdrawal_reserved(withdrawal: Withdrawal) -> PostingDraft:
    """The coins wait for their transfer: out of what was earned, and out of the stock. What is lost is a loss."""
    return PostingDraft("withdrawal_reserved", str(withdrawal.pk), _lines(withdrawal, 1))


def withdrawal_voided(withdrawal: Withdrawal) -> PostingDraft:
    """They have not left: each part goes back to where it came from."""
    return PostingDraft("withdrawal_voided", str(withdrawal.pk), _lines(withdrawal, -1))


def skim_final(withdrawal: Withdrawal, *, token_fee: int, height: int | None) -> PostingDraft:
    """They are in the cold wallet since the block of that height, but for what the token kept of them."""
    place, amount = (withdrawal.network, withdrawal.asset), int(withdrawal.amount)
    lines = (
        Line(cold_account(*place), amount - token_fee),
        Line(token_fee_account(*place), token_fee),
        Line(moving_account(*place), -amount),
    )
    return PostingDraft(SKIM_FINAL, str(withdrawal.pk), tuple(line for line in lines if line.amount), height=height)


def left_cold(move: ColdMove, *, goal: AccountRef) -> PostingDraft:
    """Coins have left the cold wallet: to the hot one, to the house, or they are lost."""
    kind = f"cold_{move.kind}"
    place, amount, of_stock = (move.wallet.network, move.asset), int(move.amount), int(move.of_stock)
    lines = (
        Line(goal, amount - of_stock),
        Line(AccountRef(*place, AccountKind.TREASURY), of_stock),
        Line(cold_account(*place), -amount),
    )
    reference = f"{move.wallet.network}:{move.transaction_hash}:{move.ordinal}"
    return PostingDraft(kind, reference, tuple(line for line in lines if line.amount), height=move.height)


def goal_of(move: ColdMove, *, from_suspense: bool = False) -> AccountRef:
    """The account that what has left the cold wallet goes to. Where deposits arrive at the hot wallet itself, a refill
    was taken for coins that the operator puts in, and is taken out of those."""
    place = move.wallet.network, move.asset
    if move.kind == ColdMove.Kind.REFILL:
        return AccountRef(*place, AccountKind.TREASURY) if from_suspense else hot_account(*place)
    return AccountRef(*place, AccountKind.LOSS if move.kind == ColdMove.Kind.LOST else AccountKind.WITHDRAWN)


def _lines(withdrawal: Withdrawal, sign: int) -> tuple[Line, ...]:
    network, asset = withdrawal.network, withdrawal.asset
    kind = AccountKind.LOSS if withdrawal.is_lost else AccountKind.WITHDRAWN
    if withdrawal.is_skim:
        kind = AccountKind.CHAIN_MOVING
    amount, of_stock = int(withdrawal.amount), int(withdrawal.of_stock)
    lines = (
        Line(AccountRef(network, asset, kind), sign * (amount - of_stock)),
        Line(AccountRef(network, asset, AccountKind.TREASURY), sign * of_stock),
        Line(payout_account(network, asset, withdrawal.payout_id), -sign * amount),
    )
    return tuple(line for line in lines if line.amount)
