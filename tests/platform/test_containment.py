"""One network's trouble, or one payment's, keeps no other waiting: a fault is planted in each step of each task."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from celery import Task
from django.apps import apps
from django.db.models import QuerySet
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.celery import app
from merchants.models import Merchant
from payments.chains.registry import places_in_use
from payments.models import Deposit
from payments.services import end_window
from payments.transfers.models import Payout
from payments.transfers.owners import _ROOMS
from payments.treasury.models import Sweep
from refunds.batches.services import confirm_batch
from refunds.states import RefundStatus
from settlements.models import SettlementRun
from tests.factories import make_merchant
from tests.payments import scenes as paying
from tests.payments.scenes import ETHEREUM, POLYGON, STELLAR, make_payment
from tests.refunds import scenes as refunding
from tests.refunds.filing import preview
from tests.sending.delivering import endpoint_at, happen
from tests.settlements import scenes as settling
from tests.transfers import scenes as sending
from webhooks.models import Delivery, Endpoint, Event
from webhooks.sending.due_deliveries import DueDelivery
from webhooks.sending.fan_out import fan_out
from webhooks.sending.preparing import Preparation
from webhooks.services import disable_endpoint
from webhooks.states import DisabledReason

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    """Blocks appear only when a test mines them."""
    settings.SIMULATED_BLOCK_SECONDS = 0


class Planted(Exception):
    """What nobody foresaw."""


def plant(monkeypatch: pytest.MonkeyPatch, target: str, *, about: Any) -> None:
    """Let a step of ours fail whenever it is about this: a key, or something that a row or a record is called by."""
    module_name, _, name = target.rpartition(".")
    module = import_module(module_name)
    real = getattr(module, name)

    def step(*given: Any, **named: Any) -> Any:
        if any(_is_about(each, about) for each in (*given, *named.values())):
            raise Planted
        return real(*given, **named)

    monkeypatch.setattr(module, name, step)


def _is_about(given: Any, key: Any) -> bool:
    if isinstance(given, QuerySet):
        return key in list(given)
    if isinstance(given, dict):
        return key in given.values()
    names = ("pk", "id", "code", "merchant_id", "endpoint_id")
    return given == key or any(getattr(given, name, None) == key for name in names)


# Networks

STEPS_OF_NETWORKS: dict[str, list[str]] = {
    "payments.watch_networks": [
        "payments.tasks.watch_network",
        "payments.deposits.unattributed.book_unattributed",
        "payments.tasks.note_providers",
    ],
    "payments.sweep": [
        "payments.tasks.check_set_up",
        "payments.treasury.sweeping.sweep_due",
        "payments.treasury.native_deposits.sweep_requested",
    ],
    "payments.look_for_native_coin": ["payments.treasury.native_deposits.look_for_some"],
    "operations.measure_networks": ["payments.monitoring.tasks.measure_network"],
    "operations.audit_wallets": ["payments.monitoring.tasks.audit_wallet"],
    "operations.watch_dangers": ["payments.monitoring.alarm_rules.of_rows"],
    "transfers.drive": ["payments.transfers.execution.executor.run_round"],
}
"""By task, what it does for each network in turn, in the order in which it is done."""

LAST_STEPS = {
    "payments.watch_networks": "payments.deposits.crediting.assess_due",
    "payments.sweep": "payments.treasury.sweep_booking.book_sweeps",
    "operations.watch_dangers": "payments.monitoring.tasks.mail_alarms",
}
"""What a task does in the end for all networks together."""

NEEDED = {
    "payments.tasks.check_set_up": {
        "payments.treasury.sweeping.sweep_due",
        "payments.treasury.native_deposits.sweep_requested",
    }
}
"""Steps without which others of the same network are not done."""


@pytest.mark.parametrize(
    ("task", "faulty"), [(task, step) for task, steps in STEPS_OF_NETWORKS.items() for step in steps]
)
def test_a_network_whose_step_fails_stops_no_other_network_and_no_later_step(
    monkeypatch: pytest.MonkeyPatch, task: str, faulty: str
) -> None:
    places = places_in_use()
    assert len(places) >= 3
    broken = places[0]
    done: set[tuple[str, tuple[str, str]]] = set()
    for step in STEPS_OF_NETWORKS[task]:
        spy(monkeypatch, step, done, fails_for=broken if step == faulty else None)
    ended: set[tuple[str, tuple[str, str]]] = set()
    if task in LAST_STEPS:
        spy(monkeypatch, LAST_STEPS[task], ended)
    if task == "transfers.drive":
        for _, network in places:
            paying_out(network)

    run(task)

    wanted = {(step, place) for step in STEPS_OF_NETWORKS[task] for place in places}
    assert done == wanted - {(faulty, broken)} - {(step, broken) for step in NEEDED.get(faulty, ())}
    assert bool(ended) == (task in LAST_STEPS)


def spy(
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    done: set[tuple[str, tuple[str, str]]],
    *,
    fails_for: tuple[str, str] | None = None,
) -> None:
    module_name, _, name = target.rpartition(".")
    module = import_module(module_name)
    real = getattr(module, name)

    def step(*given: Any) -> Any:
        if given[:2] == fails_for:
            raise Planted
        done.add((target, given[:2]))
        return real(*given)

    monkeypatch.setattr(module, name, step)


def run(task: str) -> None:
    app.loader.import_default_modules()
    found = app.tasks[task]
    assert isinstance(found, Task)
    found.run()


def paying_out(network: str) -> None:
    sending.stock(network, 10 * sending.COIN)
    sending.ask(network)


# Rows of one network

SHOP = "https://shop.example.com/a"


def two_deposits_of_nobody() -> Outcome:
    """On stellar, without a memo."""
    payment = make_payment(STELLAR)
    for _ in range(2):
        paying.pay_without_memo(payment, "7")
    paying.mine(STELLAR, paying.BLOCKS_UNTIL_FINAL[STELLAR])
    paying.read(STELLAR)
    first, second = Deposit.objects.order_by("pk")
    return first.pk, lambda: Deposit.objects.exclude(booked_to="").filter(pk=second.pk).exists()


def two_windows_over() -> Outcome:
    """Of payments on two networks."""
    payments = [make_payment(network) for network in (ETHEREUM, POLYGON)]
    for payment in payments:
        end_window(payment)
        paying.assess(payment)  # tells of the moved window
        paying.mine(payment.network)
        paying.read(payment.network)
    return payments[0].pk, lambda: paying.now(payments[1]).status == "expired"


def two_paid() -> Outcome:
    payments = [make_payment(STELLAR) for _ in range(2)]
    for payment in payments:
        paying.pay(payment)
    paying.mine(STELLAR)
    paying.read(STELLAR)
    return payments[0].pk, lambda: paying.now(payments[1]).status == "completed"


def two_coins_to_sweep() -> Outcome:
    for coin in ("USDC", "USDT"):
        paying.pay_and_confirm(make_payment(ETHEREUM, coin))
    return "USDC", lambda: list(Sweep.objects.values_list("asset", flat=True)) == ["USDT"]


def two_sweeps_to_book() -> Outcome:
    two_coins_to_sweep()
    run("payments.sweep")
    sending.finish(ETHEREUM)
    first, second = Sweep.objects.order_by("pk")
    return first.pk, lambda: Sweep.objects.get(pk=second.pk).booked_at is not None


def two_refunds_to_resolve() -> Outcome:
    first, second = [refunding.ask(refunding.paid()) for _ in range(2)]
    return first.pk, lambda: refunding.fresh(second).payout is not None


def two_refunds_to_follow() -> Outcome:
    first, second = [refunding.ask(refunding.paid(), destination=refunding.wallet()) for _ in range(2)]
    sending.drive(STELLAR)
    return first.pk, lambda: refunding.fresh(second).status == RefundStatus.PROCESSING


def two_rows_of_a_file() -> Outcome:
    merchant = make_merchant()
    batch = preview(*(refunding.paid(merchant=merchant) for _ in range(2)))
    confirm_batch(batch, confirmed_by="jo@example.com")
    first, second = batch.rows.order_by("id")
    return first.pk, lambda: batch.rows.get(pk=second.pk).refund is not None


def two_schedules() -> Outcome:
    """Of two merchants whose day is over."""
    merchants = sorted([make_merchant(), make_merchant()], key=lambda merchant: merchant.pk)
    Merchant.objects.update(created_at=timezone.now() - timedelta(days=3))
    return merchants[0].pk, lambda: SettlementRun.objects.filter(merchant=merchants[1]).exists()


def two_settlements() -> Outcome:
    settling.stock_treasury("500")
    made = []
    for _ in range(2):
        merchant = make_merchant()
        settling.earn(merchant)
        made.append(settling.settle_one(merchant))
    return made[0].pk, lambda: settling.fresh(made[1]).payout_id is not None


def two_disabled_endpoints() -> Outcome:
    first, second = (endpoint_at(SHOP, make_merchant()) for _ in range(2))
    for endpoint in (first, second):
        disable_endpoint(endpoint=endpoint, reason=DisabledReason.GONE)
    return first.pk, lambda: not Endpoint.objects.get(pk=second.pk).is_mail_due


Outcome = tuple[Any, Callable[[], bool]]
"""What the fault is about, and whether the other one has got on."""

STEPS_OF_ROWS: list[tuple[str, str, Callable[[], Outcome]]] = [
    ("payments.watch_networks", "payments.deposits.unattributed._reason", two_deposits_of_nobody),
    ("payments.assess_due", "payments.deposits.crediting._assess", two_paid),
    ("payments.expire_due", "payments.deposits.crediting.request_assessment", two_windows_over),
    ("payments.sweep", "payments.treasury.sweeping._choose", two_coins_to_sweep),
    ("payments.sweep", "payments.treasury.sweeping._sign", two_coins_to_sweep),
    ("payments.sweep", "payments.treasury.sweep_booking._read", two_sweeps_to_book),
    ("payments.sweep", "payments.treasury.sweep_booking._book", two_sweeps_to_book),
    ("refunds.resolve_destinations", "refunds.tasks.resolve_destination", two_refunds_to_resolve),
    ("transfers.follow_payouts", "payments.transfers.owners._follow", two_refunds_to_follow),
    ("refunds.make_batches", "refunds.tasks.make_row", two_rows_of_a_file),
    ("settlements.run_due", "settlements.due_runs.due_period", two_schedules),
    ("settlements.run_due", "settlements.due_runs.run_scheduled", two_schedules),
    ("settlements.advance_due", "settlements.payouts.handover.advance", two_settlements),
    ("webhooks.mail_disabled", "webhooks.mailing._text", two_disabled_endpoints),
]
"""What a task does for each of many, and two of them."""


@pytest.mark.parametrize(("task", "faulty", "make_two"), STEPS_OF_ROWS, ids=[step for _, step, _ in STEPS_OF_ROWS])
def test_one_whose_step_fails_keeps_the_other_from_nothing(
    monkeypatch: pytest.MonkeyPatch, task: str, faulty: str, make_two: Callable[[], Outcome]
) -> None:
    poisoned, other_got_on = make_two()
    assert not other_got_on()
    plant(monkeypatch, faulty, about=poisoned)
    run(task)
    assert other_got_on()


@pytest.mark.parametrize(
    "faulty", ["webhooks.sending.preparing.render_json", "webhooks.sending.preparing._make_target"]
)
def test_an_event_that_cannot_be_prepared_is_a_failed_attempt_and_others_are_sent(
    monkeypatch: pytest.MonkeyPatch, faulty: str
) -> None:
    merchant, other = make_merchant(), make_merchant()
    endpoint_at(SHOP, merchant), endpoint_at(SHOP, other)
    [poisoned], [good] = happen(merchant), happen(other)
    fan_out()
    deliveries = [Delivery.objects.get(event=event) for event in (poisoned, good)]
    due = [DueDelivery(each.pk, each.endpoint_id, each.event_id, False, "1") for each in deliveries]
    plant(monkeypatch, faulty, about=poisoned.public_id if "render" in faulty else deliveries[0].endpoint_id)
    first, second = Preparation().prepare(due, now=timezone.now())
    assert first.target.problem.startswith("Ballast could not ")
    assert (second.target.problem, second.message.id) == ("", good.public_id)


def test_an_event_that_cannot_be_fanned_out_stands_before_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    merchant = make_merchant()
    endpoint_at(SHOP, merchant)
    poisoned, good = happen(merchant, 2)
    plant(monkeypatch, "webhooks.sending.fan_out._deliveries_of", about=poisoned.pk)
    assert fan_out() == 1
    assert [delivery.event_id for delivery in Delivery.objects.all()] == [good.pk]
    assert Event.objects.get(is_fanned_out=False) == poisoned


def test_every_record_that_has_a_payout_follows_it() -> None:
    """A room that asks for payouts and registers nothing would never see them end."""
    followed = {owners.due().model for owners in _ROOMS.values()}
    with_payout = {
        model
        for model in apps.get_models()
        if model._meta.app_label != "transfers" and any(field.related_model is Payout for field in model._meta.fields)
    }
    assert followed == with_payout
