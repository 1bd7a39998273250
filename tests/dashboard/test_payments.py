"""The payments of a merchant on the dashboard."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from config import ids
from merchants.models import Member
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedTransaction
from payments.checkout.simulator import SCENARIOS
from payments.dashboard.rows import what_for
from payments.models import Payment
from payments.services import cancel_payment
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant
from tests.payments.linking import make_link
from tests.payments.scenes import (
    POLYGON,
    STELLAR,
    confirm,
    end_window,
    make_payment,
    now,
    part_of,
    pay,
    pay_and_confirm,
    watch,
)


def listed(client: Client, query: str = "") -> list[str]:
    """The ids on a page of the list, in its order."""
    page = client.get(f"/dashboard/payments{query}").text
    return list(dict.fromkeys(re.findall(r'href="/dashboard/payments/(pay_\w+)"', page)))


def test_the_list_is_newest_first_and_only_ones_own(client: Client, member: Member) -> None:
    first, second = make_payment(merchant=member.merchant), make_payment(merchant=member.merchant)
    make_payment()
    assert listed(client) == [second.public_id, first.public_id]


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"customer": "Ada", "orderId": 7341}, "7341"),
        ({"Order-Number": "A-17", "order": " "}, "A-17"),
        ({"customer_name": "李雷", "color": "red"}, "李雷"),
        ({"order": {"id": 5}, "size": "L"}, ""),
    ],
)
def test_what_a_payment_is_for_is_the_order_or_the_customer(metadata: dict[str, Any], shown: str) -> None:
    assert what_for(Payment(metadata=metadata)) == shown


def test_the_list_shows_what_came_what_for_and_what_waits(client: Client, member: Member) -> None:
    link = make_link(merchant=member.merchant, description="Tickets")
    rows = {
        "cancelled": make_payment(POLYGON, merchant=member.merchant, amount="1249.99"),
        "short": make_payment(POLYGON, merchant=member.merchant, amount="31", metadata={"order": "7341"}),
        "paid": make_payment(POLYGON, merchant=member.merchant, amount="1250"),
    }
    Payment.objects.filter(pk=rows["paid"].pk).update(payment_link=link)
    cancel_payment(rows["cancelled"])
    pay(rows["short"], "15.50")
    confirm(rows["short"])
    end_window(rows["short"])
    watch()
    pay_and_confirm(now(rows["paid"]))
    for path in ("/dashboard/payments", "/dashboard"):
        page = client.get(path).text
        cells = {
            name: [
                " ".join(re.sub("<[^>]+>", " ", cell).split()) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)
            ]
            for name, payment in rows.items()
            for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL)
            if payment.public_id in row
        }
        shown = [[cell.split(" Polygon")[0].split("pay_")[0].strip() for cell in cells[name][1:4]] for name in rows]
        assert shown == [
            ["Cancelled", "–", ""],
            ["Underpaid To decide", "15.50 USDC", "7341"],
            ["Completed", "1,250.00 USDC", "Tickets"],
        ], path


def test_the_list_is_filtered_by_status_and_day(client: Client, member: Member) -> None:
    paid = pay_and_confirm(make_payment(POLYGON, merchant=member.merchant))
    waiting = make_payment(POLYGON, merchant=member.merchant)
    today = timezone.now().date()
    assert listed(client, "?status=completed") == [paid.public_id]
    assert listed(client, f"?start={today}&end={today}") == [waiting.public_id, paid.public_id]
    assert listed(client, f"?start={today + timedelta(days=1)}") == []
    assert listed(client, f"?end={today - timedelta(days=1)}") == []
    assert "Nothing matches" in client.get("/dashboard/payments?status=expired").text


def test_a_senseless_filter_says_so(client: Client, member: Member) -> None:
    make_payment(merchant=member.merchant)
    page = client.get("/dashboard/payments?status=lost&start=yesterday&q=%00").text
    assert "Select a valid choice." in page
    assert "Enter a valid date." in page
    assert "Null characters are not allowed." in page


def test_pages_follow_each_other_without_gap_or_repetition(client: Client, member: Member) -> None:
    made = [make_payment(merchant=member.merchant).public_id for _ in range(30)][::-1]
    page = client.get("/dashboard/payments?status=created").text
    assert "25 of 30 payments" in page
    older = re.search(r'href="(/dashboard/payments\?[^"]*)">Older', page)
    assert older
    address = older[1].replace("&amp;", "&").removeprefix("/dashboard/payments")
    assert "status=created" in address
    assert listed(client, "?status=created") + listed(client, address) == made
    last = client.get(f"/dashboard/payments{address}").text
    assert ">Older<" not in last
    assert "5 of 30 payments" in last
    assert 'href="/dashboard/payments?status=created">Newest' in last


def test_a_cursor_of_anything_else_is_no_cursor(client: Client, member: Member) -> None:
    payment = make_payment(merchant=member.merchant)
    assert listed(client, "?before=pay_1") == [payment.public_id]


def test_a_payment_is_found_by_id_address_memo_and_transaction(client: Client, member: Member) -> None:
    on_stellar = make_payment(STELLAR, merchant=member.merchant)
    on_polygon = make_payment(POLYGON, merchant=member.merchant)
    transaction_hash = pay(on_polygon)
    confirm(on_polygon)
    for text, found in {
        on_stellar.public_id: on_stellar,
        on_stellar.memo: on_stellar,
        on_stellar.muxed_address: on_stellar,
        f" {on_polygon.deposit_address} ": on_polygon,
        on_polygon.deposit_address.lower(): on_polygon,
        transaction_hash: on_polygon,
    }.items():
        response = client.get("/dashboard/payments", {"q": text})
        assert response.headers["Location"] == f"/dashboard/payments/{found.public_id}"


def test_a_payment_is_found_by_both_hashes_of_a_fee_bump(client: Client, member: Member) -> None:
    payment, inner_hash = make_payment(STELLAR, merchant=member.merchant), "ab" * 32
    transaction_hash = pay(payment)
    SimulatedTransaction.objects.filter(transaction_hash=transaction_hash).update(inner_hash=inner_hash)
    confirm(payment)
    for text in (transaction_hash, inner_hash):
        response = client.get("/dashboard/payments", {"q": text})
        assert response.headers["Location"] == f"/dashboard/payments/{payment.public_id}"
    stranger = browser_of(make_member(make_merchant("Another")))
    assert "Nothing matches" in stranger.get("/dashboard/payments", {"q": inner_hash}).text


def test_a_strangers_payment_is_not_found(client: Client) -> None:
    foreign = make_payment()
    on_stellar = make_payment(STELLAR)
    transaction_hash = pay(foreign)
    confirm(foreign)
    for text in (
        foreign.public_id,
        foreign.deposit_address,
        transaction_hash,
        on_stellar.memo,
        on_stellar.muxed_address,
        on_stellar.deposit_address,
        ids.PAYMENT.encode(ids.new_uuid()),
        "anything",
    ):
        response = client.get("/dashboard/payments", {"q": text})
        assert response.status_code == 200
        assert "Nothing matches" in response.text


def test_a_payment_shows_all_there_is_to_know(client: Client, member: Member) -> None:
    payment = make_payment(POLYGON, amount="100", merchant=member.merchant, metadata={"orderId": "4711"})
    transaction_hash = pay(payment, "125")
    confirm(payment)
    page = client.get(f"/dashboard/payments/{payment.public_id}").text
    for words in (
        "100.00 USD",
        "125.00 USDC",
        payment.deposit_address,
        payment.merchant_wallet,
        transaction_hash,
        "Credited",
        "More than was due arrived",
        "25.00 USDC: more than was due.",
        "4711",
        "Overpaid: more than was due is confirmed",
    ):
        assert words in page


def test_a_fresh_payment_can_be_cancelled(client: Client, member: Member) -> None:
    payment = make_payment(merchant=member.merchant)
    address = f"/dashboard/payments/{payment.public_id}"
    assert "Cancel the payment" in client.get(address).text
    response = client.post(f"{address}/cancel", follow=True)
    assert "The payment is cancelled." in response.text
    assert "Cancel the payment" not in response.text
    payment.refresh_from_db()
    assert payment.status == "cancelled"


def test_a_paid_payment_is_not_cancelled(client: Client, member: Member) -> None:
    payment = pay_and_confirm(make_payment(POLYGON, merchant=member.merchant))
    response = client.post(f"/dashboard/payments/{payment.public_id}/cancel", follow=True)
    assert "This payment is completed and cannot be cancelled. To give its money back" in " ".join(
        response.text.split()
    )
    payment.refresh_from_db()
    assert payment.status == "completed"


def test_of_very_many_transfers_the_first_are_shown_and_how_many_more_there_are(client: Client, member: Member) -> None:
    payment = make_payment(POLYGON, merchant=member.merchant)
    control.pay_together(POLYGON, [part_of(payment, "0.000001")] * 103)
    confirm(payment)
    page = client.get(f"/dashboard/payments/{payment.public_id}").text
    assert page.count("0.000001 USDC") >= 100
    assert "These are the first. Get 3 more with" in page


def test_the_sandbox_pays_at_the_press_of_a_button(client: Client, member: Member) -> None:
    payment = make_payment(POLYGON, merchant=member.merchant)
    address = f"/dashboard/payments/{payment.public_id}"
    response = client.post(f"{address}/simulate", {"scenario": "exact"}, follow=True)
    assert "The payer sends exactly what is due" in response.text
    confirm(payment)
    payment.refresh_from_db()
    assert payment.status == "completed"


@pytest.mark.parametrize("scenario", ["", "everything", "EXACT"])
def test_an_unknown_scenario_is_no_page(client: Client, member: Member, scenario: str) -> None:
    payment = make_payment(merchant=member.merchant)
    assert client.post(f"/dashboard/payments/{payment.public_id}/simulate", {"scenario": scenario}).status_code == 404


@pytest.mark.parametrize(
    ("network", "offered", "left_out"),
    [(POLYGON, {"reorg", "wrong_network"}, {"missing_memo"}), (STELLAR, {"missing_memo"}, {"reorg", "wrong_network"})],
)
def test_only_what_can_happen_on_the_network_is_offered(
    client: Client, member: Member, network: str, offered: set[str], left_out: set[str]
) -> None:
    page = client.get(f"/dashboard/payments/{make_payment(network, merchant=member.merchant).public_id}").text
    assert "Simulate the payer" not in page  # that strip is on the payer's page
    first, *folded = re.findall(r'name="scenario" value="(\w+)"', page)
    assert first == "exact"
    assert offered | left_out <= SCENARIOS.keys()
    assert offered <= set(folded)
    assert not left_out & set(folded)


def test_a_scenario_that_cannot_happen_says_why(client: Client, member: Member) -> None:
    payment = make_payment(STELLAR, merchant=member.merchant)
    response = client.post(f"/dashboard/payments/{payment.public_id}/simulate", {"scenario": "reorg"}, follow=True)
    assert "Every block of this network is final at once." in response.text


def test_the_start_page_tells_newcomers_what_to_do(client: Client) -> None:
    page = client.get("/dashboard").text
    assert "Take your first payment" in page
    assert "/sandbox/v1/payments" in page
    client.post("/dashboard/environment", {"environment": "production"})
    page = client.get("/dashboard").text
    assert "/sandbox/" not in page
    assert "/v1/payments" in page


def test_the_environment_stays_chosen(client: Client) -> None:
    assert "Sandbox: no real money moves here" in client.get("/dashboard").text
    assert client.post("/dashboard/environment", {"environment": "moon"}).status_code == 404
    response = client.post("/dashboard/environment", {"environment": "production"})
    assert response.headers["Location"] == "/dashboard"
    assert "Sandbox: no real money moves here" not in client.get("/dashboard/keys").text


def test_the_other_members_of_a_merchant_see_the_same(member: Member) -> None:
    payment = make_payment(merchant=member.merchant)
    colleague = browser_of(make_member(member.merchant))
    assert listed(colleague) == [payment.public_id]
    watch()
    assert Payment.objects.count() == 1
