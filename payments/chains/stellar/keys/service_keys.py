"""A hot wallet's key that a key service has, as the library that builds envelopes knows keys."""

from __future__ import annotations

from nacl.signing import VerifyKey
from stellar_sdk import Keypair
from stellar_sdk.exceptions import BadSignatureError

from payments.chains.errors import SignerUnavailable
from payments.chains.key_services.base import EdKey, KeyServiceFailed


class ServiceKeypair(Keypair):
    """The key of a service, whose account is found out at once (KeyServiceFailed). Each signature is checked before it
    is used."""

    def __init__(self, key: EdKey) -> None:
        super().__init__(VerifyKey(key.public_key()))
        self._key = key

    def can_sign(self) -> bool:
        return True

    def sign(self, data: bytes) -> bytes:
        try:
            signature = self._key.sign_message(data)
            self.verify(data, signature)
        except KeyServiceFailed as error:
            raise SignerUnavailable(f"The key's service does not sign: {error}.") from error
        except BadSignatureError as error:
            raise SignerUnavailable("The key's service signed with another key, or something else.") from error
        return signature
