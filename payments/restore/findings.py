"""What a comparison with the chains has found, in words and whole coins."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class LostDeposit:
    """Money at the address of a payment that the database does not have. `amount` is in whole coins."""

    environment: str
    network: str
    number: int
    address: str
    memo: str
    asset: str
    amount: str
    transaction: str
    height: int
    sent_at: str


@dataclass(frozen=True, slots=True)
class LostPayout:
    """Money that left a wallet and that the ledger lacks; `paid` is the refund or settlement it paid, if one waits."""

    environment: str
    network: str
    wallet: str
    recipient: str
    memo: str
    asset: str
    amount: str
    transaction: str
    height: int
    paid: str


@dataclass(slots=True)
class Found:
    """Findings of a comparison with the chains. With `problems` the installation may not resume."""

    deposits: list[LostDeposit] = field(default_factory=list)
    payouts: list[LostPayout] = field(default_factory=list)
    adopted: int = 0
    sweeps: int = 0
    without_coins: int = 0
    """On-chain transactions of ours that moved no coin: they failed, or set something up."""
    left: list[str] = field(default_factory=list)
    """Transactions that brought coins of ours to our wallets and cannot be adopted: nobody may book them as the
    house's."""
    frozen: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
