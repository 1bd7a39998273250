"""What `manage.py devnet` puts on the local network: a hot wallet that is set up, and a payer with money."""

from __future__ import annotations

from stellar_sdk import Keypair
from stellar_sdk.operation import ManageData

from tests.stellar.network.acting import Acting
from tests.stellar.network.entries import STROOPS
from tests.stellar.network.keys import HOT_WALLET_KEY, ISSUERS, PAYER_KEY

_NATIVE = 1_000 * STROOPS
_PAYER_HAS = 1_000_000 * STROOPS


def prepare(network: Acting, *, hot_wallet_has: int = 0) -> None:
    """The hot wallet trusts every coin, has so many of each, and asks senders for memos (SEP-29). The payer has a
    million of each coin."""
    wallet, payer = Keypair.from_secret(HOT_WALLET_KEY), Keypair.from_secret(PAYER_KEY)
    for key in (wallet, payer):
        network.fund_native(key.public_key, _NATIVE)
        for code in ISSUERS:
            network.trust(key, code)
    network.act(wallet, ManageData("config.memo_required", "1"))
    for code in ISSUERS:
        network.mint(code, payer.public_key, _PAYER_HAS)
        if hot_wallet_has:
            network.mint(code, wallet.public_key, hot_wallet_has * STROOPS)
