"""Texts signed as a wallet of EVM networks signs them (EIP-191), by a key of the test."""

from __future__ import annotations

from typing import Any

from payments.chains.evm.keys.accounts import Account


def personal_signature(key: str, text: bytes) -> str:
    """What `personal_sign` returns: 65 bytes as hexadecimal digits."""
    from eth_account.messages import encode_defunct  # after `accounts`, which keeps the recursion limit

    signed: Any = Account.sign_message(encode_defunct(text), key)
    return "0x" + bytes(signed.signature).hex()
