"""What the contract suite needs to make a network do things, and the reader that every watcher must equal."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Literal, Protocol

from payments.chains.errors import RecipientProblem
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.protocol.scans import Cursor, Scan
from payments.chains.protocol.transfers import IncomingTransfer

Outcome = Literal["moved", "kept", "dropped", "replaced"]


class Harness(Protocol):
    """One network under test, starting with no blocks of interest. Each adapter brings its own."""

    chain: Chain
    deepest_reorg: int
    """Blocks that can be replaced without touching a final one."""
    shows_waiting: bool
    """Whether servers of the network tell of what waits for a block."""
    versions_are_one: bool
    """Whether what replaces a transfer is an envelope around it, so that the one in a block proves them all."""
    takes_next_alone: bool
    """Whether a transfer is refused while the sequence before its own is unused."""
    has_transfers_of_nothing: bool
    """Whether a transfer of nothing can be in a block."""
    foreign_contract: str
    """A token that calls itself USDC and that no profile knows."""

    def impatient(self, transactions: int) -> Chain:
        """The same network, read in the smallest pages the adapter allows, about so many transactions each."""
        ...

    def pay(self, *parts: tuple[str, int, str, str | None], sender: str | None = None) -> str:
        """Send (contract, amount, recipient, memo) in one on-chain transaction, into the next block; its hash."""
        ...

    def stranger(self, number: int) -> str:
        """An address with nothing on it."""
        ...

    def fund(self, address: str, code: str, amount: int) -> None: ...

    def mine(self, count: int = 1) -> None: ...

    def reorg(self, depth: int, outcome: Outcome) -> None:
        """Replace the newest blocks. What is `moved` waits for the next block."""
        ...

    def rewrite_finality(self) -> None:
        """Replace a final block, as no healthy network does."""
        ...

    def raise_fees(self, times: int) -> None:
        """From the next block on, a transfer costs so many times what it usually does."""
        ...

    def fund_native(self, address: str, amount: int) -> None: ...

    def pay_native(self, address: str, amount: int) -> str:
        """Send the native coin, into the next block; the hash."""
        ...

    def drain_native(self, address: str) -> None:
        """Take the native coin away from an address, in the next block: all that it may spend."""
        ...

    def refuse(self, address: str, problem: RecipientProblem) -> bool:
        """Let an account refuse money for this reason, from the next block on; False where no account can."""
        ...

    def pause(self, code: str, *, is_paused: bool) -> bool:
        """Let nobody send this coin, or everybody again, from the next block on; False where nobody can."""
        ...

    def muxed(self, address: str, identifier: int) -> str:
        """The address of one of the many people who share an account."""
        ...

    def contract(self) -> str:
        """The address of somebody's contract."""
        ...

    def own_contracts(self) -> Collection[str]:
        """The contracts our deposit addresses stand on."""
        ...

    def forget_waiting(self) -> None:
        """Let every node forget what waits for a block."""
        ...

    def break_down(self) -> None: ...

    def recover(self) -> None: ...

    def lose_next_broadcast(self) -> None: ...

    def time_out_next_broadcast(self) -> None: ...

    def let_time_pass(self, seconds: int) -> None:
        """Close a block so much later."""
        ...


class Watched:
    """A watch list of fixed addresses."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = set(addresses)

    def addresses(self, at_most: int) -> Collection[str] | None:
        return None if len(self._addresses) > at_most else self._addresses

    def matching(self, candidates: Collection[str]) -> set[str]:
        return self._addresses & set(candidates)


class Reader:
    """Follows a chain by what `Scan` promises and by nothing else; keeps what it believes to have happened."""

    def __init__(self, chain: Chain, *watched: str) -> None:
        self.chain = chain
        self.watch = Watched(*watched)
        self.cursor: Cursor | None = None
        self.known: dict[tuple[str, int], IncomingTransfer] = {}
        self.arrivals: list[tuple[str, int]] = []
        """Every identity as it became known, once more each time it came back."""

    def read_once(self) -> Scan:
        scan = self.chain.reading.scan(self.cursor, self.watch)
        found = {(transfer.transaction_hash, transfer.ordinal): transfer for transfer in scan.transfers}
        assert len(found) == len(scan.transfers), "a scan reports each transfer once"
        assert all(scan.first_height <= transfer.height <= scan.last_height for transfer in scan.transfers)
        for identity, transfer in list(self.known.items()):
            if scan.first_height <= transfer.height <= scan.last_height and identity not in found:
                del self.known[identity]
        self.arrivals += [identity for identity in found if identity not in self.known]
        self.known.update(found)
        self.cursor = json.loads(json.dumps(scan.cursor))  # the watcher keeps it as JSON
        return scan

    def read(self) -> Scan:
        """Read on until there is nothing more."""
        while not (scan := self.read_once()).caught_up:
            pass
        return scan

    def hashes(self) -> list[str]:
        return [transaction_hash for transaction_hash, _ in self.known]


def payout(
    chain: Chain, recipient: str, amount: int, *, code: str = "USDC", memo: str | None = None
) -> PayoutInstruction:
    return PayoutInstruction(asset=chain.profile.assets[code], amount=amount, recipient=recipient, memo=memo)
