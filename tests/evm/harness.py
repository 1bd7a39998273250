"""A real node as a harness of the chain contract suite."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from typing import Any

import httpx

from payments.chains.errors import RecipientProblem
from payments.chains.evm import abi
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.addresses import encode, forwarder_of, parse
from payments.chains.evm.deposit_addresses.artifacts import artifact
from payments.chains.evm.fees import FeeRules
from payments.chains.evm.keys.signing import Transaction, signer_from_key
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.rpc import Rpc
from payments.chains.networks import NETWORKS
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.chain import Chain
from tests.chains.harness import Outcome
from tests.evm.derivations import DERIVATIONS
from tests.evm.front import GWEI, PROVIDERS, USUAL_TIP, Front
from tests.evm.network import devnet
from tests.evm.node import EPOCH_BLOCKS, TestNode, running_node

USUAL_BASE_FEE = GWEI
STOCK = 10**30

PAYER_KEY, WALLET_KEY = devnet.PAYER_KEY, devnet.HOT_WALLET_KEY
KEYS = {devnet.PAYER: PAYER_KEY, devnet.HOT_WALLET: WALLET_KEY}


class Prepared:
    """What stays on a node from test to test: contracts, tokens, and somebody who can pay in all of them."""

    def __init__(self, network: str, epoch_blocks: int) -> None:
        self.deepest_reorg = 2 * epoch_blocks
        self.node: TestNode = running_node(NETWORKS[network].real.evm_chain_id, "contract suite", epoch_blocks)
        self.tokens = devnet.prepare(self.node.rpc)
        self.foreign = parse(self.node.deploy_token("StandardToken", "USDC", 6))
        self.payer_contract = parse(self.node.deploy(artifact("Payer", devnet.CONTRACTS).creation))
        for token in (*self.tokens.values(), self.foreign):
            self.node.mint(token, self.payer_contract, STOCK)
        self.node.mine(2 * self.deepest_reorg)
        self.node.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(USUAL_BASE_FEE))
        self.node.mine()


def prepared(network: str, epoch_blocks: int | None = None) -> Prepared:
    """The prepared node of a network, the same for the whole run."""
    return _prepared(network, epoch_blocks or EPOCH_BLOCKS.get(NETWORKS[network].real.evm_chain_id, 1))


@cache
def _prepared(network: str, epoch_blocks: int) -> Prepared:
    return Prepared(network, epoch_blocks)


class NodeHarness:
    """One network on a local node, asked through two providers that share a front."""

    shows_waiting = True
    versions_are_one = takes_next_alone = False
    has_transfers_of_nothing = True

    def __init__(self, network: str, epoch_blocks: int | None = None) -> None:
        found = prepared(network, epoch_blocks)
        self._tokens, self._payer_contract = found.tokens, found.payer_contract
        self._node = found.node
        self.front = self.front_of(found.node)
        self._base_fee_level = 1
        self._coinbase = 0
        self.profile = profile_of(network)
        self.chain: Chain = self.chain_through(*[self.front] * PROVIDERS)
        self.deepest_reorg = found.deepest_reorg
        self.foreign_contract = found.foreign

    def front_of(self, node: TestNode) -> Front:
        return Front(node.rpc, node.url)

    def chain_through(self, *transports: httpx.BaseTransport, **options: Any) -> EvmChain:
        """The network as seen through these providers."""
        rpcs = [
            Rpc(f"http://provider-{number}", chain_id=self._node.chain_id, transport=transport)
            for number, transport in enumerate(transports)
        ]
        return EvmChain(
            self.profile,
            providers=Providers(
                rpcs,
                network=self.profile.network,
                block_seconds=self.profile.block_seconds,
                one_may_decide=len(rpcs) == 1,
            ),
            derivations=DERIVATIONS,
            owner=devnet.OWNER,
            wallet=devnet.HOT_WALLET,
            rules=FeeRules(tip_floor=USUAL_TIP),
            signer=lambda: signer_from_key(WALLET_KEY),
            **options,
        )

    def impatient(self, transactions: int) -> Chain:
        return self.chain_through(*[self.front] * PROVIDERS, blocks_per_scan=transactions)

    def pay(self, *parts: tuple[str, int, str, str | None], sender: str | None = None) -> str:
        # A list of structures: offset, length, then three words each.
        words = [word for contract, amount, to, _ in parts for word in (contract, to, amount)]
        call = abi.selector("pay((address,address,uint256)[])") + abi.encode(32, len(parts), *words)
        return self._submit(PAYER_KEY, self._payer_contract, call, gas=200_000 + 120_000 * len(parts))

    def stranger(self, number: int) -> str:
        return encode(hashlib.sha256(b"stranger %d" % number).digest()[-20:])

    def fund(self, address: str, code: str, amount: int) -> None:
        self._submit(PAYER_KEY, self._token(code), abi.call("mint(address,uint256)", address, amount))

    def mine(self, count: int = 1) -> None:
        for _ in range(count):
            base_fee = self._base_fee_level * USUAL_BASE_FEE
            self._node.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(base_fee))
            self.front.hand_over(base_fee)
            self._node.rpc.call("evm_mine")
            self.front.forget_used()

    def reorg(self, depth: int, outcome: Outcome) -> None:
        head = int(self._node.rpc.call("eth_blockNumber"), 16)
        undone = [
            (height - (head - depth + 1), sent)
            for height in range(head - depth + 1, head + 1)
            for sent in self._node.rpc.call("eth_getBlockByNumber", hex(height), True)["transactions"]
        ]
        raws = [(offset, self.front.raws[sent["hash"]]) for offset, sent in undone]
        self._coinbase += 1  # so that a block with the same content is another one
        self._node.rpc.call("anvil_setCoinbase", encode(self._coinbase.to_bytes(20, "big")))
        kept = [["0x" + raw.hex(), offset] for offset, raw in raws] if outcome == "kept" else []
        self._node.rpc.call("anvil_reorg", depth, kept)
        if outcome == "moved":
            for _, raw in raws:
                self.front.take(raw)
        if outcome == "replaced":
            for _, sent in undone:
                key = KEYS[parse(sent["from"])]
                self._submit(key, self.stranger(999), b"", nonce=int(sent["nonce"], 16))

    def rewrite_finality(self) -> None:
        self.reorg(self.deepest_reorg + 1, "kept")

    def raise_fees(self, times: int) -> None:
        self._base_fee_level = times

    def fund_native(self, address: str, amount: int) -> None:
        self._submit(PAYER_KEY, address, b"", units=amount)

    def pay_native(self, address: str, amount: int) -> str:
        return self._submit(PAYER_KEY, address, b"", units=amount)

    def drain_native(self, address: str) -> None:
        self._node.rpc.call("anvil_setBalance", address, "0x0")

    def refuse(self, address: str, problem: RecipientProblem) -> bool:
        if problem != "destination_refused":
            return False
        for code in self._tokens:
            self._submit(PAYER_KEY, self._token(code), abi.call("set_blocked(address,bool)", address, 1))
        return True

    def pause(self, code: str, *, is_paused: bool) -> bool:
        self._submit(PAYER_KEY, self._token(code), abi.call("set_paused(bool)", int(is_paused)))
        return True

    def muxed(self, address: str, identifier: int) -> str:
        """Asked for only where many people share an account, which the suite tells by the deposit address."""
        raise LookupError(f"{address} belongs to one person: nothing tells {identifier} from others here")

    def contract(self) -> str:
        return self._payer_contract

    def own_contracts(self) -> Collection[str]:
        return (devnet.DEPLOYMENT.factory, forwarder_of(devnet.DEPLOYMENT.factory))

    def forget_waiting(self) -> None:
        self.front.pool.clear()

    def break_down(self) -> None:
        self.front.is_broken = True

    def recover(self) -> None:
        self.front.is_broken = False

    def lose_next_broadcast(self) -> None:
        self.front.loses_next = True

    def time_out_next_broadcast(self) -> None:
        self.front.times_out_next = True

    def let_time_pass(self, seconds: int) -> None:
        self._node.rpc.call("evm_increaseTime", seconds)
        self.mine()

    def _token(self, code: str) -> str:
        return self._tokens[code]

    def _submit(
        self, key: str, to: str, data: bytes, *, units: int = 0, gas: int = 300_000, nonce: int | None = None
    ) -> str:
        signer = signer_from_key(key)
        transaction = Transaction(
            chain_id=self._node.chain_id,
            nonce=self.front.next_nonce(signer.address) if nonce is None else nonce,
            to=to,
            data=data,
            gas=gas,
            max_fee=20 * GWEI,
            tip=USUAL_TIP,
            units=units,
        )
        return self.front.take(signer.sign(transaction).raw)


def profile_of(network: str) -> NetworkProfile:
    """The real network's profile, with the tokens of the local node in place of the real ones."""
    real, local = NETWORKS[network].real, devnet.profile(network)
    return replace(
        real,
        assets={code: replace(asset, contract=local.assets[code].contract) for code, asset in real.assets.items()},
    )
