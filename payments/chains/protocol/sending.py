"""What leaves the hot wallet of a network: signing it, sending it, and its outcome."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from payments.chains.protocol.payouts import PayoutInstruction, SignedTransfer, TransactionStatus


class Sending(Protocol):
    """The part of an adapter that sends. Only processes that send load it where it needs a library."""

    def sign(
        self,
        payouts: tuple[PayoutInstruction, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        """Build and sign; nothing is sent. ValueError when these payouts cannot share a transaction.

        `sender` is one of `Chain.channels()`: its sequence is used, and the money leaves `Chain.payout_address()`.
        `replacing` are earlier versions of the same sequence: the new one offers enough more than all of them to be
        taken in their place. ValueError where nothing can be replaced.
        """
        ...

    def broadcast(self, transfer: SignedTransfer) -> None:
        """Hand the stored bytes to the network; handing over the same ones again changes nothing.

        Any error, TransferRefused and ChainUnavailable included, leaves the outcome unknown.
        """
        ...

    def status(self, transfer: SignedTransfer) -> TransactionStatus:
        """What became of a transfer: in which block it is, or that no later block can have it; else it is pending."""
        ...
