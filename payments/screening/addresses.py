"""Addresses in the spelling of deposits and payouts, which is how lists are compared with them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from payments.chains.errors import InvalidAddress
from payments.chains.evm import addresses as evm
from payments.chains.stellar import addresses as stellar

_EVM = re.compile(r"0[xX][0-9a-fA-F]{40}")
_CANDIDATE = re.compile(r"(?<![0-9A-Za-z])(?:0[xX][0-9a-fA-F]{40}|G[A-Z2-7]{55}|M[A-Z2-7]{68})(?![0-9A-Za-z])")


def account(text: str) -> str:
    """The account of an address, in its one spelling; empty when it is no address of our networks.

    An EVM address is the same on every EVM network, and lists spell it in any case. A muxed stellar address is its
    account's.
    """
    text = text.strip()
    if _EVM.fullmatch(text):
        return evm.encode(bytes.fromhex(text[2:]))
    try:
        return stellar.split(text)[0]
    except InvalidAddress:
        return ""


def accounts_in(text: str) -> Iterator[str]:
    """The accounts whose addresses stand in a text."""
    for found in _CANDIDATE.findall(text):
        if known := account(found):
            yield known
