"""Signing by a separate signer that holds the hot wallet's key: requests to it, and checks of its replies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.core.exceptions import ImproperlyConfigured
from stellar_sdk import Operation

from payments.chains.errors import SignerUnavailable
from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.signer.client import SignerClient, intent_of
from payments.chains.signer.messages import SigningRequest
from payments.chains.stellar.keys import envelopes
from payments.chains.stellar.keys.envelopes import Signed


class RemoteKeys:
    """The keys of this wallet and its channels, in another process. What it signs is read before it is believed."""

    def __init__(self, address: str, client: SignerClient, *, channels: int = 1) -> None:
        self._address, self._client, self._channels = address, client, channels

    def __repr__(self) -> str:
        return f"RemoteKeys({self._address})"

    @property
    def address(self) -> str:
        return self._address

    @property
    def channels(self) -> tuple[str, ...]:
        if self._channels == 1:
            return (self._address,)
        raise ImproperlyConfigured("The key is with the signer: the network lists which channels there are.")

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
        fields = {"fee_per_operation": fee_per_operation, "valid_until": int(valid_until.timestamp()), "raises": ""}
        raw = self._client.sign(self._request(payouts, sender, sequence, fields))
        return self._read(raw, payouts, passphrase, sender, sequence, fee_per_operation)

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
        fields = {"fee_per_operation": fee_per_operation, "valid_until": 0, "raises": raw.hex()}
        signed = self._client.sign(self._request(payouts, sender, sequence, fields))
        return self._read(signed, payouts, passphrase, sender, sequence, fee_per_operation)

    def sign_operations(
        self,
        operations: Sequence[Operation],
        *,
        passphrase: str,
        sequence: int,
        fee_per_operation: int,
        valid_until: datetime,
    ) -> Signed:
        wanted = [each.to_xdr_object().to_xdr() for each in operations]
        fields = {
            "fee_per_operation": fee_per_operation,
            "valid_until": int(valid_until.timestamp()),
            "raises": "",
            "operations": wanted,
        }
        raw = self._client.sign(self._request((), self._address, sequence, fields, prepares="wallet"))
        found = _envelope(raw, passphrase)
        made = [each.to_xdr_object().to_xdr() for each in envelopes.operations_of(raw, passphrase=passphrase)]
        if (found.source, found.sequence, made) != (self._address, sequence, wanted):
            raise SignerUnavailable("The signer signed something else than was requested.")
        return Signed(raw, found.transaction_hash, found.fee)

    def _request(
        self,
        payouts: tuple[PayoutInstruction, ...],
        sender: str,
        sequence: int,
        fields: dict[str, object],
        *,
        prepares: str = "",
    ) -> SigningRequest:
        return SigningRequest(
            environment=self._client.environment,
            network=self._client.network,
            account=sender,
            sequence=sequence,
            intents=tuple(map(intent_of, payouts)),
            prepares=prepares,
            transaction=fields,
        )

    def _read(
        self,
        raw: bytes,
        payouts: tuple[PayoutInstruction, ...],
        passphrase: str,
        sender: str,
        sequence: int,
        fee_per_operation: int,
    ) -> Signed:
        """The content that it signed; SignerUnavailable unless that is what was requested."""
        found = _envelope(raw, passphrase)
        is_requested = (
            (found.source, found.sequence) == (sender, sequence)
            and envelopes.pays(found, payouts, wallet=self._address)
            and found.fee == fee_per_operation * found.operations
        )
        if not is_requested:
            raise SignerUnavailable("The signer signed something else than was requested.")
        return Signed(raw, found.transaction_hash, found.fee)


def _envelope(raw: bytes, passphrase: str) -> envelopes.Read:
    try:
        return envelopes.read(raw, passphrase=passphrase)
    except ValueError as error:
        raise SignerUnavailable("The signer replied with bytes that are no envelope.") from error
