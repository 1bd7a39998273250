"""Sweeps of deposit addresses, on networks where every payment has an address of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from config.money import Asset
from payments.chains.protocol.payouts import SignedTransfer


@dataclass(frozen=True, slots=True)
class SweptFrom:
    """The effect of a sweep at the deposit address with this number, by its receipt. Amounts in base units.

    `left` went from the address to anybody, `arrived` is what the treasury got of it: a token may keep a part.
    `refused`: the token's contract refused the transfer, or there was too little gas for it.
    """

    number: int
    left: int = 0
    arrived: int = 0
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Unsweepable:
    """Why the coins of a deposit address cannot be brought to the treasury now, and the contract's reason.

    - empty: the address holds none.
    - paused: nobody can move this coin.
    - wallet_refused: the treasury cannot be sent this coin.
    - frozen: the address cannot send this coin.
    - refused: the transfer is refused for another reason.
    """

    reason: Literal["empty", "paused", "wallet_refused", "frozen", "refused"]
    message: str = ""


class Sweeps(Protocol):
    """Moving coins from deposit addresses to the treasury."""

    def together(self, deposits: Sequence[int]) -> tuple[int, ...]:
        """Those of these numbers whose addresses one sweep can empty, the first among them, in their order."""
        ...

    def sign(
        self,
        asset: Asset,
        deposits: tuple[int, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        """As `Sending.sign`: move all of an asset from the deposit addresses of these numbers to the treasury.

        The asset is an accepted coin or the network's own.
        """
        ...

    def swept_by(
        self, transaction_hash: str, asset: Asset, deposits: Sequence[int], *, treasury: str
    ) -> tuple[SweptFrom, ...]:
        """What a sweep of a coin to this treasury did at each of these deposit addresses, by its receipt.

        Empty while it is in no block.
        """
        ...

    def why_unsweepable(self, asset: Asset, deposits: Sequence[int]) -> dict[int, Unsweepable]:
        """The deposit addresses of these that a sweep of a coin would bring nothing from now. Queries the network."""
        ...
