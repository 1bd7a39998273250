"""`ballast receipts verify`: checks a signed receipt on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import httpx
import typer

from ballast.cli.output import text
from ballast.cli.session import Refused, session
from ballast.cli.verify import (
    MOST_BYTES,
    NotGenuine,
    Unreadable,
    ed25519_verifies,
    read_keys,
    read_receipt,
    verified,
)  # fmt: skip

app = typer.Typer(help="Check signed receipts.", no_args_is_help=True)
KEYS = "/.well-known/ballast-receipts.json"
SAFE = ("https://", "http://127.0.0.1:", "http://localhost:")
"""Addresses whose reply nobody on the way can change."""


@app.callback()
def group() -> None:
    """Keeps `verify` a command of its own."""


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
    is_id = receipt.startswith("pay_") and not Path(receipt).exists()
    place = f"{here.keys.url}/pay/{receipt}/receipt.json" if is_id else receipt
    # Never the keys of whoever the receipt itself names: anybody can name himself.
    source = keys or here.keys.url + KEYS
    try:
        envelope = read_receipt(read(place))
        place = source
        payload = verified(envelope, read_keys(read(source)), ed25519_verifies)
    except Unreadable as error:
        raise Refused(f"{place}: {error}") from error
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


def read(place: str) -> bytes:
    """What is in a file or at an address; `-` is standard input."""
    if place == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    if place.startswith(("http://", "https://")):
        return fetch(place)
    try:
        with Path(place).open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Refused(f"{place} cannot be read: {error.strerror}") from error


def fetch(url: str) -> bytes:
    if not url.startswith(SAFE):
        raise Refused(f"{url} cannot be trusted: an address must begin with https://. Save it, and name the file.")
    try:
        reply = httpx.get(url, timeout=20)
    except httpx.HTTPError as error:
        raise Refused(f"{url} cannot be read: {error}") from error
    if reply.status_code != 200:
        raise Refused(f"{url} replied {reply.status_code}; there is no receipt before a payment is completed")
    return reply.content
