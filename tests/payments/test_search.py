"""Payments are found by whatever a person has of them, each kind of text by an index."""

from __future__ import annotations

import unicodedata
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config import ids
from merchants.models import Merchant
from payments.dashboard.search import finding
from payments.dashboard.search.filters import PaymentFilter
from payments.dashboard.search.finding import Searched, find_payment
from payments.dashboard.search.indexing import index_payments
from payments.dashboard.search.models import SearchEntry
from payments.dashboard.search.pieces import SHORT, alternatives, pieces_of, span_of
from payments.models import Payment
from tests.factories import make_merchant
from tests.payments.scenes import POLYGON, SANDBOX, STELLAR, confirm, make_payment, pay
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db

NAMES = "李雷, たなか, 김민수, สมชาย, Иван, Ångström"


@pytest.fixture
@populated_once
def wanted(db: None) -> Payment:
    """A payment among others of its merchant's, and one of somebody else's that is just like it."""
    merchant, metadata = (
        make_merchant(),
        {"order": "SO-1042", "payer": {"mail": ["Ada.L@Example.org"]}, "weight": 731, "name": NAMES},
    )
    payment = make_payment(POLYGON, merchant=merchant, amount="1250", currency="EUR", metadata=metadata)
    make_payment(POLYGON, merchant=merchant, amount="99", metadata={"order": "SO-9"})
    make_payment(POLYGON, amount="1250", currency="EUR", metadata=metadata)
    index_payments()
    return payment


def found(merchant: Merchant, text: str, **asked: Any) -> list[Payment]:
    own = Payment.objects.of(merchant, SANDBOX).filter(PaymentFilter(**asked).condition())
    searched = Searched(merchant, SANDBOX, text)
    newest = searched.newest(own, before=None, limit=26)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(finding, "NEWEST", 1)
        assert searched.newest(own, before=None, limit=26) == newest  # the index has what looking through them finds
    assert newest.following is None
    return newest.payments


def paid(payment: Payment) -> str:
    transaction_hash = pay(payment)
    confirm(payment)
    return transaction_hash


def test_a_payment_is_found_by_each_part_of_its_text(wanted: Payment) -> None:
    public_id = wanted.public_id
    for text in (
        public_id[-8:],
        public_id[6:14].upper(),
        "SO-1042",
        "so-104",
        "ada.l@example.org",
        "@EXAMPLE",
        "731",
        "1250",
        "1,250.00",
        "1250.0 EUR",
        f"{Decimal(wanted.due) / 10**6:f} USDC",
        wanted.deposit_address[-4:],
        wanted.deposit_address[10:22].upper(),
        "李雷",
        "なか",
        "민수",
        unicodedata.normalize("NFD", "김민"),
        "ชา",
        "ИВ",
        "ån",
        "A.",
    ):
        assert found(wanted.merchant, text) == [wanted], text
    for text in (
        "",
        "李",
        "雷李",
        wanted.deposit_address[10:12] + "x",
        "pa",
        "0x",
        "1250 USD",
        "so-1043",
        "1250.5",
        "%",
        "_",
        "so_1042",
        "ada.l@example.orgx",
        "\\",
        "'",
    ):
        assert found(wanted.merchant, text) == [], text


def test_a_payment_is_found_by_who_paid_it(wanted: Payment) -> None:
    transaction_hash = paid(wanted)
    deposit = wanted.deposits.get()
    assert found(wanted.merchant, deposit.sender) == [wanted]
    assert found(wanted.merchant, f" {deposit.sender.lower()} ") == [wanted]
    for text in (transaction_hash, transaction_hash.upper().replace("0X", "0x"), wanted.public_id.upper()):
        assert find_payment(wanted.merchant, SANDBOX, text) == wanted
        assert find_payment(make_merchant(), SANDBOX, text) is None


def test_a_payment_is_found_by_any_part_of_the_hash_it_was_paid_by_since_its_entry_was_written(wanted: Payment) -> None:
    transaction_hash = paid(wanted)
    sender = wanted.deposits.get().sender
    parts = (transaction_hash[-6:], transaction_hash[20:32].upper(), sender[5:15], sender[-6:])
    assert [found(wanted.merchant, text) for text in parts] == [[]] * 4
    assert index_payments() == 1
    assert [found(wanted.merchant, text) for text in parts] == [[wanted]] * 4
    assert index_payments() == 0
    again = paid(wanted)
    assert index_payments() == 1
    assert found(wanted.merchant, again[-12:]) == found(wanted.merchant, parts[0]) == [wanted]


