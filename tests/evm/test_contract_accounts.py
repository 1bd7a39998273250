"""Wallets that are contracts are proven by what they take as their own signature, on a real node."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from config.environments import Environment
from payments.chains import registry
from payments.chains.evm import abi
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.deposit_addresses.artifacts import artifact
from payments.chains.evm.keys.accounts import Account
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.services import set_wallet
from tests.dashboard.conftest import browser_of
from tests.evm.harness import NodeHarness
from tests.evm.liars import providers_of
from tests.evm.mainnet import settings_for
from tests.evm.network import devnet
from tests.evm.node import TestNode
from tests.evm.personal_signatures import personal_signature
from tests.factories import make_member
from tests.networks import POLYGON

pytestmark = pytest.mark.slow

OWNER_KEY, OTHER_KEY = "0x" + "44" * 32, "0x" + "55" * 32
TEXT = "I confirm that this wallet belongs to the merchant."
ACCEPTED = "0x" + abi.selector("isValidSignature(bytes32,bytes)").hex()
"""What the function is called by is also what it returns for yes."""


def deploy_account(node: TestNode) -> str:
    """A contract whose owner has OWNER_KEY; returns its address."""
    owner = str(Account.from_key(OWNER_KEY).address)
    return node.deploy(artifact("SmartAccount", devnet.CONTRACTS).creation + abi.encode(owner))


def signed(key: str, text: str = TEXT) -> bytes:
    return bytes.fromhex(personal_signature(key, text.encode())[2:])


def test_a_contract_says_which_signatures_are_its_own(harness: NodeHarness) -> None:
    account = deploy_account(harness._node)
    chain = harness.chain
    assert isinstance(chain, EvmChain)
    accepts = chain.signers.account_accepts
    replies = {
        "its owner's": accepts(account, TEXT, signed(OWNER_KEY)),
        "a stranger's": accepts(account, TEXT, signed(OTHER_KEY)),
        "of another text": accepts(account, TEXT, signed(OWNER_KEY, "Another text.")),
        "refused by a revert": accepts(account, TEXT, signed(OWNER_KEY) * 2),
        "at an account with a key": accepts(harness.stranger(1), TEXT, signed(OWNER_KEY)),
        "at a contract of another kind": accepts(harness.foreign_contract, TEXT, signed(OWNER_KEY)),
    }
    assert replies == {
        "its owner's": True,
        "a stranger's": False,
        "of another text": False,
        "refused by a revert": False,
        "at an account with a key": None,
        "at a contract of another kind": False,
    }


ACCEPTS_FOR_MUCH_GAS = "6301312d005a11631626ba7e60e01b0260005260206000f3"
"""Takes everything as its own signature where it is given more than 20,000,000 of gas."""
NEVER_ENDS = "5b600056"


def deploy_code(node: TestNode, runtime: str) -> str:
    """A contract of these bytes; returns its address."""
    length = len(runtime) // 2
    return node.deploy(bytes.fromhex(f"60{length:02x}600c60003960{length:02x}6000f3" + runtime))


@pytest.mark.parametrize("runtime", [ACCEPTS_FOR_MUCH_GAS, NEVER_ENDS])
def test_a_contract_has_the_same_gas_to_decide_at_every_provider(harness: NodeHarness, runtime: str) -> None:
    account = deploy_code(harness._node, runtime)
    chain = harness.chain
    assert isinstance(chain, EvmChain)
    assert chain.signers.account_accepts(account, TEXT, signed(OWNER_KEY)) is False
    assert not any(state.problems for state in chain.providers.states())


def accepting_everything(question: dict[str, Any], truth: Any) -> Any:
    """Every contract takes every signature as its own."""
    asked = question["method"] == "eth_call" and question["params"][0]["data"].startswith(ACCEPTED)
    return ACCEPTED.ljust(66, "0") if asked else truth


@pytest.mark.django_db(transaction=True)
def test_the_page_proves_a_wallet_that_is_a_contract_as_providers_agree(
    harness: NodeHarness, settings: Settings
) -> None:
    node, member = harness._node, make_member()
    with providers_of(node.url, 2) as providers:
        settings.NETWORK_SETTINGS = settings_for({POLYGON: [each.url for each in providers]})["NETWORK_SETTINGS"]
        wallet = set_wallet(
            merchant=member.merchant,
            environment=Environment.PRODUCTION,
            network=POLYGON,
            address=deploy_account(node),
            label="Safe",
            by=member,
        )
        client = browser_of(member)
        client.post("/dashboard/environment", {"environment": Environment.PRODUCTION})
        page = f"/dashboard/wallets/{wallet.public_id}/prove"

        def said(key: str) -> str:
            """What the page says to a signature of its message by this key."""
            form = client.get(page).text
            [text], [token] = (
                re.findall(each, form) for each in (r'data-text="([^"]+)"', r'name="token" value="([^"]+)"')
            )
            signature = personal_signature(key, unescape(text).encode())
            return unescape(client.post(page, {"token": token, "signature": signature}, follow=True).text)

        assert "The contract at this address does not take this as its signature" in said(OTHER_KEY)
        providers[0].lie = accepting_everything
        for _ in range(4):
            assert "nobody knows who signs for this account" in said(OTHER_KEY)
        providers[0].lie = None
        assert MerchantWallet.objects.get().proof == ""
        assert "The wallet is proven." in said(OWNER_KEY)
        assert MerchantWallet.objects.get().proof == "contract"
        assert ": Message signed by its owners." in client.get("/dashboard/wallets").text
        found = registry.chain(Environment.PRODUCTION, POLYGON).providers.states()  # type: ignore[union-attr]
        assert [state.problems.keys() - {"disagrees"} for state in found] == [set(), set()]
