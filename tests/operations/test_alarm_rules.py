"""Each alarm from its true cause: on the simulated networks, and with providers that do as they are told."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.deposit_addresses.derivation import Derivation, Derivations
from payments.chains.evm.fees import FeeRules
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.questions import nonce
from payments.chains.networks import NETWORKS
from payments.chains.protocol.chain import Chain
from payments.chains.providers.pool import DOWN_AFTER_SECONDS, PROBE_SECONDS
from payments.chains.providers.quarantine import APART_SECONDS, CONTRADICTIONS
from payments.chains.simulated import control
from payments.deposits.models import ScanCursor
from payments.monitoring import tasks
from payments.monitoring.models import Alarm, NetworkSnapshot
from payments.monitoring.services import note_providers
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.services import freeze_wallet, thaw_wallet
from payments.treasury import sweeping
from tests.evm.fakes import FakeProvider, block_hash
from tests.evm.network import devnet
from tests.factories import make_user
from tests.operations.following import follow_runbooks
from tests.operations.scenes import SANDBOX, let_alarms_age, let_cursor_age, look, open_alarms
from tests.payments.scenes import ETHEREUM, POLYGON, STELLAR, make_payment, mine, mine_and_watch, pay_and_confirm, watch
from tests.stopping import lift, lift_halt, stop_payouts
from tests.transfers.scenes import COIN, ask, drive, finish, stock, the_wallet

pytestmark = pytest.mark.django_db


def message() -> str:
    return Alarm.objects.open().get().message


def test_nothing_is_wrong_with_networks_that_are_well() -> None:
    pay_and_confirm(make_payment(ETHEREUM))
    payment_tasks.sweep()
    look()
    assert Alarm.objects.count() == 0


class TestReading:
    def test_a_network_that_does_not_answer_for_minutes(self) -> None:
        watch()
        control.outage(POLYGON, 60)
        watch()
        look()
        assert open_alarms() == []
        let_cursor_age(POLYGON, timedelta(minutes=2), "failing_since")
        look()
        assert open_alarms() == [(POLYGON, "network_unavailable")]
        assert message().endswith("No provider of polygon answers.")
        control.outage(POLYGON, 0)
        watch()
        look()
        assert open_alarms() == []

    def test_a_network_whose_set_up_is_wrong_is_told_of_at_once(self) -> None:
        watch()
        fault = "The factory is not at EVM_FACTORY on ethereum."
        ScanCursor.objects.filter(network=ETHEREUM).update(fault=fault, failing_since=timezone.now())
        look()
        assert open_alarms() == [(ETHEREUM, "network_not_set_up")]
        assert message() == fault
        watch()
        look()
        assert open_alarms() == []

    def test_a_network_that_nobody_reads(self) -> None:
        watch()
        let_cursor_age(STELLAR, timedelta(minutes=5), "polled_at", "head_since", "finalized_since")
        look()
        assert open_alarms() == [(STELLAR, "network_unavailable")]
        assert "the chain worker does not run" in message()
        mine_and_watch(STELLAR)
        look()
        assert open_alarms() == []

    def test_a_halted_network_and_its_payouts(self) -> None:
        mine_and_watch(ETHEREUM, 20)
        control.reorg(ETHEREUM, 10, "dropped", force=True)
        watch()
        look()
        assert open_alarms() == [(ETHEREUM, "network_halted"), (ETHEREUM, "payouts_stopped")]
        lift_halt(ETHEREUM)
        watch()
        look()
        assert open_alarms() == []

    def test_a_network_without_new_blocks(self) -> None:
        mine_and_watch(STELLAR)
        let_cursor_age(STELLAR, timedelta(minutes=2), "head_since")
        watch()
        look()
        assert open_alarms() == [(STELLAR, "head_stalled")]
        mine_and_watch(STELLAR)
        look()
        assert open_alarms() == []

    def test_a_network_where_nothing_becomes_final(self) -> None:
        mine_and_watch(ETHEREUM, 7)
        let_cursor_age(ETHEREUM, timedelta(minutes=30), "finalized_since")
        watch()
        look()
        assert open_alarms() == [(ETHEREUM, "finality_stalled")]
        assert message().startswith("Block 1 has been the newest final one since ")
        mine_and_watch(ETHEREUM)
        look()
        assert open_alarms() == []


class TestPayingOut:
    def test_an_open_breaker(self) -> None:
        stop_payouts(environment=SANDBOX, network=POLYGON, reason="I11 found 5 USDC missing")
        look()
        assert open_alarms() == [(POLYGON, "payouts_stopped")]
        assert message() == "I11 found 5 USDC missing"
        lift(environment=SANDBOX, network=POLYGON, by="Ada")
        look()
        assert open_alarms() == []

    def test_a_frozen_wallet(self) -> None:
        stock(ETHEREUM, 100 * COIN)
        ask(ETHEREUM)
        finish(ETHEREUM)
        wallet = the_wallet(ETHEREUM)
        freeze_wallet(wallet, reason="looks odd")
        look()
        assert open_alarms() == [(ETHEREUM, "wallet_frozen")]
        assert Alarm.objects.get().subject == wallet.address
        thaw_wallet(wallet, {"": 1}, thawed_by="Ada")
        look()
        assert open_alarms() == []

    def test_a_wallet_that_has_something_to_send_and_cannot(self) -> None:
        stock(POLYGON, 100 * COIN)
        ask(POLYGON)
        control.outage(POLYGON, 60)
        drive(POLYGON)
        Wallet.objects.update(checked_at=timezone.now() - timedelta(minutes=2))
        look()
        assert open_alarms() == []  # what it last could not do may be long over
        Payout.objects.update(id=ids.first_uuid_at(timezone.now() - timedelta(minutes=3)))
        look()
        assert open_alarms() == [(POLYGON, "wallet_cannot_send")]
        control.outage(POLYGON, 0)
        finish(POLYGON)
        look()
        assert open_alarms() == []

    def test_a_payout_that_is_in_no_block_for_too_long(self) -> None:
        stock(POLYGON, 100 * COIN)
        ask(POLYGON)
        control.lose_broadcasts(POLYGON, 1)
        drive(POLYGON, 2)
        look()
        assert open_alarms() == []
        Transfer.objects.update(sent_at=timezone.now() - timedelta(minutes=11))
        look()
        assert open_alarms() == [(POLYGON, "transfer_stuck")]
        assert "should be final within 10 minutes" in message()

    def test_a_sweep_that_is_in_no_block_and_one_that_is_not_booked(self) -> None:
        pay_and_confirm(make_payment(POLYGON))
        assert sweeping.sweep_due(SANDBOX, POLYGON) == 1
        Transfer.objects.update(sent_at=timezone.now() - timedelta(minutes=11))
        look()
        assert open_alarms() == [(POLYGON, "sweep_stuck")]
        Transfer.objects.update(status="dead", next_step_at=None, finished_at=timezone.now() - timedelta(minutes=11))
        look()
        assert open_alarms() == [(POLYGON, "sweep_stuck")]
        assert message().endswith("is not in the ledger yet.")
        payment_tasks.sweep()
        look()
        assert open_alarms() == []


class TestGasTank:
    def leave(self, network: str, units: int) -> None:
        """Let the hot wallet hold so much of the native coin."""
        wallet = registry.chain(SANDBOX, network).payout_address()
        control.drain_native(network, address=wallet)
        mine(network)
        if units:
            control.fund_native(network, address=wallet, amount=units)
            mine(network)

    def test_too_little_for_the_reserve(self, settings: Settings) -> None:
        # At 30 gwei: a sweep of 50 is 2,530,000 units of gas, ten payouts 650,000; five of each are wanted.
        settings.GAS_TANK_RESERVE = {"ethereum": "0", "polygon": "5", "stellar": "0"}
        wanted = 5 * (2_530_000 + 650_000) * 30 * 10**9
        self.leave(POLYGON, wanted)
        look()
        assert open_alarms() == []
        self.leave(POLYGON, wanted - 1)
        look()
        assert open_alarms() == [(POLYGON, "gas_tank_low")]
        assert message() == "The hot wallet holds 0.47699999 POL; it should hold 0.477 POL."

        self.leave(POLYGON, wanted * 5 // 4 - 1)
        look()
        assert open_alarms() == [(POLYGON, "gas_tank_low")]
        self.leave(POLYGON, wanted * 5 // 4)
        look()
        assert open_alarms() == []

    def test_what_waits_must_be_paid_for_as_well(self, settings: Settings) -> None:
        settings.GAS_TANK_RESERVE = {"ethereum": "0", "polygon": "0", "stellar": "0"}
        stock(ETHEREUM, COIN)
        pay_and_confirm(make_payment(ETHEREUM))
        ask(ETHEREUM)
        wanted = (30_000 + 50_000 + 65_000) * 10**9
        self.leave(ETHEREUM, wanted - 1)
        look()
        assert open_alarms() == [(ETHEREUM, "gas_tank_low")]
        Alarm.objects.all().delete()
        self.leave(ETHEREUM, wanted)
        look()
        assert open_alarms() == []

    def test_higher_fees_empty_the_tank_sooner(self, settings: Settings) -> None:
        self.leave(ETHEREUM, 10**17)
        look()
        assert open_alarms() == []
        control.set_fee_level(ETHEREUM, 20)
        look()
        assert open_alarms() == [(ETHEREUM, "gas_tank_low")]

    def test_a_network_that_does_not_answer_keeps_what_was_measured(self) -> None:
        self.leave(ETHEREUM, 0)
        look()
        control.outage(ETHEREUM, 60)
        look()
        assert open_alarms() == [(ETHEREUM, "gas_tank_low")]


class Scene:
    """Polygon, asked through two fake providers whose minutes pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0
        head_at = time.time()
        self.fakes = [FakeProvider(name, head_at=head_at) for name in ("one.example", "two.example", "three.example")]
        self.providers = Providers(
            [fake.rpc for fake in self.fakes], network=POLYGON, block_seconds=2, clock=lambda: self.now
        )
        self.chain = EvmChain(
            NETWORKS[POLYGON].real,
            providers=self.providers,
            derivations=Derivations(Derivation(devnet.DEPLOYMENT.factory, None)),
            owner=devnet.OWNER,
            wallet=devnet.HOT_WALLET,
            rules=FeeRules(),
            signer=lambda: pytest.fail("nothing is signed to look after a network"),
        )

    def poll(self) -> None:
        self.providers.head()
        note_providers(SANDBOX, POLYGON)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    found = Scene()
    real = registry.chain

    def chain(environment: str, network: str) -> Chain:
        return found.chain if network == POLYGON else real(environment, network)

    monkeypatch.setattr(registry, "chain", chain)
    return found


