"""The page of decisions: what waits, what each choice would do to the last digit, and that it is done once."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
import structlog
from django.apps import apps
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from merchants.ledger.balances import merchant_balances
from merchants.models import Member, Merchant
from merchants.wording import exact
from payments.dashboard.decisions.pages import waiting_count
from payments.dashboard.decisions.rows import DecisionRow, decision_row
from payments.models import Discrepancy, Payment
from payments.services import cancel_payment
from payments.suspense.acceptance import accept_discrepancy
from refunds.models import Refund
from tests.payments.scenes import (
    POLYGON,
    SANDBOX,
    assert_all_is_well,
    discrepancy,
    end_window,
    make_payment,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    reorganise,
    spend,
    units,
)
from tests.refunds.scenes import ask, fresh, paid, paid_by_two, send, wallet
from tests.settlements.page_scenes import earn_and_settle, fail

pytestmark = pytest.mark.django_db

PAGE = "/dashboard/decisions"


# --- what happens to money ---------------------------------------------------------------------------


def overpaid(merchant: Merchant) -> Payment:
    return pay_and_confirm(make_payment(merchant=merchant), "112.345678")


def short(merchant: Merchant) -> Payment:
    payment = make_payment(merchant=merchant)
    pay_and_confirm(payment, "60.5")
    return end_window(payment)


def late(merchant: Merchant) -> Payment:
    payment = make_payment(merchant=merchant)
    end_window(payment)
    return pay_and_confirm(payment)


def late_and_more(merchant: Merchant) -> Payment:
    payment = make_payment(merchant=merchant)
    end_window(payment)
    return pay_and_confirm(payment, "130")


def late_and_less(merchant: Merchant) -> Payment:
    payment = make_payment(merchant=merchant)
    end_window(payment)
    return pay_and_confirm(payment, "30.000001")


def after_cancelling(merchant: Merchant) -> Payment:
    payment = make_payment(merchant=merchant)
    cancel_payment(payment)
    return pay_and_confirm(payment)


def another_coin(merchant: Merchant) -> Payment:
    return pay_and_confirm(make_payment(merchant=merchant), "77.7", coin="DAI")


def another_network(merchant: Merchant) -> Payment:
    return pay_and_confirm(make_payment(merchant=merchant), "40", network=POLYGON)


SCENES = (
    overpaid,
    short,
    late,
    late_and_more,
    late_and_less,
    after_cancelling,
    another_coin,
    another_network,
)


def row_of(found: Discrepancy, member: Member) -> DecisionRow:
    found = Discrepancy.objects.select_related("payment", "deposit").get(pk=found.pk)
    return decision_row(found)


def held(merchant: Merchant, of: Discrepancy) -> int:
    """What the merchant has of the money's coin, less what it owes."""
    found = {(each.network, each.asset): each for each in merchant_balances(merchant, SANDBOX)}
    own = found.get((of.network, of.asset))
    return own.available - own.receivable if own else 0


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_accepting_does_to_the_last_unit_what_the_page_says(
    scene: Callable[[Merchant], Payment], member: Member
) -> None:
    payment = scene(member.merchant)
    waiting = discrepancy(payment)
    expected, before = row_of(waiting, member).acceptance, held(member.merchant, waiting)
    assert expected is not None

    accept_discrepancy(waiting, resolved_by="jo@example.com", note="fine")

    payment = now(payment)
    left = Discrepancy.objects.filter(payment=payment, status="open").first()
    assert expected.gained == held(member.merchant, waiting) - before > 0
    assert (expected.status, expected.surplus) == (payment.status, left.amount if left else 0)
    assert_all_is_well()


def test_a_preview_leaves_nothing_behind(member: Member, django_capture_on_commit_callbacks: Any) -> None:
    payment = short(member.merchant)
    before, version = _rows_of_all_tables(), now(payment).version
    with django_capture_on_commit_callbacks() as hooks, structlog.testing.capture_logs() as logs:
        assert row_of(discrepancy(payment), member).acceptance is not None
    assert (_rows_of_all_tables(), now(payment).version, now(payment).status) == (before, version, "underpaid")
    assert hooks == []
    assert any(each["event"] == "payment assessed" for each in logs)


def _rows_of_all_tables() -> dict[str, int]:
    return {model.__name__: model._default_manager.count() for model in apps.get_models() if model._meta.managed}


