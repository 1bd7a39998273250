"""What doctor says of a network with a fault, planted in its settings, contract or nodes, and once it is mended."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest
from django.test import override_settings

from config.doctor import registry
from config.doctor.registry import Asked, Finding, Level
from payments.chains.evm import abi, factory
from payments.chains.settings_lookup import settings_of
from payments.monitoring.measuring import COMPARED_BLOCKS
from tests.evm.harness import NodeHarness, profile_of
from tests.evm.network import devnet
from tests.evm.node import ETHEREUM_ID, running_node
from tests.forgetting import forget_networks
from tests.networks import put_profile, with_set

pytestmark = pytest.mark.django_db

FACTORY, OWNER, WALLET = devnet.DEPLOYMENT.factory, devnet.OWNER, devnet.HOT_WALLET
THIEF = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"

Fault = Callable[[NodeHarness], AbstractContextManager[object]]


def found(harness: NodeHarness) -> dict[str, Finding]:
    """The lines of the network as a process sees them that has just started; the one that is wrong where one is."""
    factory._readiness.cache_clear()
    factory._signer.cache_clear()
    factory._providers.cache_clear()
    harness.mine()
    lines = dict[str, Finding]()
    for line in registry.examine(Asked(seconds=0), only=["network polygon"]):
        if lines.setdefault(line.name, line).level == Level.OK:
            lines[line.name] = line
    return lines


def set_to(**values: Any) -> Fault:
    return lambda harness: override_settings(NETWORK_SETTINGS=with_set("polygon", **values))


@contextmanager
def told(harness: NodeHarness, function: str, before: str) -> Iterator[None]:
    harness._node.succeed(OWNER, FACTORY, abi.call(function, THIEF))
    yield
    harness._node.succeed(OWNER, FACTORY, abi.call(function, before))


def role_of_a_thief(function: str) -> Fault:
    return lambda harness: told(harness, function, WALLET)


@contextmanager
def without_gas(harness: NodeHarness) -> Iterator[None]:
    held = harness._node.rpc.call("eth_getBalance", WALLET, "latest")
    harness._node.rpc.call("anvil_setBalance", WALLET, "0x1")
    yield
    harness._node.rpc.call("anvil_setBalance", WALLET, held)


@contextmanager
def other_decimals(harness: NodeHarness) -> Iterator[None]:
    profile = profile_of("polygon")
    assets = dict(profile.assets)
    assets["DAI"] = replace(assets["DAI"], decimals=6)
    with pytest.MonkeyPatch.context() as patch:
        put_profile(patch, replace(profile, assets=assets))
        yield
    forget_networks()


class PoorProvider:
    """A provider before the node that refuses some of what is asked."""

    def __init__(self, url: str, refuses: Callable[[dict[str, Any]], str]) -> None:
        node = httpx.Client(trust_env=False, verify=False)  # noqa: S501 - the local node has no TLS

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
                content = orjson.dumps([self._answer(each) for each in asked])
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
                if fault := refuses(asked):
                    return {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32000, "message": fault}}
                answer: dict[str, Any] = node.post(url, json=asked).json()
                return answer

            def log_message(self, *_: object) -> None:
                """Keeps the output of the tests readable."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def that_refuses(refuses: Callable[[dict[str, Any]], str]) -> Fault:
    @contextmanager
    def plant(harness: NodeHarness) -> Iterator[None]:
        harness._node.mine(COMPARED_BLOCKS // 2)
        provider = PoorProvider(harness._node.url, refuses)
        try:
            with override_settings(NETWORK_SETTINGS=with_set("polygon", rpc_urls=(provider.url,))):
                yield
        finally:
            provider.close()

    return plant


def the_past(asked: dict[str, Any]) -> str:
    is_past = asked["method"] == "eth_getBalance" and int(asked["params"][1], 16) < kept_from["height"]
    return "missing trie node" if is_past else ""


def many_blocks(asked: dict[str, Any]) -> str:
    return "this plan has no eth_getLogs" if asked["method"] == "eth_getLogs" else ""


kept_from = {"height": 0}
"""The first block whose state the poor provider still has."""

FAULTS: dict[str, tuple[set[str], str, Fault]] = {
    "the provider is dead": (
        {"polygon"},
        "answer",
        set_to(rpc_urls=("http://127.0.0.1:9",)),
    ),
    "the provider serves another chain": (
        {"polygon"},
        "speaks for chain '0x1', not for 0x89",
        lambda harness: set_to(rpc_urls=(running_node(ETHEREUM_ID).url,))(harness),
    ),
    "there is no provider": ({"polygon"}, "POLYGON_RPC_URLS", set_to(rpc_urls=())),
    "the contract answers to another operator": (
        {"polygon", "polygon contract"},
        THIEF,
        role_of_a_thief("set_operator(address)"),
    ),
    "the contract sweeps to another treasury": (
        {"polygon", "polygon contract"},
        THIEF,
        role_of_a_thief("set_treasury(address)"),
    ),
    "the factory is none": ({"polygon", "polygon contract"}, "no contract at", set_to(factory=devnet.PAYER)),
    "the key is of another wallet": (
        {"polygon"},
        "EVM_HOT_WALLET is",
        set_to(hot_wallet_key=devnet.PAYER_KEY),
    ),
    "a coin has other decimals": ({"polygon", "polygon wallet"}, "DAI on polygon has 18 decimals", other_decimals),
    "the provider forgets the past": ({"polygon providers"}, "cannot say what was held", that_refuses(the_past)),
    "the provider returns no events": ({"polygon providers"}, "events of 500 blocks", that_refuses(many_blocks)),
    "the hot wallet has no gas": ({"polygon gas"}, "cannot pay for a single payout", without_gas),
}
"""By fault: the lines that fail, what the first of them says, and what plants it."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_network_is_named_until_it_is_mended(harness: NodeHarness, fault: str) -> None:
    failing, said, plant = FAULTS[fault]
    kept_from["height"] = harness.chain.reading.head().height
    with plant(harness):
        lines = found(harness)
        wrong = [line for line in lines.values() if line.level == Level.FAIL]
        assert {line.name for line in wrong} == failing, lines
        assert said in wrong[0].text
        assert all(len(line.advice) > 20 for line in wrong)
    after = found(harness)
    assert {"polygon", "polygon providers", "polygon contract", "polygon gas", "polygon wallet"} == set(after)
    assert {line.name for line in after.values() if line.level == Level.FAIL} == set(), after


def test_a_provider_that_fails_is_a_warning_while_others_answer(harness: NodeHarness) -> None:
    [right] = settings_of("polygon").rpc_urls
    again, dead = right.replace("127.0.0.1", "localhost"), "http://127.0.0.2:9"
    urls = {"rpc_urls": (right, again, dead), "one_may_decide": False}
    with override_settings(NETWORK_SETTINGS=with_set("polygon", **urls)):
        lines = found(harness)
    assert lines["polygon"].level == Level.OK, lines
    assert (lines["polygon providers"].level, "127.0.0.2" in lines["polygon providers"].text) == (Level.WARN, True)
