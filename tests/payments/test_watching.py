"""Reading the networks: nothing is missed, nothing is seen twice, and trouble stops no more than it must."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from payments import tasks
from payments.chains import network_table, registry
from payments.chains.protocol.scans import Scan
from payments.chains.simulated import control
from payments.chains.simulated.adapter import SimulatedChain
from payments.chains.simulated.reading import Reading
from payments.deposits import crediting, watching
from payments.deposits.addresses import PaymentAddresses, next_addresses
from payments.deposits.models import ScanCursor
from payments.deposits.watching import watch_network
from payments.models import Deposit, Payment
from tests.payments.scenes import (
    ETHEREUM,
    NETWORKS,
    POLYGON,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    assess,
    books,
    cursor_of,
    deposit_of,
    events,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
    read,
    watch,
)

pytestmark = pytest.mark.django_db


@contextmanager
def refusing_deposits(*, after: int) -> Iterator[None]:
    """The database takes so many deposits and refuses the next, as a full disk would."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            CREATE FUNCTION refuse_deposit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF (SELECT count(*) FROM payments_deposit) >= TG_ARGV[0]::int THEN
                    RAISE EXCEPTION 'no space left';
                END IF;
                RETURN NEW;
            END $$
            """
        )
        cursor.execute(
            "CREATE TRIGGER refuse_deposit BEFORE INSERT ON payments_deposit FOR EACH ROW"
            f" EXECUTE FUNCTION refuse_deposit({after:d})"
        )
        yield
        cursor.execute("DROP TRIGGER refuse_deposit ON payments_deposit")
        cursor.execute("DROP FUNCTION refuse_deposit")


# Cursor and deposits are one.


def test_a_seen_transfer_is_recorded_as_it_stands_on_the_chain() -> None:
    payment = make_payment(ETHEREUM, "DAI", "12.5")
    mine(ETHEREUM, 4)
    transaction_hash = pay(payment)
    mine_and_watch(ETHEREUM)
    [on_chain] = registry.chain(SANDBOX, ETHEREUM).reading.find_transfers(transaction_hash)
    deposit = deposit_of(transaction_hash)
    assert deposit.payment_id == payment.pk
    assert (deposit.network, deposit.asset, deposit.decimals, deposit.amount) == ("ethereum", "DAI", 18, payment.due)
    assert (deposit.height, deposit.block_hash, deposit.block_time) == (5, on_chain.block_hash, on_chain.block_time)
    assert (deposit.sender, deposit.recipient) == (on_chain.sender, payment.deposit_address)
    assert (deposit.contract, deposit.memo, deposit.first_block_time) == (on_chain.contract, "", on_chain.block_time)
    assert (deposit.status, deposit.booked_to, deposit.credited_at) == ("seen", "", None)
    assert now(payment).deposit_count == 1


def test_deposits_and_cursor_are_written_together_or_not_at_all() -> None:
    payments = [make_payment(STELLAR) for _ in range(3)]
    watch()
    before = cursor_of(STELLAR)
    for payment in payments:
        pay(payment)
    mine(STELLAR)
    with refusing_deposits(after=2):
        assert watch_network(SANDBOX, STELLAR) is False
    after = cursor_of(STELLAR)
    assert not Deposit.objects.exists()
    assert set(Payment.objects.values_list("deposit_count", "assess_at")) == {(0, None)}
    assert (after.cursor, after.version, after.head_height) == (before.cursor, before.version, before.head_height)
    assert (after.polled_at, after.read_until) == (before.polled_at, before.read_until)
    assert after.failing_since is not None
    assert "no space left" in after.last_error

    watch()
    assert {now(payment).status for payment in payments} == {"completed"}
    assert cursor_of(STELLAR).failing_since is None
    assert_all_is_well()


def test_a_cursor_knows_since_when_its_heights_have_stood_still() -> None:
    mine(ETHEREUM, 7)  # six blocks lie between the head and the newest final one
    watch()
    began = cursor_of(ETHEREUM)
    assert (began.head_height, began.finalized_height) == (7, 1)
    assert began.head_since == began.finalized_since == began.polled_at

    an_hour_ago = timezone.now() - timedelta(hours=1)
    ScanCursor.objects.filter(network=ETHEREUM).update(head_since=an_hour_ago, finalized_since=an_hour_ago)
    watch()
    still = cursor_of(ETHEREUM)
    assert (still.head_since, still.finalized_since) == (an_hour_ago, an_hour_ago)
    assert timedelta(hours=1) <= still.finality_standstill == still.head_standstill < timedelta(hours=1, minutes=1)

    mine_and_watch(ETHEREUM)
    moved = cursor_of(ETHEREUM)
    assert (moved.head_standstill, moved.finality_standstill) == (timedelta(0), timedelta(0))


def test_a_network_that_does_not_answer_is_not_said_to_stand_still() -> None:
    watch()
    ScanCursor.objects.filter(network=STELLAR).update(polled_at=timezone.now() - timedelta(hours=2))
    ScanCursor.objects.filter(network=STELLAR).update(head_since=F("polled_at"), finalized_since=F("polled_at"))
    assert cursor_of(STELLAR).head_standstill == timedelta(0)
    assert ScanCursor(network=STELLAR).finality_standstill == timedelta(0)


def test_trouble_with_one_network_keeps_no_other_from_being_read() -> None:
    first, last = make_payment(STELLAR), make_payment(POLYGON)
    for payment in (first, last):
        pay(payment)
        mine(payment.network, 3)
    with refusing_deposits(after=0):
        tasks.watch_networks()
    assert {cursor.network for cursor in ScanCursor.objects.exclude(last_error="")} == {STELLAR, POLYGON}
    watch()
    assert (now(first).status, now(last).status) == ("completed", "completed")


def test_a_payment_that_cannot_be_assessed_keeps_no_other_waiting() -> None:
    broken, sound = make_payment(STELLAR), make_payment(STELLAR)
    for payment in (broken, sound):
        pay(payment)
    mine(STELLAR)
    read(STELLAR)
    Payment.objects.filter(pk=broken.pk).update(released=broken.due + 1)  # more than any assessment could find
    assert crediting.assess_due() == 1
    assert (now(broken).status, now(sound).status) == ("created", "completed")
    assert now(broken).assess_at is not None
    assert deposit_of(broken.deposits.get().transaction_hash).status == "seen"
    Payment.objects.filter(pk=broken.pk).update(released=0)
    assert crediting.assess_due() == 1
    assert now(broken).status == "completed"
    assert_all_is_well()


def test_payments_are_assessed_together_and_lock_the_accounts_once_and_last() -> None:
    payments = [make_payment(STELLAR) for _ in range(3)]
    for payment in payments:
        pay(payment)
    mine(STELLAR)
    read(STELLAR)
    with CaptureQueriesContext(connection) as queries:
        assert crediting.assess_due() == 3
    statements = [query["sql"] for query in queries]
    [locked] = [place for place, sql in enumerate(statements) if "FROM ledger_account" in sql and "FOR UPDATE" in sql]
    assert not [sql for sql in statements[locked:] if '"payments_payment"' in sql or "webhooks_event" in sql]
    assert [now(payment).status for payment in payments] == ["completed"] * 3
    assert_all_is_well()


def test_one_that_loses_a_deposit_is_assessed_beside_others_that_gain_one() -> None:
    losing, gaining = make_payment(ETHEREUM), make_payment(ETHEREUM)
    pay(losing)
    mine_and_watch(ETHEREUM, losing.required_confirmations)
    assert now(losing).status == "completed"
    control.reorg(ETHEREUM, losing.required_confirmations, "dropped")
    pay(gaining)
    mine(ETHEREUM, gaining.required_confirmations)
    read(ETHEREUM)
    assert crediting.assess_due() == 2
    assert (now(losing).status, now(gaining).status) == ("created", "completed")
    assert_all_is_well()


# Watchers beside each other.


def test_a_leased_network_is_left_to_its_watcher() -> None:
    payment = make_payment(STELLAR)
    watch()
    pay(payment)
    mine(STELLAR)
    ScanCursor.objects.filter(network=STELLAR).update(leased_until=timezone.now() + timedelta(seconds=30))
    version = cursor_of(STELLAR).version
    assert watch_network(SANDBOX, STELLAR) is False
    assert (cursor_of(STELLAR).version, Deposit.objects.count()) == (version, 0)

    ScanCursor.objects.filter(network=STELLAR).update(leased_until=timezone.now())  # its watcher has died
    watch_network(SANDBOX, STELLAR)
    assert (cursor_of(STELLAR).version, Deposit.objects.count()) == (version + 1, 1)


def test_the_lease_is_there_while_the_network_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    leases = []

    scan = Reading.scan

    def curious(reading: Reading, *arguments: Any) -> Scan:
        leases.append(cursor_of(STELLAR).leased_until)
        assert watch_network(SANDBOX, STELLAR) is False  # a second watcher keeps off
        return scan(reading, *arguments)

    monkeypatch.setattr(Reading, "scan", curious)
    before = timezone.now()
    watch_network(SANDBOX, STELLAR)
    [leased_until] = leases
    assert before + watching.LEASE <= leased_until <= timezone.now() + watching.LEASE
    assert cursor_of(STELLAR).leased_until <= timezone.now()


def test_a_watcher_whose_database_was_away_takes_its_lease_again_and_another_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    payment = make_payment(STELLAR)
    watch()
    pay(payment)
    mine(STELLAR)

    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("the database is away")

    with monkeypatch.context() as failing:
        failing.setattr(watching, "_record_scan", away)
        failing.setattr(watching, "_record_failure", away)
        with pytest.raises(OperationalError):
            watch_network(SANDBOX, STELLAR)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(watching, "_not_given_back", {})
        watch_network(SANDBOX, STELLAR)
        assert Deposit.objects.count() == 0
    watch_network(SANDBOX, STELLAR)
    assert Deposit.objects.count() == 1


def test_a_stale_scan_is_dropped() -> None:
    payment = make_payment(STELLAR)
    watch()
    slow = cursor_of(STELLAR)
    addresses = PaymentAddresses(SANDBOX, STELLAR)
    stale = registry.chain(SANDBOX, STELLAR).reading.scan(slow.cursor, addresses)
    pay(payment)
    mine_and_watch(STELLAR)
    before = ScanCursor.objects.filter(network=STELLAR).values().get()
    assert watching._record_scan(slow, stale, addresses) is False
    assert ScanCursor.objects.filter(network=STELLAR).values().get() == before
    assert now(payment).status == "completed"


def test_one_transfer_read_twenty_times_is_credited_once() -> None:
    payment = make_payment(ETHEREUM)
    pay(payment)
    mine(ETHEREUM, 3)
    for _ in range(20):
        ScanCursor.objects.filter(network=ETHEREUM).update(cursor=None)  # from the first block again
        watch()
        assess(payment)
    payment = now(payment)
    assert Deposit.objects.count() == 1
    assert (payment.deposit_count, payment.booking_count, payment.version) == (1, 1, 2)
    assert books(payment) == {"chain:deposit": payment.due, "merchant:available": payment.due}
    assert events(payment) == ["payment.created", "payment.completed"]
    assert_all_is_well()


@pytest.mark.parametrize("network", NETWORKS)
def test_a_thousand_blocks_without_a_watcher_lose_nothing(network: str) -> None:
    watch()
    payments = [make_payment(network, coin, "10") for coin in ("USDC", "USDT", "DAI") for _ in range(3)]
    for number, payment in enumerate(payments):
        pay(payment)
        mine(network, 1_000 if number == 4 else 1)
    mine(network, 10)
    watch()
    assert {now(payment).status for payment in payments} == {"completed"}
    assert Deposit.objects.count() == len(payments)
    assert_all_is_well()


def test_a_long_gap_is_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    payments = [make_payment(STELLAR) for _ in range(5)]
    for payment in payments:
        pay(payment)
        mine(STELLAR)
    monkeypatch.setattr(network_table, "SimulatedChain", partial(SimulatedChain, scan_transactions=2))
    assert watch_network(SANDBOX, STELLAR) is True
    cursor = cursor_of(STELLAR)
    assert (cursor.version, cursor.head_height) == (1, 1)  # nothing is confirmed by blocks not read yet
    watch()
    assert cursor_of(STELLAR).head_height == 5
    assert {now(payment).status for payment in payments} == {"completed"}
    assert_all_is_well()


# Whose addresses, and until when.


def test_an_address_is_watched_on_every_evm_network_and_long_after_the_end() -> None:
    payment = make_payment(ETHEREUM)
    old = make_payment(ETHEREUM)
    Payment.objects.filter(pk=old.pk).update(closes_at=timezone.now() - timedelta(days=31))
    for network in (ETHEREUM, POLYGON):
        addresses, coming = PaymentAddresses(SANDBOX, network), next_addresses(SANDBOX, network)
        assert addresses.addresses(len(coming) + 1) == {payment.deposit_address} | coming
        assert addresses.addresses(len(coming)) is None
        both = {payment.deposit_address, old.deposit_address}
        assert addresses.matching([*both, payment.merchant_wallet]) == both  # matching forgets nobody
    assert PaymentAddresses(SANDBOX, STELLAR).matching([payment.deposit_address]) == set()


def test_too_many_addresses_for_a_filter_are_not_listed() -> None:
    """Whichever network they are on; and as many as it takes are all there."""
    payments = [make_payment(network) for network in (ETHEREUM, POLYGON, ETHEREUM)]
    addresses, coming = PaymentAddresses(SANDBOX, POLYGON), next_addresses(SANDBOX, POLYGON)
    assert addresses.addresses(len(coming) + 3) == {payment.deposit_address for payment in payments} | coming
    assert addresses.addresses(len(coming) + 2) is None
    assert addresses.addresses(1) is None


def test_expiry_waits_until_the_network_has_been_read_past_the_end() -> None:
    payment = make_payment(STELLAR)
    watch()
    Payment.objects.filter(pk=payment.pk).update(expires_at=timezone.now())
    ScanCursor.objects.filter(network=ETHEREUM).update(read_until=None)
    assert crediting.expire_due() == 0  # no block has been closed since
    tasks.expire_due()
    assert now(payment).status == "created"
    mine(STELLAR)
    assert crediting.expire_due() == 0  # nobody has read it
    watch()
    assert crediting.expire_due() == 1
    assert crediting.expire_due() == 0
    tasks.assess_due()
    assert (now(payment).status, events(payment)) == ("expired", ["payment.created", "payment.expired"])
    assert_all_is_well()
