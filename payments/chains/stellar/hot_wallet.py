"""The hot wallet without its key: whom it can pay, what it sent, and the cost of sending.

An account can be paid when it exists, trusts a coin, has room for it, and gets the memo that it requires.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from config.money import Asset
from payments.chains import recipients
from payments.chains.errors import NotSetUp, RecipientRefused, SendingBlocked
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.payouts import Costs, PayoutInstruction
from payments.chains.protocol.transfers import Identity, SentTransaction
from payments.chains.stellar import fees
from payments.chains.stellar.accounts import BELIEVED_SECONDS, IS_REQUIRED, MEMO_REQUIRED, Accounts
from payments.chains.stellar.channels import Channels
from payments.chains.stellar.horizon import lookups
from payments.chains.stellar.horizon.providers import Horizons, LacksHistory
from payments.chains.stellar.horizon.reading import Reading
from payments.chains.stellar.horizon.records import AccountRecord, Trustline


@dataclass(frozen=True, slots=True)
class _Recipient:
    """The facts about a recipient on which two Horizons must agree."""

    exists: bool
    trusts: bool = False
    is_authorized: bool = False
    has_room: bool = False
    wants_memo: bool = False


class HotWallet:
    def __init__(
        self,
        profile: NetworkProfile,
        horizons: Horizons,
        accounts: Accounts,
        reading: Reading,
        *,
        wallet: str,
        channels: Channels,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._profile, self._horizons, self._accounts, self._reading = profile, horizons, accounts, reading
        self._wallet, self._channels, self._clock = wallet, channels, clock
        self._sendable: dict[str, float] = {}
        """When each coin was last found to be one that the wallet can send."""

    def own_accounts(self) -> frozenset[str]:
        return frozenset({self._wallet, *self._channels.names_known()})

    def check_recipient(self, payout: PayoutInstruction) -> None:
        """RecipientRefused when this payout would fail or be lost; SendingBlocked while the coin cannot be sent."""
        recipient = recipients.payable_account(self._profile, payout.recipient, own=self.own_accounts())
        if self._clock() - self._sendable.get(payout.asset.contract, -math.inf) >= BELIEVED_SECONDS:
            self.check_sending(payout.asset)
        code = payout.asset.code
        found = self._accounts.agreed(recipient, lambda known: _recipient(known, payout))
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
        is_authorized = self._accounts.agreed(self._wallet, lambda known: _is_authorized(known, asset))
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

    def pay_back_address(self, identity: Identity, sender: str) -> str | None:
        """An M address is one person's. A G address may be an exchange's, unless it paid without a memo to an M
        address of ours, as only a wallet of one person does, and requires no memos itself."""
        try:
            paid = self._reading.payment(identity)
        except LacksHistory:  # it does not come back by itself, so nobody knows
            return None
        payer, identifier = recipients.account_of(self._profile, sender)
        if paid is None or paid.asset not in {asset.contract for asset in self._profile.assets.values()}:
            return None
        if identifier is None and (paid.memo.type != "none" or paid.muxed_id is None):
            return None
        payable = self._accounts.agreed(payer, lambda known: _can_be_paid_back(known, paid.asset))
        if payable is None or (payable == "with a memo" and identifier is None):
            return None
        return sender

    def next_sequence(self, sender: str) -> int:
        return self._accounts.agreed(sender, lambda known: 0 if known is None else known.sequence) + 1

    def sent_by(
        self, account: str, *, first_height: int, last_height: int, first_sequence: int, hashes: Collection[str]
    ) -> tuple[SentTransaction, ...]:
        believed = self._horizons.believe(
            lambda horizon: lookups.sent_by(horizon, account, first_height, last_height),
            subject=f"Transactions of {account} from ledger {first_height} to {last_height}",
            first_height=first_height,
            up_to=last_height,
        )
        return tuple(
            SentTransaction(
                transaction_hash=each.hash,
                sequence=each.sequence,
                height=each.ledger,
                succeeded=each.successful,
                fee_units=each.fee_charged if each.fee_account in (account, self._wallet) else 0,
                said_by=believed.by,
            )
            for each in sorted(believed.answer, key=lambda each: each.sequence)
            if each.sequence >= first_sequence or each.hash in hashes
        )

    def costs(self) -> Costs:
        price = fees.price(self._horizons)
        locked = self._accounts.base_reserve() if self._profile.sets_aside else 0
        return Costs(payout=price, set_aside=locked)


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
