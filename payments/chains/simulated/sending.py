"""The hot wallet of a simulated network: whom it can pay, what it sends, and the outcome."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import cast

from django.db.models import Q

from config.database.database_time import database_now
from config.money import Asset
from payments.chains import recipients
from payments.chains.errors import ChainUnavailable, RecipientProblem, SendingBlocked
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.payouts import (
    Costs,
    PayoutInstruction,
    SignedTransfer,
    TransactionState,
    TransactionStatus,
)
from payments.chains.protocol.transfers import Identity, SentTransaction
from payments.chains.simulated import actions, mempool, signing
from payments.chains.simulated.blocks import Timetable, finalized_height, next_sequences
from payments.chains.simulated.clock import answering, locked, refuse_in_outage
from payments.chains.simulated.mempool import offer_now
from payments.chains.simulated.models import (
    SimulatedAccount,
    SimulatedNetwork,
    SimulatedStatus,
    SimulatedTransaction,
    versions_of,
)
from payments.chains.simulated.networks import contracts, own_accounts, payout_work, price, sweep_work
from payments.chains.simulated.reading import Reading

VALIDITY = timedelta(minutes=5)
"""How long a signed transfer stays good where transfers can expire."""


class HotWallet:
    def __init__(self, profile: NetworkProfile, reading: Reading, *, wallet: str) -> None:
        self._profile, self._network, self._reading = profile, profile.network, reading
        self._wallet, self._own, self._assets = wallet, own_accounts(profile.network), contracts(profile.network)
        self._is_evm = profile.family == "evm"

    def own_accounts(self) -> frozenset[str]:
        return self._own

    def next_sequence(self, sender: str) -> int:
        answering(self._network)
        return next_sequences(self._network, [sender], pending=False)[sender]

    def check_recipient(self, payout: PayoutInstruction) -> None:
        account = recipients.payable_account(self._profile, payout.recipient, own=self._own)
        self.check_sending(payout.asset)
        refusing = SimulatedAccount.objects.filter(network=self._network, address=account).exclude(refuses="").first()
        if refusing is None:
            return
        has_memo = bool(payout.memo) or account != payout.recipient
        if refusing.refuses == "memo_required" and has_memo:
            return
        raise recipients.refusal(cast(RecipientProblem, refusing.refuses), payout.asset.code)

    def check_sending(self, asset: Asset) -> None:
        answering(self._network)
        concerned = SimulatedAccount.objects.filter(network=self._network, refuses="destination_refused")
        refusing = set(concerned.filter(address__in=[asset.contract, self._wallet]).values_list("address", flat=True))
        if asset.contract in refusing:
            raise SendingBlocked("coin_paused", f"The issuer of {asset.code} lets nobody send it at the moment.")
        if refusing:
            raise SendingBlocked("hot_wallet_blocked", f"The issuer of {asset.code} forbids the hot wallet to send it.")

    def pay_back_address(self, identity: Identity, sender: str) -> str | None:
        answering(self._network)
        account, identifier = recipients.account_of(self._profile, sender)
        known = SimulatedAccount.objects.filter(network=self._network, address=account).first() or SimulatedAccount()
        if self._is_evm:
            is_contract = known.is_contract or sender in (self._own | set(self._assets)) - {self._wallet}
            return None if is_contract else sender
        if identifier is not None:
            return sender if known.refuses in ("", "memo_required") else None
        transfer = self._reading.moved().filter(transaction__transaction_hash=identity[0], ordinal=identity[1]).first()
        # A memo, or none, can be that of a shared account; a wallet that pays to a muxed address is somebody's own.
        is_own = transfer is not None and transfer.muxed_id and not transfer.transaction_memo
        return sender if is_own and not known.refuses else None

    def sent_by(
        self, account: str, *, first_height: int, last_height: int, first_sequence: int, hashes: Collection[str]
    ) -> tuple[SentTransaction, ...]:
        self._reading.reached(last_height)
        sent = SimulatedTransaction.objects.filter(
            Q(sequence__gte=first_sequence) | Q(transaction_hash__in=hashes, sequence__isnull=False),
            network=self._network,
            sender=account,
            height__range=(first_height, last_height),
        )
        return tuple(
            SentTransaction(
                transaction_hash=each.transaction_hash,
                sequence=each.sequence or 0,
                height=each.block_height,
                succeeded=each.status == SimulatedStatus.INCLUDED,
                fee_units=int(each.fee_units),
            )
            for each in sent.order_by("sequence")
        )

    def costs(self) -> Costs:
        unit = price(self._network, answering(self._network).fee_level)
        payout = payout_work(self._network, 1) * unit
        if self._profile.shares_account:
            return Costs(payout)
        empty, one = sweep_work(0) * unit, sweep_work(1) * unit
        return Costs(payout, sweep=empty, first_time=one - empty, again=one - empty)

    def only_set_up(self, account: str, first_sequence: int, last_sequence: int) -> bool:
        answering(self._network)
        sent = SimulatedTransaction.objects.filter(
            network=self._network, sender=account, sequence__range=(first_sequence, last_sequence), height__isnull=False
        )
        return not sent.filter(Q(transfers__isnull=False) | ~Q(swept_contract="")).exists()


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
    """True if a fault is still to happen; it counts it down."""
    left: int = getattr(row, counter)
    if left:
        setattr(row, counter, left - 1)
        row.save(update_fields=[counter])
    return left > 0