def test_what_a_merchant_owes_is_paid_back_first_and_the_page_says_so(member: Member) -> None:
    waiting = discrepancy(short(member.merchant))
    lost = make_payment(merchant=member.merchant)
    pay(lost)
    mine_and_watch(lost.network, lost.required_confirmations)
    spend(lost, "100")
    reorganise(lost, lost.required_confirmations, "dropped")

    expected = row_of(waiting, member).acceptance
    accept_discrepancy(waiting, resolved_by="jo@example.com", note="fine")

    assert expected is not None
    assert (expected.gained, expected.repaid) == (units(lost, "60.5"), units(lost, "60.5"))
    owed = {each.asset: each.receivable for each in merchant_balances(member.merchant, SANDBOX)}
    assert owed["USDC"] == units(lost, "39.5")


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_giving_back_does_to_the_last_unit_what_the_page_says(
    scene: Callable[[Merchant], Payment], member: Member
) -> None:
    payment = scene(member.merchant)
    waiting = discrepancy(payment)
    expected, before = row_of(waiting, member).giving_back, held(member.merchant, waiting)

    refund = ask(payment, discrepancy=waiting)

    assert (refund.amount, refund.fiat_amount) == (expected.amount, expected.fiat)
    assert (expected.is_possible, held(member.merchant, waiting)) == (True, before)
    assert bool(expected.sender) is (refund.status == "pending")


# --- the page ----------------------------------------------------------------------------------------


def page(client: Client, path: str = PAGE) -> str:
    return unescape(client.get(path).text)


def fields_of(shown: str) -> dict[str, str]:
    names = re.findall(r'<input type="hidden" name="(form_id|shown)" value="([^"]*)"', shown)
    return dict(names)


def test_everything_that_waits_is_listed_newest_first_and_by_kind(client: Client, member: Member) -> None:
    merchant = member.merchant
    settlement = fail(earn_and_settle(merchant))
    first, second = discrepancy(overpaid(merchant)), discrepancy(late(merchant))
    refund = ask(paid_by_two(merchant=merchant))

    shown = page(client)
    titles = re.findall(r'decision__title">([^<]*)<', shown)
    assert titles == ["100.00 USD", "100.00 USDC", "12.345678 USDC", "100.00 USDC"]
    assert "112.345678 USDC arrived for a payment of 100.00 USDC: 12.345678 USDC too much." in shown
    accepting = page(client, f"{PAGE}/{first.public_id}/accept")
    assert "12.345678 USDC are added to your balance. The payment stays “Completed”." in accepting
    assert "Your balance does not change, and no fee is taken." in shown
    assert "suspense" not in shown.lower()
    assert re.search(r'nav__number">4<', shown)

    for kind, found in (
        ("overpaid", f"{PAGE}/{first.public_id}/accept"),
        ("late", f"{PAGE}/{second.public_id}/give-back"),
        ("refund", f"/dashboard/refunds/{refund.public_id}"),
        ("settlement", f"/dashboard/settlements/{settlement.public_id}"),
    ):
        one = page(client, f"{PAGE}?kind={kind}")
        assert one.count('class="decision"') == 1
        assert f'href="{found}"' in one
    assert "Nothing waits for you" in page(client, f"{PAGE}?kind=wrong_token")
    assert client.get(f"{PAGE}?kind=nonsense").status_code == 200


