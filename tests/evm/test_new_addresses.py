"""What new deposit addresses cost is measured by an estimate, so that a network may price new state anew (EIP-8037)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import httpx
import orjson
import pytest

from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.addresses import parse
from payments.chains.evm.deposit_addresses.deployment import appointment, with_owner
from payments.chains.evm.deposit_addresses.derivation import derivations
from payments.chains.evm.deposit_addresses.new_addresses import (
    MEASURED_SECONDS,
    MOST_TIMES_USUAL,
    USUAL_GAS,
    NewAddresses,
)
from payments.chains.evm.fees import FeeRules
from payments.chains.evm.keys.signing import read_signed, signer_from_key
from payments.chains.evm.nodes.prices import prices
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.rpc import Rpc
from tests.evm.fakes import FakeProvider, Refusal
from tests.evm.network import devnet
from tests.evm.node import ETHEREUM_ID, running_node

RULES, WALLET = FeeRules(), devnet.HOT_WALLET
PROFILE = devnet.profile("ethereum")
USDC = PROFILE.assets["USDC"]
EIP_8037 = 200_000
"""What it is expected to add for a new clone."""

MOST_GAS = 16_777_216


class Repriced(httpx.BaseTransport):
    """In front of a node: its estimates of sweeps are higher for each address in them, as if new state cost more."""

    def __init__(self, more: int) -> None:
        self.more, self._line = more, httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = orjson.loads(request.read())
        reply = self._line.handle_request(request)
        said = orjson.loads(reply.read())
        for question, answer in zip(asked, said, strict=True):
            if question["method"] == "eth_estimateGas" and "result" in answer:
                salts = int(question["params"][0]["data"][2 + 8 + 128 :][:64], 16)
                answer["result"] = hex(int(answer["result"], 16) + self.more * salts)
        return httpx.Response(200, content=orjson.dumps(said))


@pytest.mark.parametrize(("more", "expected", "together"), [(0, USUAL_GAS, 100), (EIP_8037, USUAL_GAS + EIP_8037, 50)])
def test_a_network_that_prices_new_addresses_anew_is_noticed_by_asking_it(
    more: int, expected: int, together: int
) -> None:
    node = running_node(ETHEREUM_ID)
    with node.put_back():
        owner = parse(node.accounts[0])
        factory = parse(node.deploy(with_owner(owner).creation))
        node.succeed(owner, factory, appointment(WALLET, WALLET))
        code = node.rpc.call("eth_getCode", node.deploy_token("StandardToken", "USDC", 6), "latest")
        node.rpc.call("anvil_setCode", USDC.contract, code)
        nodes = [
            Rpc(node.url.replace("127.0.0.1", host), chain_id=node.chain_id, transport=Repriced(more))
            for host in ("127.0.0.1", "localhost")
        ]
        chain = EvmChain(
            PROFILE,
            providers=Providers(nodes, network="ethereum", block_seconds=12),
            derivations=derivations(factory=factory, key=None, former={}),
            owner=owner,
            wallet=WALLET,
            rules=RULES,
            signer=lambda: signer_from_key(devnet.HOT_WALLET_KEY),
        )
        now = prices(chain.providers)
        price = RULES.price(base_fee=now.base_fee, usual_tip=now.usual_tip)
        # The transfer's share is a constant, and estimates differ by some gas.
        assert chain.hot_wallet.costs().first_time / price == pytest.approx(expected, abs=400)
        assert chain.sending.most_swept == together
        numbers = tuple(range(1, together + 1))
        signed = read_signed(chain.sending.sign_sweep(USDC, numbers, sender=WALLET, sequence=0, replacing=()).raw)
        assert together * expected < signed.gas <= MOST_GAS


def measured(*estimates: Callable[[int], int]) -> tuple[NewAddresses, Callable[[], int], list[float]]:
    """By providers that estimate so for a number of addresses; asking them, and the clock."""
    fakes = [FakeProvider(f"{number}.example", head_at=0) for number in range(len(estimates))]
    for fake, estimate in zip(fakes, estimates, strict=True):
        fake.answers["eth_estimateGas"] = partial(_answer, estimate)
    clock = [0.0]
    found = NewAddresses(clock=lambda: clock[0])
    providers = Providers([fake.rpc for fake in fakes], network="ethereum", block_seconds=12)
    factory, coin = devnet.DEPLOYMENT.factory, USDC.contract
    return found, lambda: found.gas(providers, operator=WALLET, factory=factory, coin=coin), clock


def _answer(estimate: Callable[[int], int], call: dict[str, str], *_: object) -> str:
    return hex(estimate(int(call["data"][2 + 8 + 128 :][:64], 16)))


def honest(count: int) -> int:
    return 80_000 + 250_000 * count


def refuses(count: int) -> int:
    raise Refusal("execution reverted", 3)


@pytest.mark.parametrize(
    ("estimates", "believed"),
    [
        ((honest, honest), 253_200),
        ((honest, lambda count: 10**15 * count, honest), 253_200),
        ((honest, lambda count: 21_000, honest), 253_200),
        ((lambda count: 21_000, lambda count: 21_000), USUAL_GAS),
        ((lambda count: 10**15 * count, lambda count: 10**15 * count), MOST_TIMES_USUAL * USUAL_GAS),
        ((honest, refuses), USUAL_GAS),
    ],
)
def test_what_a_new_address_costs_rests_on_no_single_estimate(
    estimates: tuple[Callable[[int], int], ...], believed: int
) -> None:
    _, ask, _ = measured(*estimates)
    assert ask() == believed


def test_it_is_asked_once_an_hour_and_what_was_known_stays_where_nobody_says() -> None:
    more = [0]
    found, ask, clock = measured(*[lambda count: (100_000 + more[0]) * count] * 2)
    assert (found.known_gas, ask(), found.known_gas) == (USUAL_GAS, 103_200, 103_200)
    more[0] = 100_000
    assert ask() == 103_200
    clock[0] += MEASURED_SECONDS
    assert ask() == 203_200
    more[0] = -200_000  # no number any more
    clock[0] += MEASURED_SECONDS
    assert ask() == 203_200
