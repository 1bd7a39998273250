"""Signing by a separate signer that holds the hot wallet's key: requests to it, and checks of its replies."""

from __future__ import annotations

from dataclasses import asdict

from payments.chains.errors import SignerUnavailable
from payments.chains.evm.addresses import keccak256
from payments.chains.evm.keys.signing import NOTHING, Purpose, Signature, Transaction, read_signed
from payments.chains.signer.client import SignerClient, intent_of
from payments.chains.signer.messages import SigningRequest


class RemoteSigner:
    """The key of the wallet with this address, in another process. What it signs is read before it is believed."""

    def __init__(self, address: str, client: SignerClient) -> None:
        self._address, self._client = address, client

    def __repr__(self) -> str:
        return f"RemoteSigner({self._address})"

    @property
    def address(self) -> str:
        return self._address

    def sign(self, transaction: Transaction, purpose: Purpose = NOTHING) -> Signature:
        raw = self._client.sign(request_for(transaction, purpose, self._address, self._client))
        self._check(raw, transaction)
        return Signature(raw, "0x" + keccak256(raw).hex())

    def _check(self, raw: bytes, transaction: Transaction) -> None:
        from payments.chains.evm.keys.accounts import Account

        try:
            is_requested = read_signed(raw) == transaction and Account.recover_transaction(raw) == self._address
        except Exception as error:
            raise SignerUnavailable("The signer replied with bytes that are no signed transaction.") from error
        if not is_requested:
            raise SignerUnavailable("The signer signed something else than was requested, or with another key.")


def request_for(transaction: Transaction, purpose: Purpose, account: str, client: SignerClient) -> SigningRequest:
    fields = asdict(transaction)
    return SigningRequest(
        environment=client.environment,
        network=client.network,
        account=account,
        sequence=fields.pop("nonce"),
        intents=tuple(map(intent_of, purpose.payouts)),
        sweeps=purpose.sweeps,
        prepares=purpose.prepares,
        transaction={**fields, "data": transaction.data.hex()},
    )
