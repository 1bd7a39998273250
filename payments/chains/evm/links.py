"""Payment links of EVM networks (EIP-681)."""

from __future__ import annotations


def token_transfer(*, contract: str, chain_id: int, recipient: str, amount: int) -> str:
    """The link that fills in a token transfer. `amount` in base units, written out: wallets misread `1e6`.

    Never a QR code by itself: a scanner that reads only the front of it would pay the token contract.
    """
    return f"ethereum:{contract}@{chain_id}/transfer?address={recipient}&uint256={amount}"
