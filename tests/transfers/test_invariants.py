"""Clean transfers give no finding; each kind of damage is found by the invariant that is there for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from merchants.ledger.checking import CouldNotCheck, Finding, Scope, Severity, registered
from payments.chains import registry
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedTransfer
from payments.chains.stellar import addresses as stellar_addresses
from payments.transfers import services
from payments.transfers.models import Payout, PayoutPolicy, Transfer, TransferLine, Wallet
from payments.transfers.payouts import fail_payout, policy_of, reject_payout
from payments.transfers.states import PayoutStatus, TransferStatus
from tests import stopping
from tests.factories import make_user
from tests.transfers.scenes import (
    COIN,
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    ask,
    drive,
    finish,
    fresh,
    somebody,
    stock,
    the_wallet,
)
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db

CHECKS = ("I11", "I11p", "I13", "I15t", "I18")


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0


@pytest.fixture(autouse=True)
def undo(stopped_clock: None) -> Iterator[None]:
    """Damage may leave what no commit would let through: take it back before anything is checked again."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def findings(scope: Scope | None = None) -> dict[str, list[Finding]]:
    """What the checks of transfers find, by code."""
    known = {each.code: each for each in registered()}
    found = {code: list(known[code].check(scope or Scope())) for code in CHECKS}
    return {code: some for code, some in found.items() if some}


