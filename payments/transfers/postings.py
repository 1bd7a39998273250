"""Ledger postings of money out. Pure: builds drafts, writes nothing."""

from __future__ import annotations

import uuid

from config.money import Asset
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef, Line, PostingDraft
from payments.transfers.models import Payout, Transfer


def payout_account(network: str, asset: str, payout_id: uuid.UUID) -> AccountRef:
    """The account of what is reserved for a payout: filled before the payout exists, empty once it has ended."""
    return AccountRef(network, asset, AccountKind.PAYOUT, str(payout_id))


def hot_account(network: str, asset: str) -> AccountRef:
    """The coins of the hot wallet."""
    return AccountRef(network, asset, AccountKind.CHAIN_HOT)


def cold_account(network: str, asset: str) -> AccountRef:
    """The coins of the cold wallet."""
    return AccountRef(network, asset, AccountKind.CHAIN_COLD)


def moving_account(network: str, asset: str) -> AccountRef:
    """The account of coins that are to move from the hot to the cold wallet."""
    return AccountRef(network, asset, AccountKind.CHAIN_MOVING)


def gas_account(native: Asset) -> AccountRef:
    """The gas balance: native coins in the hot wallet, which pay the fees."""
    return AccountRef(native.network, native.code, AccountKind.GAS)


def token_fee_account(network: str, asset: str) -> AccountRef:
    """The account of token fees on transfers, less what the recipients of payouts bore of them."""
    return AccountRef(network, asset, AccountKind.FEE_TOKEN)


def fee_accounts(native: Asset) -> set[AccountRef]:
    """Every account that paying a fee may touch."""
    kinds = (AccountKind.GAS, AccountKind.FEE_NETWORK, AccountKind.TREASURY)
    return {AccountRef(native.network, native.code, kind) for kind in kinds}


def loss_account(network: str, asset: str) -> AccountRef:
    """The account of losses the house bears."""
    return AccountRef(network, asset, AccountKind.LOSS)


def payout_found(network: str, asset: str, payout_id: uuid.UUID, *, amount: int) -> PostingDraft:
    """Money has left that the database has no request of: the house bears it until somebody is found whose it was."""
    reserved = payout_account(network, asset, payout_id)
    return PostingDraft(
        "payout_found", str(payout_id), (Line(loss_account(network, asset), amount), Line(reserved, -amount))
    )


def payout_attributed(payout: Payout, reserved: AccountRef) -> PostingDraft:
    """Somebody bears what a found payout has paid, out of what is reserved for it: the house has it back."""
    amount = int(payout.amount)
    lines = (Line(reserved, amount), Line(loss_account(payout.network, payout.asset), -amount))
    return PostingDraft("payout_attributed", str(payout.id), lines)


def payout_paid(payout: Payout, *, height: int) -> list[PostingDraft]:
    """The money has left for good, in the block of that height. What the token kept is a posting of its own, which
    the recipient bears."""
    reserved = payout_account(payout.network, payout.asset, payout.id)
    hot, fee = hot_account(payout.network, payout.asset), payout.token_fee
    arrived = int(payout.amount) - fee
    paid = PostingDraft("payout_paid", str(payout.id), (Line(reserved, arrived), Line(hot, -arrived)), height=height)
    if not fee:
        return [paid]
    kept = token_fee_account(payout.network, payout.asset)
    return [
        paid,
        PostingDraft("token_fee_kept", str(payout.id), (Line(kept, fee), Line(hot, -fee)), height=height),
        PostingDraft("token_fee_charged", str(payout.id), (Line(reserved, fee), Line(kept, -fee))),
    ]


def gas_paid(transfer: Transfer, native: Asset, *, fee: int, held: int, height: int) -> PostingDraft:
    """The network fee of a transaction in the block of that height, whether or not it moved anything.

    `held` is the gas balance in the ledger. A fee beyond it was paid from coins that the operator had put in without
    booking them: this books them as well.
    """
    known = min(fee, held)
    lines = [Line(AccountRef(native.network, native.code, AccountKind.FEE_NETWORK), fee)]
    if known:
        lines.append(Line(gas_account(native), -known))
    if fee > known:
        lines.append(Line(AccountRef(native.network, native.code, AccountKind.TREASURY), known - fee))
    return PostingDraft(kind="gas_paid", reference=str(transfer.id), lines=tuple(lines), height=height)
