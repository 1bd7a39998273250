"""The simulated networks behind the chain protocol. What happens on them, payments.chains.simulated.control says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import timedelta
from itertools import islice

from django.utils import timezone

from config.money import Asset
from payments.chains.base import (
    ChainUnavailable,
    Cursor,
    DepositAddress,
    FinalityViolation,
    Head,
    IncomingTransfer,
    NetworkProfile,
    Payout,
    Scan,
    SignedTransfer,
    TransferRefused,
    TransferState,
    TransferStatus,
    WatchList,
)
from payments.chains.evm import addresses as evm_addresses
from payments.chains.evm import links as evm_links
from payments.chains.simulated import actions
from payments.chains.simulated.blocks import Timetable, finalized_height, holdings, next_sequences
from payments.chains.simulated.clock import current, locked
from payments.chains.simulated.models import (
    SimulatedNetwork,
    SimulatedTransaction,
    SimulatedTransfer,
    TransactionStatus,
)
from payments.chains.simulated.networks import address_named, contracts, fee_units
from payments.chains.stellar import addresses as stellar_addresses
from payments.chains.stellar import links as stellar_links

SCAN_TRANSACTIONS = 1_000
"""On-chain transactions one scan looks at beyond what is re-read; a block is never cut in two."""

VALIDITY = timedelta(minutes=5)
"""How long a signed transfer stays good where transfers can expire."""

_CANDIDATES_PER_QUESTION = 5_000


class SimulatedChain:
    """One simulated network. Asking it anything first lets it catch up with its clock."""

    def __init__(self, profile: NetworkProfile, *, scan_transactions: int = SCAN_TRANSACTIONS) -> None:
        self.profile = profile
        self._network = profile.network
        self._is_evm = profile.family == "evm"
        self._scan_transactions = scan_transactions
        self._assets = contracts(profile.network)

    # Addresses and links

    def parse_address(self, text: str) -> str:
        return evm_addresses.parse(text) if self._is_evm else stellar_addresses.parse(text)

    def deposit_address(self, sequence: int) -> DepositAddress:
        if self._is_evm:
            return DepositAddress(
                evm_addresses.clone_address(
                    factory=address_named(self._network, "factory"),
                    implementation=address_named(self._network, "forwarder"),
                    salt=sequence,
                )
            )
        account = address_named(self._network, "receiving account")
        memo = stellar_addresses.memo_of(sequence)
        return DepositAddress(account, memo=str(memo), muxed=stellar_addresses.mux(account, memo))

    def payment_uri(self, *, to: DepositAddress, asset: Asset, amount: int, message: str = "") -> str:
        if self.profile.chain_id is not None:
            return evm_links.token_transfer(
                contract=asset.contract, chain_id=self.profile.chain_id, recipient=to.address, amount=amount
            )
        code, _, issuer = asset.contract.partition(":")
        return stellar_links.pay(
            destination=to.address,
            amount=amount,
            decimals=asset.decimals,
            asset_code=code,
            asset_issuer=issuer,
            memo=to.memo,
            message=message,
            network_passphrase=self.profile.metadata["network_passphrase"],
        )

    def qr_text(self, *, to: DepositAddress, payment_uri: str) -> str:
        return to.address if self._is_evm else payment_uri

    # Money in

    def head(self) -> Head:
        row = self._answering()
        return self._head(row, Timetable(row, row.height, row.height))

    def scan(self, cursor: Cursor | None, watch: WatchList) -> Scan:
        self._answering()
        with locked(self._network) as row:
            # Nothing is ever missed here by starting late: a first scan begins with the first block.
            final, read_to = (-1, -1) if cursor is None else (cursor["final"], cursor["read_to"])
            blocks = Timetable(row, max(0, final), row.height)
            head = self._head(row, blocks)
            if cursor is not None and (final > head.height or blocks.block_hash(final) != cursor["final_hash"]):
                raise FinalityViolation(f"The final block {final} of {self._network} is another one now.")
            first, last = final + 1, self._last_of_page(head.height, read_to)
            transfers = self._watched(first, last, blocks, watch) if first <= last else ()
            final = max(final, min(head.finalized_height, last))
            return Scan(
                first_height=first,
                last_height=last,
                last_block_time=blocks.closed_at(last),
                head=head,
                transfers=transfers,
                cursor={"final": final, "final_hash": blocks.block_hash(final), "read_to": last},
                caught_up=last == head.height,
            )

    def find_transfers(self, transaction_hash: str) -> tuple[IncomingTransfer, ...]:
        row = self._answering()
        found = (
            SimulatedTransfer.objects.filter(
                transaction__network=self._network,
                transaction__transaction_hash=transaction_hash.strip().lower(),
                transaction__status=TransactionStatus.INCLUDED,
                amount__gt=0,
            )
            .select_related("transaction")
            .order_by("ordinal")
        )
        if not found:
            return ()
        height = found[0].transaction.block_height
        return self._incoming(found, Timetable(row, height, height))

    def _answering(self) -> SimulatedNetwork:
        """The network as it is now; ChainUnavailable while nobody answers for it."""
        row = current(self._network)
        if row.outage_until is not None and timezone.now() < row.outage_until:
            raise ChainUnavailable(f"No provider of {self._network} answers.")
        return row

    def _head(self, row: SimulatedNetwork, blocks: Timetable) -> Head:
        return Head(
            height=row.height,
            block_hash=blocks.block_hash(row.height),
            closed_at=blocks.closed_at(row.height),
            finalized_height=finalized_height(row),
        )

    def _last_of_page(self, head_height: int, read_to: int) -> int:
        """Where a scan stops: at the head, or after the block that fills a page."""
        beyond = (
            SimulatedTransaction.objects.filter(network=self._network, height__gt=read_to, height__lte=head_height)
            .order_by("height")
            .values_list("height", flat=True)
        )
        filled = beyond[self._scan_transactions - 1 : self._scan_transactions].first()
        return head_height if filled is None else filled

    def _watched(self, first: int, last: int, blocks: Timetable, watch: WatchList) -> tuple[IncomingTransfer, ...]:
        arrived = SimulatedTransfer.objects.filter(
            transaction__network=self._network,
            transaction__status=TransactionStatus.INCLUDED,
            transaction__height__range=(first, last),
            amount__gt=0,
        )
        # Asking which of the recipients are watched costs by the traffic, not by the length of the watch list.
        candidates = iter(arrived.order_by().values_list("recipient", flat=True).distinct())
        watched: set[str] = set()
        while some := list(islice(candidates, _CANDIDATES_PER_QUESTION)):
            watched |= watch.matching(some)
        if not watched:
            return ()
        found = arrived.filter(recipient__in=watched).select_related("transaction")
        return self._incoming(found.order_by("transaction__height", "transaction_id", "ordinal"), blocks)

    def _incoming(self, found: Iterable[SimulatedTransfer], blocks: Timetable) -> tuple[IncomingTransfer, ...]:
        return tuple(
            IncomingTransfer(
                transaction_hash=transfer.transaction.transaction_hash,
                ordinal=transfer.ordinal,
                height=(height := transfer.transaction.block_height),
                block_hash=blocks.block_hash(height),
                block_time=blocks.closed_at(height),
                contract=transfer.contract,
                asset=self._assets.get(transfer.contract),
                amount=transfer.amount,
                sender=transfer.transaction.sender,
                recipient=transfer.recipient,
                memo=transfer.memo or None,
            )
            for transfer in found
        )

    # Money out

    def payout_address(self) -> str:
        return address_named(self._network, "hot wallet" if self._is_evm else "receiving account")

    def next_sequence(self, sender: str) -> int:
        self._answering()
        return next_sequences(self._network, [sender], pending=False)[sender]

    def sign(self, payouts: tuple[Payout, ...], *, sender: str, sequence: int) -> SignedTransfer:
        if not 1 <= len(payouts) <= self.profile.payouts_per_transfer:
            raise ValueError(f"a transfer on {self._network} carries 1 to {self.profile.payouts_per_transfer} payouts")
        if len({payout.memo for payout in payouts}) > 1:
            raise ValueError("payouts with different memos cannot share a transfer")
        valid_until = None if self._is_evm else timezone.now() + VALIDITY
        raw = json.dumps(
            {
                "network": self._network,
                "sender": sender,
                "sequence": sequence,
                "valid_until": valid_until and valid_until.isoformat(),
                "movements": [self._movement(payout) for payout in payouts],
            }
        ).encode()
        return SignedTransfer(
            raw=raw,
            transaction_hash=self._hash_of(raw),
            sender=sender,
            sequence=sequence,
            valid_until=valid_until,
            payouts=payouts,
        )

    def broadcast(self, transfer: SignedTransfer) -> None:
        self._answering()
        with locked(self._network) as row:
            if _use_up(row, "broadcasts_to_lose"):
                return
            self._accept(row, transfer)
            timed_out = _use_up(row, "broadcasts_to_time_out")
        if timed_out:
            raise ChainUnavailable(f"{self._network} did not answer in time.")

    def transfer_status(self, transfer: SignedTransfer) -> TransferStatus:
        self._answering()
        with locked(self._network) as row:
            sent = SimulatedTransaction.objects.filter(network=self._network, sender=transfer.sender)
            own = sent.filter(transaction_hash=transfer.transaction_hash).first()
            if own is not None and own.status == TransactionStatus.PENDING:
                return TransferStatus("pending")
            if own is not None and own.height is not None:
                state: TransferState = "included" if own.status == TransactionStatus.INCLUDED else "failed"
                return self._in_block(row, own, state, fee_units(self._network, len(transfer.payouts)))
            other = sent.filter(sequence=transfer.sequence, height__isnull=False).first()
            if other is not None:
                return self._in_block(row, other, "replaced")
            final = finalized_height(row)
            expired = transfer.valid_until is not None and (
                transfer.valid_until < Timetable(row, final, final).closed_at(final)
            )
            return TransferStatus("expired", final=True) if expired else TransferStatus("unknown")

    def balance(self, address: str, asset: Asset, *, at_height: int | None = None) -> int:
        row = self._answering()
        height = row.height if at_height is None else at_height
        if height > row.height:
            raise ChainUnavailable(f"{self._network} has not reached height {height} yet.")
        held = holdings(self._network, [address], [asset.contract], at_height=height)
        return held.get((address, asset.contract), 0)

    def _movement(self, payout: Payout) -> actions.Movement:
        return actions.movement(
            self._network,
            contract=payout.asset.contract,
            amount=payout.amount,
            recipient=payout.recipient,
            memo=payout.memo,
        )

    def _hash_of(self, raw: bytes) -> str:
        digest = hashlib.sha256(raw).hexdigest()
        return f"0x{digest}" if self._is_evm else digest

    def _accept(self, row: SimulatedNetwork, transfer: SignedTransfer) -> None:
        """Take the bytes in, as a node does: once, in time, and only for a sequence that nobody else used."""
        transaction_hash = self._hash_of(transfer.raw)
        sent = SimulatedTransaction.objects.filter(network=self._network, sender=transfer.sender)
        known = sent.filter(transaction_hash=transaction_hash).first()
        if known is not None and known.status != TransactionStatus.DROPPED:
            return
        head_time = Timetable(row, row.height, row.height).closed_at(row.height)
        if transfer.valid_until is not None and transfer.valid_until < head_time:
            raise TransferRefused("too late: the transfer is not valid any more")
        if sent.filter(sequence=transfer.sequence).exclude(status=TransactionStatus.DROPPED).exists():
            raise TransferRefused(f"sequence {transfer.sequence} is used by another transfer")
        if known is not None:
            known.status, known.error = TransactionStatus.PENDING, ""
            known.save(update_fields=["status", "error"])
            return
        actions.submit(
            row,
            sender=transfer.sender,
            sequence=transfer.sequence,
            movements=json.loads(transfer.raw)["movements"],
            transaction_hash=transaction_hash,
            valid_until=transfer.valid_until,
        )

    def _in_block(
        self, row: SimulatedNetwork, entry: SimulatedTransaction, state: TransferState, fee: int = 0
    ) -> TransferStatus:
        height = entry.block_height
        return TransferStatus(
            state=state,
            height=height,
            block_hash=Timetable(row, height, height).block_hash(height),
            confirmations=row.height - height + 1,
            final=height <= finalized_height(row),
            fee_units=fee,
            error=entry.error or None,
        )


def _use_up(row: SimulatedNetwork, counter: str) -> bool:
    """Whether a fault was left to happen; then there is one less."""
    left: int = getattr(row, counter)
    if left:
        setattr(row, counter, left - 1)
        row.save(update_fields=[counter])
    return left > 0
