"""Invoices over fees: each month once, numbered without a gap, never changed; credit notes over what was given back."""

from __future__ import annotations

import csv
import io
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from threading import Barrier

import pytest
from django.db import DatabaseError, connection, connections, transaction
from django.test import Client
from pytest_django.fixtures import Settings

from config.environments import Environment
from config.money import to_units
from merchants.ledger.posting import AccountRef
from merchants.models import Merchant
from merchants.roles import Role
from merchants.services import update_settings
from payments.chains import registry
from payments.monitoring.accounting.periods import Days
from payments.rates.quoting import RateUnavailable
from settlements.invoices import issuing
from settlements.invoices.documents import money
from settlements.invoices.issuer import issuer, tax_for
from settlements.invoices.models import BillingDetails, Invoice, InvoiceSeries, TaxTreatment
from tests.accounting.clock import made_at
from tests.dashboard.conftest import browser_of
from tests.factories import api_client, make_key, make_member, make_merchant, make_user
from tests.ledger.books import COINS, FEES, available_account, move
from tests.payments.scenes import findings
from tests.pdf_text import text_in

SANDBOX = Environment.SANDBOX
COIN = 10**6
NOW = datetime(2026, 4, 2, tzinfo=UTC)


@pytest.fixture(autouse=True)
def an_issuer(settings: Settings) -> None:
    settings.INVOICE_ISSUER_NAME = "Example Payments GmbH"
    settings.INVOICE_ISSUER_ADDRESS = "Kaistraße 1; 20457 Hamburg"
    settings.INVOICE_ISSUER_COUNTRY = "DE"
    settings.INVOICE_ISSUER_TAX_ID = "DE123456789"
    settings.INVOICE_CURRENCY, settings.INVOICE_TAX_RATE = "USD", "19"
    settings.INVOICE_NUMBER_PREFIX = "BAL-"


def shop(country: str = "DE", tax_id: str = "", *, name: str = "Harbour Coffee") -> Merchant:
    """A merchant that was opened in January, with billing details."""
    merchant = make_merchant(name)
    merchant.created_at = datetime(2026, 1, 5, tzinfo=UTC)
    merchant.save()
    BillingDetails.objects.create(merchant=merchant, name=name, address="Quay 1", country=country, tax_id=tax_id)
    return merchant


def fee(merchant: Merchant, coins: str, at: datetime) -> None:
    """A fee that was taken; below zero, one that was given back."""
    units = int(Decimal(coins) * COIN)
    own = available_account(str(merchant.pk))
    with made_at(at):
        if units > 0:
            move(units, debit=own, credit=FEES)
        else:
            move(-units, debit=FEES, credit=own)


def fund(merchant: Merchant, at: datetime) -> None:
    with made_at(at):
        move(1000 * COIN, debit=COINS, credit=available_account(str(merchant.pk)))


def issued(merchant: Merchant) -> list[tuple[str, str, str, str]]:
    found = Invoice.objects.filter(merchant=merchant, environment=SANDBOX).order_by("sequence")
    return [(each.number, each.kind, each.month, money(each.net, each.currency)) for each in found]


FEBRUARY, MARCH = datetime(2026, 2, 10, tzinfo=UTC), datetime(2026, 3, 10, tzinfo=UTC)


@pytest.mark.django_db
def test_each_month_is_invoiced_once_and_what_is_given_back_later_is_credited() -> None:
    merchant, other = shop(), shop(name="Corner Shop")
    for each in (merchant, other):
        fund(each, FEBRUARY)
    fee(merchant, "10.004", FEBRUARY)
    fee(other, "0.004", FEBRUARY)  # not worth a cent: it waits for more
    assert issuing.issue_due(datetime(2026, 3, 1, 0, 30, tzinfo=UTC)) == 0, "what was posted at midnight may be missing"
    assert issuing.issue_due(datetime(2026, 3, 1, 1, tzinfo=UTC)) == 1
    assert issued(merchant) == [("BAL-TEST-000001", "invoice", "2026-02", "10.00")]
    fee(merchant, "-4", MARCH)
    fee(other, "0.006", MARCH)
    assert issuing.issue_due(NOW) == 2
    assert issuing.issue_due(NOW) == 0
    assert issued(merchant)[1] == (issued(merchant)[1][0], "credit_note", "2026-03", "4.00")
    assert issued(other) == [(issued(other)[0][0], "invoice", "2026-03", "0.01")]
    assert sorted(Invoice.objects.values_list("sequence", flat=True)) == [1, 2, 3]
    [invoice, note] = Invoice.objects.filter(merchant=merchant).order_by("sequence")
    assert note.corrects == invoice
    assert (money(invoice.tax, "USD"), money(invoice.total, "USD")) == ("1.90", "11.90")
    [line] = invoice.lines
    assert (line["amount"], line["rate"], line["rateSource"]) == ("10.004000", line["rate"], line["rateSource"])
    assert Decimal(line["rate"]) == 1


