"""A shop in the sandbox whose stellar is a local network, and a payer with a key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pytest_django.fixtures import Settings
from stellar_sdk import Keypair, TransactionEnvelope

from config.environments import Environment
from payments.chains.stellar import factory
from payments.deposits.crediting import assess_due
from payments.deposits.watching import watch_network
from tests.networks import STELLAR
from tests.stellar.network import devnet, keys
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.place import WALLET, XLM, key_of

PAYER = key_of(77)


@contextmanager
def shop_on_local_stellar(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHorizon]:
    """The network; its hot wallet takes all coins, and the payer holds 1,000 USDC. Ledgers close when told to."""
    with LocalHorizon() as local:
        monkeypatch.setattr(devnet, "URL", local.url)
        settings.SANDBOX_CHAIN = "devnet"
        local.fund_native(WALLET.public_key, 100 * XLM)
        local.fund_native(PAYER.public_key, 100 * XLM)
        for code in keys.ISSUERS:
            local.trust(WALLET, code)
        local.mint("USDC", PAYER.public_key, 1_000 * XLM)
        read()
        yield local


def read() -> None:
    """What the worker does: the network is read to its end, and what is due is assessed.

    As a new process does it, which takes no head for new that was so a second ago and leaves no server alone.
    """
    factory._horizons.cache_clear()
    while watch_network(Environment.SANDBOX, STELLAR):
        pass
    assess_due()


def sign(envelope: str, passphrase: str, signer: Keypair = PAYER) -> str:
    """What a wallet makes of an envelope (base64)."""
    found = TransactionEnvelope.from_xdr(envelope, passphrase)
    found.sign(signer)
    return found.to_xdr()
