"""Claimable balances: coins that an account has set aside on the network for whoever may claim them. Pure."""

from __future__ import annotations

import hashlib

from payments.chains.stellar.addresses import key_of

_ENVELOPE_TYPE_OP_ID, _KEY_TYPE_ED25519, _BALANCE_ID_TYPE_V0 = 6, 0, 0


def balance_id(account: str, sequence: int, operation: int) -> str:
    """The id, in hexadecimal digits as Horizon spells it, of the claimable balance that an operation makes.

    `account` is the G address whose sequence its transaction uses; `operation` counts from 0. Fee bumps change nothing.
    """
    preimage = (
        _ENVELOPE_TYPE_OP_ID.to_bytes(4, "big")
        + _KEY_TYPE_ED25519.to_bytes(4, "big")
        + key_of(account)
        + sequence.to_bytes(8, "big", signed=True)
        + operation.to_bytes(4, "big")
    )
    return _BALANCE_ID_TYPE_V0.to_bytes(4, "big").hex() + hashlib.sha256(preimage).hexdigest()
