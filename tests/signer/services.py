"""AWS KMS and Vault transit as this machine can have them: they speak what the real ones do on the wire.

KMS checks each request's signature by itself (Signature Version 4, as documented), so that the library's own code is
not its only witness. What neither has is said in docs/signer.md.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

import coincurve
from nacl.signing import SigningKey

ACCESS_KEY, SECRET_KEY = "AKIDOFTHESTANDIN", "the secret key of the stand-in for AWS"
REGION = "eu-central-1"
TOKEN = "hvs.the token of the stand-in for Vault"
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141

_SPKI = {
    "ECC_SECG_P256K1": bytes.fromhex("3056301006072a8648ce3d020106052b8104000a034200"),
    "ECC_NIST_EDWARDS25519": bytes.fromhex("302a300506032b6570032100"),
}


class _Refused(Exception):
    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        self.status, self.body = status, body


class Kms:
    """Keys by their ARN. `high_s` has it give the higher s of the two, as the real one does half of the time."""

    def __init__(self) -> None:
        self.url = ""
        self.keys: dict[str, tuple[str, bytes]] = {}
        self.high_s = False
        self.asked: list[str] = []
        self.spoil: Callable[[dict[str, Any]], dict[str, Any]] = lambda reply: reply

    def add(self, kind: str, secret: bytes) -> str:
        """The setting that names a new key."""
        arn = f"arn:aws:kms:{REGION}:111122223333:key/{len(self.keys):08d}-aaaa-bbbb-cccc-1234567890ab"
        self.keys[arn] = kind, secret
        return f"aws-kms:{arn}"

    def reply(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        _check_signature(method, path, headers, body)
        assert headers["content-type"] == "application/x-amz-json-1.1"
        service, _, action = headers["x-amz-target"].partition(".")
        said = json.loads(body)
        self.asked.append(action)
        if service != "TrentService" or said["KeyId"] not in self.keys:
            raise _Refused(400, {"__type": "NotFoundException", "message": "Key does not exist"})
        kind, secret = self.keys[said["KeyId"]]
        made = self._public(kind, secret) if action == "GetPublicKey" else self._signed(kind, secret, said)
        return self.spoil({"KeyId": said["KeyId"], **made})

    def _public(self, kind: str, secret: bytes) -> dict[str, Any]:
        if kind == "ECC_SECG_P256K1":
            raw = coincurve.PrivateKey(secret).public_key.format(compressed=False)
        else:
            raw = bytes(SigningKey(secret).verify_key)
        return {"KeySpec": kind, "KeyUsage": "SIGN_VERIFY", "PublicKey": _text(_SPKI[kind] + raw)}

    def _signed(self, kind: str, secret: bytes, said: Mapping[str, Any]) -> dict[str, Any]:
        message = base64.b64decode(said["Message"])
        what = said["SigningAlgorithm"], said["MessageType"]
        if kind == "ECC_SECG_P256K1" and what == ("ECDSA_SHA_256", "DIGEST") and len(message) == 32:
            signature = coincurve.PrivateKey(secret).sign(message, hasher=None)
            if self.high_s:
                signature = _with_high_s(signature)
        elif kind == "ECC_NIST_EDWARDS25519" and what == ("ED25519_SHA_512", "RAW") and len(message) <= 4096:
            signature = SigningKey(secret).sign(message).signature
        else:
            raise _Refused(400, {"__type": "ValidationException", "message": "no such algorithm for this key"})
        return {"Signature": _text(signature), "SigningAlgorithm": what[0]}


class Vault:
    """An ed25519 key by its name, with versions as a rotation makes them."""

    def __init__(self) -> None:
        self.url = ""
        self.token = TOKEN
        self.keys: dict[str, list[bytes]] = {}
        self.kind = "ed25519"
        self.spoil: Callable[[dict[str, Any]], dict[str, Any]] = lambda reply: reply

    def add(self, name: str, *versions: bytes) -> str:
        self.keys[name] = list(versions)
        return f"vault:transit/{name}"

    def reply(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> dict[str, Any]:
        if headers.get("x-vault-token") != self.token:
            raise _Refused(403, {"errors": ["permission denied"]})
        _, version, mount, what, name = path.split("/")
        if (version, mount) != ("v1", "transit") or name not in self.keys:
            raise _Refused(404, {"errors": []})
        versions = self.keys[name]
        if (method, what) == ("GET", "keys"):
            keys = {
                str(number): {"public_key": _text(bytes(SigningKey(each).verify_key)), "name": self.kind}
                for number, each in enumerate(versions, 1)
            }
            data = {"type": self.kind, "derived": False, "keys": keys, "latest_version": len(versions), "name": name}
        elif (method, what) == ("POST", "sign"):
            said = json.loads(body)
            number = said.get("key_version") or len(versions)
            signature = SigningKey(versions[number - 1]).sign(base64.b64decode(said["input"])).signature
            data = {"signature": f"vault:v{number}:{_text(signature)}", "key_version": number}
        else:
            raise _Refused(405, {"errors": ["unsupported operation"]})
        return self.spoil({"request_id": "1", "lease_id": "", "data": data})


Found = TypeVar("Found", Kms, Vault)


@contextmanager
def listening(service: Found) -> Iterator[Found]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                status, said = 200, service.reply(self.command, self.path, headers, body)
            except _Refused as refused:
                status, said = refused.status, dict(refused.body)
            raw = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _check_signature(method: str, path: str, headers: Mapping[str, str], body: bytes) -> None:
    """Signature Version 4 of a request without a query."""
    refused = {"__type": "InvalidSignatureException", "message": "The request signature does not match"}
    kind, _, rest = headers.get("authorization", "").partition(" ")
    said = dict(each.strip().split("=", 1) for each in rest.split(",") if "=" in each)
    at = headers.get("x-amz-date", "")
    scope = f"{at[:8]}/{REGION}/kms/aws4_request"
    names = said.get("SignedHeaders", "").split(";")
    if kind != "AWS4-HMAC-SHA256" or said.get("Credential") != f"{ACCESS_KEY}/{scope}":
        raise _Refused(400, {"__type": "UnrecognizedClientException", "message": "The security token is invalid"})
    if not {"host", "x-amz-date", "x-amz-target"} <= set(names):
        raise _Refused(400, refused)
    if abs(datetime.now(UTC) - datetime.strptime(at, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)) > timedelta(minutes=5):
        raise _Refused(400, refused)
    lines = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names)
    canonical = "\n".join((method, path, "", lines, ";".join(names), hashlib.sha256(body).hexdigest()))
    text = "\n".join(("AWS4-HMAC-SHA256", at, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    key = b"AWS4" + SECRET_KEY.encode()
    for part in (at[:8], REGION, "kms", "aws4_request", text):
        key = hmac.digest(key, part.encode(), "sha256")
    if not hmac.compare_digest(key.hex(), said.get("Signature", "")):
        raise _Refused(400, refused)


def _with_high_s(der: bytes) -> bytes:
    both = coincurve.ecdsa.serialize_compact(coincurve.ecdsa.der_to_cdata(der))
    r, s = both[:32], (ORDER - int.from_bytes(both[32:])).to_bytes(32)
    parts = b"".join(b"\x02" + bytes([len(each)]) + each for each in map(_integer, (r, s)))
    return b"\x30" + bytes([len(parts)]) + parts


def _integer(raw: bytes) -> bytes:
    short = raw.lstrip(b"\0") or b"\0"
    return b"\0" + short if short[0] & 0x80 else short


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
