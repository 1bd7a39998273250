"""Statements of months: all that changed a merchant's money, in the merchant's time zone, as page and as files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from html import unescape
from io import StringIO
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from django.http import StreamingHttpResponse
from django.test import Client
from django.utils import timezone

from config.environments import Environment
from merchants.models import Member, Merchant
from merchants.services import change_fee, update_settings
from payments.chains.simulated.networks import address_named
from payments.monitoring.accounting.periods import Days
from payments.rates.recording import record_rates
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from settlements.monthly import presenters
from settlements.monthly.months import month_named, months, name_of
from settlements.monthly.reading import accounts_of, entries_of
from tests.accounting.clock import made_at, zone_far_from_midnight
from tests.dashboard.conftest import browser_of
from tests.dashboard.test_queries import queries_of
from tests.factories import make_member, make_merchant
from tests.ledger.books import COINS, FEES, available_account, move, receivable_account
from tests.payments.scenes import ETHEREUM, POLYGON, make_payment, pay_and_confirm
from tests.pdf_text import pages_in, text_in
from tests.settlements.page_scenes import earn, fill_treasury, make_settlements, pay_out

pytestmark = pytest.mark.django_db

SANDBOX = Environment.SANDBOX
AUCKLAND = "Pacific/Auckland"
PAGE, FILE = "/dashboard/statements/month", "/dashboard/statements/file"


def in_auckland(year: int, month: int) -> Days:
    first = date(year, month, 1)
    return Days(first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1), ZoneInfo(AUCKLAND))


def figures(merchant: Merchant, month: Days) -> list[tuple[int, list[int], int]]:
    """Opening balance, entries and closing balance of each account."""
    found = []
    for account in accounts_of(merchant, SANDBOX, month):
        entries = list(entries_of(account, month))
        assert entries == list(entries_of(account, month, at_a_time=1))
        closing = entries[-1].balance if entries else account.opening
        assert account.opening + sum(each.amount for each in entries) == closing
        found.append((account.opening, [each.amount for each in entries], closing))
    return found


def test_months_begin_and_end_by_the_clocks_of_the_merchant() -> None:
    merchant, stranger = make_merchant(), make_merchant()
    own, other = available_account(str(merchant.pk)), available_account(str(stranger.pk))
    midnight = datetime(2026, 1, 31, 11, tzinfo=UTC)  # in Auckland it is February then
    for number, at in enumerate((midnight - timedelta(milliseconds=1), midnight, datetime(2026, 4, 1, tzinfo=UTC))):
        with made_at(at):
            for _ in range(2):  # in one millisecond
                move(10**number, debit=COINS, credit=own)
            move(7, debit=COINS, credit=other)
            move(7, debit=COINS, credit=own, environment=Environment.PRODUCTION)
    assert figures(merchant, in_auckland(2025, 12)) == [(0, [], 0)]
    assert figures(merchant, in_auckland(2026, 1)) == [(0, [1, 1], 2)]
    assert figures(merchant, in_auckland(2026, 2)) == [(2, [10, 10], 22)]
    assert figures(merchant, in_auckland(2026, 3)) == [(22, [], 22)]
    assert figures(merchant, in_auckland(2026, 4)) == [(22, [100, 100], 222)]


def test_what_is_owed_is_a_balance_below_zero_and_a_posting_of_any_kind_is_an_entry() -> None:
    merchant = make_merchant()
    own, owed = available_account(str(merchant.pk)), receivable_account(str(merchant.pk))
    with made_at(datetime(2026, 2, 10, tzinfo=UTC)):
        move(50, debit=owed, credit=FEES)
    with made_at(datetime(2026, 2, 11, tzinfo=UTC)):
        move(80, debit=COINS, credit=own)
    month = in_auckland(2026, 2)
    [account] = accounts_of(merchant, SANDBOX, month)
    told = [(each.type, each.amount, each.balance) for each in entries_of(account, month)]
    assert told == [("fee", -50, -50), ("moved", 80, 30)]


def test_there_is_a_month_from_the_opening_of_the_merchant_to_the_one_that_runs() -> None:
    opened, now = datetime(2025, 12, 31, 12, tzinfo=UTC), datetime(2026, 2, 28, 11, tzinfo=UTC)
    assert [name_of(each) for each in months("UTC", opened_at=opened, now=now)] == ["2026-02", "2026-01", "2025-12"]
    assert [name_of(each) for each in months(AUCKLAND, opened_at=opened, now=now)] == ["2026-03", "2026-02", "2026-01"]

    def named(name: str) -> Days | None:
        return month_named(name, "UTC", opened_at=opened, now=now)

    assert named("2026-02") == Days(date(2026, 2, 1), date(2026, 2, 28), ZoneInfo("UTC"))
    assert named("") == named("2026-02")
    for none in ("2026-03", "2025-11", "2026-2", "2026-13", "x", "2026-02-01"):
        assert named(none) is None


@pytest.fixture
def member() -> Member:
    """A month with two coins, one converted, a fee, a refund, a settlement that is paid, and a surplus that waits."""
    member = make_member(make_merchant("Harbour & Coffee"))
    merchant = member.merchant
    change_fee(merchant=merchant, fee_bps=100)
    zone = zone_far_from_midnight()
    update_settings(merchant=merchant, environment=SANDBOX, changes={"settlement_timezone": zone})
    merchant.refresh_from_db()
    fill_treasury()
    earn(merchant, "30", coin="USDT")
    payment = earn(merchant, "100")
    create_refund(payment=payment, request=NewRefund(amount=None), requested_by="jo@example.com")
    pay_and_confirm(make_payment(ETHEREUM, "USDC", "200", merchant=merchant), "225")
    [settlement] = make_settlements(merchant)
    pay_out(settlement)
    earn(merchant, "7")
    earn(make_merchant("A stranger"), "9999")
    return member


def rows(client: Client, **asked: str) -> list[dict[str, str]]:
    reply = client.get(FILE, asked)
    assert reply.status_code == 200
    return list(csv.DictReader(StringIO(b"".join(cast("Iterator[bytes]", reply)).decode())))


def test_the_file_has_everything_settled_or_not_and_what_it_became(member: Member) -> None:
    found = rows(browser_of(member))
    told = [
        tuple(row[name] for name in ("account", "cryptocurrency", "type", "amount", "balance", "fiat_amount"))
        for row in found
    ]
    assert told == [
        ("balance", "USDC", "opening_balance", "", "0.000000", ""),
        ("balance", "USDC", "payment", "100.000000", "100.000000", "100.00"),
        ("balance", "USDC", "refund", "-100.000000", "0.000000", "-100.00"),
        ("balance", "USDC", "payment", "200.000000", "200.000000", "200.00"),
        ("balance", "USDC", "settlement_reserved", "-197.000000", "3.000000", ""),
        ("balance", "USDC", "fee", "-3.000000", "0.000000", ""),
        ("balance", "USDC", "payment", "7.000000", "7.000000", "7.00"),
        ("balance", "USDC", "revaluation", "", "", ""),
        ("balance", "USDC", "closing_balance", "", "7.000000", ""),
        ("suspense", "USDC", "opening_balance", "", "0.000000", ""),
        ("suspense", "USDC", "payment_released", "25.000000", "25.000000", "25.00"),
        ("suspense", "USDC", "revaluation", "", "", ""),
        ("suspense", "USDC", "closing_balance", "", "25.000000", ""),
        ("balance", "USDT", "opening_balance", "", "0.000000", ""),
        ("balance", "USDT", "payment", "30.000000", "30.000000", "30.00"),
        ("balance", "USDT", "settlement_reserved", "-29.700000", "0.300000", ""),
        ("balance", "USDT", "fee", "-0.300000", "0.000000", ""),
        ("balance", "USDT", "revaluation", "", "", ""),
        ("balance", "USDT", "closing_balance", "", "0.000000", ""),
    ]
    usdt = next(row for row in found if (row["cryptocurrency"], row["type"]) == ("USDT", "payment"))
    assert usdt["settlement_id"].startswith("set_")
    assert usdt["settlement_currency"] == "USDC"
    assert float(usdt["in_settlement_currency"]) == pytest.approx(30 * float(usdt["rate"]), abs=1e-6)
    unsettled = [row["amount"] for row in found if row["type"] == "payment" and not row["settlement_id"]]
    assert unsettled == ["7.000000"]


def test_json_says_the_same_and_the_page_in_words(member: Member) -> None:
    client = browser_of(member)
    reply = client.get(FILE, {"format": "json"})
    statement: dict[str, Any] = json.loads(b"".join(cast("StreamingHttpResponse", reply)))
    assert (statement["merchantId"], statement["isComplete"]) == (member.merchant.public_id, False)
    in_json = [
        (account["account"], account["cryptocurrency"], entry["type"], entry["amount"], entry["balance"])
        for account in statement["accounts"]
        for entry in account["entries"]
    ]
    names = ("account", "cryptocurrency", "type", "amount", "balance")
    kept = [row for row in rows(client) if "_balance" not in row["type"] and row["type"] != "revaluation"]
    assert in_json == [tuple(row[name] for name in names) for row in kept]
    assert [each["closingBalance"] for each in statement["accounts"]] == ["7.000000", "25.000000", "0.000000"]

    page = " ".join(client.get(PAGE).text.split())
    for words in (
        "Your balance: USDC on",
        "Waits for your decision: USDC on",
        "This month is in progress",
        "Harbour &amp; Coffee",
        "307.00 USD",
        "−197.00 USDC",
        "Overpaid",
    ):
        assert words in page
    assert "9,999" not in page
    assert "Monthly statements" in client.get("/dashboard/statements").text


def test_the_pdf_says_what_the_page_says(member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    client = browser_of(member)

    def pdf() -> str:
        reply = client.get(FILE, {"format": "pdf"})
        assert reply.headers["Content-Type"] == "application/pdf"
        assert reply.headers["Content-Disposition"].endswith('.pdf"')
        return text_in(reply.content)

    told, page = pdf(), client.get(PAGE).text
    cells = [cell for row in re.findall(r"<td.*?</td>", page, re.DOTALL) if (cell := _text(row))]
    assert len(cells) > 100
    # A cell may go on in the next line, between any two letters of an id.
    missing = [cell for cell in cells if cell.replace(" ", "") not in told.replace(" ", "")]
    assert missing == []
    for words in ("Harbour & Coffee", "This month is in progress", "Your balance: USDC on", "Waits for your decision"):
        assert words in told
    assert "first entries of the month" not in told
    monkeypatch.setattr("settlements.monthly.files.ENTRIES_OF_PDF", 3)
    assert "These are the first entries of the month. The CSV and JSON files have all of them." in pdf()
    empty = browser_of(make_member()).get(FILE, {"format": "pdf"})
    assert "Nothing happened in this month" in text_in(empty.content)


@pytest.mark.parametrize("is_too_long", [False, True])
def test_the_first_page_sums_each_account_and_all_of_them(
    member: Member, monkeypatch: pytest.MonkeyPatch, is_too_long: bool
) -> None:
    if is_too_long:
        monkeypatch.setattr(presenters, "SUMMED_MAX", 0)
    moments = [timezone.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0), timezone.now()]
    for moment in moments:
        record_rates(moment - timedelta(hours=1))
    client = browser_of(member)
    page, [first, *_] = client.get(PAGE).text, pages_in(client.get(FILE, {"format": "pdf"}).content)
    summary = page.partition("Summary</h2>")[2].partition("</table>")[0]
    found = [
        [_text(cell) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)] for row in summary.split("</tr>")[1:-1]
    ]
    names = [row[0] for row in found]
    assert len(found) > 3
    assert names[-2:] == ["Your balance in USDC", "Your balance in EUR"]
    for name, *figures in found:
        known = [Decimal(each.replace("−", "-").replace(",", "") or 0) for each in figures if each != "–"]
        if not is_too_long:
            assert sum(known[:-1]) == known[-1], f"{name}: {figures}, which do not add up"
        assert [each == "–" for each in figures[1:4]] == [is_too_long] * 3
        assert all(len(each.partition(".")[2]) <= 6 for each in figures)
        assert all(each in first for each in figures)
    assert "Each entry" not in first, "the entries follow on other pages"
    number = json.loads(b"".join(cast("StreamingHttpResponse", client.get(FILE, {"format": "json"}))))["number"]
    assert number.startswith("TEST-20")
    assert f"Statement number {number}" in _text(page)
    assert number in first
    shown = _text(page)
    assert not re.search(r"-\d[\d,]*\.\d\d|− \d", shown), "one minus sign"
    assert "00000" not in re.sub(r"\w*_\w+|0x\w+|[\w-]{20,}", "", shown)


def _text(element: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", element)).split())


def test_a_month_with_more_entries_than_a_page_adds_up_shows_what_there_was_and_is_left(
    member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser_of(member)

    def text() -> str:
        return " ".join(re.sub("<[^>]+>", " ", client.get(PAGE).text).split())

    told = "This month has too many entries to add them up by kind on this page."
    assert told not in text()
    monkeypatch.setattr(presenters, "SUMMED_MAX", 7)  # the balance in USDC has six, and suspense one
    page = text()
    assert page.count(told) == 1
    details = page.split("Your balance in ")[-1]
    parts = {name: details.partition(f"{name} on ")[2] for name in ("balance: USDC", "decision: USDC", "balance: USDT")}
    closing = {name: part.partition("Closing balance ")[2].split(" USD")[0] for name, part in parts.items()}
    assert closing == {"balance: USDC": "7.00", "decision: USDC": "25.00", "balance: USDT": "0.00"}
    assert told in parts["balance: USDT"].partition("Each entry")[0]


def test_a_month_that_is_none_and_a_format_that_is_none_are_not_found(member: Member) -> None:
    client = browser_of(member)
    for asked in ({"month": "2020-01"}, {"month": "2999-01"}, {"month": "January"}):
        assert client.get(PAGE, asked).status_code == 404
        assert client.get(FILE, asked).status_code == 404
    assert client.get(FILE, {"format": "xls"}).status_code == 404


def test_an_empty_month_says_so_and_the_zone_of_the_settlements_counts() -> None:
    member = make_member()
    update_settings(merchant=member.merchant, environment=SANDBOX, changes={"settlement_timezone": "Pacific/Auckland"})
    page = browser_of(member).get(PAGE).text
    assert "Nothing happened in this month" in page
    assert "Auckland time" in page
    assert rows(browser_of(member)) == []


def test_the_page_takes_twelve_queries_at_most_with_any_number_of_coins_and_networks(member: Member) -> None:
    client = browser_of(member)
    client.get(PAGE)  # the first page of a session writes it down
    before = len(queries_of(client, PAGE))
    for coin, network in (("USDC", ETHEREUM), ("USDT", ETHEREUM), ("USDC", POLYGON), ("DAI", POLYGON)):
        earn(member.merchant, "11", coin=coin, network=network, wallet=address_named(network, "of the merchant"))
    text = client.get(PAGE).text
    assert text.count("Each entry") > 4
    assert len(queries_of(client, PAGE)) == before <= 12


def test_what_is_shown_of_a_large_month_is_shared_between_its_accounts() -> None:
    assert presenters._shares([5, 1000, 2, 1000], 100) == [5, 46, 2, 47]
    assert presenters._shares([50, 50], 100) == [50, 50]
    assert presenters._shares([], 100) == []


def test_a_part_of_several_accounts_of_the_ledger_ends_where_the_first_of_them_ends() -> None:
    merchant = make_merchant()
    own, owed = available_account(str(merchant.pk)), receivable_account(str(merchant.pk))
    start = datetime(2026, 2, 10, tzinfo=UTC)
    for number in range(30):
        with made_at(start + timedelta(minutes=number)):
            move(number + 1, debit=COINS, credit=own) if number < 20 else move(1, debit=owed, credit=FEES)
            move(3, debit=own, credit=COINS) if number % 7 == 6 else None
    with made_at(start + timedelta(hours=1)):  # nothing for the merchant: it is owed as much less as it has
        move(10, debit=own, credit=owed)
    month = in_auckland(2026, 2)
    [account] = accounts_of(merchant, SANDBOX, month)
    every = list(entries_of(account, month))
    assert every[-1].balance == account.closing
    for at_a_time in range(1, 40):
        assert list(entries_of(account, month, at_a_time=at_a_time)) == every
