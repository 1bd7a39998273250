"""A real node, and a signer of its own by the operator's settings: what it signs is mined."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pytest_django.fixtures import Settings

from payments.chains import registry
from payments.chains.errors import SignerRefused
from payments.chains.protocol.chain import Chain, sweeps_of
from payments.chains.protocol.payouts import PayoutInstruction, SignedTransfer
from payments.chains.signer import configuration, connection
from payments.chains.signer.messages import intent_mac
from payments.chains.signer.server import listening
from tests.evm.harness import NodeHarness
from tests.networks import POLYGON, with_set

POLICY = """
signatures_per_minute = 10
[production.polygon]
fees_per_day = "1000"
[production.polygon.USDC]
transfer = "10"
day = "20"
"""
# The database's clock says how old the blocks of providers are.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

COIN = 10**6


@pytest.fixture
def chain(harness: NodeHarness, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chain]:
    """The network of production in a process without a key."""
    monkeypatch.setattr(connection, "SECONDS", 120.0)  # on a busy machine either side may be slow
    settings.SIGNER_SECRET, settings.PAYOUT_INTENT_KEY = "a secret of two processes", "a key of those who may ask"
    with TemporaryDirectory(prefix="signer") as folder:
        settings.SIGNER_FOLDER, url = folder, f"unix://{folder}/s"
        (Path(folder) / "policy.toml").write_text(POLICY)
        with configuration.service() as service, listening(url, settings.SIGNER_SECRET, service) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            settings.NETWORK_SETTINGS = with_set(POLYGON, signer_url=url, hot_wallet_key="", keystore="")
            yield registry.chain("production", POLYGON)
            server.shutdown()
            thread.join()


def payout(chain: Chain, harness: NodeHarness, amount: int = COIN, asked: int = COIN) -> PayoutInstruction:
    asset, recipient = chain.profile.assets["USDC"], harness.stranger(1)
    mac = intent_mac(
        "a key of those who may ask",
        environment="production",
        network=POLYGON,
        payout_id="one",
        coin="USDC",
        amount=asked,
        recipient=recipient,
    )
    return PayoutInstruction(asset, amount, recipient, payout_id="one", intent_mac=mac)


def sign(chain: Chain, *payouts: PayoutInstruction, replacing: tuple[SignedTransfer, ...] = ()) -> SignedTransfer:
    wallet = chain.payout_address()
    return chain.sending.sign(
        payouts, sender=wallet, sequence=chain.hot_wallet.next_sequence(wallet), replacing=replacing
    )


def test_what_the_signer_signs_is_mined(chain: Chain, harness: NodeHarness) -> None:
    wallet, usdc = chain.payout_address(), chain.profile.assets["USDC"]
    harness.fund_native(wallet, 10**20)
    harness.fund(wallet, "USDC", 5 * COIN)
    harness.mine()
    asked = payout(chain, harness)
    first = sign(chain, asked)
    dearer = sign(chain, asked, replacing=(first,))
    assert dearer.sequence == first.sequence
    chain.sending.broadcast(dearer)
    harness.mine()
    assert chain.sending.status(dearer).state == "included"
    assert chain.reading.balance(asked.recipient, usdc) == COIN
    swept = sweeps_of(chain).sign(usdc, (1, 2), sender=wallet, sequence=chain.hot_wallet.next_sequence(wallet))
    chain.sending.broadcast(swept)
    harness.mine()
    assert chain.sending.status(swept).state == "included"


def test_what_was_not_asked_for_as_it_is_is_not_signed(chain: Chain, harness: NodeHarness) -> None:
    with pytest.raises(SignerRefused, match="not_asked_for") as refused:
        sign(chain, payout(chain, harness, 2 * COIN))
    assert refused.value.payouts == {"one"}
    with pytest.raises(SignerRefused, match="over_limit"):
        sign(chain, payout(chain, harness, 11 * COIN, 11 * COIN))
