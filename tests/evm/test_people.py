"""Whom the factory answers to is compared with the settings before every sweep: a change sends a stranger nothing."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import cache

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.environments import Environment
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.evm import abi, configuration
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.development import devnet
from payments.chains.evm.readiness import ASK_AGAIN_SECONDS
from payments.chains.evm.set_up import PEOPLE_SECONDS
from payments.chains.networks import POLYGON
from payments.models import Payment, ScanCursor, Sweep
from payments.operations.models import Alarm
from payments.operations.tasks import watch_dangers
from payments.services import NetworkUnavailable, NewPayment, create_payment
from payments.transfers import tasks as transfer_tasks
from payments.transfers.models import Transfer
from tests.evm.mainnet import Mainnet, settings_for
from tests.evm.node import POLYGON_ID, running_node
from tests.evm.shop import RATE_SOURCES, Shop

pytestmark = pytest.mark.django_db(transaction=True)

PRODUCTION = Environment.PRODUCTION
FACTORY, OWNER, WALLET = devnet.DEPLOYMENT.factory, devnet.OWNER, devnet.HOT_WALLET
THIEF = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
BLOCKS_UNTIL_FINAL = 13
COIN = 10**6


class Scene:
    """Two payments of 40 USDC that wait to be swept, and a clock that what is remembered of the set-up looks at."""

    def __init__(self, mainnet: Mainnet) -> None:
        self.mainnet, self.now = mainnet, 1_000.0
        configuration._readiness.cache_clear()
        chain = registry.chain(PRODUCTION, POLYGON)
        assert isinstance(chain, EvmChain)
        chain._set_up._readiness.clock = lambda: self.now
        self.shop = Shop({POLYGON: mainnet})
        payments = [self.open() for _ in range(2)]
        mainnet.pay([("USDC", payment.deposit_address, 40 * COIN) for payment in payments])
        self.look()

    def open(self) -> Payment:
        wanted = NewPayment(
            amount=Decimal(40), currency="USD", cryptocurrency="USDC", network=POLYGON, merchant_wallet=devnet.PAYER
        )
        with transaction.atomic():
            return create_payment(merchant=self.shop.merchant, environment=PRODUCTION, request=wanted)[0]

    def tell_factory(self, function: str, *arguments: str, sender: str = OWNER) -> None:
        self.mainnet.node.succeed(sender, FACTORY, abi.call(function, *arguments))

    def look(self) -> None:
        self.mainnet.node.mine(BLOCKS_UNTIL_FINAL)
        payment_tasks.watch_networks()

    def drive(self) -> None:
        Transfer.objects.filter(finished_at__isnull=True).update(next_step_at=timezone.now())
        transfer_tasks.drive()

    def sweep(self) -> None:
        for _ in range(2):
            payment_tasks.sweep()
            self.drive()
            self.look()
        payment_tasks.sweep()

    def held(self, account: str) -> int:
        return self.mainnet.held("USDC", [account])[account]


@cache
def prepared() -> Mainnet:
    return Mainnet(POLYGON, running_node(POLYGON_ID, "people"))


@pytest.fixture
def scene(settings: Settings) -> Iterator[Scene]:
    mainnet = prepared()
    settings.RATE_SOURCES = RATE_SOURCES
    for name, value in settings_for({POLYGON: [mainnet.node.url]}).items():
        setattr(settings, name, value)
    with mainnet.node.put_back():
        yield Scene(mainnet)


def told(*, owner: str = OWNER, operator: str = WALLET, treasury: str = WALLET) -> str:
    return (
        f"The factory on polygon belongs to {owner} and sweeps to {treasury} at the word of {operator}; "
        f"by the settings it belongs to {OWNER}, and the hot wallet is {WALLET}."
    )


@pytest.mark.parametrize("role", ["treasury", "operator", "owner"])
def test_a_factory_that_answers_to_a_stranger_is_not_swept_with_and_takes_no_payments(scene: Scene, role: str) -> None:
    if role == "owner":
        scene.tell_factory("transfer_ownership(address)", THIEF)
        scene.tell_factory("accept_ownership()", sender=THIEF)
    else:
        scene.tell_factory(f"set_{role}(address)", THIEF)
    scene.sweep()
    assert not Sweep.objects.exists()
    assert scene.held(THIEF) == 0
    [fault] = ScanCursor.objects.filter(environment=PRODUCTION, network=POLYGON).values_list("fault", flat=True)
    assert fault == told(**{role: THIEF})
    watch_dangers()
    assert list(Alarm.objects.open().filter(kind="network_not_set_up").values_list("message", flat=True)) == [fault]
    with pytest.raises(NetworkUnavailable):
        scene.open()

    if role == "owner":
        return
    scene.tell_factory(f"set_{role}(address)", WALLET)
    scene.now += ASK_AGAIN_SECONDS
    scene.look()
    scene.sweep()
    assert (scene.held(WALLET), scene.held(THIEF)) == (80 * COIN, 0)
    scene.shop.assert_books_are_the_chain()


def test_a_sweep_that_was_signed_before_the_change_is_not_sent_after_it(scene: Scene) -> None:
    payment_tasks.sweep()
    assert Transfer.objects.get().sent_at is None
    scene.tell_factory("set_treasury(address)", THIEF)
    for _ in range(3):
        scene.drive()
        scene.look()
    assert (scene.held(WALLET), scene.held(THIEF)) == (0, 0)


def test_a_change_is_noticed_while_nothing_waits_to_be_swept(scene: Scene) -> None:
    scene.sweep()
    scene.tell_factory("set_treasury(address)", THIEF)
    scene.now += PEOPLE_SECONDS
    scene.look()
    assert ScanCursor.objects.get(environment=PRODUCTION, network=POLYGON).fault == told(treasury=THIEF)
