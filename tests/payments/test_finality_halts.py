"""Outages, and networks that stand still until a person has looked."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from merchants.four_eyes.models import Proposal, ProposalStatus
from merchants.four_eyes.services import agree
from merchants.ledger import stops
from merchants.ledger.models import Stop
from payments.chains import network_table, registry
from payments.chains.errors import NetworkUnavailable
from payments.chains.protocol.scans import Cursor
from payments.chains.simulated import control
from payments.chains.simulated.adapter import SimulatedChain
from payments.chains.simulated.reading import Reading
from payments.deposits import crediting
from payments.deposits.models import ScanCursor
from payments.deposits.watching import watch_network
from payments.models import Deposit
from tests.factories import make_user
from tests.payments.scenes import (
    ETHEREUM,
    HELD_IN,
    NETWORKS,
    POLYGON,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    assess,
    books,
    confirm,
    cursor_of,
    deposit_of,
    end_window,
    events,
    findings,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    read,
    watch,
)
from tests.stopping import halt, is_halted, lift_halt, stands, stop_payouts

pytestmark = pytest.mark.django_db


def test_an_outage_is_recorded_once_and_healed() -> None:
    watch()
    version = cursor_of(POLYGON).version
    control.outage(POLYGON, 3600)
    watch()
    since = cursor_of(POLYGON).failing_since
    watch()
    cursor = cursor_of(POLYGON)
    assert since is not None
    assert (cursor.failing_since, cursor.last_error) == (since, "No provider of polygon answers.")
    assert (cursor.version, is_halted(POLYGON)) == (version, False)
    control.outage(POLYGON, 0)
    watch()
    cursor = cursor_of(POLYGON)
    assert (cursor.failing_since, cursor.last_error, cursor.version) == (None, "", version + 1)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_changed_final_block_halts_crediting_until_a_person_has_looked(network: str) -> None:
    payment = make_payment(network)
    confirm(payment)
    pay(payment)
    mine(network)
    read(network)
    control.reorg(network, control.deepest_reorg(network) + 2, "moved", force=True)
    watch()
    cursor = cursor_of(network)
    assert cursor.cursor is not None
    assert Stop.objects.get().reason.startswith(f"The final block {cursor.cursor['final']} of {network} is ")

    # Nothing is credited, and nobody is asked to pay into the dark.
    confirm(payment)
    assert (now(payment).status, books(payment)) == ("created", {})
    assert now(payment).assess_at is not None
    with pytest.raises(NetworkUnavailable) as refusal:
        make_payment(network)
    assert (refusal.value.code, refusal.value.param) == ("network_unavailable", "network")
    assert assess(payment).status == "created"
    assert [finding.subject for finding in findings()["I15"]] == [f"network {network} (sandbox)"]

    lift_halt(network)
    payment = confirm(payment)
    assert (payment.status, payment.deposit_count) == ("completed", 1)
    assert not is_halted(network)
    assert books(payment) == {HELD_IN[network]: payment.due, "merchant:available": payment.due}
    make_payment(network)
    assert_all_is_well()


def change_a_final_block(network: str) -> None:
    """A final block changes."""
    pay(make_payment(network))
    mine(network)
    read(network)
    control.reorg(network, control.deepest_reorg(network) + 1, "kept", force=True)
    watch()
    assert is_halted(network)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_halt_stops_payouts_too_until_it_is_cleared(network: str) -> None:
    mine(network, 7)
    change_a_final_block(network)
    halted = Stop.objects.get()
    assert (str(halted), list(stops.elsewhere())) == (f"reading of {cursor_of(network)}", [])
    assert not stops.may_leave(SANDBOX, network)
    assert not stop_payouts(environment=SANDBOX, network=network, reason="reconcile has found the halt")
    lift_halt(network)
    assert stops.may_leave(SANDBOX, network)
    assert_all_is_well()


@pytest.mark.django_db(transaction=True)
def test_the_network_is_asked_before_the_transaction_of_who_agrees(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SANDBOX_OPERATORS_TO_DECIDE = 2
    mine(ETHEREUM, 7)
    change_a_final_block(ETHEREUM)
    ask, asked = Reading.cursor_at, []

    def cursor_at(reading: Reading, height: int) -> Cursor:
        asked.append(connection.in_atomic_block)
        return ask(reading, height)

    monkeypatch.setattr(Reading, "cursor_at", cursor_at)
    ada, bob = (make_user(f"{name}@example.com", is_staff=True, is_superuser=True) for name in ("ada", "bob"))
    proposal = stops.propose_lifting(Stop.objects.get(), by=ada)
    assert agree(proposal, by=bob).status == ProposalStatus.DONE
    assert (set(asked), is_halted(ETHEREUM)) == ({False}, False)


def test_payouts_that_were_stopped_for_another_reason_stay_stopped() -> None:
    mine(ETHEREUM, 7)
    stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="I14: coins are missing")
    change_a_final_block(ETHEREUM)
    lift_halt(ETHEREUM)
    assert not is_halted(ETHEREUM)
    assert stands(environment=SANDBOX, network=ETHEREUM)
    assert Stop.objects.standing().get().reason == "I14: coins are missing"


def test_a_halt_is_cleared_by_two() -> None:
    mine(ETHEREUM, 7)
    change_a_final_block(ETHEREUM)
    first, second = make_user(is_staff=True, is_superuser=True), make_user(is_staff=True, is_superuser=True)
    page = reverse("admin:ledger_stop_changelist")
    sent = {"action": "lift", "_selected_action": [Stop.objects.get().pk], "confirmed": "yes", "note": "Looked."}
    for operator in (first, first):
        client = Client()
        client.force_login(operator)
        assert "another operator must agree" in client.post(page, sent, follow=True).text
        assert is_halted(ETHEREUM)
    client.force_login(second)
    said = client.post(page, sent, follow=True).context["messages"]
    assert [str(each) for each in said] == [f"reading of {cursor_of(ETHEREUM)}: goes on."]
    assert not is_halted(ETHEREUM)
    assert Stop.objects.get().lifted_by == f"{first.email}, {second.email}"
    assert Proposal.objects.filter(status=ProposalStatus.DONE).count() == 1


def test_a_halted_network_is_read_again_from_a_day_before(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 6 * 3600
    mine(ETHEREUM, 20)
    change_a_final_block(ETHEREUM)
    final = cursor_of(ETHEREUM).finalized_height
    lift_halt(ETHEREUM)
    assert cursor_of(ETHEREUM).cursor == registry.chain(SANDBOX, ETHEREUM).reading.cursor_at(final - 4)


def test_a_network_that_does_not_answer_stays_halted() -> None:
    mine(ETHEREUM, 7)
    change_a_final_block(ETHEREUM)
    control.outage(ETHEREUM, 60)
    with pytest.raises(NetworkUnavailable, match="ethereum must answer"):
        lift_halt(ETHEREUM)
    assert is_halted(ETHEREUM)


def test_the_other_networks_go_on_while_one_is_halted() -> None:
    watch()
    halt(ETHEREUM)
    version = cursor_of(ETHEREUM).version
    payment = make_payment(STELLAR)
    assert pay_and_confirm(payment).status == "completed"
    assert cursor_of(ETHEREUM).version == version


def test_what_was_agreed_falls_when_the_halt_was_lifted_or_read_on_since() -> None:
    mine(ETHEREUM, 7)
    change_a_final_block(ETHEREUM)
    ada, bob = (make_user(is_staff=True, is_superuser=True) for _ in range(2))
    first = stops.propose_lifting(found := Stop.objects.get(), by=ada)
    stops.lift_stop(found, by="two others")
    halt(ETHEREUM)
    assert agree(first, by=bob).status == ProposalStatus.FALLEN
    of_the_version_before = stops.propose_lifting(Stop.objects.standing().get(), by=ada)
    Proposal.objects.filter(pk=of_the_version_before.pk).update(before={"halted_at": "2026-01-01"})
    assert agree(of_the_version_before, by=bob).status == ProposalStatus.FALLEN
    assert is_halted(ETHEREUM)


def test_a_scan_that_another_watcher_has_halted_meanwhile_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    mine_and_watch(STELLAR)
    pay(make_payment(STELLAR))
    mine(STELLAR)
    scan, before = Reading.scan, cursor_of(STELLAR).version

    def halted_meanwhile(reading: Reading, *args: Any) -> Any:
        found = scan(reading, *args)
        halt(STELLAR)
        return found

    monkeypatch.setattr(Reading, "scan", halted_meanwhile)
    assert watch_network(SANDBOX, STELLAR) is False
    assert (cursor_of(STELLAR).version, Deposit.objects.count()) == (before, 0)


def test_credited_money_that_a_final_reorganisation_took_is_undone_once_the_halt_is_cleared() -> None:
    payment = make_payment(STELLAR)
    transaction_hash = pay(payment)
    payment = confirm(payment)
    assert payment.status == "completed"
    control.reorg(STELLAR, 1, "dropped", force=True)
    watch()
    assert (now(payment).status, is_halted(STELLAR)) == ("completed", True)
    lift_halt(STELLAR)
    watch()
    payment = now(payment)
    assert (payment.status, deposit_of(transaction_hash).status, books(payment)) == ("created", "orphaned", {})
    assert events(payment)[-1] == "payment.reversed"
    assert_all_is_well()


def test_nothing_is_confirmed_by_blocks_that_are_still_to_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    payment, other = make_payment(ETHEREUM), make_payment(ETHEREUM)
    mine(ETHEREUM, 4)
    pay(other)
    mine(ETHEREUM, 8)
    transaction_hash = pay(payment)
    mine_and_watch(ETHEREUM)
    assert now(payment).status == "pending"
    control.reorg(ETHEREUM, 8, "dropped", only=[transaction_hash], force=True)
    mine_and_watch(ETHEREUM, 3)
    assert is_halted(ETHEREUM)

    lift_halt(ETHEREUM)
    monkeypatch.setattr(network_table, "SimulatedChain", partial(SimulatedChain, scan_transactions=1))
    assert watch_network(SANDBOX, ETHEREUM) is True
    crediting.assess_due()
    assert now(payment).status == "pending"
    monkeypatch.undo()
    watch()
    assert (now(payment).status, now(other).status) == ("created", "completed")
    assert_all_is_well()


def test_a_window_that_has_ended_stays_ended_while_blocks_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    mine(STELLAR, 3)
    other = make_payment(STELLAR)
    pay(other)
    mine(STELLAR)
    payment = end_window(make_payment(STELLAR))
    assert payment.status == "expired"
    ended = cursor_of(STELLAR).read_until
    ScanCursor.objects.filter(network=STELLAR).update(cursor=None)
    monkeypatch.setattr(network_table, "SimulatedChain", partial(SimulatedChain, scan_transactions=1))
    watch_network(SANDBOX, STELLAR)
    assert cursor_of(STELLAR).read_until == ended
    assert assess(payment).status == "expired"
