"""The self-test of `reconcile`: a business that has done everything, clean; then each kind of damage, one by one.

Payments were completed, short, without a memo and given back; money was swept, settled and converted. Each damage is
planted as somebody with all rights on the database could, or on the chain, and must be found by the check that is there
for it.
"""

# ruff: noqa: S608 - every statement is made of constants of this file

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from merchants.four_eyes.services import agree
from merchants.ledger import quick
from merchants.ledger.checking import Scope, registered
from merchants.ledger.posting import AccountRef, Line, post
from merchants.models import Merchant
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.simulated import control
from payments.models import Deposit, Payment
from payments.transfers.owners import follow_payouts
from payments.treasury.house.models import Withdrawal
from settlements import tasks as settlement_tasks
from settlements.debts.ending import propose_end, propose_taking_back
from settlements.models import Debt, DebtDecision, DebtEnding, DebtOffset, Settlement
from settlements.services import run_now
from tests.factories import make_merchant, make_user
from tests.house import scenes as house
from tests.ledger.reconciling import share_has
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    end_window,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    pay_without_memo,
    watch,
)
from tests.refunds import scenes as refunds
from tests.transfers import scenes as transfers

pytestmark = pytest.mark.django_db

Plant = Callable[[], None]


def sql(*statements: str) -> Plant:
    """Damage done as a superuser could: with every trigger and foreign key asleep."""

    def plant() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET LOCAL session_replication_role = replica")
            for statement in statements:
                cursor.execute(statement)
            cursor.execute("SET LOCAL session_replication_role = origin")

    return plant


def steal() -> None:
    """Somebody else signs with the key of the hot wallet."""
    asset = registry.asset(SANDBOX, ETHEREUM, "USDC")
    wallet = transfers.the_wallet(ETHEREUM).address
    control.pay(ETHEREUM, sender=wallet, recipient=transfers.somebody(ETHEREUM), contract=asset.contract, amount=5)
    mine(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])


