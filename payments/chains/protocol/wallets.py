"""What a network can do for the wallets of people: payments to sign, and signatures of accounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from config.money import Asset
from payments.chains.protocol.addresses import DepositAddress


@dataclass(frozen=True, slots=True)
class PaymentToSign:
    """A payment as an on-chain transaction without signatures, for a wallet that signs and neither builds nor sends."""

    raw: bytes
    transaction_hash: str


class BuildsPayments(Protocol):
    """Payments for wallets of browsers that sign, and neither build nor send."""

    def payment_to_sign(self, payer: str, *, to: DepositAddress, asset: Asset, amount: int) -> PaymentToSign:
        """The payment of a payer's account. PayerRefused when it could not be made; queries the network."""
        ...

    def hand_in(self, requested: PaymentToSign, signed: bytes) -> None:
        """Submit the requested payment to the network, now that it is signed; doing it again changes nothing.

        ValueError when `signed` is anything else. TransferRefused when no provider accepts it: it will not take
        effect as it is. ChainUnavailable leaves the outcome unknown.
        """
        ...


class KnowsSigners(Protocol):
    """Signers of an account that the network knows: a contract, or several signers."""

    def account_accepts(self, account: str, text: str, signature: bytes) -> bool | None:
        """Whether this is the account's signature of a text, as the network knows it; None where the key of the address
        decides that alone. Queries the network."""
        ...
