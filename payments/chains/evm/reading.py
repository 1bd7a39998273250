"""Transfers on an evm network, read in ranges of blocks that two providers agree on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeVar

from payments.chains.errors import ChainUnavailable, FinalityViolation, RecordUnreadable
from payments.chains.evm import abi, addresses
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.balances import Balances
from payments.chains.evm.nodes.disagreement import has_moved
from payments.chains.evm.nodes.providers import Provider, Providers
from payments.chains.evm.nodes.questions import (
    QUESTIONS_PER_BATCH,
    TRANSFER,
    Header,
    Log,
    Question,
    Receipt,
    SentTransaction,
    UnreadReceipt,
)
from payments.chains.evm.nodes.rpc import RpcError
from payments.chains.evm.token_fees import TokenFees, with_neighbours
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.roles import RoleChange
from payments.chains.protocol.scans import Cursor, Head, Scan, WatchList
from payments.chains.protocol.transfers import FoundTransaction, IncomingTransfer, NonDeposit, OutgoingTransfer
from payments.chains.readiness import require_fields

BLOCKS_PER_SCAN = 2_000
"""How far one scan goes beyond what has been read before."""

READINGS = 3
"""How often a block is read at least. Near the head it is read far more often anyway."""

MOST_BLOCKS_PER_QUESTION, FIRST_BLOCKS_PER_QUESTION = 2_000, 500
MOST_ADDRESSES_PER_QUESTION = 1_000
"""What nodes take in one place of a filter. With more open addresses, every transfer of our tokens is read instead."""

BLOCKS_OF_PACE = 1_000

CURSOR_FIELDS = ("final", "final_hash", "done", "read_to", "found")

Item = TypeVar("Item")

Events = dict[Log, "Reports"]
"""Events, each with the providers that reported it and those that did not."""


@dataclass(frozen=True, slots=True)
class Reports:
    """`silent` are those that know the last block of the query, and left the event out."""

    reporters: list[Provider]
    silent: list[Provider]


@dataclass(slots=True)
class Pace:
    """The number of blocks that providers permit in one query. They do not state it, so it is measured."""

    blocks: int = FIRST_BLOCKS_PER_QUESTION

    def slow_down(self, refused: int) -> None:
        """Query fewer blocks at once. ChainUnavailable when not even a single block is permitted."""
        if refused <= 1:
            raise ChainUnavailable("Providers refuse to read even one block.")
        self.blocks = refused // 2

    def speed_up(self) -> None:
        self.blocks = min(MOST_BLOCKS_PER_QUESTION, self.blocks + self.blocks // 8 + 1)


ROLE_EVENTS = {
    abi.topic("OwnershipTransferred(address,address)"): "owner",
    abi.topic("OwnershipOffered(address,address)"): "offered owner",
    abi.topic("OperatorChanged(address)"): "operator",
    abi.topic("TreasuryChanged(address)"): "treasury",
}
"""The events of the factory that give a role to somebody, who is their last topic."""


class Reading(Balances):
    """What can be read of one network without knowing what it is for."""

    def __init__(
        self,
        profile: NetworkProfile,
        providers: Providers,
        *,
        pace: Pace | None = None,
        blocks_per_scan: int = BLOCKS_PER_SCAN,
    ) -> None:
        super().__init__(profile, providers)
        self._block_seconds = profile.block_seconds
        self._assets = {asset.contract: asset for asset in profile.assets.values()}
        self._pace = pace or Pace()
        self._blocks_per_scan = blocks_per_scan

    def head(self) -> Head:
        return self._providers.head()

    def scan(self, cursor: Cursor | None, watch: WatchList) -> Scan:
        """A block is left behind once it is final and has been read several times.

        So an event that some providers leave out is found by another one in time; and an event that was found is not
        given up because an answer lacks it, but when two answer that it is in no block.
        """
        head = self._providers.head()
        if cursor is None:
            cursor = self._cursor(self._header(head.finalized_height))
        require_fields(self._network, cursor, CURSOR_FIELDS)
        final, final_hash, done = cursor["final"], cursor["final_hash"], cursor["done"]
        if head.height < final:
            raise ChainUnavailable(f"The providers of {self._network} are behind what has been read.")
        read_to: list[int] = cursor["read_to"]
        first, last = done + 1, min(head.height, max([done, *read_to]) + self._blocks_per_scan)
        while (before := self._header(last)).made_at is None and last > first:
            last -= 1  # its time is unknown
        found = self._arrivals(first, last, watch)
        hashes = {*(log.transaction_hash for log in found), *cursor["found"]}
        receipts, unread = self._receipts(hashes, up_to=last)
        self._note_lies(found, receipts, unread)
        next_final = max(final, min(head.finalized_height, last))
        reported: list[Receipt | UnreadReceipt] = [*receipts.values(), *unread.values()]
        heights = {receipt.height for receipt in reported}
        headers = self._headers({final, next_final, last, head.height, *heights})
        if headers[final].block_hash != final_hash:
            raise FinalityViolation(f"The final block {final} of {self._network} is another one now.")
        if headers[last] != before or headers[head.height].block_hash != head.block_hash:
            raise self._changed()
        if any(receipt.block_hash != headers[receipt.height].block_hash for receipt in reported):
            raise self._changed()
        for name, receipt in list(receipts.items()):
            if record := headers[receipt.height].unread(name):
                unread[name] = UnreadReceipt(record, receipts.pop(name).block_hash)
        read_to = [*read_to, last][-READINGS:]
        next_done = max(done, min(next_final, read_to[0])) if len(read_to) == READINGS else done
        transfers = self._incoming(receipts.values(), headers, watch)
        return Scan(
            first_height=first,
            last_height=last,
            last_block_time=before.closed_at,
            head=head,
            transfers=tuple(transfer for transfer in transfers if transfer.height >= first),
            cursor={
                "final": next_final,
                "final_hash": headers[next_final].block_hash,
                "done": next_done,
                "read_to": read_to,
                "found": sorted(
                    {each.transaction_hash for each in transfers if each.height > next_done}
                    | {each.transaction_hash for each in unread.values() if each.height > next_done}
                ),
            },
            caught_up=last == head.height,
            unread=tuple(each.record for each in unread.values() if each.height >= first),
        )

    def pace(self) -> float:
        newest = self._providers.head()
        if not (blocks := min(newest.height, BLOCKS_OF_PACE)):
            return self._block_seconds
        return (newest.closed_at - self._header(newest.height - blocks).closed_at).total_seconds() / blocks

    def cursor_at(self, height: int) -> Cursor:
        self.reached(height)
        return self._cursor(self._header(height))

    def receipt(self, transaction_hash: str) -> Receipt | None:
        """The receipt of an on-chain transaction; None while it is in no block. RecordUnreadable if it cannot be
        read."""
        head = self._providers.head()
        believed = self._providers.believe(questions.receipt_or_place(transaction_hash, up_to=head.height))
        found: Receipt | UnreadReceipt | None = believed.answer[0]
        if isinstance(found, UnreadReceipt):
            raise RecordUnreadable(found.record)
        return found and replace(found, said_by=believed.by)

    def find_transfers(self, transaction_hash: str) -> tuple[IncomingTransfer, ...]:
        known = _hash_in(transaction_hash)
        receipt = known and self.receipt(known)
        return self._transfers(receipt) if receipt and receipt.succeeded else ()

    def find_transaction(self, transaction_hash: str) -> FoundTransaction | None:
        if not (known := _hash_in(transaction_hash)):
            return None
        receipt = self.receipt(known)
        if receipt is None:
            waits = self._providers.anyone(questions.sent(known))
            return None if waits is None else FoundTransaction(known, "pending")
        if not receipt.succeeded:
            return FoundTransaction(known, "failed", receipt.height)
        sent = self._senders({known: receipt})[known]
        return FoundTransaction(
            known, "included", receipt.height, transfers=self._transfers(receipt), idle=tuple(_idle(sent, receipt))
        )

    def outgoing(
        self, address: str, *, first_height: int, last_height: int, signer: str = ""
    ) -> tuple[OutgoingTransfer, ...]:
        if first_height > last_height:
            return ()

        def is_ours(moved: tuple[int, Log]) -> bool:
            return moved[1].sender == address and moved[1].contract in self._assets

        self.reached(last_height)
        before = self._header(last_height)
        question = partial(questions.logs, topics=[TRANSFER, abi.address_topic(address)], contracts=tuple(self._assets))
        events = self._events(first_height, last_height, question)
        reported, unread = self._receipts({log.transaction_hash for log in events}, up_to=last_height)
        self._note_lies(events, reported, unread)
        # Anybody can send a transfer of nothing in the name of another: such a transaction is queried no further.
        receipts = {name: each for name, each in reported.items() if any(map(is_ours, token_transfers(each)))}
        senders = self._senders(receipts)
        if self._header(last_height) != before:
            raise self._changed()
        left = [
            OutgoingTransfer(
                transaction_hash=log.transaction_hash,
                sequence=sent.nonce if (sent := senders[log.transaction_hash]).sender in (address, signer) else None,
                ordinal=ordinal,
                height=log.height,
                contract=log.contract,
                amount=log.amount,
                recipient=log.recipient,
            )
            for receipt in sorted(receipts.values(), key=_place)
            for ordinal, log in filter(is_ours, token_transfers(receipt))
        ]
        return tuple(left)

    def role_changes(
        self, factories: Collection[str], *, first_height: int, last_height: int
    ) -> tuple[RoleChange, ...]:
        """The changes of these factories' roles, by the receipts of these blocks."""
        if first_height > last_height:
            return ()
        question = partial(questions.logs, topics=[list(ROLE_EVENTS)], contracts=tuple(factories))
        events = self._events(first_height, last_height, question)
        receipts, unread = self._receipts({log.transaction_hash for log in events}, up_to=last_height)
        if unread:
            raise RecordUnreadable(next(iter(unread.values())).record)
        if not receipts:
            return ()
        senders = self._senders(receipts)
        blocks = self._headers({receipt.height for receipt in receipts.values()})
        return tuple(
            RoleChange(
                factory=log.contract,
                role=ROLE_EVENTS[log.topics[0]],
                account=log.recipient if len(log.topics) > 2 else log.sender,
                made_by=senders[log.transaction_hash].sender,
                transaction_hash=log.transaction_hash,
                ordinal=ordinal,
                height=receipt.height,
                happened_at=blocks[receipt.height].closed_at,
            )
            for receipt in sorted(receipts.values(), key=_place)
            for ordinal, log in enumerate(receipt.logs)
            if log.contract in factories and log.topics and log.topics[0] in ROLE_EVENTS
        )

    def _cursor(self, block: Header) -> Cursor:
        """A cursor that begins after this block."""
        return {
            "final": block.height,
            "final_hash": block.block_hash,
            "done": block.height,
            "read_to": [],
            "found": [],
        }

    def _arrivals(self, first: int, last: int, watch: WatchList) -> Events:
        """Transfers of something to watched addresses, of any token while the list is short enough to hand over.

        Transfers of nothing cost their sender next to nothing: nothing more is queried about them.
        """
        expected = watch.addresses(MOST_ADDRESSES_PER_QUESTION)
        if first > last or (expected is not None and not expected):
            return {}
        if expected is None:
            question = partial(
                questions.arrivals, contracts=tuple(self._assets), watched=RecipientsOfScan(watch).watched
            )
        else:
            wanted = {_digits(address) for address in expected}
            question = partial(questions.arrivals, recipients=tuple(expected), watched=wanted.intersection)
        return self._events(first, last, question)

    def _events(self, first: int, last: int, question: Callable[[int, int], Question[tuple[Log, ...]]]) -> Events:
        """Events that any provider reports; their receipts decide whether they are true."""
        found = Events()
        while first <= last:
            until = min(last, first + self._pace.blocks - 1)
            try:
                # Queried together with its last block: a node that lacks it would otherwise answer that nothing
                # happened.
                reports = self._providers.gather(question(first, until), questions.header(until))
            except RpcError as error:
                if not error.is_too_large:
                    raise ChainUnavailable(f"{self._network} cannot be read: {error}") from error
                self._pace.slow_down(until - first + 1)
                continue
            # One that is behind, or answers differently, does not keep the others from being read.
            known = Counter(each.answers[1] for each in reports if each.answers[1] is not None)
            if max(known.values(), default=0) < self._providers.needed:
                raise self._changed()
            [(last_block, _)] = known.most_common(1)
            reported = {each.provider.name: set(each.answers[0]) for each in reports}
            on_it = [each.provider for each in reports if each.answers[1] == last_block]
            for log in {log for each in reports for log in each.answers[0]}:
                found[log] = Reports(
                    reporters=[each.provider for each in reports if log in reported[each.provider.name]],
                    silent=[provider for provider in on_it if log not in reported[provider.name]],
                )
            first = until + 1
            self._pace.speed_up()
        return found

    def _note_lies(self, events: Events, receipts: Mapping[str, Receipt], unread: Mapping[str, UnreadReceipt]) -> None:
        """Events that are not in the receipt that is agreed, and those that are and were left out by somebody."""
        for log, reports in events.items():
            if log.transaction_hash in unread:
                continue
            if not log.contract:
                self._providers.note_unreadable(reports.reporters, log.transaction_hash)
                continue
            receipt = receipts.get(log.transaction_hash)
            if not has_moved(log, receipt) and len(reports.silent) >= self._providers.needed:
                self._providers.note_invention(reports.reporters, log)
            elif receipt is not None and log in receipt.logs:
                self._providers.note_omission(reports.silent, log)

    def _incoming(
        self, receipts: Iterable[Receipt], headers: dict[int, Header], watch: WatchList
    ) -> list[IncomingTransfer]:
        """What arrived at watched addresses in these transactions, in the order it happened."""
        by_hash = {receipt.transaction_hash: receipt for receipt in sorted(receipts, key=_place)}
        moved = [(ordinal, log) for receipt in by_hash.values() for ordinal, log in token_transfers(receipt)]
        watched = watch.matching({log.recipient for _, log in moved}) if moved else set()
        fees = TokenFees(self._providers, max(headers))
        return [
            replace(
                self._transfer(log, ordinal, headers[log.height], by_hash[log.transaction_hash]),
                token_fee=fees.kept(log, beside),
            )
            for (ordinal, log), beside in with_neighbours(moved)
            if log.recipient in watched
        ]

    def _transfers(self, receipt: Receipt) -> tuple[IncomingTransfer, ...]:
        block = self._header(receipt.height)
        if block.block_hash != receipt.block_hash:
            raise self._changed()
        if record := block.unread(receipt.transaction_hash):
            raise RecordUnreadable(record)
        return tuple(self._transfer(log, ordinal, block, receipt) for ordinal, log in token_transfers(receipt))

    def _receipts(self, hashes: Collection[str], *, up_to: int) -> tuple[dict[str, Receipt], dict[str, UnreadReceipt]]:
        """Those of these transactions that are in a block and succeeded, as two providers agree, and those whose
        effects the same two cannot report."""
        wanted = [questions.receipt_or_place(transaction_hash, up_to=up_to) for transaction_hash in sorted(hashes)]
        found: dict[str, Receipt] = {}
        unread: dict[str, UnreadReceipt] = {}
        for some in _in_batches(wanted):
            believed = self._providers.believe(*some)
            succeeded = [each for each in believed.answer if isinstance(each, Receipt) and each.succeeded]
            found |= {each.transaction_hash: replace(each, said_by=believed.by) for each in succeeded}
            unread |= {each.transaction_hash: each for each in believed.answer if isinstance(each, UnreadReceipt)}
        return found, unread

    def _senders(self, receipts: Mapping[str, Receipt]) -> dict[str, SentTransaction]:
        """Who sent these transactions, and under which number."""
        found: dict[str, SentTransaction] = {}
        for some in _in_batches([questions.sent(transaction_hash) for transaction_hash in receipts]):
            for sent in self._providers.agree(*some):
                if sent is None or sent.height != receipts[sent.transaction_hash].height:
                    raise self._changed()
                found[sent.transaction_hash] = sent
        return found

    def _transfer(self, log: Log, ordinal: int, block: Header, receipt: Receipt) -> IncomingTransfer:
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
            said_by=receipt.said_by,
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