def destroy_a_deposit() -> None:
    """The issuer of a coin takes it from a deposit address."""
    deposit = Deposit.objects.filter(network=ETHEREUM, sweep__isnull=True).exclude(booked_to="").latest("pk")
    control.destroy(ETHEREUM, address=deposit.recipient, code=deposit.asset, amount=3)
    mine(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    watch()


def invent_coins() -> None:
    """A perfect posting of coins that are on no chain."""
    hot, own = (AccountRef(ETHEREUM, "USDC", kind) for kind in ("chain:hot", "treasury"))
    with transaction.atomic():
        post(height=1, environment=SANDBOX, kind="invented", reference="1", lines=[Line(hot, 7), Line(own, -7)])


ONE_POSTING = "(SELECT id FROM ledger_posting WHERE kind = '{}' ORDER BY id LIMIT 1)"
RELEASED = ONE_POSTING.format("payment_released")
PAID = "(SELECT id FROM transfers_payout WHERE status = 'paid' AND network = 'ethereum' ORDER BY id LIMIT 1)"
COMPLETED = "(SELECT id FROM payments_payment WHERE status = 'completed' ORDER BY id LIMIT 1)"
ON_CHAIN = "(SELECT transaction_hash FROM transfers_transfer WHERE purpose = 'payout' AND network = 'ethereum' LIMIT 1)"

DAMAGE: dict[str, tuple[str, Plant]] = {
    "an entry is gone": ("I1", sql(f"DELETE FROM ledger_entry WHERE posting_id = {RELEASED} AND amount > 0")),
    "an entry is another amount": (
        "I1",
        sql(f"UPDATE ledger_entry SET amount = amount + 1 WHERE posting_id = {RELEASED} AND amount > 0"),
    ),
    "an entry belongs to the other environment": (
        "I1",
        sql(f"UPDATE ledger_posting SET environment = 'production' WHERE id = {RELEASED}"),
    ),
    "a guard is off": ("I2", sql("ALTER TABLE ledger_entry DISABLE TRIGGER entry_append_only")),
    "both entries are doubled": (
        "I3",
        sql(f"UPDATE ledger_entry SET amount = amount * 2 WHERE posting_id = {RELEASED}"),
    ),
    "a posting is gone with its entries": (
        "I3",
        sql(
            f"DELETE FROM ledger_entry WHERE posting_id = {RELEASED}",
            f"DELETE FROM ledger_posting WHERE id = {RELEASED}",
        ),
    ),
    "a posting is there twice": (
        "I4",
        sql(
            "ALTER TABLE ledger_posting DROP CONSTRAINT posting_once",
            "INSERT INTO ledger_posting (id, environment, kind, reference, memo) "
            f"SELECT gen_random_uuid(), environment, kind, reference, '' FROM ledger_posting WHERE id = {RELEASED}",
        ),
    ),
    "a balance is overdrawn": (
        "I5",
        sql(
            "ALTER TABLE ledger_account DROP CONSTRAINT account_balance_not_negative",
            "UPDATE ledger_account SET balance = 5 WHERE kind = 'payment'",
        ),
    ),
    "a payment says it received more": (
        "I6",
        sql(f"UPDATE payments_payment SET received = received + 1 WHERE id = {COMPLETED}"),
    ),
    "a payment was refunded beyond what it received": (
        "I7",
        sql(
            "ALTER TABLE payments_payment DROP CONSTRAINT payment_refunded_at_most_received",
            "UPDATE payments_payment SET refunded = received + 1 WHERE status = 'partially_refunded'",
        ),
    ),
    "a payment's status is another": (
        "I8",
        sql(f"UPDATE payments_payment SET status = 'expired' WHERE id = {COMPLETED}"),
    ),
    "a merchant's change is gone": ("I9", sql("DELETE FROM payments_balancechange WHERE settlement IS NULL")),
    "a deposit is gone": ("I10", sql("DELETE FROM payments_deposit WHERE network = 'ethereum'")),
    "the key signs for somebody else": ("I11", steal),
    "a paid payout is another amount": ("I11", sql(f"UPDATE transfers_payout SET amount = 1 WHERE id = {PAID}")),
    "a paid payout went to somebody else": (
        "I11",
        sql(f"UPDATE transfers_payout SET recipient = '0x00000000000000000000000000000000000000aA' WHERE id = {PAID}"),
    ),
    "the chain has lost a transfer": (
        "I11",
        sql(
            "DELETE FROM simulated_chain_simulatedtransfer WHERE transaction_id IN "
            f"(SELECT id FROM simulated_chain_simulatedtransaction WHERE transaction_hash = {ON_CHAIN})"
        ),
    ),
    "a payout is in two transfers": (
        "I11p",
        sql(
            "INSERT INTO transfers_transferline (transfer_id, payout_id, place, claimable_balance) "
            f"SELECT id, {PAID}, 99, '' FROM transfers_transfer WHERE network = 'stellar' AND status = 'final' LIMIT 1"
        ),
    ),
    "money arrived and nobody recorded it": ("I12", sql("DELETE FROM payments_deposit WHERE network = 'polygon'")),
    "a deposit never was on the chain": (
        "I12",
        sql(
            "UPDATE payments_deposit SET transaction_hash = '0x00' WHERE id = "
            "(SELECT id FROM payments_deposit WHERE network = 'ethereum' ORDER BY id LIMIT 1)"
        ),
    ),
    "coins are in the ledger only": ("I12w", invent_coins),
    "an issuer has destroyed a deposit": ("I12d", destroy_a_deposit),
    "a hold was never posted": (
        "I19",
        sql(
            "INSERT INTO losses_missingcoins (environment, network, asset, decimals, address, payment_id, amount, held,"
            " hold_count, height, status, found_at, bearer, reason, approved_by)"
            " SELECT environment, network, cryptocurrency, decimals, deposit_address, id, 5, 5,"
            f" 1, 1, 'open', now(), '', '', '' FROM payments_payment WHERE id = {COMPLETED}"
        ),
    ),
    "the ledger is older than the chain": ("I13", sql("UPDATE transfers_wallet SET next_sequence = 0")),
    "a liability is larger than the coins": (
        "I14",
        sql("UPDATE ledger_account SET balance = balance - 10^15 WHERE kind = 'merchant:available'"),
    ),
    "a change was told to nobody": (
        "I16",
        sql(f"DELETE FROM webhooks_event WHERE object_id = {COMPLETED} AND version = 1"),
    ),
    "a decision moved no money": ("I17", sql("UPDATE payments_discrepancy SET status = 'accepted'")),
    "reserved money is gone": (
        "I18",
        sql(f"UPDATE ledger_account SET balance = -5 WHERE kind = 'payout' AND owner = {PAID}::text"),
    ),
    "a debt stands beside what is available": (
        "I20",
        sql(
            "UPDATE ledger_account SET balance = 5 WHERE kind = 'merchant:receivable'",
            "UPDATE ledger_account SET balance = -5 WHERE kind = 'merchant:available'",
        ),
    ),
    "a day's sum is wrong": (
        "I3d",
        sql("UPDATE ledger_daysum SET amount = amount + 1 WHERE id = (SELECT min(id) FROM ledger_daysum)"),
    ),
    "a counter is wrong": (
        "C1",
        sql("UPDATE merchants_recordcountdelta SET change = 9 WHERE kind = 'payment' AND change = 1"),
    ),
    "a payment knows nothing of its refund": (
        "R1",
        sql("UPDATE payments_payment SET returned = 0, refunded = 0 WHERE status = 'partially_refunded'"),
    ),
    "a refund's status is another": ("R2", sql("UPDATE refunds_refund SET status = 'failed'")),
    "a refund was told to nobody": ("R3", sql("DELETE FROM webhooks_event WHERE type = 'refund.completed'")),
    "a settlement lost a change": (
        "S2",
        sql(
            "UPDATE payments_balancechange SET settlement = NULL WHERE id = "
            "(SELECT id FROM payments_balancechange WHERE settlement IS NOT NULL LIMIT 1)"
        ),
    ),
    "a settlement's status is another": ("S3", sql("UPDATE settlements_settlement SET status = 'failed'")),
    "a debt offset says that it repaid more": ("S7", sql("UPDATE settlements_debtoffset SET repaid = repaid + 1")),
    "a debt offset is gone": ("S7", sql("DELETE FROM settlements_debtoffset")),
    "a debt offset was made at another rate": ("S7", sql("UPDATE settlements_debtoffset SET rate = 0.9")),
    "what repaid a debt was moved elsewhere": (
        "S7",
        sql("UPDATE payments_balancechange SET network = 'stellar' WHERE kind = 'debt_offset'"),
    ),
    "more of a debt was written off than decided": (
        "S8",
        sql("UPDATE settlements_debtdecision SET amount = amount + 1"),
    ),
    "a debt was written off by nobody": ("S8", sql("DELETE FROM settlements_debtdecision")),
    "a debt was written off for another merchant": (
        "S8",
        sql("UPDATE settlements_debtdecision SET merchant_id = (SELECT min(id::text)::uuid FROM merchants_merchant)"),
    ),
    "a debt is owed again, and nobody decided so": (
        "S8",
        sql("UPDATE settlements_debtdecision SET taken_back_at = NULL, taken_back_by = '', taken_back_reason = ''"),
    ),
    "a merchant was given nothing of what was written off": (
        "S8",
        sql("DELETE FROM payments_balancechange WHERE kind = 'debt_written_off'"),
    ),
    "the house was paid elsewhere than the list says": (
        "H1",
        sql("UPDATE house_allowedaddress SET address = '0x00000000000000000000000000000000000000aA'"),
    ),
    "nobody has agreed to a payout of the house": ("H1", sql("DELETE FROM house_withdrawal")),
    "a withdrawal says that less of it was earned": ("H2", sql("UPDATE house_withdrawal SET of_stock = of_stock - 1")),
    "money goes back to an address that its sender has not signed for": (
        "I21",
        sql(
            "INSERT INTO payments_payerreturn (id, environment, network, asset, decimals, amount, recipient, memo, "
            "memo_type, signed_text, signature, status, transaction_hash, failure_message, deposit_id, payout_id) "
            "SELECT gen_random_uuid(), payout.environment, payout.network, payout.asset, payout.decimals, "
            "payout.amount, payout.recipient, '', '', 'To be paid to: somebody', '', 'completed', '', '', deposit.id, "
            "payout.id FROM transfers_payout AS payout JOIN payments_deposit AS deposit "
            "ON deposit.network = payout.network WHERE payout.merchant_id IS NULL LIMIT 1"
        ),
    ),
    "a wallet was paid whose key was lost before": (
        "S9",
        sql(
            "INSERT INTO merchant_wallets_merchantwallet (id, merchant_id, environment, network, address, label, "
            "status, asked_by_id, takes_effect_at, proof, signed_text, signature) "
            "SELECT '00000000-0000-7000-8000-000000000000', merchant_id, environment, network, destination, '', "
            "'lost', 0, now(), '', '', '' FROM settlements_settlement LIMIT 1"
        ),
    ),
    "a settlement was told to nobody": ("S4", sql("DELETE FROM webhooks_event WHERE type = 'settlement.completed'")),
}


@pytest.fixture
def business(settings: Settings, db: None) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0
    for network in (ETHEREUM, STELLAR):
        transfers.stock(network, 500 * 10 ** (7 if network == STELLAR else 6))
        mine(network, BLOCKS_UNTIL_FINAL[network])
    watch()
    merchant, other = make_merchant(), make_merchant()
    given_back = pay_and_confirm(make_payment(ETHEREUM, merchant=merchant))
    pay_and_confirm(make_payment(ETHEREUM, amount="40", merchant=merchant), "45")
    pay_and_confirm(make_payment(ETHEREUM, "DAI", amount="30", merchant=merchant))
    pay_and_confirm(make_payment(STELLAR, amount="25", merchant=merchant))
    short = make_payment(POLYGON, merchant=merchant)
    pay_and_confirm(short, "60")
    end_window(short)
    pay_without_memo(make_payment(STELLAR, merchant=merchant), "3")
    mine(STELLAR)
    watch()
    refunds.ask(given_back, "25.5", destination=transfers.somebody(ETHEREUM))
    let_money_move()
    run_now(merchant=merchant, environment=SANDBOX, requested_by="a test")
    people = make_user(is_staff=True, is_superuser=True), make_user(is_staff=True, is_superuser=True)
    house.withdraw(house.its_address(people), 100, people)
    let_money_move()
    repay_a_debt_from_another_network()
    pay_and_confirm(make_payment(ETHEREUM, merchant=other))
    assert now(given_back).status == "partially_refunded"
    assert Withdrawal.objects.get().status == "completed"
    assert set(Settlement.objects.values_list("status", "network")) == {
        ("completed", ETHEREUM),
        ("completed", STELLAR),
    }
    assert set(Payment.objects.values_list("status", flat=True)) >= {"completed", "underpaid", "created"}


def repay_a_debt_from_another_network() -> None:
    """A merchant is paid what a reorganisation takes back, and then has money on another network."""
    merchant = make_merchant()
    pay(make_payment(ETHEREUM, merchant=merchant))
    mine_and_watch(ETHEREUM, 3)
    run_now(merchant=merchant, environment=SANDBOX, requested_by="a test")
    control.reorg(ETHEREUM, 3, "dropped")
    mine_and_watch(ETHEREUM)
    write_off_and_take_back(merchant)
    pay_and_confirm(make_payment(POLYGON, amount="99", merchant=merchant))
    let_money_move()
    run_now(merchant=merchant, environment=SANDBOX, requested_by="a test")
    assert DebtOffset.objects.count() == 1


def write_off_and_take_back(merchant: Merchant) -> None:
    """Operators write 1 USDC of a debt off, and another 2 that are owed again."""
    ada, ben = make_user(is_staff=True, is_superuser=True), make_user(is_staff=True, is_superuser=True)
    for amount in (1_000_000, 2_000_000):
        debt = Debt.objects.get(owner=str(merchant.pk), balance__gt=0)
        agree(propose_end(debt, amount=amount, ending=DebtEnding.WRITTEN_OFF, reason="Closed.", by=ada), by=ben)
    latest = DebtDecision.objects.latest("pk")
    agree(propose_taking_back(latest, reason="A mistake.", by=ada), by=ben)


def let_money_move() -> None:
    for _ in range(3):
        payment_tasks.sweep()
        settlement_tasks.advance_due()
        for network in (ETHEREUM, STELLAR):
            transfers.finish(network)
        payment_tasks.sweep()
        follow_payouts()


def found(*codes: str, **part: Any) -> dict[str, list[str]]:
    """What these checks find in a part of everything, by code; without any, all checks of all apps."""
    scope = Scope(**part)
    asked = [known for known in registered() if not codes or known.code in codes]
    findings = {known.code: [str(each) for each in known.check(scope)] for known in asked}
    return {code: some for code, some in findings.items() if some}


@contextmanager
def taken_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


OF_OLD_BLOCKS = {"I11", "I12"}
"""Checks of rows against old blocks of a network: full runs alone read those."""


def shares() -> list[tuple[UUID, UUID]]:
    """One round of the shares of quick runs."""
    ends = [ids.FIRST_KEY]
    while ends[-1] != ids.LAST_KEY:
        ends.append(quick._end_of_share(ends[-1]))
    return list(pairwise(ends))


def test_everything_planted_is_found_by_its_check_and_nothing_else_is_found(
    business: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By full runs; in new rows by the first quick run; in old ones by one of a round of quick runs."""
    share_has(25, monkeypatch)
    later = timezone.now() + timedelta(minutes=1)
    new = {"since": later - timedelta(hours=1), "share": (ids.FIRST_KEY, UUID(int=1))}
    old = [{"since": later, "share": share} for share in shares()]
    assert len(old) > 3
    assert [found(**part) for part in ({}, new, *old)] == [{}] * (len(old) + 2)
    missed: dict[str, Any] = {}
    for name, (code, plant) in DAMAGE.items():
        with taken_back():
            plant()
            if not found(code):
                missed[name] = (code, set(found()))
            elif not found(code, **new):
                missed[name] = (code, "in new rows")
            elif code not in OF_OLD_BLOCKS and not any(found(code, **part) for part in old):
                missed[name] = (code, "in old rows")
    assert missed == {}
    assert len(DAMAGE) >= 20
    assert found() == {}, "all of it was taken back"