@pytest.mark.django_db
def test_what_is_below_a_cent_is_carried_to_the_next_document() -> None:
    merchant = shop()
    fund(merchant, FEBRUARY)
    pots = [(network, coin) for network in ("ethereum", "polygon", "stellar") for coin in ("USDC", "USDT")]
    for network, coin in pots:
        with made_at(FEBRUARY):
            held, taken = (AccountRef(network, coin, kind) for kind in ("chain:deposit", "fee:service"))
            own = AccountRef(network, coin, "merchant:available", str(merchant.pk))
            decimals = registry.decimals(SANDBOX, network, coin)
            move(10**decimals, debit=held, credit=own)
            move(4 * 10 ** (decimals - 3), debit=own, credit=taken)
    issuing.issue_due(datetime(2026, 3, 1, 1, tzinfo=UTC))
    fee(merchant, "0.350", MARCH)
    with made_at(MARCH):
        move(4 * 10 ** (decimals - 3), debit=taken, credit=own)  # 0.004 given back beside an invoice
    issuing.issue_due(NOW)
    # Six of 0.004 are 0.024; the rest of that and 0.350 are 0.354.
    documents = list(Invoice.objects.order_by("sequence"))
    assert [(each.kind, each.net) for each in documents] == [("invoice", 2), ("invoice", 35)]
    assert [sum(to_units(Decimal(line["net"]), 2) for line in each.lines) for each in documents] == [2, 35]
    assert documents[1].carried == Decimal("0.4")
    with made_at(NOW):
        move(8 * 10 ** (decimals - 1), debit=taken, credit=own)
        move(10**decimals, debit=held, credit=own)
    assert "S11" in findings(), "nothing says that it was given back, long after the month"
    issuing.issue_due(datetime(2026, 5, 2, tzinfo=UTC))
    [note] = Invoice.objects.filter(kind="credit_note")
    assert (note.net, Decimal(note.lines[0]["amount"]), note.carried) == (80, Decimal("0.804"), Decimal("0.4"))
    assert "S11" not in findings()


@pytest.mark.django_db
def test_a_time_zone_that_changes_loses_no_fee_and_invoices_none_twice() -> None:
    merchant = shop()
    fund(merchant, FEBRUARY)
    update_settings(merchant=merchant, environment=SANDBOX, changes={"settlement_timezone": "Pacific/Auckland"})
    edge = datetime(2026, 2, 28, 11, tzinfo=UTC)  # in Auckland March begins then
    for number, at in enumerate((edge - timedelta(minutes=1), edge, edge + timedelta(days=10))):
        fee(merchant, str(10**number), at)
    issuing.issue_due(datetime(2026, 3, 5, tzinfo=UTC))
    assert [each[3] for each in issued(merchant)] == ["1.00"]
    update_settings(merchant=merchant, environment=SANDBOX, changes={"settlement_timezone": "America/New_York"})
    issuing.issue_due(NOW)
    assert [each[3] for each in issued(merchant)] == ["1.00", "110.00"]


