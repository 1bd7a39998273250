"""What one provider says alone moves no money, however long it is alone; what it invents is told to people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.environments import Environment
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.evm.adapter import EvmChain
from payments.chains.providers.quarantine import APART_SECONDS
from payments.checkout.payer import look_at
from payments.deposits.models import ScanCursor
from payments.models import Deposit, Payment
from payments.monitoring.models import Alarm
from payments.monitoring.tasks import raise_alarms
from payments.services import NewPayment, create_payment
from payments.transfers import tasks as transfer_tasks
from payments.transfers.models import Transfer
from tests.evm.liars import Provider, calling_all_failed, inventing, leaving_out_events, providers_of
from tests.evm.mainnet import Mainnet, prepared_mainnet, settings_for_production_alone
from tests.evm.network import devnet
from tests.evm.shop import RATE_SOURCES, Shop
from tests.networks import POLYGON
from tests.operations.scenes import let_cursor_age

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

PRODUCTION = Environment.PRODUCTION
MILLION = 1_000_000 * 10**6
BLOCKS_UNTIL_FINAL = 13
KEY = "a-key-of-the-operator"


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

    def pay(self, payment: Payment) -> None:
        self.mainnet.pay([("USDC", payment.deposit_address, int(payment.due))])

    def look(self) -> None:
        self.mainnet.node.mine(BLOCKS_UNTIL_FINAL)
        payment_tasks.watch_networks()

    def drive(self) -> None:
        Transfer.objects.filter(finished_at__isnull=True).update(next_step_at=timezone.now())
        transfer_tasks.drive()

    def cursor(self) -> ScanCursor:
        return ScanCursor.objects.get(environment=PRODUCTION, network=POLYGON)


@pytest.fixture
def scene(settings: Settings, request: pytest.FixtureRequest) -> Iterator[Scene]:
    mainnet = prepared_mainnet(POLYGON)
    settings.RATE_SOURCES = RATE_SOURCES
    with mainnet.node.put_back(), providers_of(mainnet.node.url, request.param) as providers:
        urls = [f"{each.url}/v2/{KEY}" for each in providers]
        for name, value in settings_for_production_alone({POLYGON: urls}).items():
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
    raise_alarms()
    [said] = open_alarms("network_unavailable").values()
    assert said.endswith(
        "Only 1 of 2 providers that must report the same of polygon answer. Deposits and payouts wait; nothing is lost."
    )
    [notice] = look_at(payment, timezone.now()).notices
    assert notice.title == "Polygon is slow to answer"
    assert "your money is not lost" in notice.words

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
    signed = list(Transfer.objects.order_by("sequence").values_list("sequence", flat=True))
    scene.mainnet.node.mine(BLOCKS_UNTIL_FINAL)

    scene.providers[0].lie, scene.providers[1].is_silent = calling_all_failed, True
    for _ in range(6):
        scene.now += 61
        scene.drive()
        scene.mainnet.node.mine(BLOCKS_UNTIL_FINAL)
    assert list(Transfer.objects.order_by("sequence").values_list("sequence", flat=True)) == signed
    assert Transfer.objects.latest("sequence").status == "sent"

    scene.providers[0].lie, scene.providers[1].is_silent = None, False
    scene.now += 61
    scene.drive()
    assert list(Transfer.objects.order_by("sequence").values_list("sequence", flat=True)) == signed
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
    assert said.startswith(f"eth_getTransactionReceipt {sent}: it reports it failed in block ")
    assert f"; {', '.join(honest)} reports it succeeded in block " in said
    # Each row keeps whom it rests on, and no key.
    [deposit] = Deposit.objects.all()
    assert deposit.said_by == [honest[0], liar]
    sent_by_us = Transfer.objects.order_by("sequence")
    assert [each.said_by for each in sent_by_us] == [[honest[0], liar], honest]
    assert KEY not in str([*Deposit.objects.values(), *Transfer.objects.values()])


@pytest.mark.parametrize("scene", [3], indirect=True)
def test_a_deposit_in_another_block_rests_on_those_who_say_so_now(scene: Scene) -> None:
    payment = scene.open()
    scene.look()
    scene.mainnet.pay([("USDC", payment.deposit_address, int(payment.due))])
    scene.mainnet.node.mine()
    payment_tasks.watch_networks()
    one, two, three = (each.name for each in scene.providers)
    assert Deposit.objects.get().said_by == [one, two]
    Deposit.objects.update(block_hash="0x" + "f0" * 32)  # as if it had stood in another one until now
    scene.providers[0].is_silent = True
    scene.look()
    deposit = Deposit.objects.get()
    assert (deposit.status, deposit.said_by) == ("credited", [two, three])


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


@pytest.mark.parametrize("scene", [1], indirect=True)
def test_whoever_believes_one_is_cheated(scene: Scene) -> None:
    """The control arm of the tests below."""
    payment = scene.open()
    scene.look()
    scene.invention_for(payment)
    scene.look()
    assert Deposit.objects.get().amount == MILLION


@pytest.mark.parametrize("scene", [4], indirect=True)
def test_two_liars_of_four_credit_nothing_and_are_put_aside_once_they_can_be_told_from_the_others(scene: Scene) -> None:
    cheated, honest = scene.open(), scene.open()
    scene.look()
    scene.invention_for(cheated)
    scene.providers[1].lie = scene.providers[0].lie
    scene.pay(honest)
    for _ in range(4):
        scene.now += APART_SECONDS
        scene.look()
    # Two against two: nobody can say who lies, so nothing is believed, and a person is told what each said.
    assert not Deposit.objects.exists()
    told = open_alarms("provider_disagrees")
    assert set(told) == {each.name for each in scene.providers}
    assert all("eth_getTransactionReceipt 0x" + "f0" * 32 in message for message in told.values())
    assert open_alarms("provider_put_aside") == {}

    # They stop telling the same lie, and are outvoted one by one.
    scene.providers[1].lie = leaving_out_events
    for _ in range(3):
        scene.now += APART_SECONDS
        scene.look()
    assert [(each.payment_id, each.amount) for each in Deposit.objects.all()] == [(honest.pk, honest.due)]
    first, second = scene.providers[:2]
    told = open_alarms("provider_put_aside")
    assert set(told) == {first.name, second.name}
    invented = f"eth_getTransactionReceipt {'0x' + 'f0' * 32}: it reports it succeeded in block "
    assert invented in told[first.name]
    assert f"moving {MILLION} units" in told[first.name]
    assert "eth_getLogs of block " in told[second.name]
    before = first.asked, second.asked
    scene.look()
    assert (first.asked, second.asked) == before
    assert scene.cursor().failing_since is None


@pytest.mark.parametrize("scene", [3], indirect=True)
def test_one_that_leaves_out_what_happened_is_found_out(scene: Scene) -> None:
    payment = scene.open()
    scene.look()
    scene.providers[0].lie = leaving_out_events
    scene.pay(payment)
    scene.mainnet.node.mine()
    for _ in range(3):
        scene.now += APART_SECONDS
        payment_tasks.watch_networks()
    [(subject, said)] = open_alarms("provider_put_aside").items()
    assert subject == scene.providers[0].name
    assert f"it leaves out that {int(payment.due)} units of {scene.mainnet.tokens['USDC']} from" in said
    scene.look()
    payment.refresh_from_db()
    assert payment.status == "completed"
