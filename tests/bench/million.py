"""A merchant with any number of payments, and with events, deliveries, refunds and the rest in proportion.

One record of each kind is made by the services, as for the tests of the pages; statements in SQL multiply it. Of a
payment there are three events and four deliveries.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Model, QuerySet
from django.utils import timezone

from config import ids
from config.database.counters import correct, fold_all
from merchants.audit.models import LoggedAction
from merchants.ledger.day_sums import DAY_SUMS
from merchants.ledger.models import Account, Entry, Posting
from merchants.models import Merchant
from merchants.request_log.models import LoggedRequest
from merchants.roles import Action
from payments.dashboard.search.indexing import entry_of
from payments.dashboard.search.models import SearchEntry
from payments.dashboard.search.texts import texts_of
from payments.deposits.turnover.counting import TURNOVER
from payments.links.models import PaymentLink
from payments.models import PAYMENTS, BalanceChange, Deposit, Discrepancy, Payment
from refunds.models import REFUNDS, Refund
from settlements.models import SETTLEMENTS, Settlement
from tests.dashboard.addresses import Records
from webhooks.events.catalogue import PAYMENT_COMPLETED, PAYMENT_CREATED, PAYMENT_PENDING
from webhooks.models import Attempt, Delivery, Event
from webhooks.services import register_endpoint

DAYS, DAYS_OF_ATTEMPTS = 365, 60
"""Payments are spread evenly over so many days; attempts of deliveries are kept for less."""

ROWS_AT_ONCE = 100_000
ROWS_OF_PAYMENT = 22
"""About so many rows are written for a payment: of this the progress is told."""

# The key of the n-th record of a kind, made in a millisecond: a UUIDv7, as the services make them.
_KEY_OF = """
    CREATE FUNCTION pg_temp.key_of(kind text, made bigint, n bigint) RETURNS uuid IMMUTABLE LANGUAGE sql RETURN (
        lpad(to_hex(made), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || left(md5(kind || n), 15)
    )::uuid
"""


class Fill:
    """Writes the rows of one merchant; `number` payments, the newest made just now."""

    def __init__(
        self,
        merchant: Merchant,
        records: Records,
        number: int,
        *,
        days: int = DAYS,
        tell: Callable[[str, float], None] = lambda what, share: None,
    ) -> None:
        """`tell` is told what is written, and the share that is done."""
        self._merchant, self._records, self._number, self._tell = merchant, records, number, tell
        self._milliseconds = days * 86_400_000
        self._step, self._written = self._milliseconds // number, 0
        self._settled = BalanceChange.objects.filter(settlement=records.settlement.pk).earliest("id")

    @contextmanager
    def _filling(self) -> Iterator[CursorWrapper]:
        """A cursor of one transaction, in which keys are made by `key_of` and no row is checked."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
            # What the services wrote is right, and so is a copy of it: nothing needs to be looked up for each row.
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute("DROP FUNCTION IF EXISTS pg_temp.key_of")
            cursor.execute(_KEY_OF)
            yield cursor

    def _copying(self, cursor: CursorWrapper) -> AbstractContextManager[None]:
        """Many rows are written without their indexes, which are made at the end of the block."""
        return _without_indexes(cursor, self._tell) if self._number >= ROWS_AT_ONCE else nullcontext()

    def write(self) -> None:
        with self._filling() as cursor:
            with self._copying(cursor):
                self._write_payments()
                self._write_around_payments()
                self._write_rarer_records()
                self._write_ledger(cursor)
                self._write_search_entries(cursor, Payment.objects.filter(merchant=self._merchant))
            self._tell("counters", 0.95)
            opened_at = timezone.now() - timedelta(milliseconds=self._milliseconds)
            Merchant.objects.filter(pk=self._merchant.pk).update(created_at=opened_at)
            for counter in (*(each.counter for each in (PAYMENTS, REFUNDS, SETTLEMENTS)), TURNOVER):
                correct(counter)
                fold_all(counter)

    @property
    def _paid(self) -> Payment:
        """The payment that all others are copies of."""
        return Payment.objects.get(balance_changes=self._settled)

    def _write_payments(self) -> None:
        """Of twenty, fourteen are paid, three expired, one is too short, one cancelled, and one given back in part."""
        self._multiply(
            Payment,
            self._paid,
            self._number,
            status="CASE n % 20 WHEN 1 THEN 'expired' WHEN 2 THEN 'expired' WHEN 3 THEN 'expired' "
            "WHEN 4 THEN 'underpaid' WHEN 5 THEN 'cancelled' WHEN 6 THEN 'partially_refunded' ELSE 'completed' END",
            status_reasons="CASE n % 20 WHEN 4 THEN '{underpaid}'::text[] ELSE '{}'::text[] END",
            completed_at="CASE WHEN n % 20 NOT BETWEEN 1 AND 5 THEN to_timestamp(made / 1000.0) "
            "+ interval '40 seconds' * (1 + n % 7) END",
            expires_at="to_timestamp(made / 1000.0) + interval '30 minutes'",
            closes_at="to_timestamp(made / 1000.0) + interval '30 minutes'",
            closed_at="CASE n % 20 WHEN 4 THEN to_timestamp(made / 1000.0) + interval '31 minutes' END",
            sequence=f"-({self._number} * 2 + n)",
            memo="left(md5(template.id::text || n), 20)",
            fiat_amount="100 + n % 100000",
            currency="CASE n % 5000 WHEN 8 THEN 'CHF' ELSE (ARRAY['EUR', 'USD', 'USD', 'GBP'])[1 + n % 4] END",
            network="(ARRAY['polygon', 'ethereum', 'stellar'])[1 + n % 3]",
            cryptocurrency="(ARRAY['USDC', 'USDT', 'DAI'])[1 + n / 3 % 3]",
            deposit_address="'0x' || left(md5('address' || n) || md5(n::text), 40)",
            metadata="jsonb_build_object('order', 'order-' || n, 'mail', 'person' || n % 50000 || '@example.org',"
            " 'name', CASE n % 25000 WHEN 77 THEN '李雷' ELSE 'Ada' END,"
            " 'wish', CASE WHEN n % 10 < 3 THEN 'gift-wrap' END,"
            f" 'campaign', CASE WHEN n > {self._number * 7 // 10} THEN 'spring' END)",
            payment_link_id=f"CASE WHEN n % 10 = 0 THEN '{self._records.link.pk}'::uuid END",
            qr_png="'\\x'",
        )

    def _write_around_payments(self) -> None:
        """A transfer, a change of the balance, events and deliveries for each; a settlement for five hundred."""
        records, payment = self._records, self._key_of("payment")
        deposit = self._paid.deposits.get()
        self._multiply(
            Deposit,
            deposit,
            self._number,
            payment_id=payment,
            transaction_hash="'0x' || repeat(md5(template.id::text || n), 2)",
        )
        second, _ = register_endpoint(
            merchant=self._merchant,
            environment=deposit.environment,
            url="https://books.example/ballast",
            events=[PAYMENT_COMPLETED],
        )
        for type in (PAYMENT_CREATED, PAYMENT_PENDING, PAYMENT_COMPLETED):
            event = Event.objects.about(self._paid.pk).filter(type__in=(type, PAYMENT_CREATED)).last()
            assert event is not None  # of one that is confirmed at once none is pending
            told: dict[str, Any] = {"id": self._key_of(type), "type": f"'{type}'", "object_id": payment}
            told["is_fanned_out"] = "true"
            self._multiply(Event, event, self._number, **told)
            self._write_deliveries(type, records.webhook.pk)
        self._write_deliveries(PAYMENT_COMPLETED, second.pk)
        self._multiply(
            BalanceChange,
            self._settled,
            self._number,
            payment_id=payment,
            amount="template.amount / 500",
            settlement=f"CASE WHEN n > 500 THEN {self._key_of('settlement', row='(n - 1) / 500', every=500)} END",
            posting_reference="template.posting_reference || n",
        )

    def _write_deliveries(self, type: str, endpoint: uuid.UUID) -> None:
        """The deliveries of all events of a type to an endpoint, and an attempt of each that is not too old."""
        delivery = self._key_of(f"delivery {endpoint} {type}")
        self._multiply(
            Delivery,
            self._records.delivery,
            self._number,
            id=delivery,
            event_id=self._key_of(type),
            endpoint_id=f"'{endpoint}'::uuid",
            status="CASE WHEN n % 1000 = 0 THEN 'failed' ELSE 'delivered' END",
            delivered_at="CASE WHEN n % 1000 <> 0 THEN to_timestamp(made / 1000.0) END",
            next_attempt_at="NULL",
            attempt_count="1",
        )
        attempt, _ = Attempt.objects.get_or_create(
            delivery=self._records.delivery,
            number=1,
            defaults={"started_at": timezone.now(), "duration_milliseconds": 40, "status_code": 200},
        )
        self._multiply(
            Attempt,
            attempt,
            min(self._number, DAYS_OF_ATTEMPTS * 86_400_000 // self._step),
            id=self._key_of(f"attempt {endpoint} {type}"),
            delivery_id=delivery,
            started_at="to_timestamp(made / 1000.0)",
        )

    def write_others(self, merchants: int, each: int) -> None:
        """Copies of the merchant with so many payments, their events and transfers: rows that are read past."""
        keys = [ids.new_uuid() for _ in range(merchants)]
        owner = f"(ARRAY[{', '.join(map(repr, map(str, keys)))}]::uuid[])[1 + n % {merchants}]"
        number, key, payment = merchants * each, f"other {self._number}", self._paid
        every = max(1, self._number // number)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute("DROP FUNCTION IF EXISTS pg_temp.key_of")
            cursor.execute(_KEY_OF)
            for place, merchant in enumerate(keys, 1):
                name = f"template.name || ' {place}'"
                self._multiply(Merchant, self._merchant, 1, id=f"'{merchant}'::uuid", name=name)
            own = self._key_of(key, every=every)
            self._multiply(
                Payment,
                payment,
                number,
                every=every,
                id=own,
                merchant_id=owner,
                sequence=f"-({10**10} + n)",
                memo="left(md5(template.id::text || n), 20)",
                deposit_address="'0x' || left(md5('other' || n) || md5(n::text), 40)",
            )
            self._multiply(
                Deposit,
                payment.deposits.get(),
                number,
                every=every,
                id=self._key_of(f"{key} deposit", every=every),
                payment_id=own,
                transaction_hash="'0x' || repeat(md5('other' || n), 2)",
            )
            for event in Event.objects.about(payment.pk):
                self._multiply(
                    Event,
                    event,
                    number,
                    every=every,
                    id=self._key_of(f"{key} {event.type}", every=every),
                    merchant_id=owner,
                    object_id=own,
                    is_fanned_out="true",
                )
            self._write_search_entries(cursor, Payment.objects.filter(merchant__in=keys))

    def _write_rarer_records(self) -> None:
        records, number = self._records, self._number
        self._multiply(
            Settlement,
            records.settlement,
            max(1, number // 500),
            every=500,
            period_key="'bench-' || n",
            status="'completed'",
            payout_id="NULL",
            next_step_at="NULL",
            ended_at="to_timestamp(made / 1000.0)",
            completed_at="to_timestamp(made / 1000.0)",
            payment_count="500",
        )
        self._multiply(
            Refund,
            records.refund,
            max(1, number // 50),
            every=50,
            payment_id=self._key_of("payment", row="n * 50"),
            status="CASE WHEN n <= 20 THEN 'requires_action' ELSE 'cancelled' END",
            ended_at="CASE WHEN n > 20 THEN to_timestamp(made / 1000.0) END",
        )
        self._multiply(
            PaymentLink, records.link, max(1, number // 5000), every=5000, code="left(md5(template.code || n), 10)"
        )
        self._write_decisions()
        action = LoggedAction.objects.create(
            merchant=self._merchant,
            environment="sandbox",
            action=Action.CANCEL_PAYMENT,
            person=records.export.requested_by,
            email="jo@example.com",
            role="owner",
            record=records.payment.public_id,
            after={"status": "cancelled"},
        )
        self._multiply(LoggedAction, action, max(1, number // 50), every=50)
        # The log of requests is kept for a month.
        self._multiply(LoggedRequest, records.logged, max(1, number // 12), request_id="'shop-' || n")

    def _write_decisions(self) -> None:
        """Of a thousand payments, one more has got too much, and waits for the merchant."""
        waiting, number = self._records.discrepancy, max(1, self._number // 1000)
        payment, deposit = (self._key_of(kind, every=1000) for kind in ("overpaid", "surplus"))
        self._multiply(
            Payment,
            Payment.objects.get(discrepancies=waiting),
            number,
            every=1000,
            id=payment,
            sequence=f"-({self._number} * 4 + n)",
            memo="left(md5(template.id::text || n), 20)",
        )
        self._multiply(
            Deposit,
            Deposit.objects.filter(payment=waiting.payment_id).earliest("id"),
            number,
            every=1000,
            id=deposit,
            payment_id=payment,
            transaction_hash="'0x' || repeat(md5(template.id::text || n), 2)",
        )
        self._multiply(Discrepancy, waiting, number, every=1000, payment_id=payment, deposit_id=deposit)

    def _write_ledger(self, cursor: Any) -> None:
        """A posting for each change of the balance, and one for each decision that waits."""
        settled, waiting = self._settled, self._records.discrepancy
        released = Posting.objects.get(kind=settled.posting_kind, reference=settled.posting_reference)
        own = released.entries.get(account__kind="merchant:available")
        coins = Account.objects.filter(
            environment=settled.environment, network=settled.network, asset=settled.asset, kind__startswith="chain:"
        ).latest("balance")
        self._multiply(Posting, released, self._number, reference="template.reference || n")
        every = max(1, self._number // 1000)
        suspense = Account.objects.get(owner=waiting.payment_id, kind__startswith="suspense:")
        owner = self._key_of("overpaid", every=1000)
        self._multiply(Account, suspense, every, every=1000, id=_NEXT.format(_table(Account)), owner=f"{owner}::text")
        held = f"held{self._number}-"
        posting = self._key_of("held", every=1000)
        self._multiply(Posting, released, every, every=1000, id=posting, reference=f"'{held}' || n")
        of_owner = (
            f"(SELECT id FROM {_table(Account)} WHERE environment = '{suspense.environment}'"  # noqa: S608
            f" AND owner = {owner}::text AND kind = '{suspense.kind}')"
        )
        self._write_ways_of_payments(cursor, own, coins)
        for account, sign in ((of_owner, "-"), (str(coins.pk), "+")):
            amount = f"{sign}{waiting.amount}"
            self._multiply(Entry, own, every, every=1000, **_entry_of(posting, account, amount))
        cursor.execute(
            f"UPDATE {_table(Account)} AS account SET balance = entries.total FROM ("  # noqa: S608
            f" SELECT account_id, sum(amount) AS total FROM {_table(Entry)} GROUP BY account_id"
            ") AS entries WHERE account.id = entries.account_id AND account.balance <> entries.total"
        )
        correct(DAY_SUMS)

    def _write_ways_of_payments(self, cursor: Any, own: Entry, coins: Account) -> None:
        """Two postings and five entries for each payment: its coins arrive, and go on from its own account, which is
        empty then, to the merchant; a hundredth is the fee. What is refunded goes through an account as well."""
        amount, released, refunded = "template.amount / 500", self._key_of("posting"), max(1, self._number // 50)
        fees, _ = Account.objects.get_or_create(
            environment=coins.environment, network=coins.network, asset=coins.asset, kind="fee:service"
        )
        clearing, payout = (Account.objects.filter(kind=kind).earliest("pk") for kind in ("payment", "payout"))
        for name, every, account in (("came", 1, clearing), ("paid", 50, payout)):
            number = self._number if every == 1 else refunded
            cursor.execute("SELECT setval(%(name)s, nextval(%(name)s) + %(number)s) - %(number)s", {
                "name": f"{_table(Account)}_id_seq", "number": number,
            })  # fmt: skip
            (base,) = cursor.fetchone()
            whose = self._key_of("payment" if every == 1 else "refund", every=every)
            self._multiply(Account, account, number, every=every, id=f"{base} + n", owner=f"{whose}::text", balance="0")
            posting = self._key_of(name, every=every)
            told = {"id": posting, "reference": f"'{name}{self._number}-' || n"}
            self._multiply(Posting, own.posting, number, every=every, kind=f"'{_KINDS[name]}'", **told)
            lines = [
                (posting, str(coins.pk), f"-{amount}" if every == 1 else amount),
                (posting, f"{base} + n", amount if every == 1 else f"-{amount}"),
            ]
            if every == 1:
                lines += [
                    (released, f"{base} + n", f"-{amount}"),
                    (released, str(own.account_id), f"{amount} - {amount} / 100"),
                    (released, str(fees.pk), f"{amount} / 100"),
                ]
            else:
                reserved = self._key_of("reserved", every=every)
                told = {"id": reserved, "reference": f"'reserved{self._number}-' || n"}
                self._multiply(Posting, own.posting, number, every=every, kind="'refund_reserved'", **told)
                lines += [(reserved, f"{base} + n", amount), (reserved, str(own.account_id), f"-{amount}")]
            for one, of_account, changed in lines:
                self._multiply(Entry, own, number, every=every, **_entry_of(one, of_account, changed))

    def _key_of(self, kind: str, *, row: str = "n", every: int = 1) -> str:
        """The key in SQL of the record of a kind with the number `row`, of which there is one in so many payments."""
        return f"pg_temp.key_of('{self._seed(kind)}', now_at - ({row}) * {every * self._step}, {row})"

    def _seed(self, kind: str) -> str:
        return f"{kind}{self._merchant.pk.hex[:8]}"

    def _multiply(self, model: type[Model], template: Model, number: int, *, every: int = 1, **columns: str) -> None:
        """Copy a row so many times, from newest to oldest, with these columns in SQL: of `n`, `made` and `template`."""
        names = [str(field.column) for field in model._meta.local_concrete_fields]
        columns.setdefault("id", f"pg_temp.key_of('{self._seed(model._meta.model_name or '')}', made, n)")
        values = ", ".join(columns.get(name, f"template.{name}") for name in names).replace("%", "%%")
        with connection.cursor() as cursor:
            for newest in range((number - 1) // ROWS_AT_ONCE * ROWS_AT_ONCE, -1, -ROWS_AT_ONCE):
                oldest = min(number, newest + ROWS_AT_ONCE)
                cursor.execute(
                    f"INSERT INTO {_table(model)} ({', '.join(names)}) SELECT {values}"  # noqa: S608 - columns of our own
                    f" FROM {_table(model)} AS template, LATERAL ("
                    " SELECT n, at AS now_at, at - n * %s AS made"
                    " FROM generate_series(%s::bigint, %s, -1) AS n,"
                    " (SELECT (extract(epoch FROM now()) * 1000)::bigint AS at) AS clock"
                    " ) AS numbers WHERE template.id = %s",
                    [every * self._step, oldest, newest + 1, template.pk],
                )
                self._note(model, oldest - newest)

    def _note(self, model: type[Model], rows: int) -> None:
        self._written += rows
        self._tell(str(model._meta.verbose_name_plural), min(0.7, self._written / self._number / ROWS_OF_PAYMENT))

    def _write_search_entries(self, cursor: Any, own: QuerySet[Payment]) -> None:
        """As the task writes them."""
        for batch in self._entries(own.order_by("-pk")):  # the connection reads nothing while it is copied to
            with cursor.copy(_COPY) as copy:
                for entry in batch:
                    pieces = ",".join(map(str, entry.pieces))  # a list would be adapted number by number
                    copy.write_row(
                        (
                            entry.payment_id,
                            entry.merchant_id,
                            entry.environment,
                            entry.text,
                            f"{{{pieces}}}",
                            entry.deposits_until,
                        )
                    )
            self._note(SearchEntry, 4 * len(batch))  # the slowest rows of all

    def _entries(self, own: QuerySet[Payment]) -> Iterator[list[SearchEntry]]:
        until = Deposit.objects.latest("pk").pk
        entries = [entry_of(texts, until) for texts in texts_of(own[:20_000])]
        while entries:
            yield entries
            older = own.filter(pk__lt=entries[-1].payment_id)[:20_000]
            entries = [entry_of(texts, until) for texts in texts_of(older)]


LARGE = (Payment, Deposit, Event, Delivery, Attempt, BalanceChange, SearchEntry, Posting, Entry)

_KINDS = {"came": "deposit_credited", "paid": "payout_paid"}
_NEXT = "nextval(pg_get_serial_sequence('{}', 'id'))"


def _entry_of(posting: str, account: str, amount: str) -> dict[str, Any]:
    """The columns of an entry, in SQL."""
    return {"id": _NEXT.format(_table(Entry)), "posting_id": posting, "account_id": account, "amount": amount}


_INDEXES = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = ANY(%s::regclass[]) AND NOT indisunique AND indexrelid <> 'deposit_of_payment'::regclass
"""
"""All but that by which the texts of search entries read a payment's transfers, one payment at a time."""


@contextmanager
def _without_indexes(cursor: Any, tell: Callable[[str, float], None]) -> Iterator[None]:
    """Make the indexes of the large tables anew at the end, which takes a fraction of the time of keeping them."""
    cursor.execute(_INDEXES, [[_table(model) for model in LARGE]])
    indexes = cursor.fetchall()
    for name, _definition in indexes:
        cursor.execute(f"DROP INDEX {name}")
    yield
    cursor.execute("SET LOCAL maintenance_work_mem = '512MB'")
    for place, (name, definition) in enumerate(indexes):
        tell(f"index {name}", 0.7 + 0.25 * place / len(indexes))
        cursor.execute(definition)


_COPY = (
    f"COPY {SearchEntry._meta.db_table} (payment_id, merchant_id, environment, text, pieces, deposits_until) FROM STDIN"
)


def _table(model: type[Model]) -> str:
    return str(model._meta.db_table)
