"""The page of a payment tells what happened to it, in words and newest first; and of each transfer what is true."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from config.pages.wording import short_hash
from merchants.models import Member, Merchant
from merchants.roles import Role
from payments.dashboard import timeline
from payments.dashboard.timeline import Line, newest_first
from payments.models import Payment
from payments.services import cancel_payment
from payments.suspense.acceptance import accept_discrepancy
from refunds.services import cancel_refund
from tests.dashboard.conftest import browser_of
from tests.factories import make_member
from tests.payments.scenes import (
    POLYGON,
    STELLAR,
    discrepancy,
    end_window,
    make_payment,
    mine_and_watch,
    pay,
    pay_and_confirm,
    reorganise,
)
from tests.refunds.scenes import ask, send, wallet
from tests.settlements.page_scenes import make_settlements
from tests.webhooks.scenes import answering, make_endpoint, send_due
from webhooks.models import Delivery
from webhooks.sending.fan_out import fan_out

ITEM = re.compile(
    r'<li class="timeline__item">\s*<p class="table__main">([^<]+)</p>(.*?)<time[^>]*>([^<]+)</time>', re.DOTALL
)
ROW = re.compile(r'data-label="Status">\s*<span>\s*<span class="badge badge--\w+">([^<]+)</span>(.*?)</td>', re.DOTALL)


def shown(client: Client, payment: Payment) -> str:
    return unescape(client.get(f"/dashboard/payments/{payment.public_id}").text)


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def told(client: Client, payment: Payment) -> list[tuple[str, str]]:
    """Each line with what stands below it, without its time."""
    return [(title, words(below)) for title, below, _ in ITEM.findall(shown(client, payment))]


# --- what is said of a transfer ----------------------------------------------------------------------


def unconfirmed(merchant: Merchant) -> Payment:
    payment = make_payment(POLYGON, merchant=merchant)
    pay(payment)
    mine_and_watch(POLYGON)
    return payment


def paid(merchant: Merchant) -> Payment:
    return pay_and_confirm(make_payment(POLYGON, merchant=merchant))


def too_much(merchant: Merchant) -> Payment:
    return pay_and_confirm(make_payment(POLYGON, merchant=merchant), "125")


def too_little_so_far(merchant: Merchant) -> Payment:
    return pay_and_confirm(make_payment(POLYGON, merchant=merchant), "60")


def too_little(merchant: Merchant) -> Payment:
    return end_window(too_little_so_far(merchant))


def too_little_accepted(merchant: Merchant) -> Payment:
    return accepted(too_little(merchant))


def late(merchant: Merchant, network: str = POLYGON) -> Payment:
    payment = make_payment(network, merchant=merchant)
    end_window(payment)
    return pay_and_confirm(payment)


def late_and_unconfirmed(merchant: Merchant) -> Payment:
    payment = make_payment(POLYGON, merchant=merchant)
    end_window(payment)
    pay(payment)
    mine_and_watch(POLYGON)
    return payment


def late_and_accepted(merchant: Merchant) -> Payment:
    return accepted(late(merchant))


def late_for_cancelled(merchant: Merchant) -> Payment:
    return pay_and_confirm(cancel_payment(make_payment(POLYGON, merchant=merchant)))


def late_for_cancelled_and_accepted(merchant: Merchant) -> Payment:
    return accepted(late_for_cancelled(merchant))


def going_back(merchant: Merchant) -> Payment:
    payment = late(merchant, STELLAR)
    ask(payment, discrepancy=discrepancy(payment), destination=wallet())
    return payment


def given_back(merchant: Merchant) -> Payment:
    payment = going_back(merchant)
    send()
    return payment


def another_coin(merchant: Merchant) -> Payment:
    return pay_and_confirm(make_payment(POLYGON, merchant=merchant), "77", coin="DAI")


def undone(merchant: Merchant) -> Payment:
    payment = unconfirmed(merchant)
    return reorganise(payment, 1, "dropped")


def accepted(payment: Payment) -> Payment:
    accept_discrepancy(discrepancy(payment), resolved_by="somebody")
    return payment


STANDINGS: tuple[tuple[Callable[[Merchant], Payment], str, str], ...] = (
    (unconfirmed, "Confirming", ""),
    (paid, "Credited", ""),
    (too_much, "Credited", "a part waits for your decision"),
    (too_little_so_far, "Confirmed", "not enough yet"),
    (too_little, "Too little", "waits for your decision"),
    (too_little_accepted, "Credited", ""),
    (late_and_unconfirmed, "Confirming", "arrived late"),
    (late, "Arrived late", "waits for your decision"),
    (late_and_accepted, "Credited", ""),
    (late_for_cancelled, "Arrived late", "waits for your decision"),
    (late_for_cancelled_and_accepted, "Accepted", "Arrived late"),
    (going_back, "Being refunded", "Arrived late"),
    (given_back, "Refunded", "Arrived late"),
    (another_coin, "Wrong coin", "waits for your decision"),
    (undone, "Undone", "by a reorganisation of the network"),
)


def test_a_transfer_is_called_what_it_is(client: Client, member: Member) -> None:
    """Credited is only what is the merchant's: never beside a payment that has received nothing."""
    wrong = {}
    for scene, *expected in STANDINGS:
        page = shown(client, scene(member.merchant))
        [(status, note)] = ROW.findall(page)
        if [status, words(note)] != expected:
            wrong[scene.__name__] = status, words(note)
        if status == "Credited":
            assert not re.search(r"<dt>Received</dt>\s*<dd>\s*0\.00", page), scene.__name__
    assert not wrong


