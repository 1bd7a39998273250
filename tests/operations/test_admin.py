"""What operators see of networks and alarms, what they ask for, and that they change nothing else."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from config.admin.values import page_of
from merchants.ledger.models import Stop
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.settings_parser import TESTNET
from payments.monitoring.alarm_rules import AlarmCondition
from payments.monitoring.models import Alarm, NetworkSnapshot
from payments.monitoring.services import acknowledge_alarm
from payments.monitoring.states import AlarmKind
from payments.transfers.models import Transfer, Wallet
from payments.treasury.models import SweepRequest
from tests.factories import make_user
from tests.networks import with_set
from tests.operations.scenes import SANDBOX, look, there_is
from tests.payments.scenes import ETHEREUM, POLYGON, confirm, make_payment, pay, pay_and_confirm
from tests.stopping import stop_payouts
from tests.transfers.scenes import COIN, ask, stock

pytestmark = pytest.mark.django_db

LOW = AlarmCondition(AlarmKind.GAS_TANK_LOW, "The hot wallet holds 1 POL; it should hold 2 POL.")
FAILING = AlarmCondition(AlarmKind.PROVIDER_FAILING, "cannot be reached", "one.example")


def operator(*permissions: str) -> Client:
    """Somebody of the staff who may do this; everything, when nothing is said."""
    user = make_user(is_staff=True, is_superuser=not permissions)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def page(client: Client, name: str, *arguments: object) -> str:
    response = client.get(reverse(f"admin:{name}", args=arguments))
    assert response.status_code == 200
    return response.text


def act(client: Client, action: str, row: Model, **answer: str) -> str:
    chosen = {"action": action, "_selected_action": [row.pk], **answer}
    response = client.post(reverse(f"admin:operations_{row._meta.model_name}_changelist"), chosen, follow=True)
    assert response.status_code == 200
    return response.text


def the_network(network: str = ETHEREUM) -> NetworkSnapshot:
    return NetworkSnapshot.objects.get(environment=SANDBOX, network=network)


class TestStart:
    def test_it_begins_with_what_is_wrong(self) -> None:
        there_is(LOW)
        start = page(operator(), "index")
        assert "The gas balance runs low on polygon (production)" in start
        assert "The hot wallet holds 1 POL; it should hold 2 POL." in start
        assert start.index("The gas balance runs low") < start.index("Deposits")
        there_is()
        assert "No alarm is open." in page(operator(), "index")

    def test_production_comes_first_and_what_nobody_looks_after(self) -> None:
        there_is(LOW, environment=SANDBOX)
        there_is(LOW, FAILING)
        acknowledge_alarm(Alarm.objects.get(kind=LOW.kind, environment="production"), acknowledged_by="Ada")
        start = page(operator(), "index")
        assert start.index("one.example") < start.index("Ada looks after it") < start.index("polygon (sandbox)")

    def test_it_shows_no_alarms_to_whoever_may_not_see_them(self) -> None:
        there_is(LOW)
        start = page(operator("view_payment"), "index")
        assert "gas balance" not in start
        assert "Payments" in start

    def test_nobody_else_sees_it(self) -> None:
        response = Client().get(reverse("admin:index"))
        assert (response.status_code, "/login" in response["Location"]) == (302, True)


class TestAlarms:
    def test_open_ones_come_first(self) -> None:
        there_is(LOW)
        there_is(FAILING)
        shown = page(operator(), "operations_alarm_changelist")
        assert shown.index("one.example") < shown.index("it should hold 2 POL")

    def test_one_says_what_to_do(self) -> None:
        there_is(LOW)
        shown = page(operator(), "operations_alarm_change", Alarm.objects.get().pk)
        assert "Send native coins to the hot wallet." in shown

    def test_it_leads_to_what_it_is_about(self) -> None:
        look()
        stock(ETHEREUM, 10 * COIN)
        payout = ask(ETHEREUM, 4 * COIN)
        stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="does not add up")
        stop = Stop.objects.get()
        wallet = Wallet.objects.create(environment=SANDBOX, network=ETHEREUM, address="0xabc")
        person = make_user()
        about = {
            AlarmKind.PAYOUTS_STOPPED: ("", stop),
            AlarmKind.WALLET_CANNOT_SEND: (wallet.address, wallet),
            AlarmKind.SCREENED: (str(payout.pk), payout),
            AlarmKind.OPERATOR_RESET: (person.email, person),
            AlarmKind.GAS_TANK_LOW: ("", the_network()),
        }
        client = operator()
        for kind, (subject, record) in about.items():
            alarm = Alarm.objects.create(environment=SANDBOX, network=ETHEREUM, kind=kind, subject=subject, message="?")
            shown = page(client, "operations_alarm_change", alarm.pk).partition("What to look at")[2]
            assert page_of(type(record), record.pk) in shown, kind
        silent = Alarm.objects.create(environment=SANDBOX, network=ETHEREUM, kind=AlarmKind.SCREENED, message="?")
        assert page(client, "operations_alarm_change", silent.pk)

    def test_somebody_looks_after_it(self) -> None:
        there_is(LOW)
        client, alarm = operator(), Alarm.objects.get()
        assert "You look after: The gas balance runs low on polygon (production)." in act(client, "acknowledge", alarm)
        assert "somebody looks after it already" in act(operator(), "acknowledge", alarm)
        alarm.refresh_from_db()
        assert f"{alarm.acknowledged_by} looks after it." in page(client, "index")
        assert LogEntry.objects.get().change_message == "Acknowledged."

    def test_whoever_may_only_look_acknowledges_nothing(self) -> None:
        there_is(LOW)
        act(operator("view_alarm"), "acknowledge", Alarm.objects.get())
        assert Alarm.objects.get().acknowledged_at is None


class TestNetworks:
    def test_one_page_shows_how_all_are_doing(self, settings: Settings) -> None:
        settings.OPERATOR_EMAILS = ["ada@example.com"]
        pay_and_confirm(make_payment(ETHEREUM, amount="60"))
        there_is(FAILING, environment=SANDBOX, network=ETHEREUM)
        look()
        shown = page(operator(), "operations_networksnapshot_changelist")
        assert shown.count("<meter") == 3
        assert "60.00 USDC at 1 address" in shown
        assert "Provider fails" in shown
        assert "1,000,000 ETH of 0.00644 ETH" in shown
        assert "OPERATOR_EMAILS" not in shown

    def test_it_says_when_nobody_is_told_of_alarms(self, settings: Settings) -> None:
        settings.OPERATOR_EMAILS = []
        assert "OPERATOR_EMAILS is not set" in page(operator(), "operations_networksnapshot_changelist")

    def test_it_says_where_one_provider_decides_alone(self, settings: Settings) -> None:
        settings.SANDBOX_CHAIN = "testnet"
        settings.NETWORK_SETTINGS = with_set(POLYGON, TESTNET, rpc_urls=("https://one.example",), one_may_decide=True)
        NetworkSnapshot.objects.create(environment=SANDBOX, network=POLYGON, providers=["one.example"])
        warned = "One provider alone decides about money on polygon (sandbox)"
        assert warned in page(operator(), "operations_networksnapshot_changelist")
        shown = page(operator(), "operations_networksnapshot_change", the_network(POLYGON).pk)
        assert "Decides about money alone: EVM_SINGLE_PROVIDER_NETWORKS." in shown
        said = StringIO()
        call_command("networks", stdout=said)
        assert "WARNING    one provider decides about money alone: EVM_SINGLE_PROVIDER_NETWORKS" in said.getvalue()
        two = ("https://one.example", "https://two.example")
        settings.NETWORK_SETTINGS = with_set(POLYGON, TESTNET, rpc_urls=two)
        assert warned not in page(operator(), "operations_networksnapshot_changelist")

    def test_a_network_has_a_page_with_coins_and_costs(self, settings: Settings) -> None:
        settings.SWEEP_THRESHOLD = 100
        payments = [make_payment(ETHEREUM, amount=amount) for amount in ("60", "0.1")]
        for payment in payments:
            pay(payment)
        confirm(payments[0])
        look()
        NetworkSnapshot.objects.update(providers=["one.example", "two.example"])
        there_is(FAILING, environment=SANDBOX, network=ETHEREUM)
        shown = page(operator(), "operations_networksnapshot_change", the_network().pk)
        assert shown.index("one.example") < shown.index("Provider fails: cannot be reached")
        assert shown.index("two.example") < shown.index("well")
        assert "40.00 USDC short of the threshold" in shown
        assert "0.00008 ETH" in shown
        assert "0.10 USDC at 1 address" in shown
        assert registry.chain(SANDBOX, ETHEREUM).payout_address() in shown
        assert "sweeps of 50 new addresses at 0.00253 ETH" in shown

    def test_what_is_shown_asks_no_network(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pay_and_confirm(make_payment(ETHEREUM))
        look()
        monkeypatch.setattr(registry, "chain", lambda *_: pytest.fail("a page asked a network"))
        client = operator()
        page(client, "index")
        page(client, "operations_networksnapshot_changelist")
        page(client, "operations_networksnapshot_change", the_network().pk)

    def test_nobody_adds_changes_or_deletes(self) -> None:
        look()
        there_is(LOW)
        client = operator()
        for row in (the_network(), Alarm.objects.get()):
            name = f"admin:operations_{row._meta.model_name}"
            assert client.get(reverse(f"{name}_add")).status_code == 403
            assert client.post(reverse(f"{name}_change", args=[row.pk]), {}).status_code == 403
            assert client.post(reverse(f"{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403


class TestSweepNow:
    @pytest.fixture(autouse=True)
    def waiting(self, settings: Settings) -> None:
        settings.SWEEP_THRESHOLD = 1_000
        pay_and_confirm(make_payment(ETHEREUM, amount="60"))
        look()

    def test_the_cost_is_shown_before_anything_is_asked_for(self) -> None:
        asked = act(operator(), "sweep_now", the_network())
        assert "60.00 USDC at 1 address on ethereum (sandbox) for about 0.00008 ETH." in asked
        assert SweepRequest.objects.count() == 0

    def test_the_worker_sweeps_what_was_asked_for(self) -> None:
        client = operator()
        assert "Asked for: 60.00 USDC at 1 address" in act(client, "sweep_now", the_network(), confirmed="yes")
        request = SweepRequest.objects.get()
        assert (request.network, request.asset, request.done_at) == (ETHEREUM, "USDC", None)
        assert Transfer.objects.count() == 0
        payment_tasks.sweep()
        assert [transfer.purpose for transfer in Transfer.objects.all()] == ["sweep"]
        assert LogEntry.objects.get().change_message == "Asked for a sweep of USDC."
        assert "Nothing that is worth it waits there." in act(client, "sweep_now", the_network())

    def test_a_loss_is_said_aloud(self, settings: Settings) -> None:
        settings.NATIVE_COIN_USD = {"ETH": "1000000", "POL": "1"}
        assert "which is more than it brings" in act(operator(), "sweep_now", the_network())

    def test_whoever_may_only_look_asks_for_nothing(self) -> None:
        act(operator("view_networksnapshot"), "sweep_now", the_network(), confirmed="yes")
        assert SweepRequest.objects.count() == 0
