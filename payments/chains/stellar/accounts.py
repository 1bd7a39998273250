"""The facts of accounts on which Horizons agree: reserves, signers, and the powers of issuers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from config.money import Asset
from payments.chains import recipients
from payments.chains.profiles import NetworkProfile
from payments.chains.stellar.horizon import holdings
from payments.chains.stellar.horizon.client import Horizon
from payments.chains.stellar.horizon.providers import Horizons
from payments.chains.stellar.horizon.records import AccountRecord
from payments.chains.stellar.messages import Signers

Value = TypeVar("Value")

MEMO_REQUIRED, IS_REQUIRED = "config.memo_required", b"1"
"""The data entry by which an account requires memos (SEP-29)."""

BELIEVED_SECONDS = 5.0
"""For how long the newest ledger, and that our own wallet can send a coin, are believed: about the time of a ledger.
A batch has a hundred recipients, and of each one question is enough."""

MOST_OF_A_CHANNEL = 50_000_000
"""Stroops that a channel may be created with: what prepares a wallet hands nobody more than that."""

LEAST_ENTRIES = 2
"""Of the base reserve, for the account itself."""


class Accounts:
    def __init__(self, profile: NetworkProfile, horizons: Horizons) -> None:
        self._profile, self._horizons = profile, horizons

    def agreed(self, address: str, read: Callable[[AccountRecord | None], Value]) -> Value:
        """The facts of an account on which two Horizons agree, for each of them as of its own newest ledger.

        They differ while one has read a change that the other is still to read: nothing is known then, and neither of
        them is wrong.
        """
        head = self._horizons.head(within_seconds=BELIEVED_SECONDS)
        ahead = list[str]()

        def query(horizon: Horizon) -> Value:
            found = holdings.account(horizon, address)
            if found is not None and found.changed_at > head.height:
                ahead.append(horizon.name)
            return read(found)

        return self._horizons.agree(
            query, subject=f"Account {address}", up_to=head.height, may_differ=lambda: bool(ahead)
        )

    def issuer_powers(self, asset: Asset) -> tuple[str, ...]:
        """What the issuer of a coin can do to whoever holds it, in words."""
        return self.agreed(asset.contract.partition(":")[2], _powers)

    def reserve(self, address: str) -> int:
        """Stroops of XLM that the network never lets this account spend; 0 where there is no account."""
        base = self.base_reserve()
        return self.agreed(address, lambda known: 0 if known is None else reserve_of(known, base))

    def account_accepts(self, account: str, text: str, signature: bytes) -> bool | None:
        signers = self.signers(recipients.account_of(self._profile, account)[0])
        return None if signers is None else signers.have_signed(text, signature)

    def signers(self, address: str) -> Signers | None:
        """Who signs for a payment of this account; None where there is no account."""
        return self.agreed(
            address, lambda known: None if known is None else Signers(known.signers, known.thresholds[1])
        )

    def base_reserve(self) -> int:
        """Stroops of XLM that an account must keep for each thing that belongs to it, or that it has set aside."""
        return self._horizons.ledger(self._horizons.head().height).base_reserve


_POWERS = {
    "auth_required": "refuse to authorise an account",
    "auth_revocable": "freeze accounts",
    "auth_clawback_enabled": "take coins back",
}


def _powers(issuer: AccountRecord | None) -> tuple[str, ...]:
    return tuple(text for flag, text in _POWERS.items() if issuer is not None and flag in issuer.flags)


def reserve_of(account: AccountRecord, base_reserve: int) -> int:
    """What this account must keep: for itself, for what belongs to it, and for what it offers to sell."""
    entries = LEAST_ENTRIES + account.subentry_count + account.num_sponsoring - account.num_sponsored
    return entries * base_reserve + account.native_selling_liabilities
