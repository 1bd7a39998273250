"""Who signs for the hot wallet. Only what sends loads a key: the web process never does, and never imports the library.

A key of another kind is one more class with `address` and `sign`: with another process (`remote_signing`), or with a
key service (`service_keys`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from payments.chains.evm import addresses
from payments.chains.protocol.payouts import PayoutInstruction


class KeyRefused(Exception):
    """A key cannot be used; the message gives the reason, and never holds the key."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """An EIP-1559 transaction before it is signed. Fees are per unit of gas, in base units of the network's coin."""

    chain_id: int
    nonce: int
    to: str
    data: bytes
    gas: int
    max_fee: int
    tip: int
    units: int = 0

    @property
    def fee_limit_units(self) -> int:
        return self.gas * self.max_fee


@dataclass(frozen=True, slots=True)
class Signature:
    """Signed bytes, and the hash they go by."""

    raw: bytes
    transaction_hash: str


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a transaction is for: the payouts that it makes, or the code of the coin that it sweeps, or that it puts the
    `factory` in place. A signer with a policy signs for nothing else."""

    payouts: tuple[PayoutInstruction, ...] = ()
    sweeps: str = ""
    prepares: str = ""


NOTHING = Purpose()


class Signer(Protocol):
    """Whatever holds the key of one account."""

    @property
    def address(self) -> str:
        """Whose transactions it signs."""
        ...

    def sign(self, transaction: Transaction, purpose: Purpose = NOTHING) -> Signature:
        """SignerRefused and SignerUnavailable where the key is with another process or a key service, which may also
        sign the same transaction differently each time."""
        ...


class KeySigner:
    """A key in the memory of this process."""

    def __init__(self, key: bytes) -> None:
        from payments.chains.evm.keys.accounts import Account

        try:
            self._account: Any = Account.from_key(key)
        except Exception:
            raise KeyRefused("the key is no secp256k1 key of 32 bytes") from None  # its text may hold the key

    def __repr__(self) -> str:
        return f"KeySigner({self.address})"

    @property
    def address(self) -> str:
        return str(self._account.address)

    def sign(self, transaction: Transaction, purpose: Purpose = NOTHING) -> Signature:
        signed = self._account.sign_transaction(unsigned(transaction))
        return Signature(bytes(signed.raw_transaction), "0x" + bytes(signed.hash).hex())


def unsigned(transaction: Transaction) -> dict[str, Any]:
    """The transaction as the library takes it."""
    return {
        "type": 2,
        "chainId": transaction.chain_id,
        "nonce": transaction.nonce,
        "to": addresses.decode(transaction.to),
        "value": transaction.units,
        "data": transaction.data,
        "gas": transaction.gas,
        "maxFeePerGas": transaction.max_fee,
        "maxPriorityFeePerGas": transaction.tip,
        "accessList": [],
    }


def read_signed(raw: bytes) -> Transaction:
    """What was signed before; ValueError when these are no bytes of a transaction of ours."""
    from hexbytes import HexBytes

    from payments.chains.evm.keys.accounts import TypedTransaction

    try:
        found = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
        return Transaction(
            chain_id=int(found["chainId"]),
            nonce=int(found["nonce"]),
            to=addresses.encode(bytes(found["to"])),
            data=bytes(found["data"]),
            gas=int(found["gas"]),
            max_fee=int(found["maxFeePerGas"]),
            tip=int(found["maxPriorityFeePerGas"]),
            units=int(found["value"]),
        )
    except Exception as error:
        raise ValueError("these bytes are no signed transaction") from error


def signer_from_key(text: str) -> KeySigner:
    """From a key as 64 hexadecimal digits, with or without 0x."""
    try:
        return KeySigner(bytes.fromhex(text.strip().removeprefix("0x")))
    except ValueError:
        raise KeyRefused("the key is not written in hexadecimal digits") from None


def signer_from_keystore(path: Path, password: str) -> KeySigner:
    """From an encrypted keystore file (version 3), as every node and wallet writes them."""
    from payments.chains.evm.keys.accounts import Account

    try:
        stored = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise KeyRefused(f"the keystore {path} cannot be read: {error}") from None
    try:
        key = bytes(Account.decrypt(stored, password))
    except Exception:
        raise KeyRefused(f"the keystore {path} does not open with this password") from None
    return KeySigner(key)
