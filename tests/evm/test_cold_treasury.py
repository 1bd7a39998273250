"""A cold wallet is the treasury: what a thief with the hot key gets, and what the ledger says at every step."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.environments import Environment
from merchants.ledger.balances import balance
from payments.chains import registry
from payments.chains.evm import abi, factory
from payments.chains.evm.adapter import EvmChain
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.monitoring.models import Alarm
from payments.monitoring.states import AlarmKind
from payments.monitoring.tasks import raise_alarms
from payments.monitoring.watching_roles import watch_roles
from payments.transfers.postings import cold_account, hot_account
from payments.treasury.house.cold.moves import follow_cold
from payments.treasury.models import Sweep, SweptAddress
from tests.evm.mainnet import settings_for_production_alone
from tests.evm.shop import RATE_SOURCES
from tests.evm.test_people import COIN, FACTORY, OWNER, THIEF, WALLET, Scene, prepared
from tests.house.scenes import run
from tests.networks import POLYGON, with_set

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

PRODUCTION = Environment.PRODUCTION
COLD = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
FLOAT, UNSWEPT = 50, 80
"""Whole coins: in the hot wallet, and at two deposit addresses."""


@pytest.fixture
def scene(settings: Settings) -> Iterator[Scene]:
    """Eighty coins wait at deposit addresses, and fifty are in the hot wallet."""
    mainnet = prepared()
    settings.RATE_SOURCES = RATE_SOURCES
    for name, value in settings_for_production_alone({POLYGON: [mainnet.node.url]}).items():
        setattr(settings, name, value)
    with mainnet.node.put_back():
        found = Scene(mainnet)
        mainnet.fund("USDC", WALLET, FLOAT * COIN)
        found.look()
        call_command("book_treasury", env=PRODUCTION, network=POLYGON, asset="USDC", yes=True, stdout=io.StringIO())
        yield found


def go_cold(scene: Scene, settings: Settings) -> None:
    """The operator names a cold wallet, and the owner appoints it by the call that the command shows."""
    settings.NETWORK_SETTINGS = with_set(POLYGON, cold_wallet=COLD)
    out = io.StringIO()
    with pytest.raises(CommandError, match="polygon: treasury"):
        call_command("factory_roles", stdout=out)
    data = out.getvalue().partition("The owner appoints")[2].partition("data  ")[2].split()[0]
    scene.mainnet.node.succeed(OWNER, FACTORY, bytes.fromhex(data[2:]))
    call_command("factory_roles", stdout=io.StringIO())


def booked() -> tuple[int, int]:
    """Whole coins by the ledger: hot, cold."""
    accounts = hot_account(POLYGON, "USDC"), cold_account(POLYGON, "USDC")
    hot, cold = (balance(account, environment=PRODUCTION) // COIN for account in accounts)
    return hot, cold


def assert_clean() -> None:
    code, said = run("reconcile", "--full", "--env", "production")
    assert code == 0, said


def steal(scene: Scene) -> int:
    """A thief with the hot wallet's key takes what he can, again and again; how many whole coins he gets."""
    chain, node, usdc = registry.chain(PRODUCTION, POLYGON), scene.mainnet.node, scene.mainnet.tokens["USDC"]
    assert isinstance(chain, EvmChain)
    salts = [chain.derivations.present.salt(number) for number in Payment.objects.values_list("sequence", flat=True)]
    for function in ("set_treasury(address)", "set_operator(address)", "transfer_ownership(address)"):
        assert node.transact(WALLET, FACTORY, abi.call(function, THIEF))["status"] == "0x0"
    for _ in range(2):
        node.succeed(WALLET, usdc, abi.call("transfer(address,uint256)", THIEF, scene.held(WALLET)))
        node.succeed(WALLET, FACTORY, abi.call("sweep(uint256[],address)", salts, usdc))
    return scene.held(THIEF) // COIN


@pytest.mark.parametrize("is_cold", [True, False])
def test_a_thief_with_the_hot_key_gets_what_the_documents_say(scene: Scene, settings: Settings, is_cold: bool) -> None:
    if is_cold:
        go_cold(scene, settings)
    assert steal(scene) == (FLOAT if is_cold else FLOAT + UNSWEPT)
    assert scene.held(COLD) == (UNSWEPT * COIN if is_cold else 0)


