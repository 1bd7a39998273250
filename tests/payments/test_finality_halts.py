"""Outages, and networks that stand still until a person has looked."""

from __future__ import annotations

from functools import partial

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.four_eyes.models import Proposal, ProposalStatus
from merchants.four_eyes.services import agree
from merchants.ledger import stops
from merchants.ledger.models import Stop
from payments.chains import registry
from payments.chains.base import Cursor
from payments.chains.errors import NetworkUnavailable
from payments.chains.simulated import control
from payments.chains.simulated.adapter import SimulatedChain
from payments.deposits import crediting
from payments.deposits.finality_halts import clear_halt, propose_clearing
from payments.deposits.models import ScanCursor
from payments.deposits.watching import watch_network
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
from tests.stopping import stands, stop_payouts

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
    assert (cursor.version, cursor.halted_at) == (version, None)
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
    assert cursor.halted_at is not None
    assert cursor.cursor is not None
    assert cursor.last_error.startswith(f"The final block {cursor.cursor['final']} of {network} is ")

    # Nothing is credited, and nobody is asked to pay into the dark.
    confirm(payment)
    assert (now(payment).status, books(payment)) == ("created", {})
    assert now(payment).assess_at is not None
    with pytest.raises(NetworkUnavailable) as refusal:
        make_payment(network)
    assert (refusal.value.code, refusal.value.param) == ("network_unavailable", "network")
    assert assess(payment).status == "created"
    assert [finding.subject for finding in findings()["I15"]] == [f"network {network} (sandbox)"]

    clear_halt(environment=SANDBOX, network=network, cleared_by="Ada")
    payment = confirm(payment)
    assert (payment.status, payment.deposit_count) == ("completed", 1)
    assert cursor_of(network).halted_at is None
    assert books(payment) == {HELD_IN[network]: payment.due, "merchant:available": payment.due}
    make_payment(network)
    assert_all_is_well()


def halt(network: str) -> None:
    """A final block changes."""
    pay(make_payment(network))
    mine(network)
    read(network)
    control.reorg(network, control.deepest_reorg(network) + 1, "kept", force=True)
    watch()
    assert cursor_of(network).halted_at is not None


@pytest.mark.parametrize("network", NETWORKS)
def test_a_halt_stops_payouts_too_until_it_is_cleared(network: str) -> None:
    mine(network, 7)
    halt(network)
    [breaker] = Stop.objects.all()
    [halted] = stops.elsewhere()
    assert (halted.what, halted.reason) == (f"reading of {cursor_of(network)}", cursor_of(network).last_error)
    assert (breaker.network, breaker.lifted_at) == (network, None)
    assert breaker.reason == f"The network is halted: {cursor_of(network).last_error}"
    clear_halt(environment=SANDBOX, network=network, cleared_by="Ada")
    breaker.refresh_from_db()
    assert (breaker.lifted_by, breaker.lifted_at is not None) == ("Ada", True)
    assert_all_is_well()


@pytest.mark.django_db(transaction=True)
def test_the_network_is_asked_before_the_transaction_of_who_agrees(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SANDBOX_OPERATORS_TO_DECIDE = 2
    mine(ETHEREUM, 7)
    halt(ETHEREUM)
    ask, asked = SimulatedChain.cursor_at, []

    def cursor_at(chain: SimulatedChain, height: int) -> Cursor:
        asked.append(connection.in_atomic_block)
        return ask(chain, height)

    monkeypatch.setattr(SimulatedChain, "cursor_at", cursor_at)
    ada, bob = (make_user(f"{name}@example.com", is_staff=True, is_superuser=True) for name in ("ada", "bob"))
    proposal = propose_clearing(cursor_of(ETHEREUM), reason="", by=ada)
    assert agree(proposal, by=bob).status == ProposalStatus.DONE
    assert (set(asked), cursor_of(ETHEREUM).halted_at) == ({False}, None)


def test_payouts_that_were_stopped_for_another_reason_stay_stopped() -> None:
    mine(ETHEREUM, 7)
    stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="I14: coins are missing")
    halt(ETHEREUM)
    clear_halt(environment=SANDBOX, network=ETHEREUM, cleared_by="Ada")
    assert cursor_of(ETHEREUM).halted_at is None
    assert stands(environment=SANDBOX, network=ETHEREUM)
    assert Stop.objects.get().reason == "I14: coins are missing"


