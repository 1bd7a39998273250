"""Payments of the stellar network, read from Horizon by ledger, on which two Horizons agree."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from config.money import Asset
from payments.chains.errors import ChainUnavailable, FinalityViolation, NotSetUp, RecordUnreadable
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.operations import UnusualChange
from payments.chains.protocol.scans import Cursor, Head, Scan, WatchList
from payments.chains.protocol.transfers import (
    FoundTransaction,
    Identity,
    IncomingTransfer,
    OutgoingTransfer,
    UnreadRecord,
)
from payments.chains.providers.pool import Believed
from payments.chains.readiness import require_fields
from payments.chains.stellar.claimable import balance_id
from payments.chains.stellar.horizon import lookups
from payments.chains.stellar.horizon.client import Horizon
from payments.chains.stellar.horizon.holdings import holding
from payments.chains.stellar.horizon.operations import Payment
from payments.chains.stellar.horizon.pages import Moved, operations_between
from payments.chains.stellar.horizon.providers import Horizons, LacksHistory
from payments.chains.stellar.horizon.records import PAGE, LedgerRecord, TransactionRecord, token_after
from payments.chains.stellar.horizon.transfers import (
    arrives,
    idle_movement,
    incoming,
    is_idle,
    is_set_aside,
    leaves,
    references,
)
from payments.chains.stellar.horizon.unusual import unusual_changes
from payments.chains.stellar.horizon.values import NATIVE

RECORDS_PER_SCAN = 2_000
"""Operations that one scan reads beyond what has been read before; a ledger is never cut in two."""

CURSOR_FIELDS = ("paging_token", "height", "hash", "read_to", "read_hash")

READ_AGAIN = 8
"""Ledgers below the head that are read once more: behind one address stand several Horizons, and any may be behind."""

POLL_SECONDS = 2.5
"""How long a scan takes the newest ledger for the newest still: public Horizons count questions."""

LEDGERS_AT_A_TIME = 2_000
LEDGERS_OF_PACE = 1_000
"""How far one question about the changes of an account goes: about three hours."""

MOST_ACCOUNTS = 10
"""How many accounts are read beside our own: those that payments of the last weeks were to be sent to."""


class HistoryMissing(NotSetUp):
    """Ledgers that must be read next are on no server any more. Nothing is read until one has them."""


@dataclass(frozen=True, slots=True)
class _Found:
    """An on-chain transaction, what it moved, and the Horizons that were believed about that."""

    record: TransactionRecord
    payments: tuple[Payment, ...]
    unread: tuple[UnreadRecord, ...]
    said_by: tuple[str, ...]


class Reading:
    """What can be read of the network without knowing what it is for. `wallet` receives deposits and pays."""

    def __init__(
        self,
        profile: NetworkProfile,
        horizons: Horizons,
        *,
        wallet: str,
        channels: Callable[[], Collection[str]] = tuple,
        records_per_scan: int = RECORDS_PER_SCAN,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._network, self._block_seconds = profile.network, profile.block_seconds
        self._native = profile.native
        self._assets = {asset.contract: asset for asset in profile.assets.values()}
        self._horizons = horizons
        self._wallet = wallet
        self._channels = channels
        self._records_per_scan = records_per_scan
        self._poll_seconds = min(poll_seconds, profile.block_seconds / 2)

    def pace(self) -> float:
        newest = self.head()
        first = max(1, newest.height - LEDGERS_OF_PACE)
        if first == newest.height:
            return self._block_seconds
        try:
            took = newest.closed_at - self._horizons.ledger(first).closed_at
        except LacksHistory:
            return self._block_seconds
        return took.total_seconds() / (newest.height - first)

    def head(self) -> Head:
        return self._horizons.head()

    def scan(self, cursor: Cursor | None, watch: WatchList) -> Scan:
        """A ledger is left behind once it is READ_AGAIN below the head; until then each scan reads it again."""
        head = self._horizons.head(within_seconds=self._poll_seconds)
        if cursor is None:
            cursor = _cursor(head, head)
        require_fields(self._network, cursor, CURSOR_FIELDS)
        done = cursor["height"]
        if head.height < done:
            raise ChainUnavailable(f"The Horizons of {self._network} are behind what has been read.")
        if (head.height, head.block_hash) == (cursor["read_to"], cursor["read_hash"]):
            return Scan(head.height + 1, head.height, head.closed_at, head, (), cursor, caught_up=True)
        try:
            return self._scan(cursor, head, watch)
        except LacksHistory as error:
            raise HistoryMissing(
                f"{self._network} has been read up to ledger {done}. {error} Add a Horizon that has them to "
                f"{self._network.upper()}_HORIZON_URLS: what happened in between is not skipped."
            ) from error

    def cursor_at(self, height: int) -> Cursor:
        self._reached(height)
        last = self._horizons.ledger(height) if height else None
        return _cursor(last, last)

    def find_transfers(self, transaction_hash: str) -> tuple[IncomingTransfer, ...]:
        found = self._transaction(transaction_hash)
        if found is not None and found.unread:
            raise RecordUnreadable(found.unread[0])
        return self._transfers(found) if found and found.record.successful else ()

    def find_set_aside(self, transaction_hash: str) -> tuple[IncomingTransfer, ...]:
        found = self._transaction(transaction_hash)
        return self._transfers(found, counts=is_set_aside) if found and found.record.successful else ()

    def find_transaction(self, transaction_hash: str) -> FoundTransaction | None:
        found = self._transaction(transaction_hash)
        if found is None:
            return None
        known = found.record
        if not known.successful:
            return FoundTransaction(known.hash, "failed", known.ledger)
        return FoundTransaction(
            known.hash,
            "included",
            known.ledger,
            transfers=self._transfers(found),
            idle=tuple(map(idle_movement, filter(is_idle, found.payments))),
        )

    def payment(self, identity: Identity) -> Payment | None:
        """The payment at this place of an on-chain transaction, as it was sent; None when nobody knows it."""
        transaction_hash, ordinal = identity
        found = self._transaction(transaction_hash)
        arrived = filter(arrives, found.payments) if found else ()
        return next((each for each in arrived if each.ordinal == ordinal), None)

    def outgoing(
        self, address: str, *, first_height: int, last_height: int, signer: str = ""
    ) -> tuple[OutgoingTransfer, ...]:
        if first_height > last_height:
            return ()
        self._reached(last_height)
        left, channels = (
            self._operations(address, max(0, first_height - 1), last_height),
            {*self._channels()} - {address},
        )
        return tuple(
            OutgoingTransfer(
                transaction_hash=each.transaction_hash,
                sequence=each.sequence if each.source_account in channels | {address} else None,
                ordinal=each.ordinal,
                height=each.ledger,
                contract=each.spent_asset,
                amount=each.spent,
                recipient=each.recipient,
                memo=references(each)[0],
                channel=each.source_account if each.source_account in channels else "",
                claimable_balance=balance_id(each.source_account, each.sequence, each.operation)
                if each.kind == "claimable_balance"
                else "",
                is_conditional=each.is_conditional,
            )
            for each in left
            if leaves(each, address) and each.spent_asset in self._assets and each.spent
        )

    def balances(self, addresses: Sequence[str], asset: Asset, *, at_height: int | None = None) -> dict[str, int]:
        held = {address: self.balance(address, asset, at_height=at_height) for address in addresses}
        return {address: units for address, units in held.items() if units}

    def balance(self, address: str, asset: Asset, *, at_height: int | None = None) -> int:
        """Horizon knows balances of now alone: what came and went since the height is taken back from them."""
        head = self._reached(at_height or 0)
        height = head.height if at_height is None else at_height
        contract = NATIVE if asset == self._native else asset.contract
        return self._horizons.agree(
            lambda horizon: holding(horizon, address, contract, height),
            subject=f"The {asset.code} of {address} after ledger {height}",
            first_height=height + 1 if height < head.height else 0,
            up_to=height,
        )

    def unusual_changes(self, address: str, *, first_height: int, last_height: int) -> tuple[UnusualChange, ...]:
        if first_height > last_height:
            return ()
        self._reached(last_height)
        found = list[UnusualChange]()
        for first in range(max(1, first_height), last_height + 1, LEDGERS_AT_A_TIME):
            last = min(last_height, first + LEDGERS_AT_A_TIME - 1)
            found += self._horizons.agree(
                partial(unusual_changes, account=address, assets=self._assets, after=first - 1, up_to=last),
                subject=f"Changes of {address} from ledger {first} to {last}",
                first_height=first,
                up_to=last,
            )
        return tuple(found)

    # What is behind these

    def _scan(self, cursor: Cursor, head: Head, watch: WatchList) -> Scan:
        done, read_to = cursor["height"], cursor["read_to"]
        accounts = {self._wallet, *(watch.addresses(MOST_ACCOUNTS) or ())}
        last, payments, said_by = head.height, list[Payment](), dict[str, tuple[str, ...]]()
        unread = set[UnreadRecord]()
        for account in sorted(accounts):
            believed = self._payments(account, done, read_to, last)
            found, said_by[account] = believed.answer, believed.by
            last = min(last, found.last_height)
            payments += [each for each in found.payments if each.recipient == account]
            unread |= {*found.unread}
        arrived = [each for each in payments if each.ledger <= last and arrives(each)]
        watched = watch.matching({each.recipient for each in arrived}) if arrived else set()
        arrived = [each for each in arrived if each.recipient in watched]
        next_done = max(done, min(last, head.height - READ_AGAIN))
        ledgers = self._ledgers({done, next_done, last, *(each.ledger for each in arrived)} - {0})
        if done and ledgers[done].hash != cursor["hash"]:
            raise FinalityViolation(f"The ledger {done} of {self._network} is another one now.")
        return Scan(
            first_height=done + 1,
            last_height=last,
            last_block_time=ledgers[last].closed_at,
            head=head,
            transfers=tuple(
                incoming(each, self._assets, ledgers[each.ledger].hash, said_by[each.recipient])
                for each in sorted(arrived, key=_place)
            ),
            cursor=_cursor(ledgers.get(next_done), ledgers[last]),
            caught_up=last == head.height,
            unread=tuple(sorted((each for each in unread if each.height <= last), key=lambda each: each.height)),
        )

    def _payments(self, account: str, done: int, read_to: int, up_to: int) -> Believed[Moved]:
        """What a scan finds of one account above `done`."""
        return self._horizons.believe(
            lambda horizon: operations_between(
                horizon,
                f"/accounts/{account}/payments",
                account,
                after=done,
                up_to=up_to,
                fresh_after=read_to,
                enough=self._records_per_scan,
            ),
            subject=f"Payments of {account} from ledger {done + 1} to {up_to}",
            first_height=max(done, 1),
            up_to=up_to,
        )

    def _reached(self, height: int) -> Head:
        """Where the network is; ChainUnavailable while the ledger with this number is still to come."""
        head = self.head()
        if height > head.height:
            raise ChainUnavailable(f"{self._network} has not reached height {height} yet.")
        return head

    def _operations(self, account: str, after: int, last: int) -> Iterator[Payment]:
        """All that operations of an account moved in the ledgers above `after` up to `last`."""
        while after < last:
            found = self._horizons.agree(
                lambda horizon, after=after: operations_between(  # type: ignore[misc]
                    horizon,
                    f"/accounts/{account}/operations",
                    account,
                    after=after,
                    up_to=last,
                    fresh_after=after,
                    enough=self._records_per_scan,
                ),
                subject=f"Operations of {account} from ledger {after + 1} to {last}",
                first_height=max(after, 1),
                up_to=last,
            )
            after = found.last_height
            yield from found.payments

    def _transaction(self, text: str) -> _Found | None:
        """An on-chain transaction by its hash, the outer or the inner one, and what it moved; None when nobody knows
        it."""
        if not (known := lookups.hash_in(text)):
            return None
        head = self.head()

        def query(horizon: Horizon) -> TransactionRecord | None:
            return lookups.transaction_up_to(horizon, known, head.height)

        # Only Horizons that have its ledger can answer that there is no such transaction.
        seen = self._horizons.anyone(query)
        found = self._horizons.agree(
            query, subject=f"Transaction {known}", first_height=seen.ledger if seen else 0, up_to=head.height
        )
        if found is None:
            return None
        moved = self._horizons.believe(
            lambda horizon: lookups.moved_by(horizon, found),
            subject=f"Operations of transaction {known}",
            first_height=found.ledger,
            up_to=found.ledger,
        )
        return _Found(found, moved.answer.payments, moved.answer.unread, moved.by)

    def _transfers(self, found: _Found, *, counts: Callable[[Payment], bool] = arrives) -> tuple[IncomingTransfer, ...]:
        block_hash = self._ledgers({found.record.ledger})[found.record.ledger].hash
        return tuple(incoming(each, self._assets, block_hash, found.said_by) for each in found.payments if counts(each))

    def _ledgers(self, heights: Collection[int]) -> dict[int, LedgerRecord]:
        """These ledgers, of which neighbours share a page."""
        found: dict[int, LedgerRecord] = {}
        waiting = sorted(heights)
        while waiting:
            near = [height for height in waiting if height < waiting[0] + PAGE]
            waiting = waiting[len(near) :]
            first, last = near[0], near[-1]
            if first == last:
                found[first] = self._horizons.ledger(first)
                continue
            some = self._horizons.agree(
                lambda horizon, first=first, last=last: lookups.ledgers(horizon, first, last),  # type: ignore[misc]
                subject=f"Ledgers {first} to {last}",
                first_height=first,
                up_to=last,
            )
            found |= {each.sequence: each for each in some}
        return found


def _cursor(done: LedgerRecord | Head | None, read_to: LedgerRecord | Head | None) -> Cursor:
    """A cursor that leaves `done` behind, and everything before; None is the beginning. `read_to` is read already."""
    height, block_hash = _named(done)
    read_height, read_hash = _named(read_to)
    return {
        "paging_token": str(token_after(height)),
        "height": height,
        "hash": block_hash,
        "read_to": read_height,
        "read_hash": read_hash,
    }


def _named(ledger: LedgerRecord | Head | None) -> tuple[int, str]:
    match ledger:
        case None:
            return 0, ""
        case LedgerRecord():
            return ledger.sequence, ledger.hash
        case Head():
            return ledger.height, ledger.block_hash


def _place(payment: Payment) -> tuple[int, int]:
    return payment.paging_token, payment.ordinal
