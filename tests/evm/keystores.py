"""Encrypted key files as operators bring them."""

from __future__ import annotations

import json
from pathlib import Path

from payments.chains.evm.keys.accounts import Account
from payments.chains.evm.keys.signing import KeySigner


def write_keystore(path: Path, key: bytes, password: str) -> str:
    """Encrypt a key into a file only its owner may read; its address. FileExistsError where there is one already.

    The file says how much work its password costs: a thousandth of what tools for operators ask, which is a second.
    """
    stored = Account.encrypt(key, password, iterations=2**8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(json.dumps(stored, indent=2) + "\n")
    return KeySigner(key).address
