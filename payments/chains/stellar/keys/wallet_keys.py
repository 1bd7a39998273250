"""The keys of the hot wallet and of the accounts that lend their sequences. Only processes that send load this."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from stellar_sdk import Keypair, Operation

from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.stellar.keys import envelopes
from payments.chains.stellar.keys.envelopes import Signed, keypair


class Signer(Protocol):
    """Whatever holds the keys of one wallet and of its channels. SignerRefused and SignerUnavailable where that is
    another process."""

    @property
    def address(self) -> str:
        """The hot wallet."""
        ...

    @property
    def channels(self) -> tuple[str, ...]:
        """The accounts whose sequences payouts take, always in the same order. ImproperlyConfigured where only the
        network knows them."""
        ...

    def sign_payouts(
        self,
        payouts: tuple[PayoutInstruction, ...],
        *,
        passphrase: str,
        sender: str,
        sequence: int,
        fee_per_operation: int,
        valid_until: datetime,
    ) -> Signed:
        """An envelope that makes these payouts, with a sequence of `sender`; ValueError where that is no channel."""
        ...

    def raise_fee(
        self,
        raw: bytes,
        payouts: tuple[PayoutInstruction, ...],
        *,
        passphrase: str,
        sender: str,
        sequence: int,
        fee_per_operation: int,
    ) -> Signed:
        """The same envelope, which makes these payouts, with a higher fee."""
        ...

    def sign_operations(
        self,
        operations: Sequence[Operation],
        *,
        passphrase: str,
        sequence: int,
        fee_per_operation: int,
        valid_until: datetime,
    ) -> Signed:
        """Operations of the hot wallet itself: what prepares it."""
        ...


class Keys:
    """The wallet's key, as a secret in the memory of this process or as a pair that signs with one elsewhere.
    KeyRefused for what is no key.

    One channel is the wallet itself. With more of them each is an account of its own: its key is a hash that only
    whoever has the wallet's secret can compute, so that nothing else is to be kept.
    """

    def __init__(self, key: str | Keypair, *, channels: int = 1) -> None:
        self.wallet = keypair(key) if isinstance(key, str) else key
        own = [_derived(self.wallet, number) for number in range(1, channels + 1)] if channels > 1 else [self.wallet]
        self._channels = {each.public_key: each for each in own}

    def __repr__(self) -> str:
        return f"Keys({self.address})"

    @property
    def address(self) -> str:
        return self.wallet.public_key

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(self._channels)

    def channel(self, account: str) -> Keypair:
        """The key of a channel; ValueError for any other account."""
        if account not in self._channels:
            raise ValueError("this account lends no sequences to payouts")
        return self._channels[account]

    def sign_payouts(
        self,
        payouts: tuple[PayoutInstruction, ...],
        *,
        passphrase: str,
        sender: str,
        sequence: int,
        fee_per_operation: int,
        valid_until: datetime,
    ) -> Signed:
        channel = self.channel(sender)
        is_wallet = sender == self.address
        signed = envelopes.sign(
            [envelopes.payment(payout, source=None if is_wallet else self.address) for payout in payouts],
            passphrase=passphrase,
            source=channel,
            signers=[self.wallet],
            sequence=sequence,
            fee_per_operation=fee_per_operation,
            valid_until=valid_until,
            memo=payouts[0].memo,
            memo_type=payouts[0].memo_type,
        )
        if is_wallet:
            return signed
        # A channel lends its sequence and nothing else: the wallet pays the fee.
        return envelopes.bump(signed.raw, passphrase=passphrase, payer=self.wallet, fee_per_operation=fee_per_operation)

    def raise_fee(
        self,
        raw: bytes,
        payouts: tuple[PayoutInstruction, ...],
        *,
        passphrase: str,
        sender: str,
        sequence: int,
        fee_per_operation: int,
    ) -> Signed:
        return envelopes.bump(raw, passphrase=passphrase, payer=self.wallet, fee_per_operation=fee_per_operation)

    def sign_operations(
        self,
        operations: Sequence[Operation],
        *,
        passphrase: str,
        sequence: int,
        fee_per_operation: int,
        valid_until: datetime,
    ) -> Signed:
        return envelopes.sign(
            operations,
            passphrase=passphrase,
            source=self.wallet,
            sequence=sequence,
            fee_per_operation=fee_per_operation,
            valid_until=valid_until,
        )


def _derived(wallet: Keypair, number: int) -> Keypair:
    seed = hmac.digest(wallet.raw_secret_key(), b"ballast stellar channel %d" % number, hashlib.sha256)
    return Keypair.from_raw_ed25519_seed(seed)
