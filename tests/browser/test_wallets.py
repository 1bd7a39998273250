"""Paying by a wallet of the browser: real pages, wallets that a test plays, and transfers on a real node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from payments import tasks
from payments.chains.evm import abi
from payments.models import Payment
from tests.browser.conftest import Complaints
from tests.browser.scenes import make_payment
from tests.browser.wallets import Wallet, put_into
from tests.evm.network import devnet
from tests.evm.node import TestNode, running_node, stop_nodes
from tests.factories import make_merchant
from tests.networks import ETHEREUM, LOCAL_IDS, POLYGON

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

HERE, ELSEWHERE = LOCAL_IDS[POLYGON], LOCAL_IDS[ETHEREUM]
USDC = devnet.token("USDC")
AMOUNT, UNITS = "48.50", 48_500_000
BLOCKS_UNTIL_FINAL = 2 * devnet.EPOCH_BLOCKS + 1
SENT = "Sent: waiting for the network"
POOR = 7
"""Which of the node's accounts has nothing but what a test gives it."""

Nodes = dict[int, TestNode]


@cache
def prepared_nodes() -> Nodes:
    nodes = {}
    for chain_id in LOCAL_IDS.values():
        nodes[chain_id] = running_node(chain_id, "wallets of browsers", devnet.EPOCH_BLOCKS)
        devnet.prepare(nodes[chain_id].rpc)
        nodes[chain_id].mine(BLOCKS_UNTIL_FINAL)
    return nodes


@pytest.fixture(scope="session", autouse=True)
def nodes_end_with_the_run() -> Iterator[None]:
    yield
    stop_nodes()
    prepared_nodes.cache_clear()


