"""What one provider says alone moves no money, however long it is alone; what it invents is told to people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from functools import cache

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.environments import Environment
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.development import devnet
from payments.chains.networks import POLYGON
from payments.checkout.payer import look_at
from payments.models import Deposit, Payment, ScanCursor
from payments.operations.models import Alarm
from payments.operations.tasks import watch_dangers
from payments.services import NewPayment, create_payment
from payments.transfers import tasks as transfer_tasks
from payments.transfers.models import Transfer
from tests.evm.liars import Provider, calling_all_failed, inventing, providers_of
from tests.evm.mainnet import Mainnet, settings_for
from tests.evm.node import POLYGON_ID, running_node
from tests.evm.shop import RATE_SOURCES, Shop
from tests.operations.scenes import let_cursor_age

pytestmark = pytest.mark.django_db(transaction=True)

PRODUCTION = Environment.PRODUCTION
MILLION = 1_000_000 * 10**6
BLOCKS_UNTIL_FINAL = 13


class Scene:
    """A shop on polygon whose providers do as they are told, and a clock that its adapter looks at."""

    def __init__(self, mainnet: Mainnet, providers: list[Provider]) -> None:
        self.mainnet, self.providers = mainnet, providers
        self.now = 1_000.0
        chain = registry.chain(PRODUCTION, POLYGON)
        assert isinstance(chain, EvmChain)
        chain.providers._clock = lambda: self.now
        self.shop = Shop({POLYGON: mainnet})

    def open(self) -> Payment:
        wanted = NewPayment(
            amount=Decimal(40),
            currency="USD",
            cryptocurrency="USDC",
            network=POLYGON,
            merchant_wallet=devnet.OWNER,
        )
        with transaction.atomic():
            return create_payment(merchant=self.shop.merchant, environment=PRODUCTION, request=wanted)[0]

    def invention_for(self, payment: Payment) -> None:
        """The first provider begins to say that this payment got a million."""
        self.mainnet.node.mine()
        block = self.mainnet.node.rpc.call("eth_getBlockByNumber", "latest", False)
        contract = self.mainnet.tokens["USDC"]
        self.providers[0].lie = inventing(
            contract=contract, recipient=payment.deposit_address, amount=MILLION, block=block
        )

    def look(self) -> None:
        self.mainnet.node.mine(BLOCKS_UNTIL_FINAL)
        payment_tasks.watch_networks()

    def drive(self) -> None:
        Transfer.objects.filter(finished_at__isnull=True).update(next_step_at=timezone.now())
        transfer_tasks.drive()

    def cursor(self) -> ScanCursor:
        return ScanCursor.objects.get(environment=PRODUCTION, network=POLYGON)


@cache
def prepared() -> Mainnet:
    return Mainnet(POLYGON, running_node(POLYGON_ID, "believing"))


@pytest.fixture
def scene(settings: Settings, request: pytest.FixtureRequest) -> Iterator[Scene]:
    mainnet = prepared()
    settings.RATE_SOURCES = RATE_SOURCES
    with mainnet.node.put_back(), providers_of(mainnet.node.url, request.param) as providers:
        for name, value in settings_for({POLYGON: [each.url for each in providers]}).items():
            setattr(settings, name, value)
        yield Scene(mainnet, providers)


def open_alarms(kind: str) -> dict[str, str]:
    return dict(Alarm.objects.open().filter(kind=kind).values_list("subject", "message"))


@pytest.mark.parametrize("scene", [2], indirect=True)
def test_an_invented_transfer_is_not_credited_however_long_the_other_provider_is_away(scene: Scene) -> None:
    payment = scene.open()
    scene.look()
    scene.providers[1].is_silent = True
    scene.invention_for(payment)
    for seconds in (0, 59, 2, 86_400):
        scene.now += seconds
        scene.look()
    assert not Deposit.objects.exists()
    payment.refresh_from_db()
    assert (payment.status, payment.received) == ("created", 0)

    let_cursor_age(POLYGON, timedelta(minutes=2), "failing_since")
    watch_dangers()
    [said] = open_alarms("network_unavailable").values()
    assert said.endswith(
        "Only 1 of 2 providers that must say the same about polygon answer. Deposits and payouts wait; nothing is lost."
    )
    [notice] = look_at(payment, timezone.now()).notices
    assert notice.title == "Polygon is slow to answer"
    assert "Money that you have sent is not lost" in notice.words

    scene.providers[0].lie, scene.providers[1].is_silent = None, False
    scene.mainnet.pay([("USDC", payment.deposit_address, int(payment.due))])
    scene.now += 60
    scene.look()
    payment.refresh_from_db()
    assert (payment.status, payment.received) == ("completed", payment.due)


@pytest.mark.parametrize("scene", [2], indirect=True)
def test_a_false_failure_of_a_payout_never_has_it_signed_again(scene: Scene) -> None:
    [payment] = scene.shop.earn(1)
    scene.shop.give_back([payment], 1)
    scene.drive()
    signed = list(Transfer.objects.values_list("sequence", flat=True))
    scene.mainnet.node.mine(BLOCKS_UNTIL_FINAL)

    scene.providers[0].lie, scene.providers[1].is_silent = calling_all_failed, True
    for _ in range(6):
        scene.now += 61
        scene.drive()
        scene.mainnet.node.mine(BLOCKS_UNTIL_FINAL)
    assert list(Transfer.objects.values_list("sequence", flat=True)) == signed
    assert Transfer.objects.latest("sequence").status == "sent"

    scene.providers[0].lie, scene.providers[1].is_silent = None, False
    scene.now += 61
    scene.drive()
    assert list(Transfer.objects.values_list("sequence", flat=True)) == signed
    assert sum(scene.shop.left().values()) == 1
    assert scene.shop.left() == scene.shop.asked
    scene.shop.assert_books_are_the_chain()


@pytest.mark.parametrize("scene", [3], indirect=True)
def test_a_false_failure_that_is_outvoted_is_told_by_the_worker_that_follows_payouts(scene: Scene) -> None:
    [payment] = scene.shop.earn(1)
    scene.shop.give_back([payment], 1)
    scene.drive()
    scene.mainnet.node.mine(BLOCKS_UNTIL_FINAL)
    scene.providers[1].lie = calling_all_failed
    scene.drive()
    payment_tasks.sweep()
    assert scene.shop.left() == scene.shop.asked
    [(subject, said)] = open_alarms("provider_disagrees").items()
    liar, *honest = (scene.providers[place].name for place in (1, 0, 2))
    assert subject == liar
    sent = Transfer.objects.latest("sequence").transaction_hash
    assert said.startswith(f"eth_getTransactionReceipt {sent}: it says it failed in block ")
    assert f"; {', '.join(honest)} says it succeeded in block " in said


@pytest.mark.parametrize("scene", [3], indirect=True)
@pytest.mark.parametrize("place", [0, 2])
def test_a_provider_that_invents_a_transfer_is_outvoted_and_named_with_what_each_said(scene: Scene, place: int) -> None:
    scene.providers[0], scene.providers[place] = scene.providers[place], scene.providers[0]
    payment = scene.open()
    scene.look()
    scene.invention_for(payment)
    scene.look()
    assert not Deposit.objects.exists()
    assert scene.cursor().failing_since is None
    [(subject, said)] = open_alarms("provider_disagrees").items()
    assert subject == scene.providers[0].name
    assert "0x" + "f0" * 32 in said
    assert f"{MILLION} units of {scene.mainnet.tokens['USDC']}" in said
    assert f"to {payment.deposit_address}" in said
    assert all(other.name in said for other in scene.providers[1:])
