"""What is read of a network: its head, transfers by block and by transaction, balances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from config.money import Asset
from payments.chains.protocol.scans import Cursor, Head, Scan, WatchList
from payments.chains.protocol.transfers import FoundTransaction, IncomingTransfer, OutgoingTransfer


class Reading(Protocol):
    """The part of an adapter that reads. Every method may raise ChainUnavailable."""

    def head(self) -> Head: ...

    def scan(self, cursor: Cursor | None, watch: WatchList) -> Scan:
        """Transfers to watched addresses since the cursor.

        None starts at the present head, or earlier where an adapter can read everything there ever was.
        The bounds are limited: call again at once while `caught_up` is False. FinalityViolation when the
        block that the cursor took for final has another hash now.
        """
        ...

    def cursor_at(self, height: int) -> Cursor:
        """A cursor that takes this height for final, with the hash it has now: a scan from it begins just after."""
        ...

    def find_transfers(self, transaction_hash: str) -> tuple[IncomingTransfer, ...]:
        """Every token transfer inside one on-chain transaction, to whomever; empty while it is in no block."""
        ...

    def find_transaction(self, transaction_hash: str) -> FoundTransaction | None:
        """All that is known of one on-chain transaction; None when no provider knows it.

        Its transfers are those of `find_transfers`. For a pending one, the answer of any one provider is enough.
        """
        ...

    def outgoing(
        self, address: str, *, first_height: int, last_height: int, signer: str = ""
    ) -> tuple[OutgoingTransfer, ...]:
        """Every transfer of a registered asset that left the address in these blocks, whoever had it sent.

        `signer` is an account whose sequences are returned as well, as the hot wallet's of what leaves deposit
        addresses. Only networks with deposit addresses know one.
        """
        ...

    def balances(self, addresses: Sequence[str], asset: Asset, *, at_height: int | None = None) -> dict[str, int]:
        """As balance, of many addresses at once; those that hold none are left out."""
        ...

    def balance(self, address: str, asset: Asset, *, at_height: int | None = None) -> int:
        """Base units of an asset or of the native coin held after the block at the head, or a past height."""
        ...

    def pace(self) -> float:
        """Seconds between two blocks, as measured over the last thousand; 0 where blocks are made on request. Queries

        the network."""
        ...
