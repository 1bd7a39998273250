"""Requests one signature from a separate signer."""

from __future__ import annotations

from payments.chains.errors import SignerRefused, SignerUnavailable
from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.signer import connection
from payments.chains.signer.messages import (
    Intent,
    Malformed,
    SigningRequest,
    read_reply,
    write_request,
)


class SignerClient:
    """The signer at this address, for the hot wallet of one network. Each request is a connection of its own."""

    def __init__(
        self,
        url: str,
        secret: str,
        *,
        environment: str,
        network: str,
        certificates: connection.Certificates | None = None,
    ) -> None:
        self.environment, self.network = environment, network
        self._url, self._secret, self._certificates = url, secret, certificates

    def __repr__(self) -> str:
        return f"SignerClient({self._url})"

    def sign(self, request: SigningRequest) -> bytes:
        """The signed bytes. SignerRefused gives the reason for a refusal. SignerUnavailable leaves unknown whether it
        has signed: requesting the same sequence again does no harm."""
        try:
            with connection.connect(self._url, self._certificates) as found, found.makefile("rwb") as stream:
                reply = read_reply(connection.query(stream, self._secret, write_request(request)))
        except (OSError, Malformed, connection.NotTrusted) as error:
            raise SignerUnavailable(f"The signer does not reply at {self._url}: {error}.") from error
        if reply.refused:
            raise SignerRefused(reply.refused, reply.reason, payouts=frozenset(reply.payouts))
        return reply.raw


def intent_of(payout: PayoutInstruction) -> Intent:
    """The payout as an intent of a signing request."""
    return Intent(
        payout_id=payout.payout_id,
        coin=payout.asset.code,
        amount=payout.amount,
        recipient=payout.recipient,
        memo=payout.memo or "",
        memo_type=payout.memo_type,
        set_aside=payout.set_aside,
        mac=payout.intent_mac,
    )
