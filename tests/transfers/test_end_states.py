"""PostgreSQL keeps what has ended as it is: its triggers and the tables of moves say the same."""

from __future__ import annotations

import sys

import pytest
from django.db import DatabaseError, connection, models, transaction

from config.states import Transitions
from merchants.ledger.invariants import TRIGGERS
from payments.dashboard.exports.states import EXPORT_MOVES
from payments.deposits.models import PayerReturn
from payments.merchant_wallets.states import WALLET_MOVES
from payments.states import DISCREPANCY_MOVES, PAYMENT_MOVES, RETURN_MOVES
from payments.transfers.models import Payout, Transfer
from payments.transfers.states import PAYOUT_MOVES, TRANSFER_MOVES, PayoutStatus
from payments.treasury.house.models import Withdrawal
from payments.treasury.house.states import WITHDRAWAL_MOVES
from refunds.models import Refund
from refunds.states import REFUND_MOVES
from settlements.models import Settlement
from settlements.states import SETTLEMENT_MOVES
from tests.transfers.scenes import COIN, ETHEREUM, ask, finish, fresh, stock

pytestmark = pytest.mark.django_db

KEPT: dict[type[models.Model], Transitions] = {
    Payout: PAYOUT_MOVES,
    Transfer: TRANSFER_MOVES,
    PayerReturn: RETURN_MOVES,
    Refund: REFUND_MOVES,
    Settlement: SETTLEMENT_MOVES,
    Withdrawal: WITHDRAWAL_MOVES,
}
"""Money out."""

NOT_MONEY_OUT = (PAYMENT_MOVES, DISCREPANCY_MOVES, WALLET_MOVES, EXPORT_MOVES)
"""Tables with end states that nothing is paid by; who sets those back by SQL gets no money."""

ARGUMENTS = """
    SELECT relname, tgname, encode(tgargs, 'escape') FROM pg_trigger
    JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
    WHERE proname = 'refuse_to_leave_end_state' AND tgenabled = 'O'
"""


def test_triggers_and_tables_of_moves_name_the_same_end_states() -> None:
    with connection.cursor() as cursor:
        cursor.execute(ARGUMENTS)
        found = {table: (name, set(said.split("\\000")[:-1])) for table, name, said in cursor.fetchall()}
    assert {table: ends for table, (_, ends) in found.items()} == {
        model._meta.db_table: set(moves.terminal) for model, moves in KEPT.items()
    }
    names = {name: table for name, table in TRIGGERS.items() if name.endswith("_end_state")}
    assert names == {name: table for table, (name, _) in found.items()}


def test_every_table_of_moves_that_has_ends_is_kept_or_named() -> None:
    known = {id(moves) for moves in (*KEPT.values(), *NOT_MONEY_OUT)}
    ours = {
        f"{module} {name}"
        for module, found in list(sys.modules.items())
        if module.endswith(".states") and not module.startswith("tests")
        for name, each in vars(found).items()
        if isinstance(each, Transitions) and each.terminal and id(each) not in known
    }
    assert ours == set()


@pytest.mark.parametrize("status", ["ready", "held", "sending", "failed", "cancelled"])
def test_a_paid_payout_stays_paid(status: str) -> None:
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM)
    finish(ETHEREUM)
    with pytest.raises(DatabaseError, match=f"has ended as paid: it does not become {status}"), transaction.atomic():
        Payout.objects.filter(pk=payout.pk).update(status=status)
    Payout.objects.filter(pk=payout.pk).update(status=PayoutStatus.PAID, failure_message="")  # other columns change
    assert fresh(payout).status == PayoutStatus.PAID