def test_a_halt_is_cleared_by_two() -> None:
    mine(ETHEREUM, 7)
    halt(ETHEREUM)
    first, second = make_user(is_staff=True, is_superuser=True), make_user(is_staff=True, is_superuser=True)
    sent = {"action": "let_go_on", "_selected_action": [cursor_of(ETHEREUM).pk], "confirmed": "yes", "note": "Looked."}
    for operator in (first, first):
        client = Client()
        client.force_login(operator)
        page = client.post(reverse("admin:payments_scancursor_changelist"), sent, follow=True)
        assert "another operator must agree" in page.text
        assert (cursor_of(ETHEREUM).halted_at is None, stands(environment=SANDBOX, network=ETHEREUM)) == (False, True)
    client.force_login(second)
    page = client.post(reverse("admin:payments_scancursor_changelist"), sent, follow=True)
    assert [str(each) for each in page.context["messages"]] == [f"{cursor_of(ETHEREUM)} goes on."]
    assert (cursor_of(ETHEREUM).halted_at, stands(environment=SANDBOX, network=ETHEREUM)) == (None, False)
    assert Stop.objects.get().lifted_by == f"{first.email}, {second.email}"
    assert Proposal.objects.filter(status=ProposalStatus.DONE).count() == 1


def test_a_halted_network_is_read_again_from_a_day_before(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 6 * 3600
    mine(ETHEREUM, 20)
    halt(ETHEREUM)
    final = cursor_of(ETHEREUM).finalized_height
    clear_halt(environment=SANDBOX, network=ETHEREUM, cleared_by="Ada")
    assert cursor_of(ETHEREUM).cursor == registry.chain(SANDBOX, ETHEREUM).cursor_at(final - 4)


def test_a_network_that_does_not_answer_stays_halted() -> None:
    mine(ETHEREUM, 7)
    halt(ETHEREUM)
    control.outage(ETHEREUM, 60)
    with pytest.raises(NetworkUnavailable, match="ethereum must answer"):
        clear_halt(environment=SANDBOX, network=ETHEREUM, cleared_by="Ada")
    assert cursor_of(ETHEREUM).halted_at is not None
    assert stands(environment=SANDBOX, network=ETHEREUM)


def test_the_other_networks_go_on_while_one_is_halted() -> None:
    watch()
    ScanCursor.objects.filter(network=ETHEREUM).update(halted_at=timezone.now())
    version = cursor_of(ETHEREUM).version
    payment = make_payment(STELLAR)
    assert pay_and_confirm(payment).status == "completed"
    assert cursor_of(ETHEREUM).version == version


def test_a_network_that_is_not_halted_keeps_its_place() -> None:
    mine_and_watch(STELLAR)
    before = cursor_of(STELLAR).cursor
    clear_halt(environment=SANDBOX, network=STELLAR, cleared_by="Ada")
    assert cursor_of(STELLAR).cursor == before


def test_credited_money_that_a_final_reorganisation_took_is_undone_once_the_halt_is_cleared() -> None:
    payment = make_payment(STELLAR)
    transaction_hash = pay(payment)
    payment = confirm(payment)
    assert payment.status == "completed"
    control.reorg(STELLAR, 1, "dropped", force=True)
    watch()
    assert (now(payment).status, cursor_of(STELLAR).halted_at is None) == ("completed", False)
    clear_halt(environment=SANDBOX, network=STELLAR, cleared_by="Ada")
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
    assert cursor_of(ETHEREUM).halted_at is not None

    clear_halt(environment=SANDBOX, network=ETHEREUM, cleared_by="Ada")
    monkeypatch.setattr(registry, "SimulatedChain", partial(SimulatedChain, scan_transactions=1))
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
    monkeypatch.setattr(registry, "SimulatedChain", partial(SimulatedChain, scan_transactions=1))
    watch_network(SANDBOX, STELLAR)
    assert cursor_of(STELLAR).read_until == ended
    assert assess(payment).status == "expired"
