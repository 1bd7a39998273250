"""Moving amounts between accounts: what the source can spend, what the destination has room for, and the effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, TypeAlias

from stellar_sdk import Asset, MuxedAccount, Transaction
from stellar_sdk.operation import Operation

from tests.stellar.network.entries import (
    LARGEST,
    NATIVE,
    Account,
    State,
    Trustline,
    issuer_of,
)
from tests.stellar.network.results import Refused

Payload: TypeAlias = Mapping[str, Any] | None
"""What the result of an operation carries besides its code, if anything."""


@dataclass(slots=True)
class Effect:
    """Something that an operation did to one account."""

    account: str
    type: str
    details: dict[str, Any]
    muxed: MuxedAccount | None = None


@dataclass(slots=True)
class Applying:
    """One operation while it is applied: the state it changes, and what is noted of it on the way."""

    state: State
    transaction: Transaction
    index: int
    """Where it stands in its transaction, counted from 0."""
    operation: Operation
    source: MuxedAccount
    effects: list[Effect] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    """What its record says besides what was asked for: amounts that only applying it found out."""

    @property
    def account(self) -> Account:
        """The account that acts, as it is at this moment."""
        return self.state.accounts[self.source.account_id]

    def note(self, account: MuxedAccount | str, type: str, **details: Any) -> None:
        """Note an effect on an account."""
        if isinstance(account, str):
            self.effects.append(Effect(account, type, details))
        else:
            muxed = account if account.account_muxed else None
            self.effects.append(Effect(account.account_id, type, details, muxed))


@dataclass(frozen=True, slots=True)
class Codes:
    """How a kind of operation names what is wrong with one side of a movement."""

    no_trust: IntEnum
    not_authorised: IntEnum
    no_amount: IntEnum
    """Too little to spend, or no room for what arrives."""


def asset_name(asset: Asset) -> str:
    """`native` or `CODE:ISSUER`."""
    return NATIVE if asset.is_native() else f"{asset.code}:{asset.issuer}"


def stroops(amount: str) -> int:
    """`12.5` in base units."""
    return Operation.to_xdr_amount(amount)


def asset_fields(asset: str) -> dict[str, str]:
    """`asset_type` and, of an issued one, its code and issuer."""
    if asset == NATIVE:
        return {"asset_type": "native"}
    code, _, issuer = asset.partition(":")
    kind = "credit_alphanum4" if len(code) <= 4 else "credit_alphanum12"
    return {"asset_type": kind, "asset_code": code, "asset_issuer": issuer}


def sdk_asset(name: str) -> Asset:
    """The asset of this name as the library has it."""
    return Asset.native() if name == NATIVE else Asset(*name.split(":"))


def spendable(state: State, address: str, asset: str) -> int:
    """Stroops that the account can spend of an asset; 0 without a trustline."""
    account = state.accounts[address]
    if asset == NATIVE:
        return max(0, account.native - account.reserve)
    if issuer_of(asset) == address:
        return LARGEST
    return account.lines[asset].balance if asset in account.lines else 0


def credit(state: State, address: str, asset: str, amount: int, codes: Codes) -> None:
    """Add to what an account has; Refused without a trustline, authorisation or room."""
    account = state.accounts[address]
    if asset == NATIVE:
        if account.native + amount > LARGEST:
            raise Refused(codes.no_amount)
        state.put_account(replace(account, native=account.native + amount))
    elif issuer_of(asset) != address:
        line = _line(account, asset, codes)
        if line.balance + amount > line.limit:
            raise Refused(codes.no_amount)
        state.put_line(address, replace(line, balance=line.balance + amount))


def debit(state: State, address: str, asset: str, amount: int, codes: Codes) -> None:
    """Take from what an account has; Refused without a trustline, authorisation or enough to spend."""
    account = state.accounts[address]
    if asset == NATIVE:
        if spendable(state, address, asset) < amount:
            raise Refused(codes.no_amount)
        state.put_account(replace(account, native=account.native - amount))
    elif issuer_of(asset) != address:
        line = _line(account, asset, codes)
        if line.balance < amount:
            raise Refused(codes.no_amount)
        state.put_line(address, replace(line, balance=line.balance - amount))


@contextmanager
def subentry(applying: Applying, low_reserve: IntEnum) -> Iterator[None]:
    """What is done inside may add to the reserve of the acting account; Refused if it cannot hold that much."""
    before = applying.account.reserve
    yield
    if applying.account.reserve > before and applying.account.native < applying.account.reserve:
        raise Refused(low_reserve)


def _line(account: Account, asset: str, codes: Codes) -> Trustline:
    line = account.lines.get(asset)
    if line is None:
        raise Refused(codes.no_trust)
    if not line.authorised:
        raise Refused(codes.not_authorised)
    return line
