"""Deposit addresses of payments, and what they are derived from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class DepositAddress:
    """Where the payer of one payment sends money.

    `memo` is set on networks whose deposits share an account; `muxed` is then the single-field form of both.
    """

    address: str
    memo: str | None = None
    muxed: str | None = None


class AddressDerivations(Protocol):
    """The derivation of deposit addresses, on networks where settings can change it."""

    def by_first_number(self) -> Mapping[int, str]:
        """The name of each derivation by the first number that it is for: another name, other addresses."""
        ...
