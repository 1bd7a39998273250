"""What leaves the hot wallet of a simulated network: signing it, sending it, and reporting its outcome."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta

from config.database.database_time import database_now
from payments.chains.errors import ChainUnavailable
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.payouts import PayoutInstruction, SignedTransfer, TransactionState, TransactionStatus
from payments.chains.simulated import actions, mempool, signing
from payments.chains.simulated.blocks import Timetable, finalized_height
from payments.chains.simulated.clock import locked, refuse_in_outage
from payments.chains.simulated.mempool import offer_now
from payments.chains.simulated.models import (
    SimulatedNetwork,
    SimulatedStatus,
    SimulatedTransaction,
    versions_of,
)
from payments.chains.simulated.networks import contracts, payout_work

VALIDITY = timedelta(minutes=5)
"""How long a signed transfer stays good where transfers can expire."""


class Sending:
    def __init__(self, profile: NetworkProfile, *, wallet: str) -> None:
        self.profile, self._wallet = profile, wallet
        self._network, self._assets = profile.network, contracts(profile.network)
        self._is_evm = profile.family == "evm"

    def sign(
        self,
        payouts: tuple[PayoutInstruction, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        if not 1 <= len(payouts) <= self.profile.payouts_per_transfer:
            raise ValueError(f"a transfer on {self._network} carries 1 to {self.profile.payouts_per_transfer} payouts")
        if len({payout.memo for payout in payouts}) > 1:
            raise ValueError("payouts with different memos cannot share a transfer")
        if any(payout.asset.contract not in self._assets for payout in payouts):
            raise ValueError("only accepted coins are paid out")
        content = signing.Content(
            network=self._network,
            sender=sender,
            sequence=sequence,
            valid_until=(database_now() + VALIDITY).isoformat() if self.profile.transfers_expire else None,
            fee_offer=offer_now(self.profile, replacing),
            work=payout_work(self._network, len(payouts)),
            movements=[self._movement(payout) for payout in payouts],
            source="" if sender == self._wallet else self._wallet,
        )
        return signing.signed(content if self._is_evm else self._bumped(content, replacing), payouts)

    def _bumped(self, content: signing.Content, replacing: Collection[SignedTransfer]) -> signing.Content:
        """What only raises the fee of an earlier version, as on stellar: it pays the same, until the same instant."""
        if not replacing:
            return content
        earlier = next(iter(replacing))
        first = signing.read(earlier.raw)
        bumped = replace(first, fee_offer=content.fee_offer, inner=first.inner or earlier.transaction_hash)
        if (bumped.sender, bumped.sequence, list(bumped.movements)) != (
            content.sender,
            content.sequence,
            list(content.movements),
        ):
            raise ValueError(f"what replaces a transfer on {self._network} pays the same")
        return bumped

    def broadcast(self, transfer: SignedTransfer) -> None:
        with locked(self._network) as row:
            refuse_in_outage(row)
            if _use_up(row, "broadcasts_to_lose"):
                return
            mempool.accept(row, transfer.raw)
            timed_out = _use_up(row, "broadcasts_to_time_out")
        if timed_out:
            raise ChainUnavailable(f"{self._network} did not answer in time.")

    def status(self, transfer: SignedTransfer) -> TransactionStatus:
        with locked(self._network) as row:
            refuse_in_outage(row)
            sent = SimulatedTransaction.objects.filter(network=self._network, sender=transfer.sender)
            root = signing.read(transfer.raw).inner if transfer.raw else ""
            same = sent.filter(versions_of(root or transfer.transaction_hash))
            mined = same.filter(height__isnull=False).first()
            if mined is not None:
                state: TransactionState = "included" if mined.status == SimulatedStatus.INCLUDED else "failed"
                return self._in_block(row, mined, state, mined.fee_units, queried=transfer.transaction_hash)
            if same.filter(transaction_hash=transfer.transaction_hash, status=SimulatedStatus.PENDING).exists():
                return TransactionStatus("pending")
            other = sent.filter(sequence=transfer.sequence, height__isnull=False).first()
            if other is not None:
                return self._in_block(row, other, "replaced")
            final = finalized_height(row)
            expired = transfer.valid_until is not None and (
                transfer.valid_until < Timetable(row, final, final).closed_at(final)
            )
            return TransactionStatus("expired", final=True) if expired else TransactionStatus("unknown")

    def _movement(self, payout: PayoutInstruction) -> actions.Movement:
        return actions.movement(
            self._network,
            contract=payout.asset.contract,
            amount=payout.amount,
            recipient=payout.recipient,
            memo=payout.memo,
        )

    def _in_block(
        self,
        row: SimulatedNetwork,
        entry: SimulatedTransaction,
        state: TransactionState,
        fee: int = 0,
        *,
        queried: str = "",
    ) -> TransactionStatus:
        height = entry.block_height
        return TransactionStatus(
            state=state,
            height=height,
            block_hash=Timetable(row, height, height).block_hash(height),
            confirmations=row.height - height + 1,
            final=height <= finalized_height(row),
            fee_units=fee,
            error=entry.error or None,
            refused={int(place): problem for place, problem in entry.refused.items()},
            included_as=entry.transaction_hash if queried and queried != entry.transaction_hash else "",
        )


def _use_up(row: SimulatedNetwork, counter: str) -> bool:
    """Whether a fault was left to happen; then there is one less."""
    left: int = getattr(row, counter)
    if left:
        setattr(row, counter, left - 1)
        row.save(update_fields=[counter])
    return left > 0
