"""What accounts can be paid, and what they can pay: that they exist, trust a coin, have room for it, want a memo."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

from config.money import Asset
from payments.chains import recipients
from payments.chains.errors import NotSetUp, RecipientRefused, SendingBlocked
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.stellar.horizon import holdings
from payments.chains.stellar.horizon.client import Horizon
from payments.chains.stellar.horizon.operations import Payment
from payments.chains.stellar.horizon.providers import Horizons
from payments.chains.stellar.horizon.records import AccountRecord, Trustline
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


@dataclass(frozen=True, slots=True)
class _Recipient:
    """The facts about a recipient on which two Horizons must agree."""

    exists: bool
    trusts: bool = False
    is_authorized: bool = False
    has_room: bool = False
    wants_memo: bool = False


class Accounts:
    def __init__(
        self,
        profile: NetworkProfile,
        horizons: Horizons,
        *,
        wallet: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._profile, self._horizons, self._wallet = profile, horizons, wallet
        self._clock = clock
        self._sendable: dict[str, float] = {}
        """When each coin was last found to be one that the wallet can send."""

    def check_recipient(self, payout: PayoutInstruction, *, own: Collection[str]) -> None:
        """RecipientRefused when this payout would fail or be lost; SendingBlocked while the coin cannot be sent."""
        recipient = recipients.payable_account(self._profile, payout.recipient, own=own)
        if self._clock() - self._sendable.get(payout.asset.contract, -math.inf) >= BELIEVED_SECONDS:
            self.check_sending(payout.asset)
        code = payout.asset.code
        found = self._agreed(recipient, lambda known: _recipient(known, payout))
        has_memo = bool(payout.memo) or recipient != payout.recipient
        # An owner of a shared account who identifies people by memos finds no owner for a balance that carries none.
        may_be_set_aside = self._profile.sets_aside and not has_memo and not found.wants_memo
        if not found.exists:
            raise RecipientRefused("destination_invalid", "There is no account at this address.")
        if not found.trusts:
            message = (
                f"This account does not hold {code} yet: it must add a trustline for {payout.asset.contract} first."
            )
            raise RecipientRefused("no_trustline", message, may_be_set_aside=may_be_set_aside)
        if not found.is_authorized:
            raise RecipientRefused("destination_refused", f"The issuer of {code} forbids this account to receive it.")
        if not found.has_room:
            message = (
                f"This account holds as much {code} as the limit of its trustline allows: it must raise the limit."
            )
            raise RecipientRefused("no_trustline", message, may_be_set_aside=may_be_set_aside)
        if found.wants_memo and not has_memo:
            message = "This account belongs to many people: it needs a memo that says whom the money is for."
            raise RecipientRefused("memo_required", message)

    def check_sending(self, asset: Asset) -> None:
        """SendingBlocked while the issuer forbids our wallet to send a coin; NotSetUp without wallet or trustline."""
        is_authorized = self._agreed(self._wallet, lambda known: _is_authorized(known, asset))
        if is_authorized is None:
            raise NotSetUp(f"The hot wallet has no trustline for {asset.contract}: run manage.py setup_stellar.")
        self._sendable.pop(asset.contract, None)
        if not is_authorized:
            message = (
                f"The issuer of {asset.code} has deauthorised the hot wallet's trustline: it can neither send nor be "
                "paid the coin. Nobody has the wallet's key; ask the issuer."
            )
            raise SendingBlocked("hot_wallet_blocked", message)
        self._sendable[asset.contract] = self._clock()

    def pay_back_address(self, paid: Payment | None, sender: str) -> str | None:
        """The address that this payment of this sender can be paid back to without a question to anybody; None when it
        is unknown.

        An M address is one person's. A G address may be an exchange's, unless it paid without a memo to an M address of
        ours, as only a wallet of one person does, and requires no memos itself.
        """
        payer, identifier = recipients.account_of(self._profile, sender)
        if paid is None or paid.asset not in {asset.contract for asset in self._profile.assets.values()}:
            return None
        if identifier is None and (paid.memo.type != "none" or paid.muxed_id is None):
            return None
        payable = self._agreed(payer, lambda known: _can_be_paid_back(known, paid.asset))
        if payable is None or (payable == "with a memo" and identifier is None):
            return None
        return sender

    def issuer_powers(self, asset: Asset) -> tuple[str, ...]:
        """What the issuer of a coin can do to whoever holds it, in words."""
        return self._agreed(asset.contract.partition(":")[2], _powers)

    def sequence(self, address: str) -> int:
        """The last sequence that a transaction of this account has used, in ledgers alone; 0 without an account."""
        return self._agreed(address, lambda known: 0 if known is None else known.sequence)

    def reserve(self, address: str) -> int:
        """Stroops of XLM that the network never lets this account spend; 0 where there is no account."""
        base = self.base_reserve()
        return self._agreed(address, lambda known: 0 if known is None else reserve_of(known, base))

    def account_accepts(self, account: str, text: str, signature: bytes) -> bool | None:
        signers = self.signers(recipients.account_of(self._profile, account)[0])
        return None if signers is None else signers.have_signed(text, signature)

    def signers(self, address: str) -> Signers | None:
        """Who signs for a payment of this account; None where there is no account."""
        return self._agreed(
            address, lambda known: None if known is None else Signers(known.signers, known.thresholds[1])
        )

    def base_reserve(self) -> int:
        """Stroops of XLM that an account must keep for each thing that belongs to it, or that it has set aside."""
        return self._horizons.ledger(self._horizons.head().height).base_reserve

    def _agreed(self, address: str, read: Callable[[AccountRecord | None], Value]) -> Value:
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


def _recipient(known: AccountRecord | None, payout: PayoutInstruction) -> _Recipient:
    if known is None:
        return _Recipient(exists=False)
    line = known.trustlines.get(payout.asset.contract)
    return _Recipient(
        exists=True,
        trusts=line is not None,
        is_authorized=line is not None and line.is_authorized,
        has_room=line is not None and line.room >= payout.amount,
        wants_memo=known.data.get(MEMO_REQUIRED) == IS_REQUIRED,
    )


def _is_authorized(known: AccountRecord | None, asset: Asset) -> bool | None:
    line: Trustline | None = known.trustlines.get(asset.contract) if known else None
    return None if line is None else line.is_authorized


def _can_be_paid_back(known: AccountRecord | None, contract: str) -> str | None:
    line = known.trustlines.get(contract) if known else None
    if known is None or line is None or not line.is_authorized:
        return None
    return "with a memo" if known.data.get(MEMO_REQUIRED) == IS_REQUIRED else "without"