# --- the timeline ------------------------------------------------------------------------------------


def test_a_late_payment_that_goes_back_is_told_in_words(client: Client, member: Member) -> None:
    payment = given_back(member.merchant)
    transaction = short_hash(payment.deposits.get().transaction_hash)
    assert sorted(told(client, payment)) == sorted(
        [
            ("Created", ""),
            ("Expired", ""),
            ("A transfer arrived late on Stellar (simulated), in block 2", f"100.00 USDC {transaction}"),
            ("Confirmed, and set aside for your decision", "100.00 USDC Arrived late"),
            ("Money arrived late", ""),
            ("Refund created, and the money reserved", "100.00 USDC The refund"),
            ("Refund completed: final on its network", "100.00 USDC The refund"),
            ("Refunded", ""),
        ]
    )
    assert f'href="/dashboard/refunds/{payment.refunds.get().public_id}"' in shown(client, payment)


def test_money_webhooks_and_settlements_are_told_with_their_links(client: Client, member: Member) -> None:
    make_endpoint(member.merchant, url="https://shop.example.com/hook")
    payment = paid(member.merchant)
    fan_out()
    send_due(lambda url: answering(500)(url))
    [settlement] = make_settlements(member.merchant)
    transaction = short_hash(payment.deposits.get().transaction_hash)
    lines = told(client, payment)
    assert set(lines) == {
        ("Created", ""),
        ("A transfer arrived on Polygon (simulated), in block 1", f"100.00 USDC {transaction}"),
        ("The transfer has its confirmations and counts", f"100.00 USDC {transaction}"),
        ("Completed", "100.00 USDC received"),
        ("Added to your balance", "+100.00 USDC"),
        ("Part of a settlement to your wallet", "100.00 USDC in all The settlement"),
        ("Webhook payment.created to shop.example.com", "Retrying, 1 attempt, answered 500 · The delivery"),
        ("Webhook payment.completed to shop.example.com", "Retrying, 1 attempt, answered 500 · The delivery"),
    }
    page = shown(client, payment)
    for delivery in Delivery.objects.filter(event__object_id=payment.pk):
        assert f'href="/dashboard/deliveries/{delivery.public_id}"' in page
    assert f'href="/dashboard/settlements/{settlement.public_id}"' in page


def test_who_did_something_is_told_to_those_who_may_read_the_audit_log(client: Client, member: Member) -> None:
    payment = make_payment(POLYGON, merchant=member.merchant)
    client.post(f"/dashboard/payments/{payment.public_id}/cancel")
    assert ("Cancelled a payment", f"by {member.user.email}") in told(client, payment)
    colleague = browser_of(make_member(member.merchant, role=Role.SUPPORT))
    assert ("Cancelled a payment", "by a member of your team") in told(colleague, payment)
    assert member.user.email not in shown(colleague, payment)


def test_effects_stand_above_their_causes_and_later_above_earlier() -> None:
    def line(second: int, rank: int, microsecond: int = 0) -> Line:
        return Line(at=datetime(2027, 1, 1, 9, 0, second, microsecond, tzinfo=UTC), title="", rank=rank)

    first, cause, effect, last = line(1, 9), line(2, 1, 900), line(2, 2, 100), line(3, 0)
    assert newest_first([cause, last, first, effect]) == [last, effect, cause, first]


def test_the_page_takes_twelve_queries_however_much_happened(
    client: Client, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything at once: refunds, a decision, a settlement, deliveries, people; and many times over."""
    merchant = member.merchant
    for number in range(3):
        make_endpoint(merchant, url=f"https://shop{number}.example.com/hook")
    payment = pay_and_confirm(make_payment(POLYGON, merchant=merchant), "125")
    make_settlements(merchant)
    for _ in range(4):
        client.post(f"/dashboard/payments/{payment.public_id}/simulate", {"scenario": "exact"})
        cancel_refund(ask(payment, discrepancy=discrepancy(payment), destination=wallet(POLYGON)))
    fan_out()
    send_due()
    with CaptureQueriesContext(connection) as queries:
        page = shown(client, payment)
    assert len(queries) <= 12, [query["sql"][:120] for query in queries]
    assert len(ITEM.findall(page)) > 20
    assert "These are the newest entries." not in page

    monkeypatch.setattr(timeline, "MOST_LINES", 5)
    page = shown(client, payment)
    assert len(ITEM.findall(page)) == 5
    assert "These are the newest entries." in page