@pytest.mark.django_db
def test_an_invoice_is_never_changed_and_none_is_issued_without_a_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    merchant = shop()
    fund(merchant, FEBRUARY)
    fee(merchant, "10", MARCH)
    with monkeypatch.context() as broken:

        def no_rate(*_: object, **__: object) -> None:
            raise RateUnavailable

        broken.setattr(issuing, "quote", no_rate)
        assert issuing.issue_due(NOW) == 0
    assert InvoiceSeries.objects.get(environment=SANDBOX).last_number == 0
    assert issuing.issue_due(NOW) == 1
    for change in ("UPDATE invoices_invoice SET net = 1", "DELETE FROM invoices_invoice"):
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(change)


@pytest.mark.django_db
def test_without_an_issuer_or_billing_details_nothing_is_issued(settings: Settings) -> None:
    merchant = shop()
    fund(merchant, FEBRUARY)
    fee(merchant, "10", MARCH)
    settings.INVOICE_ISSUER_NAME = ""
    assert issuing.issue_due(NOW) == 0
    settings.INVOICE_ISSUER_NAME = "Example Payments GmbH"
    BillingDetails.objects.all().delete()
    assert (issuing.issue_due(NOW), Invoice.objects.count()) == (0, 0)
    BillingDetails.objects.create(merchant=merchant, name="Late", address="Quay 1", country="FR", tax_id="FR1")
    assert issuing.issue_due(NOW) == 1  # nothing of before is lost


@pytest.mark.parametrize(
    ("country", "tax_id", "treatment", "rate"),
    [
        ("DE", "DE1", TaxTreatment.BY_COUNTRY, 19),
        ("FR", "FR1", TaxTreatment.BY_COUNTRY, 0),
        ("FR", "", TaxTreatment.BY_COUNTRY, 19),
        ("DE", "", TaxTreatment.OUTSIDE, 0),
        ("FR", "FR1", TaxTreatment.STANDARD, 19),
    ],
)
def test_tax_goes_by_country_and_tax_id_unless_an_operator_says_otherwise(
    country: str, tax_id: str, treatment: str, rate: int
) -> None:
    by = issuer()
    assert by is not None
    tax = tax_for(BillingDetails(country=country, tax_id=tax_id, treatment=treatment), by)
    assert (int(tax.rate), bool(tax.note)) == (rate, rate == 0)


@pytest.mark.django_db(transaction=True)
def test_numbers_have_no_gap_and_no_double_under_concurrent_issue() -> None:
    merchants = [shop(name=f"Shop {number}") for number in range(4)]
    for merchant in merchants:
        fund(merchant, FEBRUARY)
        fee(merchant, "10", MARCH)
    InvoiceSeries.objects.create(environment=SANDBOX, begins_on="2026-03-01")
    march, by, together = Days(date(2026, 3, 1), date(2026, 3, 31)), issuer(), Barrier(len(merchants))
    assert by is not None

    def issue(merchant: Merchant) -> int:
        try:
            together.wait()
            return sum(len(issuing.issue_month(merchant.billing_details, SANDBOX, march, by)) for _ in range(2))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(merchants)) as pool:
        assert list(pool.map(issue, merchants)) == [1, 1, 1, 1]
    assert sorted(Invoice.objects.values_list("sequence", flat=True)) == [1, 2, 3, 4]
    assert InvoiceSeries.objects.get(environment=SANDBOX).last_number == 4