def test_entries_of_the_release_before_are_written_again_and_found_meanwhile(wanted: Payment) -> None:
    transaction_hash, entry = paid(wanted), SearchEntry.objects.get(payment_id=wanted.pk)
    of = (wanted.merchant_id, SANDBOX, span_of(wanted.pk))
    dense = [1, *pieces_of(entry.text, *of), *pieces_of("so-1042\n李雷", *of, length=SHORT)]
    SearchEntry.objects.filter(payment_id=wanted.pk).update(pieces=dense)
    parts = ("so-1042", "o-1", "李雷", wanted.public_id[-8:], wanted.deposit_address[7:11])
    assert [found(wanted.merchant, part) for part in parts] == [[wanted]] * 5
    assert index_payments() == 1  # as it was paid
    assert found(wanted.merchant, transaction_hash[-6:]) == [wanted]
    SearchEntry.objects.update(pieces=dense)
    assert [index_payments(batch=2) for _ in range(3)] == [2, 1, 0]
    assert [found(wanted.merchant, part) for part in (*parts, transaction_hash[-6:])] == [[wanted]] * 6


def test_every_four_characters_of_an_address_are_found_by_half_of_its_pieces(wanted: Payment) -> None:
    address, of = wanted.deposit_address.lower(), (wanted.merchant_id, SANDBOX, span_of(wanted.pk))
    pieces = set(SearchEntry.objects.get(payment_id=wanted.pk).pieces)
    assert 20 <= len(pieces & set(pieces_of(address, *of))) < 25
    for start in range(len(address) - 3):
        assert any(pieces.issuperset(each) for each in alternatives(address[start : start + 4], *of))
        assert found(wanted.merchant, address[start : start + 4].upper())[0] == wanted


def test_three_characters_are_found_where_their_piece_is_kept(wanted: Payment) -> None:
    address = wanted.deposit_address.lower()
    parts = enumerate(address[start : start + 3] for start in range(len(address) - 2))
    places = {place for place, part in parts if wanted in found(wanted.merchant, part)}
    assert set(range(0, 40, 2)) <= places < set(range(40))


def test_what_was_found_is_shown_with_the_part_that_was_typed(wanted: Payment) -> None:
    transaction_hash = paid(wanted)
    public_id, address = wanted.public_id, wanted.deposit_address
    for text, match in {
        " SO-10": ("order", "", "SO-10", "42"),
        "李雷": ("name", "", "李雷", f"{NAMES[2:18]}…"),
        "example": ("mail", "Ada.L@", "Example", ".org"),
        public_id[-8:].upper(): ("Payment", f"…{public_id[-24:-8]}", public_id[-8:], ""),
        address[10:22].lower(): ("Deposit address", address[:10], address[10:22], f"{address[22:38]}…"),
        transaction_hash[40:52]: (
            "Transaction hash", f"…{transaction_hash[24:40]}", transaction_hash[40:52], transaction_hash[52:]
        ),
        "1250": None,
    }.items():  # fmt: skip
        [shown] = Searched(wanted.merchant, SANDBOX, text).with_matches([wanted])
        assert shown.match == match, text  # type: ignore[attr-defined]  # as an annotation


def test_search_and_filters_narrow_each_other_down(wanted: Payment) -> None:
    assert found(wanted.merchant, "so-", network=POLYGON, coin="USDC", least=Decimal(1000)) == [wanted]
    assert found(wanted.merchant, "so-", network=STELLAR) == []
    assert found(wanted.merchant, "so-", most=Decimal("1249.99"), least=Decimal("99.01")) == []
    assert len(found(wanted.merchant, "so-", status="created")) == 2