def test_a_long_list_costs_no_more_than_a_short_one_and_leaves_nothing_out(
    client: Client, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("payments.dashboard.decisions.pages.PAGE_SIZE", 2)
    for _ in range(2):
        overpaid(member.merchant)
    ask(paid_by_two(merchant=member.merchant))
    with CaptureQueriesContext(connection) as short_list:
        first = page(client)
    address = re.search(rf'href="({re.escape(PAGE)}\?before=[^"]*)"', first)
    assert address is not None
    second = page(client, address[1])
    assert [each.count('class="decision"') for each in (first, second)] == [2, 1]

    monkeypatch.setattr("payments.dashboard.decisions.pages.PAGE_SIZE", 20)
    with CaptureQueriesContext(connection) as long_list:
        page(client)
    assert len(long_list) == len(short_list) <= 14


def test_what_waits_leads_to_its_own_case_however_many_came_after(
    client: Client, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("payments.dashboard.decisions.pages.PAGE_SIZE", 3)
    payment = make_payment(merchant=member.merchant, metadata={"order_id": "HC-1187", "customerName": "Zoë Brandt"})
    pay_and_confirm(payment, "112")
    waiting = discrepancy(payment)
    for _ in range(3):
        overpaid(member.merchant)
    first = page(client)
    assert (first.count('class="decision"'), waiting.public_id in first) == (3, False)

    shown = page(client, f"/dashboard/payments/{payment.public_id}")
    addresses = set(re.findall('href="([^"]*)"[^>]*>Accept or refund it<', shown))
    assert len(addresses) == 1
    path, anchor = addresses.pop().split("#")
    case = page(client, path)
    assert (case.count('class="decision"'), anchor, f'id="{anchor}"' in case) == (1, waiting.public_id, True)

    [sender] = payment.deposits.values_list("sender", flat=True)
    about = [("Order", "HC-1187"), ("Customer", "Zoë Brandt"), ("Sent from", sender)]
    for each in (path, f"{PAGE}/{anchor}/accept", f"{PAGE}/{anchor}/give-back"):
        listed = re.findall(
            r"<dt>(Order|Customer|Payment link|Sent from)</dt>\s*<dd[^>]*>\s*(.*?)\s*</dd>", page(client, each)
        )
        assert listed == about, each


def test_a_short_payment_says_when_it_can_be_decided(client: Client, member: Member) -> None:
    payment = make_payment(merchant=member.merchant)
    pay_and_confirm(payment, "60.5")
    soon = exact(payment.closes_at)
    own = f"/dashboard/payments/{payment.public_id}"
    assert f"60.50 USDC of 100.00 USDC arrived. If the rest has not arrived by {soon}" in page(client, own)
    assert (
        f"1 payment has received too little so far. If the rest does not come, it waits here from {soon} on."
        in page(client)
    )
    later = pay_and_confirm(make_payment(merchant=member.merchant, expires_in=3_000), "60.5")
    assert later.closes_at > payment.closes_at
    assert (
        f"2 payments have received too little so far. If the rest does not come, the first waits here from {soon} on."
        in page(client)
    )

    end_window(payment)
    end_window(later)
    assert "received too little so far" not in page(client)
    assert "Too little has arrived so far" not in page(client, own)


def test_accepting_asks_for_a_reason_and_keeps_it(client: Client, member: Member) -> None:
    payment = short(member.merchant)
    waiting = discrepancy(payment)
    address = f"{PAGE}/{waiting.public_id}/accept"
    shown = page(client, address)
    assert "60.50 USDC are added to your balance. The payment becomes “Completed”." in shown

    refused = client.post(address, fields_of(shown))
    assert refused.status_code == 400
    assert "Enter a short reason" in refused.text
    assert now(payment).status == "underpaid"

    client.post(address, fields_of(refused.text) | {"reason": "a voucher makes up for it"})
    waiting.refresh_from_db()
    assert (waiting.status, waiting.resolved_by, waiting.note) == (
        "accepted",
        member.user.email,
        "a voucher makes up for it",
    )
    assert now(payment).status == "completed"


def test_a_second_click_and_a_second_tab_do_it_no_second_time(client: Client, member: Member) -> None:
    payment = overpaid(member.merchant)
    waiting = discrepancy(payment)
    accept, back = f"{PAGE}/{waiting.public_id}/accept", f"{PAGE}/{waiting.public_id}/give-back"
    tabs = [fields_of(page(client, address)) | {"reason": "ours"} for address in (accept, accept, back)]

    before = held(member.merchant, waiting)
    client.post(accept, tabs[0])
    for address, tab in ((accept, tabs[0]), (accept, tabs[1]), (back, tabs[2])):
        reply = client.post(address, tab, follow=True)
        assert "It has already been decided what happens to this money." in unescape(reply.text)
    assert held(member.merchant, waiting) - before == waiting.amount
    assert not Refund.objects.exists()


def test_a_refund_that_is_given_back_twice_is_made_once(client: Client, member: Member) -> None:
    payment = paid(received=["125"], merchant=member.merchant)
    address = f"{PAGE}/{discrepancy(payment).public_id}/give-back"
    tabs = [fields_of(page(client, address)) for _ in range(2)]
    for tab in (tabs[0], tabs[0], tabs[1]):
        client.post(address, tab)
    refund = Refund.objects.get()
    assert (refund.amount, refund.requested_by) == (units(payment, "25"), member.user.email)
    send()
    assert (fresh(refund).status, fresh(refund).destination) == ("completed", wallet())


def test_nothing_else_is_done_than_what_the_page_has_shown(client: Client, member: Member) -> None:
    payment = make_payment(merchant=member.merchant)
    end_window(payment)
    pay_and_confirm(payment, "60")
    waiting = discrepancy(payment)
    address = f"{PAGE}/{waiting.public_id}/accept"
    shown = page(client, address)
    assert "The payment becomes “Completed”." in shown
    pay_and_confirm(payment, "60")
    other = Discrepancy.objects.filter(payment=payment, status="open").exclude(pk=waiting.pk).get()
    accept_discrepancy(other, resolved_by="somebody else")

    reply = client.post(address, fields_of(shown) | {"reason": "fine"})
    assert "has changed since you opened the page" in reply.text
    assert Discrepancy.objects.get(pk=waiting.pk).status == "open"


def test_the_number_in_the_navigation_counts_what_waits_here(member: Member) -> None:
    assert waiting_count(member.merchant, SANDBOX) == 0
    overpaid(member.merchant)
    ask(paid_by_two(merchant=member.merchant))
    with CaptureQueriesContext(connection) as queries:
        assert waiting_count(member.merchant, SANDBOX) == 2
    assert len(queries) == 1
    assert waiting_count(member.merchant, "production") == 0


def test_a_late_transfer_is_not_called_credited(client: Client, member: Member) -> None:
    payment = late(member.merchant)
    address = f"/dashboard/payments/{payment.public_id}"
    shown = page(client, address)
    assert re.search(r"badge--warn\">Arrived late</span>\s*<br>\s*<span[^>]*>waits for your decision<", shown)
    assert "badge--credited" not in shown
    assert "It is not in your balance: accept it or refund it." in shown
    ask(payment, discrepancy=discrepancy(payment), destination=wallet(payment.network))
    assert ">Being refunded<" in page(client, address)
