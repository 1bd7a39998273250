"""A key in the transit engine of HashiCorp Vault or OpenBao: ed25519 alone, as transit has no secp256k1."""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from payments.chains.key_services.base import SECONDS, KeyPlace, KeyServiceFailed


@dataclass(frozen=True, slots=True)
class VaultServer:
    """Connection to one Vault server. The token is read at each request: an agent may have renewed it."""

    address: str
    token: Callable[[], str]
    namespace: str = ""
    authority: str = ""
    """The file with the certificates that its own is checked by; empty for those of the system."""


class VaultKey:
    """One ed25519 key. It takes read on transit/keys/<name> and update on transit/sign/<name>."""

    def __init__(self, place: KeyPlace, server: VaultServer) -> None:
        self._place, self._server = place, server
        self._version = 0

    def __repr__(self) -> str:
        return f"VaultKey({self._place.scope}/{self._place.key})"

    def public_key(self) -> bytes:
        """Of the first version. A key that was rotated there would be another wallet: it goes on as it was."""
        response = self._call("GET", "keys")
        if response.get("type") != "ed25519" or response.get("derived"):
            raise KeyServiceFailed(
                f"{self!r} is of the type {response.get('type')!r}; it must be ed25519, and not derived"
            )
        versions = response.get("keys")
        try:
            self._version = min(map(int, versions))  # type: ignore[arg-type]
            return _decoded(versions[str(self._version)]["public_key"])  # type: ignore[index]
        except (TypeError, ValueError, KeyError) as error:
            raise KeyServiceFailed(f"Vault replied with no public key of {self!r}") from error

    def sign_message(self, message: bytes) -> bytes:
        if not self._version:
            self.public_key()
        body = {"input": base64.b64encode(message).decode(), "key_version": self._version}
        response = self._call("POST", "sign", body)
        before = f"vault:v{self._version}:"
        try:
            text = response["signature"]
            if not text.startswith(before):
                raise ValueError("another version")
            return _decoded(text.removeprefix(before))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise KeyServiceFailed(f"Vault replied with no signature of {self!r}") from error

    def _call(self, method: str, what: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """What is in `data` of the reply."""
        server = self._server
        url = f"{server.address.rstrip('/')}/v1/{self._place.scope}/{what}/{self._place.key}"
        try:
            token = server.token()
            if not (token.isascii() and token.isprintable()):  # the library would show it, as it refuses to send it
                raise KeyServiceFailed("the token for Vault has characters that no token has")
            headers = {"X-Vault-Token": token, "X-Vault-Request": "true"}
            if server.namespace:
                headers["X-Vault-Namespace"] = server.namespace
            trusted = ssl.create_default_context(cafile=server.authority or None)
            with httpx.Client(timeout=SECONDS, verify=trusted, trust_env=False) as client:
                reply = client.request(method, url, json=body, headers=headers)
            response = reply.json()
            if reply.status_code != 200:
                raise KeyServiceFailed(f"Vault refused {self!r}: {reply.status_code} {_errors(response)}")
            data = response["data"]
            if not isinstance(data, dict):
                raise KeyError("data")
        except (httpx.HTTPError, OSError) as error:
            raise KeyServiceFailed(f"Vault did not answer for {self!r}: {error}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise KeyServiceFailed(f"Vault replied with something that is no reply of it for {self!r}") from error
        return data


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("no base64") from error


def _errors(response: Any) -> str:
    errors = response.get("errors") if isinstance(response, dict) else None
    return "; ".join(map(str, errors))[:300] if isinstance(errors, list) else ""
