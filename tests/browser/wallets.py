"""Wallets of a browser, as extensions put them into pages (EIP-6963, EIP-1193), before the local nodes of the devnet.

What a page asks goes through Playwright to Python and from there to a real node, whose unlocked accounts sign. The page
itself reaches nobody: its content security policy stays in force.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Page

from payments.chains.evm.nodes.rpc import RpcError
from tests.evm.node import TestNode
from tests.evm.personal_signatures import personal_signature

DECLINED, UNKNOWN_NETWORK, INTERNAL = 4001, 4902, -32603
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E"
    "%3Ccircle cx='4' cy='4' r='4' fill='%23e2761b'/%3E%3C/svg%3E"
)

_EXTENSION = """
(() => {
  const holds = new Map();
  window.holdWallets = (method) => {
    holds.set(method, new Promise((release) => (window.releaseWallets = () => (holds.delete(method), release()))));
  };
  const announced = WALLETS.map(({ info, legacy }) => {
    const request = async ({ method, params }) => {
      await holds.get(method);
      const { result, error } = await window.askWallet(info.name, method, params ?? []);
      if (error) throw Object.assign(new Error(error.message), error);
      return result;
    };
    const provider = Object.freeze({ request });
    if (legacy) window.ethereum = provider;
    return legacy ? null : Object.freeze({ info, provider });
  });
  const announce = () => announced.filter(Boolean).forEach((detail) =>
    window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail })));
  window.addEventListener("eip6963:requestProvider", announce);
  announce();
})();
"""
_MAY_ASK = {"eth_call", "eth_getTransactionReceipt", "eth_sendTransaction"}


@dataclass
class Wallet:
    """One of them: which account and network it has, what it and its owner do, and what it was asked.

    `fails` are errors by method, `then` is what happens once a method has been answered.
    """

    name: str
    account: str
    chain_id: int
    knows: set[int]
    declines: set[str] = field(default_factory=set)
    fails: dict[str, dict[str, Any]] = field(default_factory=dict)
    then: dict[str, Callable[[], None]] = field(default_factory=dict)
    icon: str = ICON
    legacy: bool = False
    key: str = ""
    """What it signs messages with."""
    asked: list[tuple[str, list[Any]]] = field(default_factory=list)

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.asked]

    @property
    def sent(self) -> list[dict[str, str]]:
        return [params[0] for method, params in self.asked if method == "eth_sendTransaction"]

    def answer(self, nodes: Mapping[int, TestNode], method: str, params: list[Any]) -> dict[str, Any]:
        self.asked.append((method, params))
        if method in self.declines:
            return _error(DECLINED, "User rejected the request.")
        if method in self.fails:
            return {"error": self.fails[method]}
        try:
            return self._answer(nodes, method, params)
        finally:
            self.then.get(method, lambda: None)()

    def _answer(self, nodes: Mapping[int, TestNode], method: str, params: list[Any]) -> dict[str, Any]:
        if method in {"eth_requestAccounts", "eth_accounts"}:
            return {"result": [self.account.lower()]}
        if method == "eth_chainId":
            return {"result": hex(self.chain_id)}
        if method == "wallet_switchEthereumChain":
            return self._switch(int(params[0]["chainId"], 16))
        if method == "wallet_addEthereumChain":
            self.knows.add(int(params[0]["chainId"], 16))
            return self._switch(int(params[0]["chainId"], 16))
        if method == "personal_sign":
            return self._sign(*params)
        assert method in _MAY_ASK, method
        try:
            return {"result": nodes[self.chain_id].rpc.call(method, *params)}
        except RpcError as error:
            return _error(INTERNAL, error.message)

    def _sign(self, message: str, account: str) -> dict[str, Any]:
        assert account == self.account
        return {"result": personal_signature(self.key, bytes.fromhex(message.removeprefix("0x")))}

    def _switch(self, chain_id: int) -> dict[str, Any]:
        if chain_id not in self.knows:
            return _error(UNKNOWN_NETWORK, f"Unrecognized chain ID {chain_id:#x}.")
        self.chain_id = chain_id
        return {"result": None}


def put_into(page: Page, nodes: Mapping[int, TestNode], *wallets: Wallet) -> None:
    """Have every document that this page opens find these wallets."""
    by_name = {wallet.name: wallet for wallet in wallets}
    page.expose_function("askWallet", lambda name, method, params: by_name[name].answer(nodes, method, params))
    announced = [
        {
            "info": {"uuid": f"uuid-{number}", "rdns": f"wallet.{number}", "name": wallet.name, "icon": wallet.icon},
            "legacy": wallet.legacy,
        }
        for number, wallet in enumerate(wallets)
    ]
    page.add_init_script(_EXTENSION.replace("WALLETS", json.dumps(announced)))


def _error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}