class TestProviders:
    def told(self) -> list[tuple[str, str, str]]:
        follow_runbooks()
        found = Alarm.objects.open().order_by("kind", "subject")
        return [(alarm.kind, alarm.subject, alarm.message) for alarm in found]

    def test_one_that_is_put_aside_is_asked_again_when_an_operator_says_so(self, scene: Scene) -> None:
        liar = scene.fakes[0]
        liar.answers["eth_getTransactionCount"] = lambda *_: "0x9"
        for fake in scene.fakes[1:]:
            fake.answers["eth_getTransactionCount"] = lambda *_: "0x5"
        scene.providers.head()
        for _ in range(CONTRADICTIONS):
            scene.providers.agree_on(nonce(devnet.HOT_WALLET, 60))
            scene.now += APART_SECONDS
        snapshot = NetworkSnapshot.objects.create(environment=SANDBOX, network=POLYGON)

        def is_aside() -> bool:
            scene.poll()
            return "put_aside" in scene.chain.providers.states()[0].problems

        assert is_aside()
        assert ("provider_put_aside", "one.example") in {told[:2] for told in self.told()}
        client, operator = Client(), make_user(is_staff=True, is_superuser=True)
        client.force_login(operator)
        chosen = {"action": "let_back", "_selected_action": [snapshot.pk], "confirmed": "yes"}
        client.post(reverse("admin:operations_networksnapshot_changelist"), chosen)
        assert LogEntry.objects.filter(user=operator, object_id=str(snapshot.pk)).count() == 1
        assert not is_aside()
        # The same word is heeded once: who goes on lying is put aside again, and for longer.
        for _ in range(CONTRADICTIONS):
            scene.providers.agree_on(nonce(devnet.HOT_WALLET, 60))
            scene.now += APART_SECONDS
        assert is_aside()
        assert "Not queried for 2 h" in str(self.told())

    def test_one_that_fails(self, scene: Scene) -> None:
        scene.fakes[0].fail()
        scene.poll()
        assert self.told() == [("provider_failing", "one.example", "one.example cannot be reached: ConnectError")]
        scene.fakes[0].recover()
        scene.now += DOWN_AFTER_SECONDS + PROBE_SECONDS
        let_alarms_age(timedelta(minutes=2))
        scene.poll()
        assert self.told() == []

    def test_one_that_is_behind(self, scene: Scene) -> None:
        scene.fakes[2].head_age_seconds = 600
        scene.poll()
        assert [(kind, name) for kind, name, _ in self.told()] == [("provider_old_head", "three.example")]

    def test_one_that_says_something_else(self, scene: Scene) -> None:
        scene.fakes[0].fork = "f"
        scene.poll()
        assert self.told() == [
            (
                "provider_disagrees",
                "one.example",
                (
                    f"eth_getBlockByNumber {hex(100)}: it reports block 100 is {block_hash(100, 'f')}; "
                    f"two.example, three.example reports block 100 is {block_hash(100)}"
                ),
            )
        ]

    def test_the_watcher_tells_of_them(self, scene: Scene) -> None:
        ScanCursor.objects.create(environment=SANDBOX, network=POLYGON)
        scene.fakes[1].fail()
        scene.providers.head()
        payment_tasks.watch_networks()
        assert ("provider_failing", "two.example") in [(kind, name) for kind, name, _ in self.told()]

    def test_who_looks_at_rows_ends_no_alarm_about_a_provider(self, scene: Scene) -> None:
        scene.fakes[0].fail()
        scene.poll()
        let_alarms_age(timedelta(hours=1))
        tasks.raise_alarms()
        assert [kind for kind, _, _ in self.told()] == ["provider_failing"]
