"""The list of payments as a member uses it: filters in its address, saved views, the export's page, the palette."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client

from merchants.models import Member
from payments.dashboard.exports.models import Export
from payments.dashboard.exports.services import write_exports
from payments.dashboard.models import SavedView
from payments.dashboard.search import finding
from payments.dashboard.search.indexing import index_payments
from payments.dashboard.views import VIEWS_MAX
from payments.services import cancel_payment
from tests.dashboard.conftest import browser_of
from tests.factories import make_member
from tests.payments.scenes import POLYGON, STELLAR, make_payment

LIST = "/dashboard/payments"


def listed(client: Client, query: str) -> list[str]:
    page = client.get(f"{LIST}?{query}").text
    return list(dict.fromkeys(re.findall(r'href="/dashboard/payments/(pay_\w+)"', page)))


def test_filters_stand_in_the_address_and_add_up(client: Client, member: Member) -> None:
    small = make_payment(POLYGON, merchant=member.merchant, amount="5", currency="EUR")
    large = make_payment(POLYGON, merchant=member.merchant, amount="1250", currency="EUR")
    other = make_payment(STELLAR, merchant=member.merchant, amount="1250", coin="USDC")
    assert listed(client, "network=polygon") == [large.public_id, small.public_id]
    assert listed(client, "network=polygon&least=5.01") == [large.public_id]
    assert listed(client, "least=1250&most=1250&coin=USDC") == [other.public_id, large.public_id]
    assert listed(client, "coin=DAI") == []
    page = client.get(f"{LIST}?least=1250").text
    assert "1,250.00 EUR" in page
    assert "2 payments" in page


def test_a_range_that_ends_before_it_begins_is_an_error_at_its_field(client: Client, member: Member) -> None:
    make_payment(merchant=member.merchant)
    for query, field, words in (
        ("start=2026-03-02&end=2026-03-01", "end", "The last day is before the first day."),
        ("least=10&most=9.99", "most", "This is less than the smallest amount."),
    ):
        page = client.get(f"{LIST}?{query}").text
        error = re.search(rf'name="{field}"[^>]*aria-invalid="true"[^>]*aria-describedby="(\w+)"', page)
        assert error, query
        assert words in page[page.index(f'id="{error[1]}"') :]
        assert "<details" in page
        assert re.search(r"<details[^>]*filters__more[^>]*open", page)
        assert "1 payment" not in page
    for path in ("/dashboard/refunds", "/dashboard/settlements", "/dashboard/deliveries"):
        assert "The last day is before the first day." in client.get(f"{path}?start=2026-03-02&end=2026-03-01").text


def test_part_of_a_text_lists_what_fits_and_a_whole_id_goes_there(client: Client, member: Member) -> None:
    first = make_payment(merchant=member.merchant, metadata={"mail": "ada@example.org"})
    second = make_payment(merchant=member.merchant, metadata={"mail": "ada@example.org"})
    index_payments()
    assert listed(client, "q=ada@example") == [second.public_id, first.public_id]
    assert listed(client, f"q={first.public_id[-9:]}") == [first.public_id]
    assert client.get(f"{LIST}?q={first.public_id}").headers["Location"] == f"{LIST}/{first.public_id}"
    assert listed(client, f"q={first.public_id}&status=created") == [first.public_id]


def test_a_search_that_ends_before_it_has_looked_at_all_says_so_and_leads_on(
    client: Client, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "NEWEST", 1)
    monkeypatch.setattr(finding, "RARE", 1)
    campaigns = ("spring", "spring", "spring", "autumn")
    made = [make_payment(merchant=member.merchant, metadata={"campaign": each}) for each in campaigns]
    wanted = cancel_payment(made[0])
    cancel_payment(made[-1])
    index_payments()
    page = client.get(f"{LIST}?q=spring&status=cancelled").text
    assert "0 payments shown" in page
    assert "Nothing matches" not in page
    older = re.search(r'href="/dashboard/payments\?([^"]*before=[^"]*)">Older', page)
    assert older
    assert listed(client, unescape(older[1])) == [wanted.public_id]
    monkeypatch.setattr(finding, "RARE", 2)
    assert listed(client, "q=spring&status=cancelled") == [wanted.public_id]


def test_the_list_marks_what_was_found_and_shows_it_as_text(client: Client, member: Member) -> None:
    make_payment(merchant=member.merchant, metadata={"<b>": "<i>Li & Lei</i>"})
    index_payments()
    page = client.get(f"{LIST}?q=I+%26+L").text
    assert "&lt;b&gt;: &lt;i&gt;L<mark>i &amp; L</mark>ei&lt;/i&gt;" in page
    [found] = client.get("/dashboard/find", {"q": "& le"}).json()["payments"]
    assert found["match"] == {"label": "<b>", "before": "<i>Li ", "part": "& Le", "after": "i</i>"}


def test_the_palette_is_told_what_fits_and_nothing_of_others(client: Client, member: Member) -> None:
    payment = make_payment(POLYGON, merchant=member.merchant, amount="1250", metadata={"order": "SO-77"})
    make_payment(metadata={"order": "SO-77"})
    index_payments()
    for text in ("so-7", payment.public_id, payment.deposit_address):
        [found] = client.get("/dashboard/find", {"q": text}).json()["payments"]
        assert found["address"] == f"{LIST}/{payment.public_id}"
        assert found["title"] == "1,250.00 USD · Awaiting payment"
    for text in ("", "so-78", "\0", "x" * 200):
        assert client.get("/dashboard/find", {"q": text}).json() == {"payments": []}


def test_a_view_is_saved_shown_replaced_and_deleted(client: Client, member: Member) -> None:
    saved = client.post(f"{LIST}/views", {"name": "Large", "least": "1000", "network": "polygon"}, follow=True)
    assert saved.redirect_chain == [(f"{LIST}?network=polygon&least=1000", 302)]
    assert re.search(r'href="[^"]*\?network=polygon&amp;least=1000"\s+aria-current="page">Large<', saved.text)
    client.post(f"{LIST}/views", {"name": "Large", "least": "2000"})
    view = SavedView.objects.get()
    assert (view.filters, view.user) == ({"least": "2000"}, member.user)

    colleague = browser_of(make_member(member.merchant))
    assert ">Large<" not in colleague.get(LIST).text
    assert (
        "You do not have this view"
        in colleague.post(f"{LIST}/views/delete", {"view": view.public_id}, follow=True).text
    )
    assert SavedView.objects.exists()
    assert "is deleted" in client.post(f"{LIST}/views/delete", {"view": view.public_id}, follow=True).text
    assert not SavedView.objects.exists()


def test_what_cannot_be_a_view_is_not_saved(client: Client, member: Member) -> None:
    for fields, words in (
        ({"name": "", "status": "created"}, "It needs a name"),
        ({"name": "All"}, "Choose a filter first"),
        ({"name": "Odd", "status": "lost"}, "It needs a name and valid filters"),
    ):
        assert words in client.post(f"{LIST}/views", fields, follow=True).text
    for number in range(VIEWS_MAX + 1):
        reply = client.post(f"{LIST}/views", {"name": f"View {number}", "status": "created"}, follow=True)
    assert "You have 20 views already" in reply.text
    assert SavedView.objects.count() == VIEWS_MAX


def test_an_export_is_asked_for_followed_and_downloaded(client: Client, member: Member) -> None:
    payment = make_payment(POLYGON, merchant=member.merchant)
    make_payment(STELLAR, merchant=member.merchant)
    page = client.post(f"{LIST}/exports", {"network": "polygon"}, follow=True)
    [(address, _)] = page.redirect_chain
    assert "0 payments are written." in page.text
    assert 'data-refresh-seconds="3"' in page.text
    assert client.get(f"{address}/file").status_code == 404
    again = client.post(f"{LIST}/exports", {"network": "polygon"}, follow=True)
    assert "An export of yours is being written already" in again.text
    write_exports()
    page = client.get(address)
    assert "data-refresh-seconds" not in page.text
    assert f'href="{address}/file"' in page.text
    file = client.get(f"{address}/file")
    assert file.headers["Content-Disposition"].startswith('attachment; filename="payments-sandbox-')
    lines = file.getvalue().decode().splitlines()
    assert [line.split(",")[0] for line in lines] == ["id", payment.public_id]


def test_filters_that_are_not_right_are_not_exported(client: Client, member: Member) -> None:
    reply = client.post(f"{LIST}/exports", {"status": "lost"}, follow=True)
    assert "Some filters are not valid" in reply.text
    assert not Export.objects.exists()
