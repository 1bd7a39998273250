"""Transfers on an evm network, read in ranges of blocks that two providers agree on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from payments.chains.base import (
    ChainUnavailable,
    Cursor,
    FinalityViolation,
    Head,
    IncomingTransfer,
    NetworkProfile,
    OutgoingTransfer,
    Scan,
    WatchList,
)
from payments.chains.evm import abi, questions
from payments.chains.evm.providers import Providers
from payments.chains.evm.questions import TRANSFER, Header, Log, Receipt, SentTransaction
from payments.chains.evm.rpc import RpcError

BLOCKS_PER_SCAN = 2_000
"""How far one scan goes beyond what has been read before."""

MOST_BLOCKS_PER_QUESTION, FIRST_BLOCKS_PER_QUESTION = 2_000, 500
MOST_ADDRESSES_PER_QUESTION = 1_000
"""What nodes take in one place of a filter. With more open addresses, every transfer of our tokens is read instead."""

_RECEIPTS_PER_BATCH = 50


@dataclass(slots=True)
class Pace:
    """How many blocks providers let us ask about at once. They do not say, so it is found out."""

    blocks: int = FIRST_BLOCKS_PER_QUESTION

    def slow_down(self, asked: int) -> None:
        """ChainUnavailable when not even a single block may be asked about."""
        if asked <= 1:
            raise ChainUnavailable("Providers refuse to read even one block.")
        self.blocks = asked // 2

    def speed_up(self) -> None:
        self.blocks = min(MOST_BLOCKS_PER_QUESTION, self.blocks + self.blocks // 8 + 1)


class Reading:
    """What can be read of one network without knowing what it is for."""

    def __init__(
        self,
        profile: NetworkProfile,
        providers: Providers,
        *,
        pace: Pace | None = None,
        blocks_per_scan: int = BLOCKS_PER_SCAN,
    ) -> None:
        self._network = profile.network
        self._assets = {asset.contract: asset for asset in profile.assets.values()}
        self._providers = providers
        self._pace = pace or Pace()
        self._blocks_per_scan = blocks_per_scan

    def scan(self, cursor: Cursor | None, watch: WatchList) -> Scan:
        head = self._providers.head()
        if cursor is None:
            final = read_to = head.finalized_height
        else:
            final, read_to = cursor["final"], cursor["read_to"]
        if head.height < final:
            raise ChainUnavailable(f"The providers of {self._network} are behind what has been read.")
        first, last = final + 1, min(head.height, max(final, read_to) + self._blocks_per_scan)
        before = self._header(last)
        events = self._arrivals(first, last, watch)
        next_final = max(final, min(head.finalized_height, last))
        headers = self._headers({final, next_final, last, head.height, *(event.height for event in events)})
        if cursor is not None and headers[final].block_hash != cursor["final_hash"]:
            raise FinalityViolation(f"The final block {final} of {self._network} is another one now.")
        same = headers[last] == before and headers[head.height].block_hash == head.block_hash
        if not same or any(event.block_hash != headers[event.height].block_hash for event in events):
            raise self._changed()
        return Scan(
            first_height=first,
            last_height=last,
            last_block_time=before.closed_at,
            head=head,
            transfers=self._incoming(events, headers),
            cursor={"final": next_final, "final_hash": headers[next_final].block_hash, "read_to": last},
            caught_up=last == head.height,
        )

    def cursor_at(self, height: int) -> Cursor:
        self._reached(height)
        return {"final": height, "final_hash": self._header(height).block_hash, "read_to": height}

    def find_transfers(self, transaction_hash: str) -> tuple[IncomingTransfer, ...]:
        known = transaction_hash.strip().lower()
        if len(known) != 66 or not known.startswith("0x") or set(known[2:]) - set("0123456789abcdef"):
            return ()
        head = self._providers.head()
        receipt = self._providers.agree_on(questions.receipt(known, up_to=head.height))
        if receipt is None or not receipt.succeeded:
            return ()
        block = self._header(receipt.height)
        if block.block_hash != receipt.block_hash:
            raise self._changed()
        return tuple(self._transfer(log, ordinal, block) for ordinal, log in token_transfers(receipt))

    def outgoing(self, address: str, *, first_height: int, last_height: int) -> tuple[OutgoingTransfer, ...]:
        if first_height > last_height:
            return ()
        self._reached(last_height)
        before = self._header(last_height)
        found = self._logs(first_height, last_height, [TRANSFER, abi.address_topic(address)], tuple(self._assets))
        events = [log for log in found if log.is_token_transfer and log.amount]
        receipts = self._receipts(events)
        senders = self._senders(events)
        if self._header(last_height) != before:
            raise self._changed()
        return tuple(
            OutgoingTransfer(
                transaction_hash=log.transaction_hash,
                sequence=sent.nonce if (sent := senders[log.transaction_hash]).sender == address else None,
                ordinal=_ordinal(receipts[log.transaction_hash], log),
                height=log.height,
                contract=log.contract,
                amount=log.amount,
                recipient=log.recipient,
            )
            for log in events
        )

    def _reached(self, height: int) -> Head:
        """Where the network is; ChainUnavailable while the block at this height is still to come."""
        head = self._providers.head()
        if height > head.height:
            raise ChainUnavailable(f"{self._network} has not reached height {height} yet.")
        return head

    def _arrivals(self, first: int, last: int, watch: WatchList) -> list[Log]:
        """Transfers of something to watched addresses, of any token while the list is short enough to hand over."""
        if first > last or not (count := watch.count()):
            return []
        if count <= MOST_ADDRESSES_PER_QUESTION:
            wanted = [abi.address_topic(address) for address in watch.addresses(MOST_ADDRESSES_PER_QUESTION)]
            found = self._logs(first, last, [TRANSFER, None, wanted]) if wanted else []
        else:
            found = self._logs(first, last, [TRANSFER], tuple(self._assets))
        # Transfers of nothing cost their sender next to nothing: no more is asked about them.
        moved = [log for log in found if log.is_token_transfer and log.amount]
        watched = watch.matching({log.recipient for log in moved}) if moved else set()
        return [log for log in moved if log.recipient in watched]

    def _logs(
        self, first: int, last: int, topics: Sequence[str | list[str] | None], contracts: Sequence[str] = ()
    ) -> list[Log]:
        found: list[Log] = []
        while first <= last:
            until = min(last, first + self._pace.blocks - 1)
            try:
                some = self._providers.agree_on(questions.logs(first, until, topics, contracts))
            except RpcError as error:
                if not error.asks_for_less:
                    raise ChainUnavailable(f"{self._network} cannot be read: {error}") from error
                self._pace.slow_down(until - first + 1)
                continue
            found += some
            first = until + 1
            self._pace.speed_up()
        return found

    def _incoming(self, events: Sequence[Log], headers: dict[int, Header]) -> tuple[IncomingTransfer, ...]:
        receipts = self._receipts(events)
        return tuple(
            self._transfer(log, _ordinal(receipts[log.transaction_hash], log), headers[log.height]) for log in events
        )

    def _receipts(self, events: Iterable[Log]) -> dict[str, Receipt]:
        """The whole transactions these events are part of; ChainUnavailable when one is not in that block any more."""
        blocks = {log.transaction_hash: log for log in events}
        found: dict[str, Receipt] = {}
        for some in _in_batches(blocks.values()):
            asked = [questions.receipt(log.transaction_hash, up_to=log.height) for log in some]
            for log, receipt in zip(some, self._providers.agree(*asked), strict=True):
                if receipt is None or receipt.block_hash != log.block_hash or not receipt.succeeded:
                    raise self._changed()
                found[log.transaction_hash] = receipt
        return found

    def _senders(self, events: Iterable[Log]) -> dict[str, SentTransaction]:
        """Who sent the transactions these events are part of, and under which number."""
        found: dict[str, SentTransaction] = {}
        for some in _in_batches({log.transaction_hash: log for log in events}.values()):
            asked = [questions.sent(log.transaction_hash) for log in some]
            for log, sent in zip(some, self._providers.agree(*asked), strict=True):
                if sent is None or sent.height != log.height:
                    raise self._changed()
                found[log.transaction_hash] = sent
        return found

    def _transfer(self, log: Log, ordinal: int, block: Header) -> IncomingTransfer:
        return IncomingTransfer(
            transaction_hash=log.transaction_hash,
            ordinal=ordinal,
            height=log.height,
            block_hash=log.block_hash,
            block_time=block.closed_at,
            contract=log.contract,
            asset=self._assets.get(log.contract),
            amount=log.amount,
            sender=log.sender,
            recipient=log.recipient,
        )

    def _header(self, height: int) -> Header:
        return self._headers({height})[height]

    def _headers(self, heights: set[int]) -> dict[int, Header]:
        wanted = sorted(heights)
        found = self._providers.agree(*(questions.header(height) for height in wanted))
        if any(header is None for header in found):
            raise ChainUnavailable(f"A block of {self._network} is not there any more.")
        return dict(zip(wanted, found, strict=True))

    def _changed(self) -> ChainUnavailable:
        return ChainUnavailable(f"Blocks of {self._network} changed while they were read.")


def token_transfers(receipt: Receipt) -> Iterator[tuple[int, Log]]:
    """Every transfer of something inside an on-chain transaction, with its ordinal."""
    return enumerate(log for log in receipt.logs if log.is_token_transfer and log.amount)


def _ordinal(receipt: Receipt, wanted: Log) -> int:
    for ordinal, log in token_transfers(receipt):
        if log == wanted:
            return ordinal
    raise ChainUnavailable(f"The receipt of {wanted.transaction_hash} lacks an event that its block has.")


def _in_batches(logs: Iterable[Log]) -> Iterator[list[Log]]:
    waiting = iter(logs)
    while some := list(islice(waiting, _RECEIPTS_PER_BATCH)):
        yield some