@pytest.mark.django_db
def test_merchants_and_operators_see_it_as_page_file_and_by_the_api() -> None:
    merchant = shop("FR", "FR99")
    fund(merchant, FEBRUARY)
    fee(merchant, "10", MARCH)
    issuing.issue_due(NOW)
    invoice = Invoice.objects.get()
    client = browser_of(make_member(merchant))
    assert "BAL-TEST-000001" in client.get("/dashboard/invoices").content.decode()
    path = f"/dashboard/invoices/{invoice.public_id}"
    page = client.get(path).content.decode()
    for shown in ("Example Payments GmbH", "20457 Hamburg", "FR99", "Reverse charge", "BAL-TEST-000001"):
        assert shown in page
    stranger = browser_of(make_member(make_merchant()))
    assert stranger.get(path).status_code == stranger.get(f"{path}/file").status_code == 404
    rows = list(csv.DictReader(io.StringIO(client.get(f"{path}/file").content.decode())))
    assert [(row["type"], row["worth"]) for row in rows] == [
        ("fee", "10.00"),
        ("net", "10.00"),
        ("tax", "0.00"),
        ("total", "10.00"),
    ]
    file = client.get(f"{path}/file?format=pdf")
    told = text_in(file.content)
    for shown in ("Example Payments GmbH", "20457 Hamburg", "FR99", "Reverse charge", "BAL-TEST-000001", "10.00 USD"):
        assert shown in told
    assert "A test: this is no invoice" in told
    assert "You do not need to pay anything." in told
    assert file.headers["Content-Disposition"] == f'attachment; filename="{invoice.public_id}.pdf"'
    operator = Client()
    operator.force_login(make_user(is_staff=True, is_superuser=True))
    assert "20457 Hamburg" in operator.get(f"/admin/invoices/invoice/{invoice.pk}/page").content.decode()
    assert operator.get("/admin/invoices/billingdetails/").status_code == 200

    api = api_client(make_key(merchant))
    listed = api.call("GET", "/invoices").json()
    assert (listed["totalCount"], listed["hasMore"]) == (1, False)
    [record] = listed["data"]
    assert record == api.call("GET", f"/invoices/{invoice.public_id}").json()
    assert record == json.loads(client.get(f"{path}/file?format=json").content)
    assert api.call("GET", f"/invoices/{invoice.public_id}?format=pdf").content == file.content
    assert (record["taxRate"], record["totalAmount"], record["recipient"]["taxId"]) == ("0.00", "10.00", "FR99")
    assert api_client(make_key(make_merchant())).call("GET", f"/invoices/{invoice.public_id}").status_code == 404


@pytest.mark.django_db
def test_owners_say_whom_invoices_are_made_out_to() -> None:
    merchant = make_merchant()
    owner = browser_of(make_member(merchant))
    bad = owner.post("/dashboard/invoices/billing", {"name": "A", "address": "B", "country": "D1"})
    assert (bad.status_code, BillingDetails.objects.count()) == (400, 0)
    form = {"name": "A", "address": "B", "country": "de", "tax_id": "DE1"}
    assert owner.post("/dashboard/invoices/billing", form).status_code == 302
    assert BillingDetails.objects.get().country == "DE"
    assert browser_of(make_member(merchant, role=Role.VIEWER)).get("/dashboard/invoices/billing").status_code == 403


@pytest.mark.django_db
def test_statements_by_the_api_are_those_of_the_dashboard_page_by_page() -> None:
    merchant = shop()
    fund(merchant, FEBRUARY)
    api = api_client(make_key(merchant))
    first = api.call("GET", "/statements?limit=2").json()
    assert (len(first["data"]), first["hasMore"]) == (2, True)
    rest = api.call("GET", f"/statements?limit=100&starting_after={first['data'][1]['month']}").json()
    months = [each["month"] for each in first["data"] + rest["data"]]
    assert (len(months), months, rest["hasMore"]) == (first["totalCount"], sorted(months, reverse=True), False)
    assert months[-1] == "2026-01"
    statement = json.loads(b"".join(api.call("GET", "/statements/2026-02?currency=USD")))
    client = browser_of(make_member(merchant))
    page = client.get("/dashboard/statements/file?month=2026-02&format=json&currency=USD")
    assert statement == json.loads(b"".join(page))
    assert statement["accounts"][0]["closingBalance"] == "1000.000000"
    lines = b"".join(api.call("GET", "/statements/2026-02?format=csv")).decode().splitlines()
    assert lines[0].startswith("statement_version,merchant_id")
    of_api, of_page = (
        api.call("GET", "/statements/2026-02?format=pdf&currency=USD"),
        client.get("/dashboard/statements/file?month=2026-02&format=pdf&currency=USD"),
    )
    assert of_api.headers["Content-Type"] == "application/pdf"
    assert of_api.content == of_page.content
    assert "Closing balance 1,000.00 USDC" in text_in(of_page.content)
    assert api.call("GET", "/statements/2020-01").status_code == 404
    assert api.call("GET", "/statements?starting_after=nonsense").status_code == 400
