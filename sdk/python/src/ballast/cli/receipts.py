"""`ballast receipts verify`: checks a signed receipt on this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import httpx
import typer
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ballast.cli.output import text
from ballast.cli.session import Refused, session

app = typer.Typer(help="Check signed receipts.", no_args_is_help=True)
FORMAT = "ballast-receipt-1"
KEYS = "/.well-known/ballast-receipts.json"
MOST_BYTES = 200_000


@app.callback()
def group() -> None:
    """Keeps `verify` a command of its own."""


class NotGenuine(Exception):
    """It is a receipt, and its signature says nothing for it."""


@app.command()
def verify(
    context: typer.Context,
    receipt: Annotated[str, typer.Argument(help="A file, `-` for standard input, or a payment's id.")],
    keys: Annotated[
        str | None,
        typer.Option(help="A file or an address of keys. Left out: those of the service you are logged in to."),
    ] = None,
) -> None:
    """Check that a receipt is genuine and unchanged: exit code 0, or 1 where it is not."""
    here = session(context)
    if receipt.startswith("pay_") and not Path(receipt).exists():
        content = fetch(f"{here.keys.url}/pay/{receipt}/receipt.json")
    else:
        content = sys.stdin.buffer.read(MOST_BYTES + 1) if receipt == "-" else read(Path(receipt))
    # Never the keys of whoever the receipt itself names: anybody can name himself.
    source = keys or here.keys.url + KEYS
    published = strict_json(fetch(source) if source.startswith(("http://", "https://")) else read(Path(source)))
    try:
        payload = verified(strict_json(content), published)
    except NotGenuine as error:
        here.output.note(f"Not genuine: {error}", "red")
        raise typer.Exit(1) from None
    if here.output.as_json:
        here.output.json(payload)
        return
    if payload.get("environment") == "sandbox":
        here.output.note("A receipt of the sandbox: no money is real.", "yellow")
    here.output.plain(f"Genuine, signed by {source.removesuffix(KEYS)}")
    for name in (
        "kind",
        "merchant",
        "reference",
        "purpose",
        "amountDue",
        "amountReceived",
        "amountRefunded",
        "amount",
        "paidAt",
        "issuedAt",
    ):
        if payload.get(name):
            here.output.plain(f"{name}\t{text(payload[name])}")


def verified(envelope: dict[str, Any], published: dict[str, Any]) -> dict[str, Any]:
    """What a genuine receipt says. docs/receipts.md says what is signed."""
    signature, payload = envelope.get("signature"), envelope.get("payload")
    if envelope.keys() != {"format", "key", "payload", "signature"} or envelope["format"] != FORMAT:
        raise Refused("This is no receipt, or one of another version.")
    if not isinstance(payload, dict) or not isinstance(signature, str) or not isinstance(payload.get("issuedAt"), str):
        raise Refused("This receipt is not complete.")
    key = next((one for one in published.get("keys", []) if one["id"] == envelope["key"]), None)
    if key is None or key["algorithm"] != "Ed25519":
        raise NotGenuine("it was signed with a key that is not among these")
    signed = f"{FORMAT}\n{json.dumps(payload, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}".encode()
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key["publicKey"])).verify(bytes.fromhex(signature), signed)
    except (InvalidSignature, ValueError):
        raise NotGenuine("it was changed after it was signed, or somebody else signed it") from None
    if not key["validFrom"] <= payload["issuedAt"] < key["validUntil"]:
        raise NotGenuine("its key was not in use at the time that it gives")
    return payload


def strict_json(content: bytes) -> dict[str, Any]:
    """JSON of text, lists and objects alone, which two parsers cannot read differently."""
    try:
        if len(content) > MOST_BYTES:
            raise ValueError("too large")
        value = json.loads(
            content.decode("utf-8-sig"), object_pairs_hook=without_twins, parse_int=no_number, parse_float=no_number,
            parse_constant=no_number,
        )  # fmt: skip
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
        if not isinstance(value, dict):
            raise ValueError("no object")
        check_values(value)
    except (ValueError, RecursionError) as error:
        raise Refused(f"It is not complete, or no JSON as receipts have it ({error}).") from error
    return value


def check_values(value: Any) -> None:
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            check_values(inner)
        elif not isinstance(inner, str):
            raise ValueError("a value that is no text")


def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return found


def no_number(_text: str) -> NoReturn:
    raise ValueError("a number: receipts have them as text")


def read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from error


def fetch(url: str) -> bytes:
    try:
        reply = httpx.get(url, timeout=20)
    except httpx.HTTPError as error:
        raise Refused(f"{url} cannot be read: {error}") from error
    if reply.status_code != 200:
        raise Refused(f"{url} replied {reply.status_code}; there is no receipt before a payment is completed")
    return reply.content
