"""What accounts of a network undergo beside transfers: reserves, preparation, claimable balances, clawbacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from payments.chains.protocol.transfers import IncomingTransfer

UnusualKind = Literal["clawback", "claimed", "traded", "merged", "other", "set_aside"]
"""How coins can come and go without a transfer:

- clawback: their issuer took them back.
- claimed: they were set aside for the account, and it claimed them.
- traded: they were exchanged for others on the network itself.
- merged: another account was closed, and what it had went to this one.
- other: an operation of a kind that is not known.
- set_aside: somebody has set them aside for the account, which may claim them. Nothing has come yet.
"""


@dataclass(frozen=True, slots=True)
class UnusualChange:
    """What an account has more of an asset, or less when negative, and neither transfer nor network fee explains.

    `contract` is empty for the native coin.
    """

    kind: UnusualKind
    transaction_hash: str
    height: int
    contract: str
    amount: int


class Operations(Protocol):
    """Operations that move coins without a transfer."""

    def find_set_aside(self, transaction_hash: str) -> tuple[IncomingTransfer, ...]:
        """What one on-chain transaction set aside for a recipient who alone may claim it, at any time.

        None of it has arrived, so `find_transfers` leaves it out.
        """
        ...

    def unusual_changes(self, address: str, *, first_height: int, last_height: int) -> tuple[UnusualChange, ...]:
        """What came to an account or left it in these blocks by other ways than transfers, of coins that are accepted
        and the native one."""
        ...


class Reserves(Protocol):
    """Native coins that the network locks in every account."""

    def reserve(self, account: str) -> int:
        """Base units of the native coin that the network never lets this account spend."""
        ...


class Preparations(Protocol):
    """Transactions by which accounts are prepared for payouts."""

    def only_set_up(self, account: str, first_sequence: int, last_sequence: int) -> bool:
        """Whether everything the account sent with these sequences only prepared it: it moved nothing and gave nobody
        power over the account. False where that is not known."""
        ...
