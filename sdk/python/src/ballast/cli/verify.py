# Generated from payments/receipts/verify.py by sdk/generator: change that one.
"""Checks a signed receipt with the standard library of Python 3.9 or newer alone.

    python3 verify.py receipt.json [--keys ballast-receipts.json | --keys https://…]

Without --keys it asks the service that this file was downloaded from for its keys. Exit code 0: the receipt is genuine
and unchanged. 1: it is not. 2: it could not be checked.

What is signed is `ballast-receipt-1`, a line feed, and the JSON of `payload` in UTF-8 with sorted names, without spaces
(RFC 8785); it contains text, lists and objects alone. The signature is Ed25519 (RFC 8032).
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, NoReturn

KEYS = ""  # where the service publishes its keys: written here when this file is downloaded
FORMAT = "ballast-receipt-1"
MOST_BYTES = 200_000
MOST_DEPTH = 8
SECONDS_TO_WAIT = 20


class Unreadable(Exception):
    """It is no receipt, or no file of keys."""


class NotGenuine(Exception):
    """It is a receipt, and its signature says nothing for it. `why` is one of WHY."""

    def __init__(self, why: str) -> None:
        super().__init__(WHY[why])
        self.why = why


WHY = {
    "changed": "It was changed after it was signed, or somebody else signed it.",
    "unknown_key": "It was signed with a key that is not among these. If the keys were saved, get them again.",
    "out_of_time": "Its key was not in use at the time that it gives.",
}

Envelope = dict[str, Any]
Verifier = Callable[[bytes, bytes, bytes], bool]
"""Takes a public key, a message and its signature."""


# --- what a receipt is ---------------------------------------------------------------------------------


def read_receipt(content: bytes) -> Envelope:
    """The receipt in a file, not verified yet; Unreadable when it is none."""
    envelope = _read(content)
    signature = envelope.get("signature")
    if envelope.keys() != {"format", "key", "payload", "signature"} or envelope["format"] != FORMAT:
        raise Unreadable("This is no receipt, or one of another version.")
    if not isinstance(envelope["key"], str) or not isinstance(envelope["payload"], dict):
        raise Unreadable("This is no receipt.")
    if not isinstance(signature, str) or not re.fullmatch("[0-9a-f]{128}", signature):
        raise Unreadable("The signature is not complete.")
    return envelope


def read_keys(content: bytes) -> list[dict[str, str]]:
    """The published keys in a file; Unreadable when it has none."""
    keys = _read(content).get("keys")
    wanted = ("id", "algorithm", "publicKey", "validFrom", "validUntil")
    if not isinstance(keys, list) or not all(isinstance(key, dict) for key in keys):
        raise Unreadable("This is no file of keys.")
    if not all(isinstance(key.get(name), str) for key in keys for name in wanted):
        raise Unreadable("A key is not complete.")
    return [key for key in keys if key["algorithm"] == "Ed25519" and re.fullmatch("[0-9a-f]{64}", key["publicKey"])]


def signed_bytes(payload: dict[str, Any]) -> bytes:
    """What is signed; UnicodeEncodeError where text is no Unicode."""
    return f"{FORMAT}\n{json.dumps(payload, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}".encode()


def verified(envelope: Envelope, keys: list[dict[str, str]], verifies: Verifier) -> dict[str, Any]:
    """What a genuine receipt says; NotGenuine for any other."""
    payload: dict[str, Any] = envelope["payload"]
    key = next((each for each in keys if each["id"] == envelope["key"]), None)
    if key is None:
        raise NotGenuine("unknown_key")
    signature, public_key = bytes.fromhex(envelope["signature"]), bytes.fromhex(key["publicKey"])
    if not verifies(public_key, signed_bytes(payload), signature):
        raise NotGenuine("changed")
    if not key["validFrom"] <= payload["issuedAt"] < key["validUntil"]:
        raise NotGenuine("out_of_time")
    return payload


def _read(content: bytes) -> dict[str, Any]:
    """JSON of text, lists and objects alone, which two parsers cannot read differently."""
    if len(content) > MOST_BYTES:
        raise Unreadable("It is too large.")
    try:
        value = json.loads(
            content.decode("utf-8-sig"),
            object_pairs_hook=_without_twins,
            parse_int=_refuse_number,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
        )
        _check_values(value, MOST_DEPTH)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"It is not complete, or no JSON as receipts have it ({error}).") from error
    if not isinstance(value, dict):
        raise Unreadable("It is no JSON object.")
    return value


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return found


def _refuse_number(text: str) -> NoReturn:
    raise ValueError("a number: receipts have them as text")


def _check_values(value: Any, depth: int) -> None:
    if not depth:
        raise ValueError("too many objects inside each other")
    if isinstance(value, str):
        value.encode()  # half a surrogate pair is no text
    elif isinstance(value, dict):
        for name, inner in value.items():
            name.encode()
            _check_values(inner, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            _check_values(inner, depth - 1)
    else:
        raise ValueError("a value that is no text")


# --- Ed25519, after RFC 8032, sections 5.1 and 6. It only verifies: nothing secret is here ----------------

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)

Point = tuple[int, int, int, int]
"""Extended homogeneous coordinates (X, Y, Z, T): x = X/Z, y = Y/Z, xy = T/Z."""
NEUTRAL: Point = (0, 1, 1, 0)


def ed25519_verifies(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature is that of the message by the key. Keys of low order and every encoding that is not the
    canonical one are refused."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    key, s = decoded(public_key), int.from_bytes(signature[32:], "little")
    if key is None or s >= L or _encoded(_times(8, key)) == _encoded(NEUTRAL):
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public_key + message).digest(), "little") % L
    x, y, z, t = key
    # R = [S]B - [k]A: compared as bytes, so that only the canonical encoding of R is taken.
    return _encoded(_sum(_times(s, BASE), _times(k, (-x % P, y, z, -t % P)))) == signature[:32]


def decoded(encoded: bytes) -> Point | None:
    """The point; None where there is none, or it has another encoding."""
    number = int.from_bytes(encoded, "little")
    y, sign = number & ((1 << 255) - 1), number >> 255
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * SQRT_OF_MINUS_ONE % P
    if (x * x - square) % P or (not x and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


def _encoded(point: Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    return (y * inverse % P | (x * inverse % P & 1) << 255).to_bytes(32, "little")


def _sum(one: Point, other: Point) -> Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % P
    b = (one[1] + one[0]) * (other[1] + other[0]) % P
    c, d = 2 * one[3] * other[3] * D % P, 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(factor: int, point: Point) -> Point:
    result = NEUTRAL
    while factor:
        if factor & 1:
            result = _sum(result, point)
        point, factor = _sum(point, point), factor >> 1
    return result


BASE: Point = decoded((4 * pow(5, -1, P) % P).to_bytes(32, "little")) or NEUTRAL


# --- the command -----------------------------------------------------------------------------------------


def _content_of(place: str) -> bytes:
    if not place.startswith(("https://", "http://")):
        with open(place, "rb") as file:
            return file.read(MOST_BYTES + 1)
    if not place.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
        raise Unreadable("An address must begin with https://.")
    with urllib.request.urlopen(place, timeout=SECONDS_TO_WAIT) as reply:
        if place.startswith("https://") and not reply.geturl().startswith("https://"):
            raise Unreadable("It sends you on to an address without https.")
        content: bytes = reply.read(MOST_BYTES + 1)
        return content


def _printable(text: str) -> str:
    """Without characters that could move the cursor or turn the direction of writing."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Checks a signed receipt.")
    parser.add_argument("receipt", help="the JSON file of the receipt")
    parser.add_argument("--keys", default=KEYS, help="the published keys: a file or an address (default: %(default)s)")
    given = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if not given.keys:
        parser.error("--keys is needed: this file does not come from the service itself")
    place = given.receipt
    try:
        envelope = read_receipt(_content_of(place))
        place = given.keys
        payload = verified(envelope, read_keys(_content_of(place)), ed25519_verifies)
    except NotGenuine as refusal:
        print(f"NOT GENUINE: {refusal}")
        return 1
    except (Unreadable, OSError, urllib.error.URLError) as problem:
        print(f"NOT CHECKED: {place}: {problem}")
        return 2
    if payload.get("environment") != "production":
        print("A TEST: no real money has moved.")
    print(f"GENUINE: signed with the key {envelope['key']} of {given.keys}, and not changed since.")
    print(_printable(json.dumps(payload, indent=2, ensure_ascii=False)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
