"""The simulated networks behind the chain protocol. What happens on them, payments.chains.simulated.control says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from itertools import islice
from typing import cast

from django.db.models import QuerySet
from django.utils import timezone

from config.money import Asset
from payments.chains import recipients
from payments.chains.base import (
    ChainUnavailable,
    Cursor,
    DepositAddress,
    FinalityViolation,
    Head,
    IncomingTransfer,
    NetworkProfile,
    OutgoingTransfer,
    Payout,
    RecipientProblem,
    RecipientRefused,
    Scan,
    SignedTransfer,
    TransferState,
    TransferStatus,
    WatchList,
)
from payments.chains.evm import addresses as evm_addresses
from payments.chains.evm import links as evm_links
from payments.chains.simulated import actions, mempool, signing
from payments.chains.simulated.blocks import NATIVE, Timetable, finalized_height, holdings, next_sequences
from payments.chains.simulated.clock import current, locked
from payments.chains.simulated.models import (
    SimulatedAccount,
    SimulatedNetwork,
    SimulatedTransaction,
    SimulatedTransfer,
    TransactionStatus,
)
from payments.chains.simulated.networks import (
    contracts,
    factory,
    forwarder,
    hot_wallet,
    own_accounts,
    payout_work,
    sweep_work,
)
from payments.chains.stellar import addresses as stellar_addresses
from payments.chains.stellar import links as stellar_links

SCAN_TRANSACTIONS = 1_000
"""On-chain transactions one scan looks at beyond what is re-read; a block is never cut in two."""

VALIDITY = timedelta(minutes=5)
"""How long a signed transfer stays good where transfers can expire."""

_CANDIDATES_PER_QUESTION = 5_000

_REFUSALS: Mapping[RecipientProblem, str] = {
    "destination_invalid": "There is no account at this address.",
    "no_trustline": "This account does not hold {code} yet: it must add a trustline for it first.",
    "memo_required": "This account belongs to many people: it needs a memo that says whom the money is for.",
    "destination_refused": "The issuer of {code} forbids this account to receive it.",
}


class SimulatedChain:
    """One simulated network. Asking it anything first lets it catch up with its clock."""

    def __init__(self, profile: NetworkProfile, *, scan_transactions: int = SCAN_TRANSACTIONS) -> None:
        self.profile = profile
        self._network = profile.network
        self._is_evm = profile.family == "evm"
        self._scan_transactions = scan_transactions
        self._assets = contracts(profile.network)
        self._own = own_accounts(profile.network)

    # Addresses and links

    def parse_address(self, text: str) -> str:
        return evm_addresses.parse(text) if self._is_evm else stellar_addresses.parse(text)

    def deposit_address(self, sequence: int) -> DepositAddress:
        if self._is_evm:
            return DepositAddress(
                evm_addresses.clone_address(
                    factory=factory(self._network),
                    implementation=forwarder(self._network),
                    salt=sequence,
                )
            )
        account = hot_wallet(self._network)
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

    def cursor_at(self, height: int) -> Cursor:
        row = self._reached(height)
        return {"final": height, "final_hash": Timetable(row, height, height).block_hash(height), "read_to": height}

    def find_transfers(self, transaction_hash: str) -> tuple[IncomingTransfer, ...]:
        row = self._answering()
        found = (
            self._moved()
            .filter(transaction__transaction_hash=transaction_hash.strip().lower())
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
        self._refuse_in_outage(row)
        return row

    def _refuse_in_outage(self, row: SimulatedNetwork) -> None:
        if row.outage_until is not None and timezone.now() < row.outage_until:
            raise ChainUnavailable(f"No provider of {self._network} answers.")

    def _reached(self, height: int) -> SimulatedNetwork:
        """The network as it is now; ChainUnavailable while the block at this height is still to come."""
        row = self._answering()
        if height > row.height:
            raise ChainUnavailable(f"{self._network} has not reached height {height} yet.")
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

    def _moved(self) -> QuerySet[SimulatedTransfer]:
        """Every transfer of a token that took place, in whichever block."""
        return SimulatedTransfer.objects.filter(
            transaction__network=self._network, transaction__status=TransactionStatus.INCLUDED, amount__gt=0
        ).exclude(contract=NATIVE)

    def _watched(self, first: int, last: int, blocks: Timetable, watch: WatchList) -> tuple[IncomingTransfer, ...]:
        arrived = self._moved().filter(transaction__height__range=(first, last))
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
                sender=transfer.source,
                recipient=transfer.recipient,
                memo=transfer.memo or None,
            )
            for transfer in found
        )

    # Money out

    def payout_address(self) -> str:
        return hot_wallet(self._network)

    def next_sequence(self, sender: str) -> int:
        self._answering()
        return next_sequences(self._network, [sender], pending=False)[sender]

    def check_recipient(self, payout: Payout) -> None:
        account = recipients.payable_account(self.profile, payout.recipient, own=self._own)
        self._answering()
        refusing = SimulatedAccount.objects.filter(network=self._network, address=account).exclude(refuses="").first()
        if refusing is None:
            return
        has_memo = bool(payout.memo) or account != payout.recipient
        if refusing.refuses == "memo_required" and has_memo:
            return
        problem = cast(RecipientProblem, refusing.refuses)
        raise RecipientRefused(problem, _REFUSALS[problem].format(code=payout.asset.code))

    def is_contract(self, address: str) -> bool:
        self._answering()
        known = self._own | set(self._assets) if self._is_evm else frozenset()
        if address in known - {self.payout_address()}:
            return True
        return SimulatedAccount.objects.filter(network=self._network, address=address, is_contract=True).exists()

    def sign(
        self,
        payouts: tuple[Payout, ...],
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
        valid_until = None if self._is_evm else timezone.now() + VALIDITY
        content = signing.Content(
            network=self._network,
            sender=sender,
            sequence=sequence,
            valid_until=None if valid_until is None else valid_until.isoformat(),
            fee_offer=self._offer(replacing),
            work=payout_work(self._network, len(payouts)),
            movements=[self._movement(payout) for payout in payouts],
        )
        return self._signed(content, payouts)

    def sign_sweep(
        self,
        asset: Asset,
        deposits: tuple[int, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        most = self.profile.sweeps_per_transfer
        if not most:
            raise ValueError(f"deposits on {self._network} arrive where payouts leave from")
        if not 1 <= len(deposits) <= most:
            raise ValueError(f"a sweep on {self._network} empties 1 to {most} deposit addresses")
        if asset.contract not in self._assets:
            raise ValueError("only accepted coins are swept")
        content = signing.Content(
            network=self._network,
            sender=sender,
            sequence=sequence,
            valid_until=None,
            fee_offer=self._offer(replacing),
            work=sweep_work(len(deposits)),
            movements=[],
            swept_contract=asset.contract,
            swept_addresses=tuple(self.deposit_address(number).address for number in deposits),
        )
        return self._signed(content, ())

    def can_replace(self) -> bool:
        return self._is_evm

    def broadcast(self, transfer: SignedTransfer) -> None:
        self._answering()
        with locked(self._network) as row:
            if _use_up(row, "broadcasts_to_lose"):
                return
            mempool.accept(row, transfer.raw)
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
                return self._in_block(row, own, state, own.fee_units)
            other = sent.filter(sequence=transfer.sequence, height__isnull=False).first()
            if other is not None:
                return self._in_block(row, other, "replaced")
            final = finalized_height(row)
            expired = transfer.valid_until is not None and (
                transfer.valid_until < Timetable(row, final, final).closed_at(final)
            )
            return TransferStatus("expired", final=True) if expired else TransferStatus("unknown")

    def outgoing(self, address: str, *, first_height: int, last_height: int) -> tuple[OutgoingTransfer, ...]:
        self._reached(last_height)
        left = self._moved().filter(
            source=address,
            contract__in=self._assets,
            transaction__height__range=(first_height, last_height),
        )
        return tuple(
            OutgoingTransfer(
                transaction_hash=transfer.transaction.transaction_hash,
                sequence=transfer.transaction.sequence if transfer.transaction.sender == address else None,
                ordinal=transfer.ordinal,
                height=transfer.transaction.block_height,
                contract=transfer.contract,
                amount=transfer.amount,
                recipient=transfer.recipient,
                memo=transfer.memo or None,
            )
            for transfer in left.select_related("transaction").order_by(
                "transaction__height", "transaction_id", "ordinal"
            )
        )

    def balance(self, address: str, asset: Asset, *, at_height: int | None = None) -> int:
        row = self._reached(at_height or 0)
        height = row.height if at_height is None else at_height
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

    def _offer(self, replacing: Collection[SignedTransfer]) -> int:
        """What to offer just now. It only looks: a transfer is often signed inside a database transaction."""
        if replacing and not self.can_replace():
            raise ValueError(f"a transfer on {self._network} cannot be replaced")
        row = SimulatedNetwork.objects.filter(network=self._network).first() or SimulatedNetwork()
        self._refuse_in_outage(row)
        return signing.offer(self._network, row.fee_level, replacing)

    def _signed(self, content: signing.Content, payouts: tuple[Payout, ...]) -> SignedTransfer:
        raw = content.to_bytes()
        return SignedTransfer(
            raw=raw,
            transaction_hash=signing.hash_of(self._network, raw),
            sender=content.sender,
            sequence=content.sequence,
            valid_until=content.expires_at,
            payouts=payouts,
            fee_limit_units=content.fee_offer * content.work,
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
