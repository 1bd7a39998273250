"""What waits, what of it is dust, what a sweep would cost, and how long the gas balance lasts."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from pytest_django.fixtures import Settings

from config.money import Asset
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.networks import NETWORKS
from payments.chains.simulated import control
from payments.chains.simulated.adapter import SimulatedChain
from payments.monitoring.figures import CoinFigures, NetworkFigures, coins_text, figures_of, snapshots_in_use
from payments.monitoring.models import NetworkSnapshot
from payments.treasury import native_deposits
from tests.operations.scenes import SANDBOX, look
from tests.payments.scenes import ETHEREUM, STELLAR, confirm, make_payment, mine, pay, pay_and_confirm, watch

pytestmark = pytest.mark.django_db

ETH = NETWORKS[ETHEREUM].real.native


def figures(network: str = ETHEREUM) -> NetworkFigures:
    look()
    return figures_of(NetworkSnapshot.objects.get(environment=SANDBOX, network=network))


def usdc() -> CoinFigures:
    return figures().coins[0]


def test_coins_and_dust_are_told_apart_with_what_a_sweep_would_cost(settings: Settings) -> None:
    settings.SWEEP_THRESHOLD = 100
    payments = [make_payment(ETHEREUM, amount=amount) for amount in ("60", "0.1", "15", "0.05")]
    for payment in payments:
        pay(payment)
    confirm(payments[0])
    found = usdc()
    assert (found.sweepable_text, found.dust_text) == ("75.00 USDC at 2 addresses", "0.15 USDC at 2 addresses")
    assert found.sweep_cost == (30_000 + 2 * 50_000) * 10**9
    assert (found.percent, found.outlook, found.is_paid) == (75, "25.00 USDC short of the threshold", True)
    settings.SWEEP_THRESHOLD = 0
    assert usdc().outlook == "swept next"
    control.set_fee_level(ETHEREUM, 60)
    assert (usdc().sweepable_text, usdc().dust_text) == ("75.00 USDC at 2 addresses", "0.15 USDC at 2 addresses")
    assert usdc().sweep_cost == 60 * (30_000 + 2 * 50_000) * 10**9


def test_what_does_not_pay_for_a_sweep_is_not_swept_yet() -> None:
    pay_and_confirm(make_payment(ETHEREUM, amount="0.25"))
    assert usdc().outlook == "not worth a sweep yet"


def test_nothing_waits_after_a_sweep() -> None:
    pay_and_confirm(make_payment(ETHEREUM))
    payment_tasks.sweep()
    found = figures()
    assert (found.coins[0].outlook, found.coins[0].sweep_cost) == ("nothing to sweep", 0)
    assert found.last_sweep is not None
    assert found.last_sweep.asset == "USDC"


def test_a_gas_tank_says_what_it_is_enough_for() -> None:
    tank = figures().tank
    assert tank is not None
    assert tank.balance == 10**6 * 10**18
    assert tank.wanted == 2 * (2_530_000 + 650_000) * 10**9
    assert (tank.percent, tank.sweeps_left, tank.payouts_left) == (200, 395_256_916, 15_384_615_384)
    assert tank.use == (
        "395,256,916 sweeps of 50 new addresses at 0.00253 ETH, or 15,384,615,384 payouts at 0.000065 ETH"
    )


def test_where_deposits_arrive_at_the_wallet_there_are_no_sweeps() -> None:
    watch()
    found = figures(STELLAR)
    assert found.coins == []
    assert found.tank is not None
    assert found.tank.use == "100,000,000,000 payouts at 0.00001 XLM"


def test_what_the_network_keeps_as_a_reserve_is_in_no_tank(monkeypatch: pytest.MonkeyPatch) -> None:
    """On stellar an account can never spend its last coins, so that they pay for no transfer."""

    class Locked:
        def reserve(self, account: str) -> int:
            return 10**6 * 10**7 - 200

    monkeypatch.setattr(SimulatedChain, "reserves", Locked())
    tank = figures(STELLAR).tank
    assert tank is not None
    assert (tank.balance, tank.payouts_left, tank.is_low()) == (200, 2, True)


def test_a_network_that_never_answered_is_shown_as_that() -> None:
    control.outage(ETHEREUM, 60)
    found = figures()
    assert (found.tank, found.head, found.coins) == (None, "never read", [])
    assert found.snapshot.last_error == "No provider of ethereum answers."


def test_networks_that_are_in_use_no_longer_are_not_shown(settings: Settings) -> None:
    NetworkSnapshot.objects.create(environment="production", network="polygon")
    look()
    assert [str(each) for each in snapshots_in_use()] == [
        "ethereum (sandbox)",
        "polygon (sandbox)",
        "stellar (sandbox)",
    ]


def test_the_networks_own_coin_that_somebody_sent_is_shown_apart() -> None:
    payment = make_payment(ETHEREUM)
    control.fund_native(ETHEREUM, address=payment.deposit_address, amount=5 * 10**17)
    mine(ETHEREUM)
    watch()
    native_deposits.look_at(SANDBOX, ETHEREUM, [payment])
    found = figures()
    assert (found.stray, [coin.sweepable for coin in found.coins]) == (5 * 10**17, [0, 0, 0])
    out = StringIO()
    call_command("networks", stdout=out)
    assert "  mistakes   0.5 ETH at deposit addresses: manage.py sweep_native" in out.getvalue()


@pytest.mark.parametrize(
    ("units", "asset", "text"),
    [
        (12_500_000, Asset(ETHEREUM, "USDC", 6, "0x"), "12.50 USDC"),
        (10**18, ETH, "1 ETH"),
        (1_234_567 * 10**16, ETH, "12,345.67 ETH"),
        (10**18 - 1, ETH, "0.99999999 ETH"),
        (100 * 10**18, ETH, "100 ETH"),
        (1, ETH, "under 0.00000001 ETH"),
        (0, ETH, "0 ETH"),
    ],
)
def test_amounts_are_rounded_down(units: int, asset: Asset, text: str) -> None:
    assert coins_text(units, asset) == text


class TestCommand:
    def shown(self, *arguments: str) -> str:
        out = StringIO()
        call_command("networks", *arguments, stdout=out)
        return out.getvalue()

    def test_it_shows_every_network(self) -> None:
        for amount in ("60", "0.1"):
            pay(make_payment(ETHEREUM, amount=amount))
        mine(ETHEREUM, 7)
        watch()
        wallet = registry.chain(SANDBOX, ETHEREUM).payout_address()
        control.drain_native(ETHEREUM, address=wallet)
        mine(ETHEREUM)
        look()
        text, use = self.shown(), "0 sweeps of 50 new addresses at 0.00253 ETH, or 0 payouts at 0.000065 ETH"
        assert text.splitlines()[:7] == [
            "ethereum (sandbox)",
            "  ALARM      The gas balance runs low: The hot wallet holds 0 ETH; it should hold 0.00644 ETH.",
            "  head       7, 1 final, 6 behind",
            f"  gas tank   0 ETH, should be 0.00644 ETH; enough for {use}",
            "  USDC       60.00 USDC at 1 address: swept next, about 0.00008 ETH; dust: 0.10 USDC at 1 address",
            "  USDT       0.00 USDT at 0 addresses: nothing to sweep; dust: none",
            "  DAI        0.00 DAI at 0 addresses: nothing to sweep; dust: none",
        ]
        assert text == self.shown("--env", "sandbox")

    def test_before_a_worker_has_run_there_is_nothing(self) -> None:
        assert self.shown("--env", "production").startswith("Nothing has been measured yet")
