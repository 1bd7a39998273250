"""A small world that two providers tell of alike, every question that is ever asked of them, and replies of no node."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from payments.chains.evm import abi
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.addresses import forwarder_of
from payments.chains.evm.deposit_addresses.artifacts import artifact
from payments.chains.evm.deposit_addresses.deployment import deposit_address
from payments.chains.evm.deposit_addresses.derivation import Derivation, Derivations
from payments.chains.evm.fees import FeeRules
from payments.chains.evm.keys.signing import signer_from_key
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.questions import TRANSFER
from payments.chains.networks import NETWORKS
from payments.chains.protocol.chain import sweeps_of
from payments.chains.protocol.payouts import PayoutInstruction
from tests.chains.harness import Watched
from tests.evm.fakes import FakeProvider, block_hash
from tests.evm.network import devnet
from tests.networks import POLYGON

FACTORY, WALLET = devnet.DEPLOYMENT.factory, devnet.HOT_WALLET
PAID_IN, SENT = 95, "0x" + "ab" * 32
NONCE = 5


class World:
    """One deposit in block 95, a factory that is ours, and a wallet that has sent five transactions."""

    def __init__(self, *names: str) -> None:
        self.profile = NETWORKS[POLYGON].real
        self.coin = self.profile.assets["USDC"]
        self.deposit = deposit_address(FACTORY, 7)
        head_at = time.time()
        self.fakes = [FakeProvider(name, head_at=head_at) for name in names or ("one.example", "two.example")]
        self.asked: set[str] = set()
        for fake in self.fakes:
            fake.answers |= {
                "eth_getLogs": self._logs,
                "eth_getTransactionReceipt": self._receipt,
                "eth_getTransactionByHash": self._transaction,
                "eth_getTransactionCount": lambda account, block: hex(NONCE if int(block, 16) >= PAID_IN else 0),
                "eth_getBalance": lambda *_: hex(10**18),
                "eth_call": self._call,
                "eth_getCode": self._code,
                "eth_estimateGas": lambda *_: hex(60_000),
                "eth_sendRawTransaction": lambda _: SENT,
                "eth_maxPriorityFeePerGas": lambda: hex(30 * 10**9),
                "eth_feeHistory": lambda *_: {"reward": [[hex(30 * 10**9)]] * 20},
                "eth_getBlockByNumber": lambda block, full, fake=fake: self._block(fake, block, full),
            }

    def chain(self) -> EvmChain:
        """An adapter that remembers nothing yet."""
        return EvmChain(
            self.profile,
            providers=Providers([fake.rpc for fake in self.fakes], network=POLYGON, block_seconds=2),
            derivations=Derivations(Derivation(FACTORY, None)),
            owner=devnet.OWNER,
            wallet=WALLET,
            rules=FeeRules(cap=10**30),
            signer=lambda: signer_from_key(devnet.HOT_WALLET_KEY),
        )

    def operations(self) -> dict[str, Callable[[EvmChain], object]]:
        """Whatever is ever asked of a network, by name."""
        payout = PayoutInstruction(self.coin, 1, devnet.PAYER)
        honest = self.chain()
        cursor = honest.reading.cursor_at(90)
        used, next_one = (
            honest.sending.sign((payout,), sender=WALLET, sequence=sequence) for sequence in (NONCE - 1, NONCE)
        )
        mined = replace(used, transaction_hash=SENT)
        return {
            "set up": lambda chain: chain.set_up.require(signing=True),
            "head": lambda chain: chain.reading.head(),
            "first scan": lambda chain: chain.reading.scan(None, Watched(self.deposit)),
            "scan": lambda chain: chain.reading.scan(cursor, Watched(self.deposit)),
            "find transfers": lambda chain: chain.reading.find_transfers(SENT),
            "find transaction": lambda chain: chain.reading.find_transaction(SENT),
            "next sequence": lambda chain: chain.hot_wallet.next_sequence(WALLET),
            "check recipient": lambda chain: chain.hot_wallet.check_recipient(payout),
            "check sending": lambda chain: chain.hot_wallet.check_sending(self.coin),
            "pay back address": lambda chain: chain.hot_wallet.pay_back_address((SENT, 0), devnet.PAYER),
            "sign": lambda chain: chain.sending.sign((payout,), sender=WALLET, sequence=NONCE),
            "sign sweep": lambda chain: sweeps_of(chain).sign(self.coin, (7,), sender=WALLET, sequence=NONCE),
            "swept by": lambda chain: sweeps_of(chain).swept_by(SENT, self.coin, (7,), treasury=WALLET),
            "why unsweepable": lambda chain: sweeps_of(chain).why_unsweepable(self.coin, (7,)),
            "broadcast": lambda chain: chain.sending.broadcast(next_one),
            "status of one in a block": lambda chain: chain.sending.status(mined),
            "status of one that was replaced": lambda chain: chain.sending.status(used),
            "status of one that waits": lambda chain: chain.sending.status(next_one),
            "outgoing": lambda chain: chain.reading.outgoing(devnet.PAYER, first_height=90, last_height=99),
            "balances": lambda chain: chain.reading.balances([self.deposit], self.coin),
            "native balances": lambda chain: chain.reading.balances([self.deposit], self.profile.native),
            "balance": lambda chain: chain.reading.balance(WALLET, self.coin),
            "costs": lambda chain: chain.hot_wallet.costs(),
            "pace": lambda chain: chain.reading.pace(),
        }

    def spoil(self, method: str, spoiled: Callable[[Any], Any], *, providers: int) -> None:
        """From now on so many providers give this in the place of each true answer to a method."""
        for fake in self.fakes[:providers]:
            honest = fake.answers[method]
            fake.answers[method] = lambda *params, honest=honest: spoiled(honest(*params))

    def _log(self) -> dict[str, Any]:
        return {
            "address": self.coin.contract.lower(),
            "topics": [TRANSFER, abi.address_topic(devnet.PAYER), abi.address_topic(self.deposit)],
            "data": "0x" + abi.encode(40_000_000).hex(),
            "blockNumber": hex(PAID_IN),
            "blockHash": block_hash(PAID_IN),
            "transactionHash": SENT,
            "logIndex": "0x3",
            "removed": False,
        }

    def _logs(self, wanted: dict[str, Any]) -> list[Any]:
        return [self._log()] if int(wanted["fromBlock"], 16) <= PAID_IN <= int(wanted["toBlock"], 16) else []

    def _receipt(self, transaction_hash: str) -> Any:
        if transaction_hash != SENT:
            return None
        return {
            "transactionHash": SENT,
            "blockNumber": hex(PAID_IN),
            "blockHash": block_hash(PAID_IN),
            "status": "0x1",
            "gasUsed": hex(60_000),
            "effectiveGasPrice": hex(10**9),
            "contractAddress": None,
            "logs": [self._log()],
        }

    def _transaction(self, transaction_hash: str) -> Any:
        if transaction_hash != SENT:
            return None
        return {
            "hash": SENT,
            "from": devnet.PAYER.lower(),
            "to": self.coin.contract.lower(),
            "nonce": "0x4",
            "blockNumber": hex(PAID_IN),
            "value": "0x0",
        }

    def _block(self, fake: FakeProvider, block: str, full: bool) -> Any:
        names = {"latest": fake.height, "finalized": fake.height - fake.unfinal}
        height = names[block] if block in names else int(block, 16)
        found = fake._header(height)
        if found is None or not full:
            return found
        sent = self._transaction(SENT) | {"from": WALLET.lower(), "nonce": hex(NONCE - 1)}
        return found | {"transactions": [sent] if height == PAID_IN else []}

    def _call(self, wanted: dict[str, Any], block: str) -> str:
        said = bytes.fromhex(wanted["data"][2:])
        known: dict[bytes, int | str] = {
            abi.call("decimals()"): self._decimals(wanted["to"]),
            abi.call("owner()"): devnet.OWNER,
            abi.call("operator()"): WALLET,
            abi.call("treasury()"): WALLET,
            **{abi.call("address_of(uint256)", number): deposit_address(FACTORY, number) for number in (0, 1, 2**64)},
        }
        return "0x" + abi.encode(known.get(said, 1)).hex()

    def _decimals(self, contract: str) -> int:
        return next((asset.decimals for asset in self.profile.assets.values() if asset.contract == contract), 0)

    def _code(self, account: str, block: str) -> str:
        runtime = {
            FACTORY: artifact("Factory").runtime + abi.encode(forwarder_of(FACTORY)),
            forwarder_of(FACTORY): artifact("Forwarder").runtime + abi.encode(FACTORY),
        }
        return "0x" + runtime.get(account, b"").hex()


_FIELDS = (
    "number", "hash", "parentHash", "timestamp", "baseFeePerGas", "transactions", "transactionHash", "blockNumber",
    "blockHash", "status", "gasUsed", "effectiveGasPrice", "contractAddress", "logs", "address", "topics", "data",
    "logIndex", "removed", "from", "to", "nonce", "value", "id", "result", "error", "code", "message",
)  # fmt: skip

_hexadecimal = st.one_of(
    st.integers(0, 2**300).map(hex),
    st.sampled_from([2**53, 2**56, 2**63, 2**64 - 1, 2**255, 2**256, 253402300800]).map(hex),
    st.binary(max_size=80).map(lambda raw: "0x" + raw.hex()),
    st.sampled_from(
        ["0x", "0X1", "0x_1", "0x 1", "0x1\n", "0x-1", "0x\uff11", "0xg", "1", "0x" + "0" * 70, "0x" + "f" * 9_001]
    ),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.just("execution reverted\x00"),
    _hexadecimal,
    st.sampled_from([SENT, block_hash(PAID_IN), WALLET.lower(), TRANSFER]),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(_FIELDS), inner, max_size=6),
    max_leaves=12,
)


@st.composite
def changes(draw: st.DrawFn) -> Callable[[Any], Any]:
    """A function that puts one odd value somewhere into an answer, or in its place."""
    odd, path = draw(values), draw(st.lists(st.integers(0, 30), max_size=4))
    is_left_out = draw(st.booleans())

    def change(answer: Any, path: list[int] = path) -> Any:
        if not path or not isinstance(answer, dict | list) or not answer:
            return odd
        first, *rest = path
        if isinstance(answer, list):
            place = first % len(answer)
            kept = [] if is_left_out and not rest else [change(answer[place], rest)]
            return [*answer[:place], *kept, *answer[place + 1 :]]
        key = sorted(answer)[first % len(answer)]
        if is_left_out and not rest:
            return {name: value for name, value in answer.items() if name != key}
        return answer | {key: change(answer[key], rest)}

    return change
