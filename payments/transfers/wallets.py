"""The hot wallets: which there are, and who may sign for one just now."""

from __future__ import annotations

from contextlib import AbstractContextManager

from config.turns import turn
from payments.chains.base import Chain
from payments.transfers.models import Wallet

LOCK_CLASS = 0x776C6C74
"""Advisory locks of wallets: (this class, the wallet's key)."""


def wallet_of(environment: str, network: str, chain: Chain) -> Wallet:
    """The wallet payouts of a network leave from.

    One that the books have never seen, and whose chain says that it has sent before, begins frozen: these may be the
    books of before a restore, and what it sent may be what they still want to send.
    """
    address = chain.payout_address()
    return Wallet.objects.get_or_create(environment=environment, network=network, address=address)[0]


def hold(wallet: Wallet) -> AbstractContextManager[bool]:
    """Be the only one who signs for a wallet; False when somebody else is."""
    return turn(LOCK_CLASS, wallet.pk)
