"""Facts about money leaving as ledger postings. Pure: builds drafts, writes nothing."""

from __future__ import annotations

import uuid

from config.money import Asset
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef, Line, PostingDraft
from payments.transfers.models import Payout, Transfer


def payout_account(network: str, asset: str, payout_id: uuid.UUID) -> AccountRef:
    """What is reserved for a payout: filled before the payout exists, empty once it is paid or given up."""
    return AccountRef(network, asset, AccountKind.PAYOUT, str(payout_id))


def hot_account(network: str, asset: str) -> AccountRef:
    """The coins of the hot wallet."""
    return AccountRef(network, asset, AccountKind.CHAIN_HOT)


def gas_account(native: Asset) -> AccountRef:
    """The network's own coin in the hot wallet, which pays the fees."""
    return AccountRef(native.network, native.code, AccountKind.GAS)


def fee_accounts(native: Asset) -> set[AccountRef]:
    """Every account that paying a fee may touch."""
    kinds = (AccountKind.GAS, AccountKind.FEE_NETWORK, AccountKind.TREASURY)
    return {AccountRef(native.network, native.code, kind) for kind in kinds}


def payout_paid(payout: Payout) -> PostingDraft:
    """The money has left for good."""
    return PostingDraft(
        kind="payout_paid",
        reference=str(payout.id),
        lines=(
            Line(payout_account(payout.network, payout.asset, payout.id), payout.amount),
            Line(hot_account(payout.network, payout.asset), -payout.amount),
        ),
    )


def gas_paid(transfer: Transfer, native: Asset, *, fee: int, held: int) -> PostingDraft:
    """What an on-chain transaction cost, whether or not it moved anything.

    `held` is what the books know of the network's own coin. A fee beyond it was paid from coins that the operator had
    put in without booking them: they come into the books with this.
    """
    known = min(fee, held)
    lines = [Line(AccountRef(native.network, native.code, AccountKind.FEE_NETWORK), fee)]
    if known:
        lines.append(Line(gas_account(native), -known))
    if fee > known:
        lines.append(Line(AccountRef(native.network, native.code, AccountKind.TREASURY), known - fee))
    return PostingDraft(kind="gas_paid", reference=str(transfer.id), lines=tuple(lines))