@pytest.fixture
def nodes(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    """The sandbox stands on local nodes; what a test does to them is undone."""
    found = prepared_nodes()
    for network, chain_id in LOCAL_IDS.items():
        monkeypatch.setitem(devnet.PLACES, network, devnet.Place(chain_id, urlsplit(found[chain_id].url).port or 0))
    devnet.profile.cache_clear()
    settings.SANDBOX_CHAIN = "devnet"
    with found[HERE].put_back(), found[ELSEWHERE].put_back():
        yield found
    devnet.profile.cache_clear()


@pytest.fixture
def payment(nodes: Nodes) -> Payment:
    tasks.watch_networks()
    return make_payment(make_merchant("Harbour Coffee"), amount=AMOUNT, currency="USD", network=POLYGON)


@pytest.fixture(autouse=True)
def nothing_complains(complaints: Complaints) -> Iterator[None]:
    yield
    assert complaints.found == []


def a_wallet(name: str = "Otter", *, chain_id: int = HERE, account: str = devnet.PAYER, **more: Any) -> Wallet:
    return Wallet(name, account, chain_id, {HERE, ELSEWHERE}, **more)


def open_page(page: Page, payment: Payment, nodes: Nodes, *offered: Wallet) -> None:
    put_into(page, nodes, *offered)
    page.goto(f"/pay/{payment.public_id}")


def button(page: Page, name: str = "Pay with Otter") -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def words(page: Page) -> Locator:
    return page.locator("[data-wallet-words]")


def held(nodes: Nodes, payment: Payment) -> int:
    return nodes[HERE].held(USDC, payment.deposit_address)


def send(nodes: Nodes, payment: Payment, units: int) -> None:
    """Somebody pays without the page."""
    nodes[HERE].succeed(devnet.PAYER, USDC, abi.call("transfer(address,uint256)", payment.deposit_address, units))
    tasks.watch_networks()


def let_blocks_come(page: Page, nodes: Nodes, count: int = BLOCKS_UNTIL_FINAL) -> None:
    """They are read, and the page looks at what has come of it, as it does when somebody comes back to it."""
    nodes[HERE].mine(count)
    tasks.watch_networks()
    page.evaluate("dispatchEvent(new Event('focus'))")


def expect_paid(page: Page, nodes: Nodes, payment: Payment) -> None:
    """What the wallet sent arrives, is seen, and completes the payment."""
    expect(button(page, SENT)).to_be_visible()
    let_blocks_come(page, nodes, 1)
    assert held(nodes, payment) == UNITS
    expect(page.get_by_text("Payment seen, confirming", exact=True)).to_be_visible()
    expect(page.locator("[data-wallet]")).to_have_count(0)
    let_blocks_come(page, nodes)
    expect(page.get_by_text("Paid. Thank you!", exact=True)).to_be_visible()
    assert Payment.objects.get(pk=payment.pk).status == "completed"


def test_one_of_two_wallets_changes_its_network_and_pays(page: Page, nodes: Nodes, payment: Payment) -> None:
    odd = a_wallet("<img src=x onerror=alert(1)>", icon="https://tracker.example/icon.png")
    wallet = a_wallet(chain_id=ELSEWHERE)
    open_page(page, payment, nodes, odd, wallet)
    expect(button(page, f"Pay with {odd.name}")).to_be_visible()
    expect(page.locator("[data-wallet] img")).to_have_count(1)
    expect(page.get_by_role("link", name="Open in wallet")).to_be_hidden()
    button(page).click()
    expect_paid(page, nodes, payment)
    assert odd.asked == []
    assert [method for method in wallet.methods if method.startswith("wallet_")] == ["wallet_switchEthereumChain"]
    assert wallet.sent == [
        {
            "from": devnet.PAYER.lower(),
            "to": USDC,
            "value": "0x0",
            "data": "0x" + abi.call("transfer(address,uint256)", payment.deposit_address, UNITS).hex(),
            "chainId": hex(HERE),
        }
    ]


def test_a_wallet_that_only_sets_window_ethereum_pays(page: Page, nodes: Nodes, payment: Payment) -> None:
    open_page(page, payment, nodes, a_wallet(legacy=True))
    button(page, "Pay with your browser wallet").click()
    expect_paid(page, nodes, payment)


def test_who_declines_is_told_so_and_can_pay_after_all(page: Page, nodes: Nodes, payment: Payment) -> None:
    wallet = a_wallet(declines={"eth_requestAccounts"})
    open_page(page, payment, nodes, wallet)
    for declined in ("eth_requestAccounts", "eth_sendTransaction"):
        wallet.declines = {declined}
        button(page).click()
        expect(words(page)).to_have_text("You declined in your wallet. Nothing was sent.")
        assert wallet.methods[-1] == declined
        expect(button(page)).to_be_enabled()
    wallet.declines = set()
    button(page).click()
    expect_paid(page, nodes, payment)
    assert len(wallet.sent) == 2


def test_a_wallet_that_stays_on_another_network_sends_nothing(page: Page, nodes: Nodes, payment: Payment) -> None:
    wallet = a_wallet(chain_id=ELSEWHERE, declines={"wallet_switchEthereumChain"})
    open_page(page, payment, nodes, wallet)
    button(page).click()
    expect(words(page)).to_have_text(
        "Your wallet is on a different network. Switch it to Polygon (local) and try again. Nothing was sent."
    )
    assert wallet.sent == []


def test_a_network_that_the_wallet_does_not_know_is_added(page: Page, nodes: Nodes, payment: Payment) -> None:
    wallet = a_wallet(chain_id=ELSEWHERE)
    wallet.knows.remove(HERE)
    open_page(page, payment, nodes, wallet)
    button(page).click()
    expect_paid(page, nodes, payment)
    [added] = [params[0] for method, params in wallet.asked if method == "wallet_addEthereumChain"]
    assert added == {
        "chainId": hex(HERE),
        "chainName": "Polygon (local)",
        "nativeCurrency": {"name": "POL", "symbol": "POL", "decimals": 18},
        "rpcUrls": [nodes[HERE].url],
    }


def test_without_a_node_for_everybody_no_network_is_added(page: Page, nodes: Nodes, payment: Payment) -> None:
    wallet = a_wallet(chain_id=ELSEWHERE)
    wallet.knows.remove(HERE)
    open_page(page, payment, nodes, wallet)
    page.locator("[data-wallet]").evaluate("section => (section.dataset.rpcUrl = '')")
    button(page).click()
    expect(words(page)).to_have_text(
        f"Your wallet does not know Polygon (local) (chain ID {HERE}). Add it there and try again. Nothing was sent."
    )
    assert "wallet_addEthereumChain" not in wallet.methods


def test_without_a_wallet_nothing_offers_one(
    browser: Browser, live_server: LiveServer, payment: Payment, complaints: Complaints
) -> None:
    phone = browser.new_context(
        base_url=live_server.url, viewport={"width": 360, "height": 780}, has_touch=True, is_mobile=True
    )
    page = phone.new_page()
    complaints.listen_to(page)
    page.goto(f"/pay/{payment.public_id}")
    page.wait_for_timeout(500)
    expect(page.locator("[data-wallet]")).to_be_hidden()
    link = page.get_by_role("link", name="Open in wallet")
    expect(link).to_have_attribute(
        "href", f"ethereum:{USDC}@{HERE}/transfer?address={payment.deposit_address}&uint256={UNITS}"
    )
    expect(page.get_by_text("open this page in its built-in browser")).to_be_visible()
    phone.close()


def test_too_few_coins_are_noticed_before_the_wallet_is_asked_to_send(
    page: Page, nodes: Nodes, payment: Payment
) -> None:
    wallet = a_wallet(account=nodes[HERE].accounts[POOR])
    nodes[HERE].mint(USDC, wallet.account, UNITS - 1)
    open_page(page, payment, nodes, wallet)
    button(page).click()
    expect(words(page)).to_have_text("Your account has less than 48.50 USDC on Polygon (local). Nothing was sent.")
    assert wallet.sent == []


def test_too_little_for_the_fee_is_explained(page: Page, nodes: Nodes, payment: Payment) -> None:
    wallet = a_wallet(account=nodes[HERE].accounts[POOR])
    nodes[HERE].mint(USDC, wallet.account, UNITS)
    nodes[HERE].rpc.call("anvil_setBalance", wallet.account, "0x1")
    open_page(page, payment, nodes, wallet)
    button(page).click()
    expect(words(page)).to_have_text("Your account has too little POL for the network fee. Nothing was sent.")
    assert held(nodes, payment) == 0


def test_what_wallets_say_is_told_in_words(page: Page, nodes: Nodes, payment: Payment) -> None:
    wallet = a_wallet(chain_id=ELSEWHERE)
    open_page(page, payment, nodes, wallet)
    unknown = {"code": -32603, "message": "Unrecognized chain", "data": {"originalError": {"code": 4902}}}
    reverted = {"code": -32603, "message": "execution reverted: ERC20: transfer amount exceeds balance"}
    broken = {"code": -32603, "message": "<b>no reply</b>"}
    for method, error, said in (
        ("eth_requestAccounts", {"code": -32002, "message": "Request pending"}, "Your wallet is still waiting"),
        (
            "wallet_switchEthereumChain",
            {"code": -32601, "message": "No such method"},
            "Your wallet is on a different network.",
        ),
        ("wallet_switchEthereumChain", unknown, "You declined in your wallet. Nothing was sent."),
        (
            "eth_sendTransaction",
            reverted,
            "Your account has less than 48.50 USDC on Polygon (local). Nothing was sent.",
        ),
        ("eth_sendTransaction", broken, "Your wallet reports: “<b>no reply</b>” Check in your wallet"),
    ):
        wallet.fails, wallet.declines = {method: error}, {"wallet_addEthereumChain"}
        button(page).click()
        expect(words(page)).to_contain_text(said)
    assert held(nodes, payment) == 0


def test_who_changes_the_account_meanwhile_pays_from_the_new_one(page: Page, nodes: Nodes, payment: Payment) -> None:
    other = nodes[HERE].accounts[POOR]
    nodes[HERE].mint(USDC, other, UNITS)
    wallet = a_wallet(chain_id=ELSEWHERE)
    wallet.then = {"wallet_switchEthereumChain": lambda: setattr(wallet, "account", other)}
    open_page(page, payment, nodes, wallet)
    button(page).click()
    expect_paid(page, nodes, payment)
    assert [sent["from"] for sent in wallet.sent] == [other.lower()]


def test_who_changes_the_network_meanwhile_sends_nothing(page: Page, nodes: Nodes, payment: Payment) -> None:
    wallet = a_wallet()
    wallet.then = {"eth_call": lambda: setattr(wallet, "chain_id", ELSEWHERE)}
    open_page(page, payment, nodes, wallet)
    button(page).click()
    expect(words(page)).to_contain_text("Your wallet is on a different network.")
    assert wallet.sent == []


def test_a_double_click_and_a_reload_pay_once(page: Page, nodes: Nodes, payment: Payment) -> None:
    wallet = a_wallet()
    open_page(page, payment, nodes, wallet)
    button(page).evaluate("button => (button.click(), button.click())")
    expect(button(page, SENT)).to_be_visible()
    button(page, SENT).dblclick(force=True)
    page.reload()
    expect(words(page)).to_have_text("It will appear here once it is in a block. Do not pay again.")
    expect(page.locator("[data-wallet-transaction]")).to_have_text(re.compile(r"^Transaction 0x[0-9a-f]{64}$"))
    button(page, SENT).dblclick(force=True)
    expect_paid(page, nodes, payment)
    assert len(wallet.sent) == 1


def test_what_a_wallet_is_asked_survives_a_page_that_changes(page: Page, nodes: Nodes, payment: Payment) -> None:
    wallet = a_wallet()
    open_page(page, payment, nodes, wallet)
    page.evaluate("holdWallets('eth_sendTransaction')")
    button(page).click()
    expect(words(page)).to_have_text("Confirm 48.50 USDC in your wallet.")
    send(nodes, payment, 10_000_000)
    let_blocks_come(page, nodes)
    expect(page.get_by_text("38.50 USDC is still missing", exact=True)).to_be_visible()
    expect(words(page)).to_have_text("Confirm 48.50 USDC in your wallet.")
    expect(button(page)).to_have_attribute("aria-disabled", "true")
    expect(button(page)).to_be_focused()
    page.evaluate("releaseWallets()")
    expect(button(page, SENT)).to_be_visible()
    let_blocks_come(page, nodes)
    expect(page.get_by_text("Paid. Thank you!", exact=True)).to_be_visible()
    expect(page.get_by_text("You sent 10.00 USDC too much")).to_be_visible()


def test_what_arrived_while_the_wallet_waited_is_not_sent_again(page: Page, nodes: Nodes, payment: Payment) -> None:
    wallet = a_wallet()
    open_page(page, payment, nodes, wallet)
    page.evaluate("holdWallets('eth_requestAccounts')")
    button(page).click()
    send(nodes, payment, 10_000_000)
    let_blocks_come(page, nodes)
    page.evaluate("releaseWallets()")
    expect(button(page, SENT)).to_be_visible()
    [sent] = wallet.sent
    assert int(sent["data"][-64:], 16) == 38_500_000
    let_blocks_come(page, nodes)
    expect(page.get_by_text("Paid. Thank you!", exact=True)).to_be_visible()
    assert held(nodes, payment) == UNITS


def test_a_payment_made_while_the_wallet_waited_is_not_made_twice(page: Page, nodes: Nodes, payment: Payment) -> None:
    wallet = a_wallet(chain_id=ELSEWHERE)
    open_page(page, payment, nodes, wallet)
    page.evaluate("holdWallets('wallet_switchEthereumChain')")
    button(page).click()
    send(nodes, payment, UNITS)
    page.evaluate("releaseWallets()")
    expect(page.get_by_text("Payment seen, confirming", exact=True)).to_be_visible()
    expect(page.locator("[data-wallet]")).to_have_count(0)
    assert wallet.sent == []


def test_a_transfer_that_the_network_undoes_can_be_made_again(page: Page, nodes: Nodes, payment: Payment) -> None:
    wallet = a_wallet()
    open_page(page, payment, nodes, wallet)
    button(page).click()
    expect(button(page, SENT)).to_be_visible()
    block = abi.call("set_blocked(address,bool)", devnet.PAYER, 1)
    nodes[HERE].rpc.call("anvil_setBalance", devnet.MINTER, hex(10**24))
    nodes[HERE].rpc.call(
        "eth_sendTransaction",
        {"from": devnet.MINTER, "to": USDC, "data": "0x" + block.hex(), "gas": hex(10**6), "gasPrice": hex(10**12)},
    )
    let_blocks_come(page, nodes, 1)
    expect(words(page)).to_have_text(
        "The network undid the payment that your wallet sent: nothing was paid. You can try again."
    )
    expect(button(page)).to_be_enabled()
    assert held(nodes, payment) == 0


def test_who_cancelled_in_the_wallet_can_send_again_later(page: Page, nodes: Nodes, payment: Payment) -> None:
    page.clock.install()
    wallet = a_wallet()
    open_page(page, payment, nodes, wallet)
    page.clock.run_for(500)
    button(page).click()
    expect(button(page, SENT)).to_be_visible()
    nodes[HERE].rpc.call("anvil_dropAllTransactions")
    again = page.get_by_role("button", name="It failed, or I cancelled it in my wallet")
    expect(again).to_be_hidden()
    page.clock.run_for(200_000)
    again.click()
    expect(button(page)).to_be_focused()
    button(page).click()
    expect_paid(page, nodes, payment)


def test_the_code_with_the_amount_is_a_choice_that_needs_no_script(
    browser: Browser, live_server: LiveServer, payment: Payment
) -> None:
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"/pay/{payment.public_id}")
    plain = page.get_by_role("img", name="QR code of the address to pay to")
    with_amount = page.get_by_role("img", name="QR code of a payment link with the amount")
    expect(plain).to_be_visible()
    expect(with_amount).to_be_hidden()
    expect(page.get_by_role("radio", name="Address only")).to_be_checked()
    page.get_by_text("QR with amount", exact=True).click()
    expect(with_amount).to_be_visible()
    expect(plain).to_be_hidden()
    expect(page.get_by_text("your wallet must show 48.50 USDC and this address")).to_be_visible()
    page.get_by_role("radio", name="QR with amount").press("ArrowLeft")
    expect(plain).to_be_visible()
    expect(page.locator("[data-wallet]")).to_be_hidden()
    context.close()


def test_a_chosen_code_stays_chosen_when_the_page_changes(page: Page, nodes: Nodes, payment: Payment) -> None:
    open_page(page, payment, nodes)
    page.get_by_text("QR with amount", exact=True).click()
    send(nodes, payment, 10_000_000)
    let_blocks_come(page, nodes, 1)
    expect(page.get_by_text("Payment seen, confirming", exact=True)).to_be_visible()
    expect(page.get_by_role("radio", name="QR with amount")).to_have_count(0)
    let_blocks_come(page, nodes)
    expect(page.get_by_text("38.50 USDC is still missing", exact=True)).to_be_visible()
    expect(page.get_by_role("radio", name="QR with amount")).to_be_checked()