class RecipientsOfScan:
    """Which of the recipients that a scan meets are watched: queried once for each, however often it is named."""

    def __init__(self, watch: WatchList) -> None:
        self._watch = watch
        self._queried: set[str] = set()
        self._watched: set[str] = set()

    def watched(self, recipients: set[str]) -> set[str]:
        if fresh := recipients - self._queried:
            matching = self._watch.matching([addresses.spelled(bytes.fromhex(digits)) for digits in fresh])
            self._watched |= {_digits(address) for address in matching}
            self._queried |= fresh
        return recipients & self._watched


def _digits(address: str) -> str:
    return address[2:].lower()


def token_transfers(receipt: Receipt) -> Iterator[tuple[int, Log]]:
    """Every transfer of something inside an on-chain transaction, with its ordinal."""
    return enumerate(log for log in receipt.logs if log.is_token_transfer and log.amount)


def _idle(sent: SentTransaction, receipt: Receipt) -> Iterator[NonDeposit]:
    """What an on-chain transaction did that moved no token."""
    if sent.units and sent.recipient is not None:
        yield NonDeposit("", sent.units, sent.sender, sent.recipient)
    for log in receipt.logs:
        if log.is_token_transfer and not log.amount:
            yield NonDeposit(log.contract, 0, log.sender, log.recipient)


def _hash_in(text: str) -> str:
    """The hash as nodes spell it, empty when this is none."""
    known = text.strip().lower()
    is_hash = len(known) == 66 and known.startswith("0x") and not set(known[2:]) - set("0123456789abcdef")
    return known if is_hash else ""


def _place(receipt: Receipt) -> tuple[int, int]:
    """Where a transaction stands among others that moved tokens."""
    return receipt.height, receipt.logs[0].index if receipt.logs else 0


def _in_batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    waiting = iter(items)
    while some := list(islice(waiting, QUESTIONS_PER_BATCH)):
        yield some
