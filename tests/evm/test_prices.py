"""What sending costs rests on no single provider, nor on two that say what the last blocks do not bear out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import pytest

from payments.chains.errors import ChainUnavailable
from payments.chains.evm import sending
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.fees import GWEI, FeeRules
from payments.chains.evm.keys.signing import read_signed, signer_from_key
from payments.chains.evm.nodes.prices import prices
from payments.chains.evm.nodes.providers import Providers
from payments.chains.networks import NETWORKS
from payments.chains.protocol.payouts import PayoutInstruction
from tests.evm.derivations import DERIVATIONS
from tests.evm.fakes import FakeProvider, Refusal
from tests.evm.hostile import World
from tests.evm.network import devnet

ETHEREUM = NETWORKS["ethereum"].real
WALLET, RECIPIENT = devnet.HOT_WALLET, "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
USUAL = GWEI // 10
LIED = 199 * GWEI
USUAL_GAS = 60_000


class Scene:
    """Providers of ethereum with the same blocks; each says what it is told to of tips and of gas."""

    def __init__(self, count: int, *, tips: Sequence[int] = (), gas: Sequence[int | None] = ()) -> None:
        head_at = time.time()
        self.fakes = [FakeProvider(f"{number}.example", head_at=head_at) for number in range(count)]
        for number, fake in enumerate(self.fakes):
            tip = tips[number] if number < len(tips) else USUAL
            units = gas[number] if number < len(gas) else USUAL_GAS
            fake.answers |= {
                "eth_maxPriorityFeePerGas": partial(hex, tip),
                "eth_feeHistory": lambda *_: {"reward": [[hex(USUAL)]] * 19 + [["0x0"]]},
                "eth_estimateGas": partial(self._estimated, units),
            }
        self.providers = Providers([fake.rpc for fake in self.fakes], network="ethereum", block_seconds=12)
        self.sending = EvmChain(
            ETHEREUM,
            providers=self.providers,
            derivations=DERIVATIONS,
            owner=WALLET,
            wallet=WALLET,
            rules=FeeRules(),
            signer=lambda: signer_from_key(devnet.HOT_WALLET_KEY),
        ).sending

    @staticmethod
    def _estimated(units: int | None, *_: object) -> str:
        if units is None:
            raise Refusal("execution reverted", 3)
        return hex(units)

    def payout_gas(self) -> int:
        payout = PayoutInstruction(ETHEREUM.assets["USDC"], 10**6, RECIPIENT)
        return read_signed(self.sending.sign((payout,), sender=WALLET, sequence=0, replacing=()).raw).gas


@pytest.mark.parametrize(
    ("tips", "believed"),
    [
        ((LIED, USUAL), USUAL),
        ((LIED, USUAL, USUAL), USUAL),
        ((0, USUAL, USUAL), USUAL),
        ((LIED, LIED), 2 * GWEI),
        ((LIED, LIED, USUAL), 2 * GWEI),
        ((LIED, LIED, USUAL, USUAL), USUAL),
    ],
)
def test_a_tip_of_199_gwei_is_not_offered_whoever_says_it(tips: tuple[int, ...], believed: int) -> None:
    assert prices(Scene(len(tips), tips=tips).providers).usual_tip == believed


def test_200_first_sweeps_at_a_tip_that_two_of_three_lie_about_offer_a_hundredth_of_the_lie() -> None:
    scene = Scene(3, tips=(LIED, LIED))
    swept = scene.sending.sign_sweep(
        ETHEREUM.assets["USDC"], tuple(range(100)), sender=WALLET, sequence=0, replacing=()
    )
    assert read_signed(swept.raw).tip == 2 * GWEI


def test_a_tip_that_rises_with_what_is_paid_is_offered() -> None:
    scene = Scene(2, tips=(50 * GWEI, 60 * GWEI))
    for fake in scene.fakes:
        fake.answers["eth_feeHistory"] = lambda *_: {"reward": [[hex(20 * GWEI)]] * 20}
    assert prices(scene.providers).usual_tip == 50 * GWEI


def test_one_that_lies_about_what_was_paid_makes_no_other_lie_believable() -> None:
    scene = Scene(3, tips=(LIED, LIED))
    scene.fakes[0].answers["eth_feeHistory"] = lambda *_: {"reward": [[hex(LIED)]] * 20}
    assert prices(scene.providers).usual_tip == 2 * GWEI


def test_nothing_is_priced_by_one_provider_alone() -> None:
    scene = Scene(2)
    scene.fakes[1].fail()
    with pytest.raises(ChainUnavailable):
        prices(scene.providers)


def test_the_pace_of_blocks_is_measured_and_no_constant() -> None:
    chain = World().chain()
    # The blocks of fakes are two seconds apart.
    assert (chain.profile.block_seconds, chain.reading.pace()) == (1.75, 2.0)


@pytest.mark.parametrize(
    ("gas", "limit"),
    [
        ((USUAL_GAS, USUAL_GAS), 72_000),
        ((21_000, USUAL_GAS), 72_000),
        ((21_000, USUAL_GAS, USUAL_GAS), 72_000),
        ((10**15, USUAL_GAS, USUAL_GAS), 72_000),
        ((21_000, 21_000), 65_000),
        ((10**15, 10**15), sending.MOST_TIMES_UNESTIMATED * 300_000),
        ((None, USUAL_GAS), 300_000),
        ((None, None), 300_000),
        ((None, USUAL_GAS, USUAL_GAS), 72_000),
    ],
)
def test_the_limit_of_gas_of_a_payout_rests_on_no_single_estimate(gas: tuple[int | None, ...], limit: int) -> None:
    assert Scene(len(gas), gas=gas).payout_gas() == limit


def test_a_lied_estimate_leaves_no_sweep_short_of_gas_nor_asks_for_all_there_is() -> None:
    def swept(gas: tuple[int, ...]) -> int:
        coin, scene = ETHEREUM.assets["USDC"], Scene(len(gas), gas=gas)
        return read_signed(scene.sending.sign_sweep(coin, (1,), sender=WALLET, sequence=0, replacing=()).raw).gas

    assert swept((1, 1)) == 230_000
    assert swept((10**15, 10**15)) == sending.MOST_TIMES_UNESTIMATED * 230_000
