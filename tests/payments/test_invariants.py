"""Clean data gives no finding; each kind of damage is found by the invariant that is there for it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config import ids
from merchants.counting import fold_counts
from merchants.ledger.checking import CouldNotCheck, Finding, Scope, registered
from payments import tasks
from payments.chains.simulated import control
from payments.checkout.simulator import SCENARIOS, ScenarioNotPossible, simulate_payment
from payments.models import Payment
from payments.services import cancel_payment
from payments.suspense.acceptance import accept_discrepancy
from tests.factories import make_merchant
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    COINS,
    ETHEREUM,
    NETWORKS,
    POLYGON,
    PRODUCTION,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    end_window,
    findings,
    make_merchant_who,
    make_payment,
    mine,
    now,
    pay,
    pay_and_confirm,
    pay_without_memo,
    watch,
)
from tests.stopping import halt
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db

SEED = 20_260_531


def test_thirty_payments_through_every_scenario_leave_nothing_to_find() -> None:
    chance = random.Random(SEED)
    merchants = [make_merchant(), make_merchant_who(late_payments="accept", payment_tolerance_bps=50)]
    for network in NETWORKS:
        mine(network, 8)
    scenarios = [name for name in SCENARIOS if name != "outage"]
    reached: set[str] = set()
    for number in range(30):
        payment = make_payment(
            chance.choice(list(NETWORKS)),
            chance.choice([*COINS]),
            f"{chance.randint(1, 200_000) / 100:.2f}",
            merchant=chance.choice(merchants),
        )
        if number % 15 == 0:  # some expire and some are underpaid, whatever is drawn
            end_window(payment)
            continue
        if number % 15 == 1:
            simulate_payment(now(payment), "underpaid")
            continue
        if chance.random() < 0.1:
            cancel_payment(payment)
        for _ in range(chance.choice([0, 1, 1, 2])):
            try:
                simulate_payment(now(payment), scenarios[(number + chance.randrange(3)) % len(scenarios)])
            except ScenarioNotPossible:
                continue
        if chance.random() < 0.3:
            for network in NETWORKS:
                mine(network, chance.randint(1, 4))
            watch()
            tasks.expire_due()
    for network in NETWORKS:
        mine(network, 2 * BLOCKS_UNTIL_FINAL[network] + 6)
    watch()
    tasks.expire_due()
    waiting = [each for each in Payment.objects.all() if each.discrepancies.filter(status="open").exists()]
    for payment in waiting[::2]:
        for each in payment.discrepancies.filter(status="open"):
            accept_discrepancy(each, resolved_by="Ada")
    watch()
    fold_counts(batch=50)
    reached = set(Payment.objects.values_list("status", flat=True))
    assert {"created", "completed", "underpaid", "expired", "cancelled"} <= reached
    assert Payment.objects.count() == 30
    assert_all_is_well()


# Damage.


def vandalise(sql: str, *parameters: Any) -> None:
    """Change rows as a superuser could: with every trigger and foreign key asleep."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql, parameters)
        cursor.execute("SET LOCAL session_replication_role = origin")


