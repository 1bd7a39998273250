"""Whom the factory answers to is compared with the settings before every sweep: a change sends a stranger nothing."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.environments import Environment
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.errors import NetworkUnavailable
from payments.chains.evm import abi, factory
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.addresses import parse
from payments.chains.evm.deposit_addresses.deployment import appointment, with_owner
from payments.chains.evm.readiness_checks import PEOPLE_SECONDS
from payments.chains.readiness import RECHECK_SECONDS
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.monitoring.models import Alarm, NetworkSnapshot, RoleChange
from payments.monitoring.services import know_role_change
from payments.monitoring.states import AlarmKind
from payments.monitoring.tasks import raise_alarms
from payments.monitoring.watching_roles import watch_roles
from payments.services import NewPayment, create_payment
from payments.transfers import tasks as transfer_tasks
from payments.transfers.models import Transfer
from payments.treasury.models import Sweep
from tests.evm.mainnet import Mainnet, settings_for_production_alone
from tests.evm.network import devnet
from tests.evm.node import POLYGON_ID, running_node
from tests.evm.shop import RATE_SOURCES, Shop
from tests.factories import make_user
from tests.networks import POLYGON, with_set

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

PRODUCTION = Environment.PRODUCTION
FACTORY, OWNER, WALLET, PAYER = devnet.DEPLOYMENT.factory, devnet.OWNER, devnet.HOT_WALLET, devnet.PAYER
THIEF = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
BLOCKS_UNTIL_FINAL = 13
COIN = 10**6


class Scene:
    """Two payments of 40 USDC that wait to be swept, and a clock that what is remembered of the set-up looks at."""

    def __init__(self, mainnet: Mainnet) -> None:
        self.mainnet, self.now = mainnet, 1_000.0
        factory._readiness.cache_clear()
        chain = registry.chain(PRODUCTION, POLYGON)
        assert isinstance(chain, EvmChain)
        chain.set_up._readiness.clock = lambda: self.now
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
    for name, value in settings_for_production_alone({POLYGON: [mainnet.node.url]}).items():
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
    raise_alarms()
    assert list(Alarm.objects.open().filter(kind="network_not_set_up").values_list("message", flat=True)) == [fault]
    with pytest.raises(NetworkUnavailable):
        scene.open()

    if role == "owner":
        return
    scene.tell_factory(f"set_{role}(address)", WALLET)
    scene.now += RECHECK_SECONDS
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


@pytest.mark.parametrize(
    ("function", "role"),
    [("set_treasury(address)", "treasury"), ("set_operator(address)", "operator")],
)
def test_a_change_of_roles_is_an_alarm_at_once_with_who_and_when(scene: Scene, function: str, role: str) -> None:
    watch_roles(PRODUCTION, POLYGON)
    assert not RoleChange.objects.exists()
    scene.tell_factory(function, THIEF)
    for _ in range(2):  # the block is not final: it is read again, and noted once
        watch_roles(PRODUCTION, POLYGON)
    change = RoleChange.objects.get()
    assert (change.role, change.account, change.made_by) == (role, THIEF, OWNER)
    raise_alarms()
    alarm = Alarm.objects.open().get(kind=AlarmKind.ROLE_CHANGED)
    assert (
        f"{role} of the factory {FACTORY} on polygon (production) became {THIEF}, by {OWNER} in block" in alarm.message
    )
    stored = {each["name"]: each for each in NetworkSnapshot.objects.get(network=POLYGON).roles}
    assert stored[role] == {"name": role, "holder": THIEF, "expected": WALLET}
    assert know_role_change(change, known_by="ada@example.com")
    raise_alarms()
    assert not Alarm.objects.open().filter(kind=AlarmKind.ROLE_CHANGED).exists()


def test_a_change_of_roles_of_a_former_factory_is_an_alarm_too(scene: Scene, settings: Settings) -> None:
    node = scene.mainnet.node
    former = parse(node.deploy(with_owner(PAYER).creation))
    node.mine(BLOCKS_UNTIL_FINAL)  # who its first owner was is no news
    settings.NETWORK_SETTINGS = with_set(POLYGON, former_addresses={"10": f"plain:{former}"})
    watch_roles(PRODUCTION, POLYGON)
    node.succeed(PAYER, former, appointment(WALLET, THIEF))
    watch_roles(PRODUCTION, POLYGON)
    noted = RoleChange.objects.order_by("ordinal").values_list("factory", "role", "account", "made_by")
    assert list(noted) == [(former, "operator", WALLET, PAYER), (former, "treasury", THIEF, PAYER)]
    raise_alarms()
    told = Alarm.objects.open().filter(kind=AlarmKind.ROLE_CHANGED).values_list("message", flat=True)
    assert any(f"treasury of the factory {former} on polygon (production) became {THIEF}" in each for each in told)


def test_an_offered_and_an_accepted_owner_are_noted(scene: Scene) -> None:
    watch_roles(PRODUCTION, POLYGON)
    scene.tell_factory("transfer_ownership(address)", THIEF)
    scene.tell_factory("accept_ownership()", sender=THIEF)
    watch_roles(PRODUCTION, POLYGON)
    noted = RoleChange.objects.order_by("height").values_list("role", "account", "made_by")
    assert list(noted) == [("offered owner", THIEF, OWNER), ("owner", THIEF, THIEF)]


def call_of(said: str, what: str) -> str:
    """The data of a call that `factory_roles` shows."""
    return said.partition(what)[2].partition("data  ")[2].split()[0]


def test_the_owner_is_replaced_by_the_calls_that_the_command_shows(scene: Scene, settings: Settings) -> None:
    out, new_owner = io.StringIO(), devnet.PAYER
    call_command("factory_roles", offer_to=new_owner, stdout=out)
    for sender, what in ((OWNER, "The owner offers it"), (new_owner, f"{new_owner} accepts it")):
        scene.mainnet.node.succeed(sender, FACTORY, bytes.fromhex(call_of(out.getvalue(), what)[2:]))
    with pytest.raises(CommandError, match="polygon: owner"):
        call_command("factory_roles", stdout=io.StringIO())
    scene.sweep()
    assert scene.held(WALLET) == 0

    settings.NETWORK_SETTINGS = with_set(POLYGON, owner=new_owner)
    call_command("factory_roles", stdout=io.StringIO())
    scene.sweep()
    assert scene.held(WALLET) == 80 * COIN
    scene.shop.assert_books_are_the_chain()


def test_roles_stand_beside_the_settings_in_the_admin(scene: Scene) -> None:
    watch_roles(PRODUCTION, POLYGON)
    scene.tell_factory("set_treasury(address)", THIEF)
    watch_roles(PRODUCTION, POLYGON)
    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True))
    snapshot = NetworkSnapshot.objects.get(network=POLYGON)
    shown = client.get(reverse("admin:operations_networksnapshot_change", args=[snapshot.pk])).text
    rows = re.findall("<tr>.*?</tr>", shown, re.DOTALL)
    assert any("treasury" in row and THIEF in row and WALLET in row for row in rows)
    assert any("owner" in row and OWNER in row and "the same" in row for row in rows)
    chosen = {"action": "know", "_selected_action": [RoleChange.objects.get().pk], "confirmed": "yes"}
    client.post(reverse("admin:operations_rolechange_changelist"), chosen)
    assert RoleChange.objects.get().known_by
