"""Ledger postings of sweeps to the hot wallet. Pure: builds drafts, writes nothing."""

from __future__ import annotations

from config.money import Asset
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef, Line, PostingDraft
from payments.deposits.postings import chain_account
from payments.transfers.postings import cold_account, gas_account, hot_account, token_fee_account
from payments.treasury.models import Sweep


def sweep_final(sweep: Sweep) -> PostingDraft:
    """A sweep has brought coins to the hot or the cold wallet for good."""
    transfer = sweep.transfer
    treasury = cold_account if sweep.cold_wallet_id else hot_account
    return PostingDraft(
        kind="sweep_final",
        reference=f"{transfer.network}:{transfer.transaction_hash}",
        lines=(
            Line(treasury(transfer.network, sweep.asset), sweep.moved),
            Line(chain_account(transfer.network, sweep.asset), -sweep.moved),
        ),
        height=transfer.height,
    )


def sweep_fee(sweep: Sweep, fee: int) -> PostingDraft:
    """The token fee of a sweep from deposit addresses: the operator bears it."""
    transfer = sweep.transfer
    return PostingDraft(
        kind="token_fee_kept",
        reference=f"{transfer.network}:{transfer.transaction_hash}",
        lines=(
            Line(token_fee_account(transfer.network, sweep.asset), fee),
            Line(chain_account(transfer.network, sweep.asset), -fee),
        ),
        height=transfer.height,
    )


def native_swept(sweep: Sweep, native: Asset) -> PostingDraft:
    """The posting of native coins that a sweep has brought to the hot wallet, where they pay fees, on an operator's
    request."""
    transfer = sweep.transfer
    return PostingDraft(
        kind="native_swept",
        reference=f"{transfer.network}:{transfer.transaction_hash}",
        lines=(
            Line(gas_account(native), sweep.moved),
            Line(AccountRef(native.network, native.code, AccountKind.TREASURY), -sweep.moved),
        ),
        height=transfer.height,
    )
