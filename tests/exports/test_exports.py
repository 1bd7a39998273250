"""Lists of payments as files: what is in them, and that they are whole whatever happens meanwhile."""

from __future__ import annotations

import csv
import tracemalloc
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.utils import timezone

from config import ids
from merchants.models import Member
from payments.dashboard.exports import rows, services
from payments.dashboard.exports.models import Export, ExportPart
from payments.dashboard.exports.services import ExportRunning, purge_exports, read_file, request_export, write_exports
from payments.dashboard.exports.states import ExportStatus
from payments.dashboard.search import finding
from payments.dashboard.search.filters import PaymentFilter
from payments.dashboard.search.indexing import index_payments
from payments.services import cancel_payment
from tests.exports.copying import copies_of
from tests.factories import make_member
from tests.payments.scenes import POLYGON, SANDBOX, make_payment, pay_and_confirm

pytestmark = pytest.mark.django_db


@pytest.fixture
def member() -> Member:
    return make_member()


def ask(member: Member, **filters: Any) -> Export:
    return request_export(
        merchant=member.merchant, environment=SANDBOX, requested_by=member.user, filters=PaymentFilter(**filters)
    )


def content(export: Export) -> list[dict[str, str]]:
    export.refresh_from_db()
    assert export.status == ExportStatus.READY
    return list(csv.DictReader(StringIO(b"".join(read_file(export)).decode())))


def listed(export: Export) -> list[str]:
    return [row["id"] for row in content(export)]


def test_a_row_says_what_a_payment_is_to_the_last_digit(member: Member) -> None:
    metadata = {"order": "1042"}
    payment = pay_and_confirm(
        make_payment(POLYGON, merchant=member.merchant, amount="1250.00", currency="EUR", metadata=metadata)
    )
    export = ask(member)
    write_exports()
    [row] = content(export)
    deposit = payment.deposits.get()
    assert payment.completed_at is not None
    assert list(row) == list(rows.COLUMNS)
    assert (row["id"], row["status"], row["amount"], row["currency"]) == (
        payment.public_id,
        "completed",
        "1250.00",
        "EUR",
    )
    assert row["received"] == row["crypto_amount"]
    assert row["transaction_hashes"] == deposit.transaction_hash
    assert row["metadata"] == '{"order":"1042"}'


def test_no_cell_is_a_formula() -> None:
    payment = make_payment(metadata={"note": "=1+1"})
    for column in ("memo", "deposit_address"):
        setattr(payment, column, "=HYPERLINK(1)")
    [row] = csv.DictReader(StringIO(rows.heading() + rows.rows_csv([payment])))
    assert [value for value in row.values() if value.startswith(("=", "+", "-", "@", "\t", "\r"))] == []
    assert row["memo"] == "'=HYPERLINK(1)"


def test_the_filters_of_the_list_are_those_of_the_file(member: Member) -> None:
    wanted = make_payment(POLYGON, merchant=member.merchant, amount="30", metadata={"mail": "ada@example.org"})
    make_payment(merchant=member.merchant, amount="30", metadata={"mail": "ada@example.org"})
    make_payment(POLYGON, merchant=member.merchant, amount="30")
    make_payment(POLYGON, metadata={"mail": "ada@example.org"})  # somebody else's
    index_payments()
    export = ask(member, q="ada@example", network=POLYGON)
    write_exports()
    assert listed(export) == [wanted.public_id]


def test_a_file_of_a_search_has_what_its_pages_have_also_where_one_ends_early(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "NEWEST", 1)
    monkeypatch.setattr(finding, "RARE", 1)
    made = [make_payment(merchant=member.merchant, metadata={"campaign": "spring"}) for _ in range(5)]
    wanted = [cancel_payment(payment).public_id for payment in (made[3], made[0])]
    index_payments()
    export = ask(member, q="pri", status="cancelled")
    write_exports()
    assert listed(export) == wanted


def test_each_payment_that_was_there_is_in_it_once_newest_first_whatever_comes_meanwhile(member: Member) -> None:
    made = [make_payment(merchant=member.merchant) for _ in range(5)]
    export = ask(member)
    assert write_exports(turn_seconds=0, rows_of_part=2) == 0
    for _ in range(4):  # a part at each turn, and a new payment after it
        later = make_payment(merchant=member.merchant)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("payments.dashboard.exports.services.time.monotonic", iter([0.0, 0.0, 1.0, 1.0]).__next__)
            write_exports(turn_seconds=0.5, rows_of_part=2)
    assert later.public_id not in listed(export)
    assert listed(export) == [payment.public_id for payment in reversed(made)]
    assert (export.rows_expected, export.rows_written) == (5, 5)


def test_a_killed_worker_is_followed_by_another_and_nothing_is_written_twice(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [make_payment(merchant=member.merchant) for _ in range(3)]
    export = ask(member)
    first = services._take()
    assert first is not None
    assert services._write_part(first, 1)
    assert write_exports() == 0  # the lease stands
    now = timezone.now() + services.LEASE
    monkeypatch.setattr("payments.dashboard.exports.services.database_now", lambda: now)
    assert write_exports() == 0
    assert services._write_part(first, 1) is False  # it was not dead, only slow
    assert listed(export) == [payment.public_id for payment in reversed(made)]


def test_an_export_that_cannot_be_written_is_given_up(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    make_payment(merchant=member.merchant)
    export = ask(member)

    def fail(_: object) -> str:
        raise RuntimeError

    monkeypatch.setattr("payments.dashboard.exports.services.rows.rows_csv", fail)
    for minute in range(services.FAILURES_MAX + 1):
        now = timezone.now() + minute * services.LEASE * 2
        with pytest.MonkeyPatch.context() as clock:
            clock.setattr("payments.dashboard.exports.services.database_now", lambda now=now: now)
            write_exports(turn_seconds=0.05)
    export.refresh_from_db()
    assert (export.status, export.rows_written) == (ExportStatus.FAILED, 0)


def test_a_member_has_one_export_at_a_time(member: Member) -> None:
    ask(member)
    with pytest.raises(ExportRunning):
        ask(member, status="created")
    other = make_member(member.merchant)
    ask(other)
    write_exports()
    ask(member)


def test_an_export_of_nothing_is_its_heading(member: Member) -> None:
    export = ask(member, status="refunded")
    write_exports()
    export.refresh_from_db()
    assert b"".join(read_file(export)) == rows.heading().encode()


def test_old_exports_are_deleted_with_their_parts(member: Member) -> None:
    old = ask(member)
    write_exports()
    new = ask(member)
    now = ids.created_at_of(new.pk) + services.KEPT_FOR
    assert purge_exports(now=ids.created_at_of(old.pk) + services.KEPT_FOR) == 0
    assert ExportPart.objects.get().export == old
    assert purge_exports(now=now + timedelta(milliseconds=1)) == 2
    assert not ExportPart.objects.exists()


def test_memory_does_not_grow_with_the_file(member: Member) -> None:
    payment = make_payment(merchant=member.merchant, metadata={"note": "x" * 500})
    copies_of(payment, 8_000)
    export = ask(member)
    tracemalloc.start()
    try:
        write_exports(turn_seconds=3600, rows_of_part=500)
        peak_of_writing = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        size = sum(map(len, read_file(export)))
        peak_of_reading = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    export.refresh_from_db()
    assert export.rows_written == 8_001
    assert size > 5_000_000
    assert peak_of_writing < size // 2
    assert peak_of_reading < size // 2
