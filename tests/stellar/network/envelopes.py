"""A signed transaction, by itself or brought by a fee bump, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from stellar_sdk import FeeBumpTransactionEnvelope, MuxedAccount, Transaction, TransactionEnvelope, xdr

BASE_FEE = 100
"""Stroops for each operation while there is room."""


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """What was submitted. Hashes are computed once: the library computes them anew each time it is asked."""

    xdr: str
    signed: TransactionEnvelope | FeeBumpTransactionEnvelope
    hash: bytes
    inner: TransactionEnvelope
    """The transaction itself, also where a fee bump brings it."""
    inner_hash: bytes

    @classmethod
    def parse(cls, text: str, passphrase: str) -> Envelope:
        """The envelope that this XDR stands for; any error at all when it stands for none."""
        found = xdr.TransactionEnvelope.from_xdr(text)
        if found.type == xdr.EnvelopeType.ENVELOPE_TYPE_TX_FEE_BUMP:
            return cls.of(FeeBumpTransactionEnvelope.from_xdr_object(found, passphrase), text)
        return cls.of(TransactionEnvelope.from_xdr_object(found, passphrase), text)

    @classmethod
    def of(cls, signed: TransactionEnvelope | FeeBumpTransactionEnvelope, text: str = "") -> Envelope:
        text, digest = text or signed.to_xdr(), signed.hash()
        if isinstance(signed, FeeBumpTransactionEnvelope):
            inner = signed.transaction.inner_transaction_envelope
            return cls(text, signed, digest, inner, inner.hash())
        return cls(text, signed, digest, signed, digest)

    @property
    def is_bump(self) -> bool:
        return self.inner is not self.signed

    @property
    def digest(self) -> str:
        return self.hash.hex()

    @property
    def transaction(self) -> Transaction:
        return self.inner.transaction

    @property
    def source(self) -> str:
        """Whose sequence number it uses."""
        return self.transaction.source.account_id

    @property
    def payer(self) -> MuxedAccount:
        """Who pays the fee."""
        if isinstance(self.signed, FeeBumpTransactionEnvelope):
            return self.signed.transaction.fee_source
        return self.transaction.source

    @property
    def fee(self) -> int:
        """What it offers at most."""
        return int(self.signed.transaction.fee)

    @property
    def operations_paid(self) -> int:
        """For how many operations a fee is paid: a fee bump counts as one more."""
        return len(self.transaction.operations) + self.is_bump

    def cost(self, each: int = BASE_FEE) -> int:
        """What it costs when every operation costs so much."""
        return each * self.operations_paid

    def inner_cost(self, each: int = BASE_FEE) -> int:
        """What the transaction would cost without the fee bump."""
        return each * len(self.transaction.operations)
