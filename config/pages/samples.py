"""Addresses in examples that people copy: in requests the sandbox's, which nobody owns, elsewhere shortened ones."""

from __future__ import annotations

import re
from typing import Any

SANDBOX_WALLET = "0x5a5A5a5a5A5a5a5a5a5A5a5A5A5a5a5A5A5A5A5A"
"""For trying things out on simulated networks. Nobody has its key, and production refuses it as a wallet."""

_ADDRESS = re.compile(
    r"\b(0x[0-9a-fA-F]{4})[0-9a-fA-F]{32}([0-9a-fA-F]{4})\b|\b([GM][A-Z2-7]{5})[A-Z2-7]{46,59}([A-Z2-7]{4})\b"
)


def sandbox_addresses(value: Any) -> Any:
    """The value with the sandbox's address in place of every other, so that a request can be sent as it stands."""
    match value:
        case str():
            return _ADDRESS.sub(SANDBOX_WALLET, value)
        case dict():
            return {name: sandbox_addresses(inner) for name, inner in value.items()}
        case list():
            return [sandbox_addresses(inner) for inner in value]
    return value


def cut_addresses(value: Any) -> Any:
    """The value with the middle of every address left out, so that nobody sends money to an address from an example."""
    match value:
        case str():
            return _ADDRESS.sub(lambda found: "…".join(part for part in found.groups() if part), value)
        case dict():
            return {name: cut_addresses(inner) for name, inner in value.items()}
        case list():
            return [cut_addresses(inner) for inner in value]
    return value
