"""Every scenario of the sandbox's payer, on every network where it can happen: what becomes of the payment."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
from django.test import override_settings

from config.errors import NotFound
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedTransaction
from payments.checkout.simulator import SCENARIOS, ScenarioNotPossible, possible_scenarios, simulate_payment
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.services import cancel_payment
from tests.factories import api_client, make_key, make_merchant
from tests.payments.scenes import (
    ETHEREUM,
    HELD_IN,
    NETWORKS,
    POLYGON,
    PRODUCTION,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    books,
    confirm,
    discrepancies,
    end_window,
    events,
    make_payment,
    mine_and_watch,
    now,
    units,
    watch,
)

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Expected:
    """What a payment of 100 becomes once everything is final. Amounts as people say them."""

    status: str
    events: tuple[str, ...]
    books: dict[str, str]
    reasons: tuple[str, ...] = ()
    received: str = "100.000000"
    discrepancies: tuple[tuple[str, str], ...] = ()


PAID = ("payment.created", "payment.completed")
"""Where a deposit is final as soon as it is seen."""

EXPECTED = {
    "exact": Expected("completed", PAID, {"{coins}": "100", "merchant:available": "100"}),
    "from_exchange": Expected("completed", PAID, {"{coins}": "100", "merchant:available": "100"}),
    "memo_conflict": Expected("completed", PAID, {"{coins}": "100", "merchant:available": "100"}),
    "underpaid": Expected(
        "underpaid",
        ("payment.created", "payment.underpaid"),
        {"{coins}": "50", "payment": "50"},
        reasons=("underpaid",),
        received="50.000000",
    ),
    "overpaid": Expected(
        "completed",
        (*PAID, "payment.overpaid"),
        {"{coins}": "125", "merchant:available": "100", "suspense:overpaid": "25"},
        reasons=("overpaid",),
        received="125.000000",
        discrepancies=(("overpaid", "25"),),
    ),
    "two_transfers": Expected("completed", PAID, {"{coins}": "100", "merchant:available": "100"}),
    "late": Expected(
        "expired",
        ("payment.created", "payment.expired", "payment.late"),
        {"{coins}": "100", "suspense:late": "100"},
        reasons=("late",),
        received="0.000000",
        discrepancies=(("late", "100"),),
    ),
    "wrong_token": Expected(
        "created",
        ("payment.created", "payment.updated"),
        {"{network} {other} {coins}": "100", "{network} {other} suspense:wrong_token": "100"},
        reasons=("wrong_token",),
        received="0.000000",
        discrepancies=(("wrong_token", "100"),),
    ),
}


def expected_books(payment: Payment, expected: Expected) -> dict[str, int]:
    return {
        name.format(network=payment.network, other="USDT", coins=HELD_IN[payment.network]): units(payment, amount)
        for name, amount in expected.books.items()
    }


OF_STELLAR = {"from_exchange", "memo_conflict"}


@pytest.mark.parametrize(
    ("scenario", "network"),
    [pair for pair in product(EXPECTED, NETWORKS) if pair[0] not in OF_STELLAR or pair[1] == STELLAR],
)
def test_a_scenario_ends_as_its_description_says(scenario: str, network: str) -> None:
    expected = EXPECTED[scenario]
    payment = make_payment(network)
    transaction_hash = simulate_payment(payment, scenario)
    payment = confirm(payment)
    assert payment.status == expected.status
    assert payment.status_reasons == list(expected.reasons)
    assert tuple(events(payment)) == expected.events
    assert payment.received == units(payment, expected.received)
    assert books(payment) == expected_books(payment, expected)
    assert discrepancies(payment) == [(kind, units(payment, amount)) for kind, amount in expected.discrepancies]
    assert {deposit.transaction_hash for deposit in payment.deposits.all()} == {transaction_hash}
    assert_all_is_well()


@pytest.mark.parametrize("network", NETWORKS)
def test_two_parts_make_a_payment_whole(network: str) -> None:
    payment = make_payment(network)
    simulate_payment(payment, "two_parts")
    mine_and_watch(network, 3)
    part = now(payment)
    assert part.status == "underpaid"
    assert books(part) == {HELD_IN[network]: units(part, "50"), "payment": units(part, "50")}
    mine_and_watch(network)
    payment = confirm(payment)
    assert payment.status == "completed"
    assert payment.status_reasons == []
    assert books(payment) == {HELD_IN[network]: units(payment, "100"), "merchant:available": units(payment, "100")}
    assert events(payment)[:2] == ["payment.created", "payment.underpaid"]
    assert events(payment)[-1] == "payment.completed"
    assert discrepancies(payment) == []
    assert_all_is_well()


@pytest.mark.parametrize(("network", "other"), [(ETHEREUM, POLYGON), (POLYGON, ETHEREUM)])
def test_money_on_the_wrong_network_is_found_and_held(network: str, other: str) -> None:
    payment = make_payment(network, "DAI", "12.5")
    simulate_payment(payment, "wrong_network")
    mine_and_watch(network, 10)
    payment = confirm(payment, on=other)
    assert payment.status == "created"
    assert payment.status_reasons == ["wrong_network"]
    assert events(payment) == ["payment.created", "payment.updated"]
    held = 12_500_000_000_000_000_000
    assert books(payment) == {
        f"{other} DAI chain:deposit": held,
        f"{other} DAI suspense:wrong_network": held,
    }
    assert discrepancies(payment) == [("wrong_network", held)]
    assert_all_is_well()


def test_no_other_network_shares_stellar_s_addresses() -> None:
    assert_not_possible(make_payment(STELLAR), "wrong_network", "No other network shares the addresses of Stellar")


def test_money_without_its_memo_is_nobody_s_until_a_person_finds_out() -> None:
    payment = make_payment(STELLAR)
    simulate_payment(payment, "missing_memo")
    payment = confirm(payment)
    assert (payment.status, payment.deposit_count, events(payment)) == ("created", 0, ["payment.created"])
    held = units(payment, "100")
    assert books(payment) == {"chain:hot": held, "suspense:no_memo": held}
    assert discrepancies(payment) == []  # it names no payment
    assert_all_is_well()


@pytest.mark.parametrize("network", [ETHEREUM, POLYGON])
def test_only_stellar_has_memos_to_forget(network: str) -> None:
    assert_not_possible(make_payment(network), "missing_memo", "Payments on this network need no memo.")


@pytest.mark.parametrize(
    ("network", "before"),
    [
        # Credited with the third block, undone with the sixth.
        (ETHEREUM, ["payment.pending", "payment.completed"]),
        # Polygon credits nothing a reorganisation could undo.
        (POLYGON, ["payment.pending"]),
    ],
)
def test_a_reorganisation_undoes_the_transfer_and_it_comes_back(network: str, before: list[str]) -> None:
    payment = make_payment(network)
    simulate_payment(payment, "reorg")
    for _ in range(12):
        mine_and_watch(network)
        assert_all_is_well()
    payment = now(payment)
    assert payment.status == "completed"
    after = ["payment.reversed", "payment.pending", "payment.completed"]
    assert events(payment) == ["payment.created", *before, *after]
    assert payment.status_reasons == ["reversed"]
    assert books(payment) == {HELD_IN[network]: units(payment, "100"), "merchant:available": units(payment, "100")}
    assert discrepancies(payment) == []


def test_stellar_is_never_reorganised() -> None:
    assert_not_possible(make_payment(STELLAR), "reorg", "Every block of this network is final at once.")


@pytest.mark.parametrize("network", NETWORKS)
def test_money_sent_during_an_outage_is_credited_after_it(network: str) -> None:
    payment = make_payment(network)
    watch()
    simulate_payment(payment, "outage")
    payment = confirm(payment)
    cursor = ScanCursor.objects.get(network=network)
    assert (payment.status, payment.deposit_count) == ("created", 0)
    assert cursor.failing_since is not None
    assert cursor.last_error == f"No provider of {network} answers."

    control.outage(network, 0)
    payment = confirm(payment)
    cursor = ScanCursor.objects.get(network=network)
    assert (payment.status, tuple(events(payment))) == ("completed", PAID)
    assert cursor.failing_since is None
    assert cursor.last_error == ""
    assert books(payment) == {HELD_IN[network]: units(payment, "100"), "merchant:available": units(payment, "100")}
    assert_all_is_well()


def test_every_scenario_has_a_test_here() -> None:
    elsewhere = {"two_parts", "wrong_network", "missing_memo", "reorg", "outage"}
    assert set(SCENARIOS) == set(EXPECTED) | elsewhere


@pytest.mark.parametrize("scenario", ["exact", "underpaid", "overpaid", "two_parts", "two_transfers"])
def test_a_scenario_pays_what_is_still_missing(scenario: str) -> None:
    payment = make_payment(STELLAR)
    simulate_payment(payment, "underpaid")
    confirm(payment)
    simulate_payment(payment, scenario)
    mine_and_watch(STELLAR, 1)
    mine_and_watch(STELLAR, 5)
    received = {"exact": "100", "underpaid": "75", "overpaid": "112.5", "two_parts": "100", "two_transfers": "100"}
    assert now(payment).received == units(payment, received[scenario])
    assert_all_is_well()


def test_paying_a_completed_payment_pays_it_once_more() -> None:
    payment = make_payment(STELLAR)
    for _ in range(2):
        simulate_payment(payment, "exact")
        confirm(payment)
    payment = now(payment)
    assert (payment.status, payment.received) == ("completed", units(payment, "200"))
    assert discrepancies(payment) == [("overpaid", units(payment, "100"))]
    assert_all_is_well()


@pytest.mark.parametrize("end", ["completed", "expired", "cancelled"])
@pytest.mark.parametrize("scenario", ["underpaid", "overpaid", "two_parts", "two_transfers", "reorg", "outage"])
def test_what_makes_no_sense_for_a_payment_that_is_over_is_refused(scenario: str, end: str) -> None:
    payment = make_payment(ETHEREUM)
    if end == "completed":
        simulate_payment(payment, "exact")
        confirm(payment)
    elif end == "expired":
        end_window(payment)
    else:
        cancel_payment(payment)
    possible = "exact, late, wrong_token, wrong_network, missing_memo"
    message = f"This payment is {end}: {scenario} cannot happen to it, only {possible}."
    assert_not_possible(now(payment), scenario, message)
    assert list(possible_scenarios(now(payment))) == possible.split(", ")


def test_the_late_scenario_ends_an_underpaid_window_too() -> None:
    payment = make_payment(STELLAR)
    simulate_payment(payment, "underpaid")
    confirm(payment)
    simulate_payment(payment, "late")
    confirm(payment)
    payment = now(payment)
    assert payment.status == "underpaid"
    assert payment.status_reasons == ["late", "underpaid"]
    half = units(payment, "50")
    assert books(payment) == {"chain:hot": 2 * half, "suspense:underpaid": half, "suspense:late": half}
    assert sorted(discrepancies(payment)) == [("late", half), ("underpaid", half)]
    assert_all_is_well()


def test_the_smallest_amount_can_be_halved_and_a_single_unit_cannot() -> None:
    payment = make_payment(ETHEREUM, amount="0.01")
    assert payment.due == 10_000
    simulate_payment(payment, "two_transfers")
    assert confirm(payment).status == "completed"

    short = make_payment(ETHEREUM, amount="0.01")
    Payment.objects.filter(pk=short.pk).update(due=1)
    assert_not_possible(now(short), "underpaid", "The amount is too small to be divided.")


def assert_not_possible(payment: Payment, scenario: str, message: str) -> None:
    before = SimulatedTransaction.objects.count()
    with pytest.raises(ScenarioNotPossible) as refusal:
        simulate_payment(payment, scenario)
    assert message in refusal.value.message
    assert SimulatedTransaction.objects.count() == before
    assert now(payment).status == payment.status


# Over HTTP.


def simulate(payment: Payment, body: Any) -> Any:
    client = api_client(make_key(payment.merchant))
    return client.call("POST", f"/payments/{payment.public_id}/simulate", json_body=body)


def test_the_reply_says_what_to_expect() -> None:
    payment = make_payment(STELLAR)
    reply = simulate(payment, {"scenario": "exact"})
    assert reply.status_code == 200
    body = reply.json()
    sent = SimulatedTransaction.objects.exclude(sequence=None).get()
    assert body["payment"]["id"] == payment.public_id
    assert body["payment"]["status"] == "created"
    del body["payment"]
    assert body == {
        "object": "simulation",
        "scenario": "exact",
        "description": "The payer sends exactly what is due or still missing.",
        "transactionHash": sent.transaction_hash,
    }


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "missing_parameter", "scenario"),
        ({"scenario": "robbery"}, "invalid_parameter", "scenario"),
        ({"scenario": "exact", "amount": 5}, "unknown_parameter", "amount"),
        ({"scenario": "reorg"}, "scenario_not_possible", "scenario"),
        ({"scenario": "wrong_network"}, "scenario_not_possible", "scenario"),
    ],
)
def test_what_cannot_be_acted_out_is_refused(body: dict[str, Any], code: str, param: str) -> None:
    payment = make_payment(STELLAR)
    reply = simulate(payment, body)
    assert reply.status_code == 400
    assert (reply.json()["error"]["code"], reply.json()["error"]["param"]) == (code, param)
    assert not SimulatedTransaction.objects.exists()
    assert now(payment).expires_at == payment.expires_at


def test_somebody_else_s_payment_cannot_be_paid() -> None:
    payment = make_payment(STELLAR)
    stranger = api_client(make_key(make_merchant()))
    reply = stranger.call("POST", f"/payments/{payment.public_id}/simulate", json_body={"scenario": "exact"})
    assert (reply.status_code, reply.json()["error"]["message"]) == (404, "No such payment.")
    assert not SimulatedTransaction.objects.exists()


def test_nothing_is_simulated_in_production() -> None:
    payment = make_payment(STELLAR)
    live = api_client(make_key(payment.merchant, PRODUCTION))
    reply = live.call("POST", f"/payments/{payment.public_id}/simulate", json_body={"scenario": "exact"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "resource_missing")

    payment.environment = PRODUCTION
    with pytest.raises(NotFound, match="simulated on the sandbox's simulated networks only"):
        simulate_payment(payment, "exact")
    with pytest.raises(RuntimeError, match="time passes by itself in production"):
        end_window(payment)
    assert not SimulatedTransaction.objects.exists()
    assert now(payment).expires_at == payment.expires_at


def test_nothing_is_simulated_on_a_real_test_network() -> None:
    payment = make_payment(STELLAR)
    with override_settings(SANDBOX_CHAIN="testnet"), pytest.raises(NotFound):
        simulate_payment(payment, "exact")
    assert not SimulatedTransaction.objects.exists()
    assert payment.environment == SANDBOX