@pytest.fixture(autouse=True)
def undo() -> Iterator[None]:
    """Damage may leave what no commit would let through: take it back before anything is checked again."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
@populated_once
def paid(undo: None) -> Payment:
    """A completed payment of 100 on ethereum, among others in other states."""
    watch()
    merchant = make_merchant()
    underpaid = make_payment(STELLAR, merchant=merchant)
    pay_and_confirm(underpaid, "60")
    end_window(underpaid)
    pay_and_confirm(make_payment(POLYGON, merchant=merchant), "5", coin="DAI")
    pay_without_memo(make_payment(STELLAR, merchant=merchant), "3")
    end_window(make_payment(STELLAR, merchant=merchant))
    payment = pay_and_confirm(make_payment(ETHEREUM, merchant=merchant))
    assert payment.status == "completed"
    assert_all_is_well()
    return payment


def codes() -> dict[str, list[str]]:
    """What is found, by code: subjects only."""
    return {code: [finding.subject for finding in found] for code, found in findings().items()}


def test_every_invariant_of_payments_is_registered() -> None:
    known = {each.code for each in registered()}
    assert {"I6", "I7", "I8", "I9", "I10", "I12", "I15", "I16", "I17", "C1"} <= known
    assert {"I1", "I2", "I3", "I4", "I5", "I14"} <= known


def test_a_flipped_status_is_found(paid: Payment) -> None:
    vandalise("UPDATE payments_payment SET status = 'created' WHERE id = %s", paid.pk)
    found = findings()
    assert set(found) == {"I8", "C1"}
    assert found["I8"] == [
        Finding(
            f"payment {paid.pk}",
            "released to the merchant only when completed",
            "created, received 100000000 and released 100000000 of 100000000",
            "find out who wrote the status; only services may",
            environment="sandbox",
            network="ethereum",
            key=paid.pk,
        )
    ]


def test_a_payment_completed_by_hand_is_found(paid: Payment) -> None:
    unpaid = make_payment(ETHEREUM)
    vandalise("UPDATE payments_payment SET status = 'completed' WHERE id = %s", unpaid.pk)
    assert codes()["I8"] == [f"payment {unpaid.pk}"]


def test_an_altered_sum_is_found_on_both_sides(paid: Payment) -> None:
    vandalise("UPDATE payments_payment SET received = received + 7 WHERE id = %s", paid.pk)
    found = findings()
    assert set(found) == {"I6"}
    received, clearing = found["I6"]
    assert (received.subject, received.expected, received.actual, received.delta) == (
        f"payment {paid.pk}: received",
        100_000_000,
        100_000_007,
        7,
    )
    assert (clearing.subject, clearing.expected, clearing.actual, clearing.delta) == (
        f"payment {paid.pk}: clearing account",
        7,
        0,
        -7,
    )


@pytest.mark.parametrize("column", ["released", "surplus", "short"])
def test_an_altered_part_of_it_is_found(paid: Payment, column: str) -> None:
    vandalise(f"UPDATE payments_payment SET {column} = {column} + 7 WHERE id = %s", paid.pk)  # noqa: S608
    assert codes() == {"I6": [f"payment {paid.pk}: clearing account"]}


@pytest.mark.parametrize("refunded", [101, 130])
def test_more_refunded_than_was_released_is_found(paid: Payment, refunded: int) -> None:
    surplus = pay_and_confirm(make_payment(ETHEREUM), "130")
    vandalise("UPDATE payments_payment SET refunded = %s WHERE id = %s", refunded * 10**6, surplus.pk)
    [finding] = findings()["I7"]
    assert finding.subject == f"payment {surplus.pk}: refunded of what was released"
    assert (finding.expected, finding.actual) == ("100000000 or less", refunded * 10**6)
    assert (finding.network, finding.asset) == (ETHEREUM, "USDC")
    vandalise("UPDATE payments_payment SET status_reasons = '{reversed}' WHERE id = %s", surplus.pk)
    assert "I7" not in findings()  # what was given back before is not less for that


@pytest.mark.parametrize("status", ["refunded", "partially_refunded"])
def test_a_payment_refunded_by_hand_is_found(paid: Payment, status: str) -> None:
    vandalise("UPDATE payments_payment SET status = %s WHERE id = %s", status, paid.pk)
    assert codes()["I8"] == [f"payment {paid.pk}"]


@pytest.mark.parametrize(
    ("sql", "changes"),
    [
        ("UPDATE payments_balancechange SET amount = amount + 7 WHERE payment_id = %s", 100_000_007),
        ("UPDATE payments_balancechange SET settlement = gen_random_uuid() WHERE payment_id = %s", 0),
        ("DELETE FROM payments_balancechange WHERE payment_id = %s", 0),
    ],
)
def test_a_balance_that_cannot_be_settled_as_it_is_is_found(paid: Payment, sql: str, changes: int) -> None:
    vandalise(sql, paid.pk)
    [finding] = findings()["I9"]
    assert finding.subject == f"sandbox ethereum USDC merchant {paid.merchant_id}"
    assert (finding.expected, finding.actual, finding.delta) == (100_000_000, changes, changes - 100_000_000)


def test_an_altered_deposit_is_found_by_payment_books_and_chain(paid: Payment) -> None:
    deposit = paid.deposits.get()
    vandalise("UPDATE payments_deposit SET amount = amount + 7 WHERE id = %s", deposit.pk)
    found, merchant = findings(), ids.MERCHANT.encode(paid.merchant_id)
    assert {code: [(each.subject, each.delta) for each in some] for code, some in found.items()} == {
        "I6": [(f"payment {paid.pk}: received", -7)],
        "I10": [(f"deposit sandbox:{deposit}: USDC", -7)],
        "I12": [(f"deposit {deposit}", -7)],
        "I12d": [(f"{paid.deposit_address} USDC of payment {paid.public_id}, merchant {merchant}", -7)],
    }


def test_a_deposit_said_to_be_for_somebody_else_is_found(paid: Payment) -> None:
    deposit = paid.deposits.get()
    vandalise("UPDATE payments_deposit SET recipient = %s WHERE id = %s", paid.merchant_wallet, deposit.pk)
    assert codes() == {"I12": [f"deposit {deposit}"], "I12d": [f"{paid.merchant_wallet} USDC of no payment"]}


def test_a_deposit_that_never_was_on_the_chain_is_found(paid: Payment) -> None:
    deposit = paid.deposits.get()
    vandalise("UPDATE payments_deposit SET transaction_hash = %s WHERE id = %s", "0x" + "ab" * 32, deposit.pk)
    vandalise("UPDATE payments_deposit SET said_by = '{one.example,two.example}' WHERE id = %s", deposit.pk)
    finding, unrecorded = sorted(findings()["I12"], key=lambda each: each.delta or 0)
    assert (finding.expected, finding.actual, finding.delta) == (100_000_000, 0, -100_000_000)
    assert "another provider than one.example, two.example, who said it" in finding.proposal
    assert (unrecorded.subject, unrecorded.delta) == (f"{deposit} to {deposit.recipient}", 100_000_000)


def test_money_that_nobody_recorded_is_found(paid: Payment) -> None:
    deposit = paid.deposits.get()
    vandalise("DELETE FROM payments_deposit WHERE id = %s", deposit.pk)
    [finding] = findings()["I12"]
    assert (finding.subject, finding.expected, finding.actual) == (
        f"{deposit} to {deposit.recipient}",
        "a deposit",
        "none",
    )
    assert (finding.delta, finding.environment, finding.network, finding.asset) == (
        100_000_000,
        SANDBOX,
        ETHEREUM,
        "USDC",
    )


def test_money_that_has_not_been_read_yet_is_not_missed(paid: Payment) -> None:
    pay(make_payment(ETHEREUM))
    mine(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    assert findings() == {}


def test_a_height_that_was_altered_is_no_loss(paid: Payment) -> None:
    vandalise("UPDATE payments_deposit SET height = height + 1000 WHERE id = %s", paid.deposits.get().pk)
    assert findings() == {}


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM payments_deposit WHERE id = %s",
        "UPDATE payments_deposit SET booked_to = '' WHERE id = %s",
        "UPDATE payments_deposit SET network = 'polygon' WHERE id = %s",
        "UPDATE payments_deposit SET environment = 'production' WHERE id = %s",
    ],
)
def test_a_hidden_deposit_is_found(paid: Payment, sql: str) -> None:
    deposit = paid.deposits.get()
    vandalise(sql, deposit.pk)
    scope = Scope(environments=(SANDBOX,))
    known = {each.code: each for each in registered()}
    assert f"deposit sandbox:{deposit}: USDC" in {finding.subject for finding in known["I10"].check(scope)}


def test_a_deposit_taken_from_its_payment_is_found(paid: Payment) -> None:
    vandalise("UPDATE payments_deposit SET payment_id = NULL WHERE id = %s", paid.deposits.get().pk)
    assert codes()["I6"] == [f"payment {paid.pk}: received"]


def test_a_deposit_booked_elsewhere_than_it_says_is_found(paid: Payment) -> None:
    vandalise("UPDATE payments_deposit SET booked_to = 'suspense:late' WHERE id = %s", paid.deposits.get().pk)
    assert codes() == {"I6": [f"payment {paid.pk}: received"]}


def test_a_posting_of_another_kind_is_found(paid: Payment) -> None:
    deposit = paid.deposits.get()
    vandalise(
        "UPDATE ledger_posting SET kind = 'sweep_final' WHERE kind = 'deposit_credited' AND reference LIKE %s",
        f"sandbox:ethereum:{deposit.transaction_hash}:%",
    )
    found = findings()
    assert [(each.subject, each.expected, each.actual) for each in found["I10"]] == [
        (f"deposit sandbox:{deposit}: USDC", 100_000_000, 0)
    ]


def test_a_forged_clearing_balance_is_found(paid: Payment) -> None:
    vandalise("UPDATE ledger_account SET balance = -50 WHERE kind = 'payment' AND owner = %s", str(paid.pk))
    found = codes()
    assert found["I3"] == [f"sandbox ethereum USDC payment {paid.pk}"]
    assert found["I6"] == [f"payment {paid.pk}: clearing account"]
    assert found["I14"] == ["sandbox ethereum USDC"]


def test_a_decision_that_moved_no_money_is_found(paid: Payment) -> None:
    vandalise("UPDATE payments_discrepancy SET status = 'accepted' WHERE kind = 'wrong_token'")
    [finding] = findings()["I17"]
    assert finding.subject.startswith("sandbox polygon DAI suspense:wrong_token ")
    assert (finding.expected, finding.actual, finding.delta) == (0, 5 * 10**18, 5 * 10**18)


def test_a_deleted_event_is_found(paid: Payment) -> None:
    vandalise("DELETE FROM webhooks_event WHERE object_id = %s AND version = %s", paid.pk, paid.version)
    assert codes() == {"I16": [f"payment {paid.pk}"]}


def test_a_change_nobody_was_told_of_is_found(paid: Payment) -> None:
    vandalise("UPDATE payments_payment SET version = version + 1 WHERE id = %s", paid.pk)
    [finding] = findings()["I16"]
    assert (finding.expected, finding.actual) == ("events of versions 1 to 3", "2 versions, the last is 2")


def test_an_event_of_a_version_that_never_was_is_found(paid: Payment) -> None:
    vandalise("UPDATE webhooks_event SET version = 9 WHERE object_id = %s AND version = 1", paid.pk)
    assert codes() == {"I16": [f"payment {paid.pk}"]}


@pytest.mark.parametrize("folded", [True, False])
def test_an_altered_counter_is_found(paid: Payment, folded: bool) -> None:
    if folded:
        fold_counts()
        vandalise("UPDATE merchants_recordcount SET total = total + 2 WHERE status = 'completed'")
    else:
        vandalise("UPDATE merchants_recordcountdelta SET change = 3 WHERE status = 'completed' AND change = 1")
    [finding] = findings()["C1"]
    assert finding.subject == f"sandbox merchant {paid.merchant_id}: payments completed"
    assert (finding.expected, finding.actual, finding.delta) == (1, 3, 2)


def test_a_payment_nobody_assesses_is_found_after_five_minutes(paid: Payment) -> None:
    known = {each.code: each for each in registered()}
    Payment.objects.filter(pk=paid.pk).update(assess_at=timezone.now() - timedelta(minutes=4, seconds=50))
    assert list(known["I15"].check(Scope())) == []
    Payment.objects.filter(pk=paid.pk).update(assess_at=timezone.now() - timedelta(minutes=5, seconds=1))
    [finding] = known["I15"].check(Scope())
    assert (finding.subject, finding.expected) == (f"payment {paid.pk} (completed)", "assessed within 5 minutes")
    assert list(known["I15"].check(Scope(network=STELLAR))) == []


def test_a_halted_network_is_an_error(paid: Payment) -> None:
    halt(POLYGON)
    [finding] = findings()["I15"]
    assert (finding.subject, finding.actual, finding.severity) == (
        "network polygon (sandbox)",
        "halted: The final block 7 changed.",
        "error",
    )


def test_a_network_that_does_not_answer_is_not_called_clean(paid: Payment) -> None:
    control.outage(ETHEREUM, 60)
    known = {each.code: each for each in registered()}
    with pytest.raises(CouldNotCheck, match="ethereum did not answer"):
        list(known["I12"].check(Scope()))


# What a run looks at.

ALTERED: list[tuple[str, str]] = [
    ("I6", "UPDATE payments_payment SET received = received + 7 WHERE id = %s"),
    ("I8", "UPDATE payments_payment SET status = 'created' WHERE id = %s"),
    ("I16", "UPDATE payments_payment SET version = version + 1 WHERE id = %s"),
]


@pytest.mark.parametrize(("code", "sql"), ALTERED)
def test_a_narrower_scope_looks_at_its_own_rows_only(paid: Payment, code: str, sql: str) -> None:
    vandalise(sql, paid.pk)
    check = {each.code: each for each in registered()}[code].check
    soon = timezone.now() + timedelta(minutes=1)
    assert list(check(Scope(environments=(SANDBOX,), network=ETHEREUM, since=paid.created_at)))
    assert not list(check(Scope(network=STELLAR)))
    assert not list(check(Scope(environments=(PRODUCTION,))))
    assert not list(check(Scope(since=soon)))


def test_an_old_payment_is_looked_at_again_when_money_arrives_for_it(paid: Payment) -> None:
    deposit = paid.deposits.get()
    after_creation = ids.created_at_of(deposit.pk)
    vandalise("UPDATE payments_payment SET received = received + 7 WHERE id = %s", paid.pk)
    check = {each.code: each for each in registered()}["I6"].check
    assert list(check(Scope(since=after_creation)))


def test_the_chain_is_asked_about_recent_deposits_only(paid: Payment) -> None:
    deposit = paid.deposits.get()
    vandalise("UPDATE payments_deposit SET amount = amount + 7 WHERE id = %s", deposit.pk)
    check = {each.code: each for each in registered()}["I12"].check
    seen_at = ids.created_at_of(deposit.pk)
    assert list(check(Scope(since=seen_at)))
    assert not list(check(Scope(since=seen_at + timedelta(seconds=1))))
    assert not list(check(Scope(network=STELLAR)))
    assert not list({each.code: each for each in registered()}["C1"].check(Scope(since=deposit.seen_at)))