def vandalise(sql: str, *parameters: Any) -> None:
    """Change rows as a superuser could: with every trigger and foreign key asleep."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql, parameters)
        cursor.execute("SET LOCAL session_replication_role = origin")


@pytest.fixture
@populated_once
def paid(undo: None) -> Payout:
    """Paid on every network; on stellar several share one transfer, one of them to a muxed address."""
    for network in (ETHEREUM, POLYGON, STELLAR):
        stock(network, 100 * COIN)
    ask(POLYGON, 2 * COIN)
    ask(STELLAR, 3 * COIN)
    ask(STELLAR, 4 * COIN)
    ask(STELLAR, 5 * COIN, to=stellar_addresses.mux(somebody(STELLAR), 77))
    ask(STELLAR, 5 * COIN, memo="77")
    payout = ask(ETHEREUM, 7 * COIN)
    for network in (ETHEREUM, POLYGON, STELLAR):
        finish(network)
    assert set(Payout.objects.values_list("status", flat=True)) == {PayoutStatus.PAID}
    assert findings() == {}
    return fresh(payout)


def hash_of(payout: Payout) -> str:
    assert payout.transfer is not None
    return payout.transfer.transaction_hash


# Nothing to find.


def test_empty_rows_are_clean() -> None:
    assert findings() == {}


def test_payouts_on_their_way_are_clean() -> None:
    stock(ETHEREUM, 100 * COIN)
    for amount in (1, 2, 3):
        ask(ETHEREUM, amount * COIN)
        drive(ETHEREUM)
        assert findings() == {}
    control.mine(ETHEREUM)
    assert findings() == {}
    control.mine(ETHEREUM, control.deepest_reorg(ETHEREUM))  # final on the chain, and not yet in the rows
    assert findings() == {}
    drive(ETHEREUM)
    assert {transfer.status for transfer in Transfer.objects.all()} == {TransferStatus.FINAL}
    assert findings() == {}


def test_payouts_held_cancelled_and_given_up_are_clean() -> None:
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(approval_above=1)
    stock(ETHEREUM, 10 * COIN)
    held = ask(ETHEREUM, 5 * COIN)
    drive(ETHEREUM)
    assert fresh(held).status == PayoutStatus.HELD
    assert findings() == {}
    reject_payout(fresh(held), operator=make_user(), note="No.")
    assert findings() == {}, "its owner has a minute to give the money back"


# What left against the rows.


def test_a_transfer_that_nobody_here_signed_is_found(paid: Payout) -> None:
    wallet = the_wallet(ETHEREUM)
    asset = registry.asset(SANDBOX, ETHEREUM, "USDC")
    transaction_hash = control.pay(
        ETHEREUM, sender=wallet.address, recipient=somebody(ETHEREUM, "a thief"), contract=asset.contract, amount=5
    )
    assert findings() == {}
    control.mine(ETHEREUM, 1 + control.deepest_reorg(ETHEREUM))
    found = findings()
    assert set(found) == {"I11", "I13"}
    [unknown] = found["I11"]
    assert (unknown.subject, unknown.actual, unknown.delta) == (
        f"ethereum:{transaction_hash} from {wallet.address}",
        f"5 USDC to {somebody(ETHEREUM, 'a thief')}",
        -5,
    )
    assert (unknown.environment, unknown.network, unknown.asset) == (SANDBOX, ETHEREUM, "USDC")
    [ahead] = found["I13"]
    assert (ahead.expected, ahead.actual, ahead.delta) == ("the next sequence is 1", "the next sequence is 2", 1)
    assert unknown.proposal.startswith("somebody else signs for this wallet")

    since = (timezone.now() - timedelta(hours=3)).isoformat()
    call_command("resume_after_restore", by="Ada", since=since, look_ahead=2_000, stdout=StringIO())
    assert set(findings()) <= {"I15t"}
    [of_house] = [each for each in registered() if each.code == "H1"]
    [resumed] = of_house.check(Scope())
    to_thief = f"5 USDC to {somebody(ETHEREUM, 'a thief')} by {transaction_hash}"
    assert (resumed.actual, resumed.severity) == (to_thief, Severity.WARNING)
    assert resumed.proposal.startswith("sent before a restore: a payout that the backup lacks, or somebody else")


def test_the_envelope_of_a_transfer_is_not_forgotten(paid: Payout) -> None:
    vandalise("DELETE FROM transfers_envelope WHERE transaction_hash = %s", hash_of(paid))
    [unknown] = [each for each in findings()["I11"] if "from" in each.subject]
    assert unknown.subject.startswith(f"ethereum:{hash_of(paid)} from ")


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("UPDATE transfers_payout SET amount = amount + 1 WHERE id = %s", 1),
        ("UPDATE transfers_payout SET recipient = '0x00000000000000000000000000000000000000AA' WHERE id = %s", 0),
        ("UPDATE transfers_payout SET asset = 'USDT' WHERE id = %s", None),
        ("UPDATE transfers_payout SET memo = '5' WHERE id = %s", 0),
        ("DELETE FROM transfers_transferline WHERE payout_id = %s", -7 * COIN),
    ],
)
def test_a_payout_that_was_altered_after_it_was_paid_is_found(paid: Payout, sql: str, value: int | None) -> None:
    vandalise(sql, paid.pk)
    [finding] = findings()["I11"]
    assert finding.subject == f"transfer {paid.transfer_id} (final), ethereum:{hash_of(paid)}"
    assert finding.delta == (None if value is None else -value)


def test_one_of_many_in_a_transfer_is_compared_as_well(paid: Payout) -> None:
    one = Payout.objects.get(network=STELLAR, amount=4 * COIN)
    vandalise("UPDATE transfers_payout SET amount = amount - 1 WHERE id = %s", one.pk)
    [finding] = findings()["I11"]
    assert f"{4 * COIN:,} USDC to {one.recipient}" in str(finding.actual)
    assert f"{4 * COIN - 1:,} USDC to {one.recipient}" in str(finding.expected)
    assert finding.delta == 1


def test_a_transfer_the_chain_has_lost_is_found(paid: Payout) -> None:
    SimulatedTransfer.objects.filter(transaction__transaction_hash=hash_of(paid)).delete()
    [finding] = findings()["I11"]
    assert (finding.expected, finding.actual) == (f"{7 * COIN:,} USDC to {paid.recipient}", "nothing moved")
    assert finding.delta == -7 * COIN


@pytest.mark.parametrize("status", ["failed", "dead"])
def test_a_transfer_called_off_that_moved_money_is_found(paid: Payout, status: str) -> None:
    vandalise("UPDATE transfers_transfer SET status = %s WHERE id = %s", status, paid.transfer_id)
    found = findings()
    assert {"I11", "I11p"} <= set(found)
    assert [(each.expected, each.delta) for each in found["I11"]] == [("nothing moved", 7 * COIN)]
    assert [each.subject for each in found["I11p"]] == [f"payout of {paid.reference} (paid)"]


def test_a_height_that_was_altered_changes_nothing(paid: Payout) -> None:
    vandalise("UPDATE transfers_transfer SET height = 1000000 WHERE id = %s", paid.transfer_id)
    assert findings() == {}


# Payouts against transfers and books.


def test_a_payout_in_two_transfers_is_found(paid: Payout) -> None:
    other = Transfer.objects.get(network=POLYGON)
    TransferLine.objects.create(transfer=other, payout=paid, place=9)
    found = findings()
    assert set(found) == {"I11", "I11p"}
    assert [each.actual for each in found["I11p"]] == ["final; 2 moved it or still may"]


@pytest.mark.parametrize("status", ["ready", "sending", "failed", "cancelled"])
def test_a_paid_payout_said_to_be_otherwise_is_found(paid: Payout, status: str) -> None:
    vandalise("UPDATE transfers_payout SET status = %s WHERE id = %s", status, paid.pk)
    found = findings()
    assert [each.subject for each in found["I11p"]] == [f"payout of {paid.reference} ({status})"]
    assert ("I18" in found) is (status in ("ready", "sending"))


def test_a_payout_said_to_be_paid_is_found() -> None:
    stock(ETHEREUM, 10 * COIN)
    waiting = ask(ETHEREUM, 3 * COIN)
    drive(ETHEREUM)
    vandalise("UPDATE transfers_payout SET status = 'paid' WHERE id = %s", waiting.pk)
    found = findings()
    assert set(found) == {"I11p", "I18"}
    assert [(each.expected, each.actual, each.delta) for each in found["I18"]] == [(0, 3 * COIN, 3 * COIN)]


def test_reserved_money_that_was_altered_is_found() -> None:
    stock(ETHEREUM, 10 * COIN)
    waiting = ask(ETHEREUM, 3 * COIN)
    vandalise("UPDATE ledger_account SET balance = balance + 5 WHERE kind = 'payout' AND owner = %s", str(waiting.pk))
    [finding] = findings()["I18"]
    assert (finding.expected, finding.actual, finding.delta, finding.asset) == (3 * COIN, 3 * COIN - 5, -5, "USDC")
    assert finding.subject == f"payout of {waiting.reference} (ready): sandbox ethereum USDC"


def test_reserved_money_of_another_coin_is_found() -> None:
    stock(ETHEREUM, 10 * COIN)
    waiting = ask(ETHEREUM, 3 * COIN)
    vandalise("UPDATE ledger_account SET asset = 'USDT' WHERE kind = 'payout' AND owner = %s", str(waiting.pk))
    assert [(each.expected, each.actual) for each in findings()["I18"]] == [(3 * COIN, 0), (0, 3 * COIN)]


def test_the_money_of_a_failed_payout_may_wait_a_minute() -> None:
    stock(ETHEREUM, 10 * COIN)
    failed = ask(ETHEREUM, 3 * COIN)
    fail_payout(failed.pk, code="no_trustline", message="No.")
    assert findings() == {}
    Payout.objects.filter(pk=failed.pk).update(finished_at=timezone.now() - timedelta(seconds=61))
    [finding] = findings()["I18"]
    assert (finding.expected, finding.actual, finding.severity, finding.asset) == (0, 3 * COIN, Severity.WARNING, None)


def test_part_of_the_money_of_a_failed_payout_may_not() -> None:
    stock(ETHEREUM, 10 * COIN)
    failed = ask(ETHEREUM, 3 * COIN)
    fail_payout(failed.pk, code="no_trustline", message="No.")
    vandalise("UPDATE ledger_account SET balance = balance + 5 WHERE kind = 'payout' AND owner = %s", str(failed.pk))
    [finding] = findings()["I18"]
    assert finding.severity is Severity.ERROR


# Sequences.


def test_a_database_older_than_the_chain_is_found(paid: Payout) -> None:
    vandalise("UPDATE transfers_wallet SET next_sequence = 0 WHERE network = 'ethereum'")
    [finding] = findings()["I13"]
    assert (finding.expected, finding.actual) == ("the next sequence is 0", "the next sequence is 1")
    assert (finding.severity, finding.network) == (None, ETHEREUM)
    assert finding.proposal.startswith("freeze the wallet")


def test_a_wallet_nobody_knows_any_more_is_found(paid: Payout) -> None:
    vandalise("DELETE FROM transfers_wallet WHERE network = 'ethereum'")
    assert [each.actual for each in findings()["I13"]] == ["the next sequence is 1"]


def test_a_sequence_left_out_is_found() -> None:
    stock(ETHEREUM, 10 * COIN)
    for _ in range(3):
        ask(ETHEREUM)
        drive(ETHEREUM)
    second = Transfer.objects.get(sequence=1)
    vandalise("UPDATE transfers_transfer SET sequence = 7 WHERE id = %s", second.pk)
    found = findings()["I13"]
    assert [(each.subject.split(": ")[1], each.actual) for each in found] == [
        ("sequence 1", "none"),
        ("sequence 3", "none"),
        ("sequence 4", "none"),
        ("sequence 5", "none"),
        ("sequence 6", "none"),
        ("sequence 7", "a transfer"),
    ]


def test_a_dead_sequence_below_live_ones_is_a_warning() -> None:
    stock(ETHEREUM, 10 * COIN)
    for _ in range(2):
        ask(ETHEREUM)
        drive(ETHEREUM)
    services.record_dead(Transfer.objects.get(sequence=0))
    [finding] = findings()["I13"]
    assert (finding.actual, finding.severity) == ("one that never can", Severity.WARNING)
    services.record_dead(Transfer.objects.get(sequence=1))
    assert findings() == {}


# Ages, and what keeps payouts back.


def test_a_payout_nobody_pays_is_a_warning_after_an_hour() -> None:
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM)
    old = ids.first_uuid_at(timezone.now() - timedelta(minutes=61))
    vandalise("UPDATE transfers_payout SET id = %s WHERE id = %s", old, payout.pk)
    vandalise("UPDATE ledger_account SET owner = %s WHERE owner = %s", str(old), str(payout.pk))
    [finding] = findings()["I15t"]
    assert finding.subject == f"payout of {payout.reference} (ready)"
    assert not findings(Scope(network=STELLAR))


def test_a_transfer_that_is_not_final_is_a_warning_after_twice_the_usual_time() -> None:
    stock(ETHEREUM, 10 * COIN)
    ask(ETHEREUM)
    drive(ETHEREUM)
    Transfer.objects.update(sent_at=timezone.now() - timedelta(minutes=29))
    assert findings() == {}
    Transfer.objects.update(sent_at=timezone.now() - timedelta(minutes=31), last_error="no peers")
    [finding] = findings()["I15t"]
    assert finding.expected == "final within 30 minutes"
    assert finding.proposal.endswith("it said last: no peers")


def test_what_keeps_payouts_back_is_a_warning(paid: Payout) -> None:
    stopping.stop_payouts(environment=SANDBOX, reason="odd")
    services.freeze_wallet(the_wallet(ETHEREUM), reason="looked odd")
    stopping.stop_payouts(environment=SANDBOX, network=STELLAR, reason="a loss")
    found = findings()
    assert set(found) == {"I15t"}
    assert [each.actual for each in found["I15t"]] == ["stopped: odd", "stopped: looked odd", "stopped: a loss"]
    known = {each.code: each for each in registered()}
    assert known["I15t"].severity is Severity.WARNING
    assert [each.actual for each in findings(Scope(network=STELLAR))["I15t"]] == [
        "stopped: odd",
        "stopped: a loss",
    ]


# Scope.


def test_a_network_that_does_not_answer_is_not_called_clean(paid: Payout) -> None:
    control.outage(ETHEREUM, 60)
    vandalise("UPDATE transfers_wallet SET next_sequence = 0 WHERE network = 'polygon'")
    known = {each.code: each for each in registered()}
    for code in ("I11", "I13"):
        found: list[Finding] = []
        with pytest.raises(CouldNotCheck, match="ethereum did not answer"):
            found.extend(known[code].check(Scope()))
        assert [each.network for each in found] == ([POLYGON] if code == "I13" else [])
    assert list(known["I13"].check(Scope(network=STELLAR))) == []


def test_a_narrower_scope_looks_at_its_own_rows_only(paid: Payout) -> None:
    vandalise("UPDATE transfers_payout SET amount = amount + 1, status = 'sending' WHERE id = %s", paid.pk)
    earlier, later = timezone.now() - timedelta(minutes=5), timezone.now() + timedelta(minutes=5)
    assert set(findings(Scope(network=ETHEREUM, since=earlier))) == {"I11", "I11p", "I18"}
    assert findings(Scope(network=STELLAR)) == {}
    assert findings(Scope(environments=("production",))) == {}
    assert set(findings(Scope(since=later))) <= {"I11"}


def test_a_wallet_whose_address_was_altered_is_found(paid: Payout) -> None:
    wallet = the_wallet(ETHEREUM)
    Wallet.objects.filter(pk=wallet.pk).update(address=somebody(ETHEREUM, "the wallet before"))
    assert {each.subject.split(" from ")[-1] for each in findings()["I13"]} == {f"{wallet.address} on ethereum"}
