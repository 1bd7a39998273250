"""Books with any number of payments in which every check finds nothing: the services make four, SQL multiplies them.

Of six payments five are paid, on two networks, and wait to be settled; one has expired. Each has two events, which
were delivered, and each transfer stands on its simulated network.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from config.database.counters import correct, fold_all
from merchants.ledger.day_sums import DAY_SUMS
from merchants.ledger.models import Account, Entry, Posting
from merchants.models import Merchant
from payments.chains import registry
from payments.chains.simulated.models import SimulatedNetwork, SimulatedTransaction, SimulatedTransfer
from payments.deposits.models import ScanCursor
from payments.deposits.turnover.counting import TURNOVER
from payments.models import PAYMENTS, BalanceChange, Deposit, Payment
from tests.bench.kept import DAYS
from tests.bench.million import _NEXT, Fill, _entry_of, _table
from tests.factories import make_merchant
from tests.payments.scenes import ETHEREUM, POLYGON, end_window, make_payment, pay_and_confirm
from webhooks.models import Delivery, Event
from webhooks.sending.fan_out import fan_out
from webhooks.services import register_endpoint

BLOCKS_APART = 30
"""Blocks from one transfer to the next on its network: of a million payments, in 300 days, a minute of two seconds."""


def keep_books(number: int, tell: Callable[[str, float], None]) -> Merchant:
    """Make a merchant with so many payments; `tell` is told what is written, and the share that is done."""
    merchant = make_merchant(f"{number:,} payments")
    register_endpoint(merchant=merchant, environment="sandbox", url="https://shop.example/ballast", events=["*"])
    Books(merchant, number, tell).keep(*four_payments(merchant))
    return merchant


def four_payments(merchant: Merchant) -> tuple[list[Payment], list[Payment]]:
    """Two payments that are paid and two that are not, one of each on each network; their events are delivered."""
    networks = (ETHEREUM, POLYGON)
    paid = [pay_and_confirm(make_payment(network, merchant=merchant)) for network in networks]
    expired = [end_window(make_payment(network, merchant=merchant)) for network in networks]
    while fan_out():
        pass
    own = Delivery.objects.filter(merchant=merchant)
    own.update(status="delivered", delivered_at=timezone.now(), next_attempt_at=None, attempt_count=1)
    return paid, expired


class Books(Fill):
    """The rows of one merchant's payments, of which all else is made."""

    def __init__(self, merchant: Merchant, number: int, tell: Callable[[str, float], None]) -> None:
        self._merchant, self._number, self._tell = merchant, number, tell
        self._milliseconds = DAYS * 86_400_000
        self._step, self._written = self._milliseconds // number, 0

    def keep(self, paid: list[Payment], expired: list[Payment]) -> None:
        with self._filling() as cursor:
            with self._copying(cursor):
                place = 0
                for payments, number in ((paid, self._number * 5 // 12), (expired, self._number // 12)):
                    for payment in payments:
                        place += 1
                        self._write(payment, number, place)
            # Texts of the newest only, so that no round takes the others for due; checks read none of them.
            self._write_search_entries(cursor, Payment.objects.filter(pk=Payment.objects.latest("pk").pk))
            self._tell("sums", 0.96)
            cursor.execute(
                f"UPDATE {_table(Account)} AS account SET balance = entries.total FROM ("  # noqa: S608
                f" SELECT account_id, sum(amount) AS total FROM {_table(Entry)} GROUP BY account_id"
                ") AS entries WHERE account.id = entries.account_id AND account.balance <> entries.total"
            )
            correct(DAY_SUMS)
            opened_at = timezone.now() - timedelta(milliseconds=self._milliseconds)
            Merchant.objects.filter(pk=self._merchant.pk).update(created_at=opened_at)
            for counter in (PAYMENTS.counter, TURNOVER):
                correct(counter)
                fold_all(counter)

    def _write(self, payment: Payment, number: int, place: int) -> None:
        """Copy a payment and all that belongs to it, `place` telling its copies from those of another."""
        every = max(1, self._number // number)
        name = payment.network + payment.status

        def key(kind: str) -> str:
            return self._key_of(name + kind, every=every)

        def copy(model: Any, template: Any, kind: str, **columns: str) -> None:
            self._multiply(model, template, number, every=every, **{"id": key(kind), **columns})

        own, at = key("payment"), "to_timestamp(made / 1000.0)"
        address = f"'0x' || left(md5('{name}' || n) || md5(n::text), 40)"
        copy(
            Payment,
            payment,
            "payment",
            sequence=f"-({place} * 100000000 + n)",
            deposit_address=address,
            qr_png="'\\x'",
            expires_at=f"{at} + interval '30 minutes'",
            closes_at=f"{at} + interval '30 minutes'",
            **({"completed_at": f"{at} + interval '1 minute'"} if payment.completed_at else {}),
        )
        for event in Event.objects.about(payment.pk).order_by("version", "id"):
            copy(Event, event, event.type, object_id=own)
            for delivery in Delivery.objects.filter(event=event):
                copy(Delivery, delivery, f"delivery {event.type}", event_id=key(event.type), delivered_at=at)
        if payment.completed_at:
            self._write_money(payment, number, every, copy, own=own, address=address, of=name)

    def _write_money(
        self, payment: Payment, number: int, every: int, copy: Callable[..., None], *, own: str, address: str, of: str
    ) -> None:
        """Its transfer on the network and as a deposit, its postings, and the change of the balance."""
        deposit, network = payment.deposits.get(), payment.network
        transaction_hash = f"'0x' || md5('{of}' || n) || md5(n || '{of}')"
        last = SimulatedNetwork.objects.get(network=network).height
        height = f"{last + 1} + ({number} - n) * {BLOCKS_APART}"
        moved = SimulatedTransaction.objects.get(network=network, transaction_hash=deposit.transaction_hash)
        ids = self._numbers(SimulatedTransaction, number)
        on_network = {"transaction_hash": transaction_hash, "height": height, "sequence": "n"}
        copy(SimulatedTransaction, moved, "", id=f"{ids} + n", **on_network)
        for transfer in moved.transfers.all():
            to = address if transfer.recipient == payment.deposit_address else "template.recipient"
            next_id = _NEXT.format(_table(SimulatedTransfer))
            copy(SimulatedTransfer, transfer, "", id=next_id, transaction_id=f"{ids} + n", recipient=to)
        copy(
            Deposit,
            deposit,
            "deposit",
            payment_id=own,
            transaction_hash=transaction_hash,
            height=height,
            recipient=address,
        )
        head = last + number * BLOCKS_APART + 100
        SimulatedNetwork.objects.filter(network=network).update(height=head)
        reading = registry.chain(payment.environment, network).reading
        final = reading.head().finalized_height
        ScanCursor.objects.filter(environment=payment.environment, network=network).update(
            cursor=reading.cursor_at(final), head_height=head, finalized_height=final
        )
        accounts = self._numbers(Account, number)
        clearing = Account.objects.get(owner=payment.pk, kind="payment")
        copy(Account, clearing, "", id=f"{accounts} + n", owner=f"({own})::text", balance="0")
        change = BalanceChange.objects.get(payment=payment)
        released = f"({own})::text || ':1'"
        credited = f"'{payment.environment}:{network}:' || {transaction_hash} || ':{deposit.ordinal}:1'"
        for kind, reference in (("deposit_credited", credited), ("payment_released", released)):
            posting = Posting.objects.get(kind=kind, entries__account=clearing)
            copy(Posting, posting, kind, reference=reference)
            for entry in posting.entries.all():
                account = f"{accounts} + n" if entry.account_id == clearing.pk else str(entry.account_id)
                same = _entry_of(self._key_of(of + kind, every=every), account, "template.amount")
                copy(Entry, entry, "", **same)
        copy(BalanceChange, change, "change", payment_id=own, posting_reference=released)

    def _numbers(self, model: Any, number: int) -> int:
        """Take so many numbers of the sequence of a table; returns the one before them."""
        with connection.cursor() as cursor:
            name = f"{_table(model)}_id_seq"
            cursor.execute("SELECT setval(%s, nextval(%s) + %s) - %s - 1", [name, name, number, number])
            (base,) = cursor.fetchone()
            return int(base)
