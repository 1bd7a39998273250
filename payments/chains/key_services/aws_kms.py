"""A key in AWS KMS, used by botocore, which finds credentials as every tool of AWS does.

botocore is not among what Ballast needs (docs/adr/0067): the process that uses this installs requirements-kms.txt.
"""

from __future__ import annotations

from typing import Any

from payments.chains.key_services.base import SECONDS, KeyPlace, KeyServiceFailed

SECP256K1, ED25519 = "ECC_SECG_P256K1", "ECC_NIST_EDWARDS25519"

# How a public key of these kinds begins in DER (SubjectPublicKeyInfo, RFC 5480 and RFC 8410). The rest is the key.
_BEFORE = {
    SECP256K1: bytes.fromhex("3056301006072a8648ce3d020106052b8104000a034200"),
    ED25519: bytes.fromhex("302a300506032b6570032100"),
}
_BYTES = {SECP256K1: 65, ED25519: 32}


class AwsKmsKey:
    """One asymmetric key for signing. It takes the permissions kms:GetPublicKey and kms:Sign."""

    def __init__(self, place: KeyPlace, kind: str) -> None:
        self._arn, self._region, self._kind = place.key, place.scope, kind
        self._client: Any = None

    def __repr__(self) -> str:
        return f"AwsKmsKey({self._arn})"

    def public_key(self) -> bytes:
        response = self._call("get_public_key")
        found = bytes(response.get("PublicKey", b""))
        before = _BEFORE[self._kind]
        if response.get("KeySpec") != self._kind or response.get("KeyUsage") != "SIGN_VERIFY":
            raise KeyServiceFailed(f"{self._arn} is no key for signing of the kind {self._kind}")
        if not found.startswith(before) or len(found) != len(before) + _BYTES[self._kind]:
            raise KeyServiceFailed(f"AWS KMS replied with something else than the public key of {self._arn}")
        return found[len(before) :]

    def sign_digest(self, digest: bytes) -> bytes:
        return self._sign(digest, "DIGEST", "ECDSA_SHA_256")

    def sign_message(self, message: bytes) -> bytes:
        return self._sign(message, "RAW", "ED25519_SHA_512")

    def _sign(self, message: bytes, message_type: str, algorithm: str) -> bytes:
        response = self._call("sign", Message=message, MessageType=message_type, SigningAlgorithm=algorithm)
        return bytes(response.get("Signature", b""))

    def _call(self, what: str, **fields: Any) -> dict[str, Any]:
        # `connected` raises KeyServiceFailed itself, where the library is not there.
        client = self._connected()
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

        try:
            found: dict[str, Any] = getattr(client, what)(KeyId=self._arn, **fields)
        except HTTPClientError as error:  # its text shows a header that could not be sent: a session token is one
            name = type(error).__name__
            raise KeyServiceFailed(f"AWS KMS did not {what.replace('_', ' ')} of {self._arn}: {name}") from None
        except (BotoCoreError, ClientError) as error:
            raise KeyServiceFailed(f"AWS KMS did not {what.replace('_', ' ')} of {self._arn}: {error}") from error
        return found

    def _connected(self) -> Any:
        if self._client is None:
            try:
                import botocore.session
                from botocore.config import Config
            except ImportError as error:
                raise KeyServiceFailed("keys in AWS KMS take botocore: install requirements-kms.txt") from error
            config = Config(
                connect_timeout=SECONDS, read_timeout=SECONDS, retries={"total_max_attempts": 2, "mode": "standard"}
            )
            session = botocore.session.get_session()
            self._client = session.create_client("kms", region_name=self._region, config=config)
        return self._client