def test_going_over_sweeping_and_refilling_is_clean_at_every_step(scene: Scene, settings: Settings) -> None:
    assert_clean()
    settings.NETWORK_SETTINGS = with_set(POLYGON, cold_wallet=COLD)
    scene.sweep()
    assert not Sweep.objects.exists(), "nothing is swept to a treasury that the settings do not name"
    go_cold(scene, settings)
    factory._readiness.cache_clear()  # what was found wrong is asked again after half a minute
    scene.sweep()
    assert (scene.held(COLD), booked()) == (UNSWEPT * COIN, (FLOAT, UNSWEPT))
    assert_clean()

    call = abi.call("transfer(address,uint256)", WALLET, 30 * COIN)
    scene.mainnet.node.succeed(COLD, scene.mainnet.tokens["USDC"], call)
    scene.look()
    assert_clean()
    assert follow_cold() == 1
    assert booked() == (FLOAT + 30, UNSWEPT - 30)
    assert_clean()


def test_a_cold_wallet_that_an_issuer_froze_is_named_and_gets_its_coins_when_it_is_free(
    scene: Scene, settings: Settings
) -> None:
    def freeze(frozen: int) -> None:
        node = scene.mainnet.node
        call = abi.call("set_blocked(address,bool)", COLD, frozen)
        node.succeed(node.accounts[9], scene.mainnet.tokens["USDC"], call)

    go_cold(scene, settings)
    freeze(1)
    scene.sweep()
    assert (scene.held(COLD), scene.held(WALLET), booked()) == (0, FLOAT * COIN, (FLOAT, 0))
    assert {line.reason for line in SweptAddress.objects.all()} == {"wallet_refused"}
    raise_alarms()
    [alarm] = Alarm.objects.open().filter(kind=AlarmKind.ADDRESS_PASSED_OVER)
    assert "USDC" in alarm.subject
    freeze(0)
    SweptAddress.objects.update(try_again_at=timezone.now())
    scene.sweep()
    assert (scene.held(COLD), booked()) == (UNSWEPT * COIN, (FLOAT, UNSWEPT))
    assert_clean()


def test_the_factory_goes_to_another_owner_and_sweeps_go_on(scene: Scene, settings: Settings) -> None:
    go_cold(scene, settings)
    another = scene.mainnet.node.accounts[7]
    scene.tell_factory("transfer_ownership(address)", another)
    scene.tell_factory("accept_ownership()", sender=another)
    factory._readiness.cache_clear()
    scene.sweep()
    assert not Sweep.objects.exists(), "the settings name the owner of before"
    settings.NETWORK_SETTINGS = with_set(POLYGON, cold_wallet=COLD, owner=another)
    factory._readiness.cache_clear()
    scene.sweep()
    assert (scene.held(COLD), booked()) == (UNSWEPT * COIN, (FLOAT, UNSWEPT))
    call_command("factory_roles", stdout=io.StringIO())
    assert_clean()


def test_a_treasury_that_is_changed_behind_our_back_gets_nothing(scene: Scene, settings: Settings) -> None:
    go_cold(scene, settings)
    watch_roles(PRODUCTION, POLYGON)
    scene.tell_factory("set_treasury(address)", THIEF)
    watch_roles(PRODUCTION, POLYGON)
    scene.sweep()
    assert not Sweep.objects.exists()
    assert scene.held(THIEF) == 0
    fault = ScanCursor.objects.get(environment=PRODUCTION, network=POLYGON).fault
    assert fault.endswith(f"the hot wallet is {WALLET} and it sweeps to {COLD}.")
    raise_alarms()
    kinds = set(Alarm.objects.open().values_list("kind", flat=True))
    assert {AlarmKind.ROLE_CHANGED, AlarmKind.NETWORK_NOT_SET_UP} <= kinds
    [alarm] = Alarm.objects.open().filter(kind=AlarmKind.ROLE_CHANGED, message__contains=THIEF)
    assert f"by {OWNER} in block" in alarm.message
