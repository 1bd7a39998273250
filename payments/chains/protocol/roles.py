"""Roles of the contract that deposits are swept by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Role:
    """Who holds a role of the contract that deposits are swept by, and who should by the settings."""

    name: str
    holder: str
    expected: str


@dataclass(frozen=True, slots=True)
class RoleChange:
    """A role was given to an account by an on-chain transaction, which `made_by` sent; `ordinal` is its place in it."""

    factory: str
    """The present one, or one of before whose addresses are still swept."""
    role: str
    account: str
    made_by: str
    transaction_hash: str
    ordinal: int
    height: int
    happened_at: datetime


class Roles(Protocol):
    """The roles of that contract, on networks that have one."""

    def holders(self) -> tuple[Role, ...]:
        """Who holds each role."""
        ...

    def changes(self, *, first_height: int, last_height: int) -> tuple[RoleChange, ...]:
        """The changes of roles in these blocks, in their order: of former factories as well."""
        ...