def test_pages_of_what_was_found_follow_each_other(wanted: Payment, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        make_payment(merchant=wanted.merchant, metadata={"order": f"SO-200{number}"})
    index_payments()
    own, searched = Payment.objects.of(wanted.merchant, SANDBOX), Searched(wanted.merchant, SANDBOX, "so-")
    everything = list(own.order_by("-pk"))
    for newest in (2, finding.NEWEST):  # whether the newest have it all, or the index has the rest
        monkeypatch.setattr(finding, "NEWEST", newest)
        first = searched.newest(own, before=None, limit=3)
        second = searched.newest(own, before=first.payments[-1].pk, limit=9)
        assert first.payments + second.payments == everything


def test_what_only_old_payments_have_is_found_newest_first_without_reading_all_of_it(
    wanted: Payment, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Payment.objects.of(wanted.merchant, SANDBOX)
    made_at = {days: timezone.now() - timedelta(days=days) for days in (40, 4, 30, 20)}
    for instant in made_at.values():
        payment = make_payment(merchant=wanted.merchant, metadata={"campaign": "spring", "name": "李雷"})
        Payment.objects.filter(pk=payment.pk).update(id=ids.first_uuid_at(instant))
    SearchEntry.objects.all().delete()  # they are older than what the task looks for
    index_payments()
    expected = [ids.first_uuid_at(made_at[days]) for days in sorted(made_at)]
    monkeypatch.setattr(finding, "NEWEST", 1)
    for text in ("spring", "PRIN", "pri", "李雷"):
        assert [each.pk for each in found(wanted.merchant, text) if each != wanted] == expected, text
    monkeypatch.setattr(finding, "RARE", 1)
    searched = Searched(wanted.merchant, SANDBOX, "spring")
    pages = [searched.newest(own, before=before, limit=26) for before in (None, expected[1])]
    assert [[each.pk for each in page.payments] for page in pages] == [expected[:2], expected[2:]]
    assert [page.following for page in pages] == [expected[1], None]
    assert searched.newest(own, before=None, limit=2).following is None
    one, two, three, all_there_are = (spans_read(searched, limit=limit) for limit in (1, 2, 3, 9))
    assert one < two < three < all_there_are


def spans_read(searched: Searched, *, limit: int) -> int:
    """How many spans of three days the database looks into for so many payments."""
    with CaptureQueriesContext(connection) as captured:
        searched._older(ids.LAST_KEY, limit)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {captured[-1]['sql']}")
        [[[explained]]] = cursor.fetchall()
    nodes = [explained["Plan"]]
    for node in nodes:
        nodes += node.get("Plans", [])
    return max(int(node["Actual Loops"]) for node in nodes)


def test_what_is_new_is_found_once_it_is_indexed_and_what_was_there_before_is_too(wanted: Payment) -> None:
    SearchEntry.objects.all().delete()  # as in an installation of yesterday
    assert [index_payments(batch=2), index_payments(batch=2), index_payments(batch=2)] == [2, 1, 0]
    assert found(wanted.merchant, "so-1042") == [wanted]
    early = make_payment(merchant=wanted.merchant, metadata={"order": "late commit"})
    make_payment(merchant=wanted.merchant)
    index_payments()
    SearchEntry.objects.filter(payment_id=early.pk).delete()  # its database transaction ended after that of the next
    assert index_payments() == 1
    assert found(wanted.merchant, "late commit") == [early]


def test_pieces_are_of_one_merchant_and_one_span_of_time() -> None:
    one, other = make_merchant(), make_merchant()
    pieces = set(pieces_of("order", one.pk, SANDBOX, 7))
    assert pieces == set(pieces_of("order", one.pk, SANDBOX, 7))
    for others in ((other.pk, SANDBOX, 7), (one.pk, "production", 7), (one.pk, SANDBOX, 8)):
        assert not pieces & set(pieces_of("order", *others))
    assert pieces_of("ab\ncd", one.pk, SANDBOX, 7) == []


def test_amounts_are_compared_in_the_digits_of_their_currency() -> None:
    merchant = make_merchant()
    yen = make_payment(merchant=merchant, amount="1500", currency="JPY")
    dinar = make_payment(merchant=merchant, amount="1500.125", currency="BHD")
    euro = make_payment(merchant=merchant, amount="1500.12", currency="EUR")

    def within(least: str, most: str) -> set[Payment]:
        asked = PaymentFilter(least=Decimal(least), most=Decimal(most))
        assert PaymentFilter.from_json(asked.as_json()) == asked
        return set(Payment.objects.of(merchant, SANDBOX).filter(asked.condition()))

    assert within("1500", "1500") == {yen}
    assert within("1500.001", "1500.125") == {dinar, euro}
    assert within("1500.121", "1501") == {dinar}
    assert found(merchant, "1500") == [yen]
    assert found(merchant, "1500.125") == [dinar]
