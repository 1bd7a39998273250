"""Paying on stellar by a wallet of the browser: Freighter's messages and SEP-43, before a local network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings

from payments.models import Payment
from tests.browser.conftest import Complaints
from tests.factories import make_merchant
from tests.networks import STELLAR
from tests.payments.scenes import make_payment
from tests.stellar.network import keys
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.place import key_of
from tests.stellar.shop import PAYER, read, shop_on_local_stellar, sign

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SENT = "Sent: waiting for the network"

_FREIGHTER = """
window.addEventListener("message", async ({ source, data }) => {
  if (source !== window || data?.source !== "FREIGHTER_EXTERNAL_MSG_REQUEST") return;
  const said = JSON.parse(await window.askStellarWallet(JSON.stringify(data)));
  window.postMessage({ source: "FREIGHTER_EXTERNAL_MSG_RESPONSE", messagedId: data.messageId, ...said }, origin);
});
"""
_SEP43 = """
const asked = async (type, more) => JSON.parse(await window.askStellarWallet(JSON.stringify({ type, ...more })));
window.kleverWallet = { stellar: {
  getAddress: async () => ({ address: (await asked("REQUEST_ACCESS")).publicKey }),
  getNetwork: async () => (await asked("REQUEST_NETWORK_DETAILS")).networkDetails,
  signTransaction: async (transactionXdr, { networkPassphrase }) => {
    const said = await asked("SUBMIT_TRANSACTION", { transactionXdr, networkPassphrase });
    return said.apiError ? { error: said.apiError } : { signedTxXdr: said.signedTransaction };
  },
} };
"""


@dataclass
class Wallet:
    """What the extension and its owner do, and what was asked of them."""

    passphrase: str = keys.PASSPHRASE
    declines: bool = False
    asked: list[str] = field(default_factory=list)

    def answer(self, text: str) -> str:
        message: dict[str, Any] = json.loads(text)
        self.asked.append(message["type"])
        return json.dumps(self._answer(message))

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        match message["type"]:
            case "REQUEST_CONNECTION_STATUS":
                return {"isConnected": True}
            case "REQUEST_ACCESS":
                return {"publicKey": PAYER.public_key}
            case "REQUEST_NETWORK_DETAILS":
                return {"networkDetails": {"networkPassphrase": self.passphrase}}
            case "SUBMIT_TRANSACTION" if self.declines:
                return {"apiError": {"code": -4, "message": "The user rejected this request."}}
            case "SUBMIT_TRANSACTION":
                return {"signedTransaction": sign(message["transactionXdr"], message["networkPassphrase"])}
        raise AssertionError(message)


@pytest.fixture
def local(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHorizon]:
    with shop_on_local_stellar(settings, monkeypatch) as found:
        yield found


@pytest.fixture
def payment(local: LocalHorizon) -> Payment:
    return make_payment(
        STELLAR, amount="48.5", merchant=make_merchant("Harbour Coffee"), merchant_wallet=key_of(5).public_key
    )


@pytest.fixture(autouse=True)
def nothing_complains(complaints: Complaints) -> Iterator[None]:
    yield
    assert complaints.found == []


def open_page(page: Page, payment: Payment, wallet: Wallet, script: str = _FREIGHTER) -> None:
    page.expose_function("askStellarWallet", wallet.answer)
    page.add_init_script(script)
    page.goto(f"/pay/{payment.public_id}")


@pytest.mark.parametrize(("script", "name"), [(_FREIGHTER, "Freighter"), (_SEP43, "Klever Wallet")])
def test_a_wallet_signs_and_the_payment_is_paid(
    page: Page, local: LocalHorizon, payment: Payment, script: str, name: str
) -> None:
    wallet = Wallet()
    open_page(page, payment, wallet, script)
    button = page.get_by_role("button", name=f"Pay with {name}", exact=True)
    expect(button).to_be_visible()
    expect(page.get_by_role("link", name="Open in wallet")).to_be_hidden()
    button.click()
    expect(page.get_by_role("button", name=SENT)).to_be_visible()
    assert wallet.asked[-3:] == ["REQUEST_ACCESS", "REQUEST_NETWORK_DETAILS", "SUBMIT_TRANSACTION"]
    local.close_ledger()
    read()
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.get_by_text("Paid. Thank you!", exact=True)).to_be_visible()


@pytest.mark.parametrize(
    ("wallet", "words"),
    [
        (Wallet(declines=True), "You declined in your wallet. Nothing was sent."),
        (Wallet(passphrase="Public Global Stellar Network ; September 2015"), "Your wallet is on a different network."),
    ],
    ids=["declined", "another network"],
)
def test_what_did_not_work_is_said_and_can_be_tried_again(
    page: Page, local: LocalHorizon, payment: Payment, wallet: Wallet, words: str
) -> None:
    open_page(page, payment, wallet)
    button = page.get_by_role("button", name="Pay with Freighter", exact=True)
    button.click()
    expect(page.locator("[data-wallet-words]")).to_contain_text(words)
    wallet.declines, wallet.passphrase = False, keys.PASSPHRASE
    button.click()
    expect(page.get_by_role("button", name=SENT)).to_be_visible()


def test_without_a_wallet_nothing_is_offered(page: Page, payment: Payment) -> None:
    page.goto(f"/pay/{payment.public_id}")
    expect(page.get_by_role("link", name="Open in wallet")).to_be_visible()
    expect(page.locator("[data-wallet]")).to_be_hidden()
