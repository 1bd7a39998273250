"""The merchant's pages about refunds."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from config import ids
from merchants.models import Member
from merchants.roles import Role
from payments.chains.simulated import control
from payments.models import Payment
from payments.services import cancel_payment
from payments.transfers.models import Payout
from payments.transfers.states import HoldReason
from refunds.models import Refund
from refunds.records import refund_record
from refunds.services import cancel_refund
from refunds.wording import HELD
from tests.dashboard.conftest import browser_of
from tests.factories import make_key, make_member, make_merchant
from tests.payments.scenes import STELLAR, discrepancy, make_payment, pay_and_confirm, spend, units
from tests.refunds.scenes import ask, fresh, paid, paid_by_two, send, wallet

pytestmark = pytest.mark.django_db


@pytest.fixture
def member() -> Member:
    return make_member(make_merchant("Harbour Coffee"))


@pytest.fixture
def client(member: Member) -> Client:
    return browser_of(member)


def page(client: Client, path: str) -> str:
    response = client.get(path, follow=True)
    assert response.status_code == 200
    return unescape(response.text)


def listed(client: Client, query: str = "") -> list[str]:
    return list(
        dict.fromkeys(re.findall(r'href="/dashboard/refunds/(ref_\w+)"', page(client, f"/dashboard/refunds{query}")))
    )


def form_id(client: Client, payment: Payment) -> str:
    found = re.search(
        r'name="form_id" value="([^"]+)"', page(client, f"/dashboard/payments/{payment.public_id}/refund")
    )
    assert found
    return found[1]


def submit(client: Client, payment: Payment, **fields: str) -> Any:
    asked = {"source": "payment", "form_id": form_id(client, payment), **fields}
    return client.post(f"/dashboard/payments/{payment.public_id}/refund", asked)


# Asking for one.


def test_a_paid_payment_offers_a_refund_and_lists_those_it_has(client: Client, member: Member) -> None:
    unpaid, payment = make_payment(STELLAR, merchant=member.merchant), paid(merchant=member.merchant)
    assert '/refund"' not in page(client, f"/dashboard/payments/{unpaid.public_id}")
    shown = page(client, f"/dashboard/payments/{payment.public_id}")
    assert f"/dashboard/payments/{payment.public_id}/refund" in shown
    assert "<h2>Refunds</h2>" not in shown
    refund = ask(payment)
    shown = page(client, f"/dashboard/payments/{payment.public_id}")
    assert f"/dashboard/payments/{payment.public_id}/refund" not in shown  # nothing is left
    assert f"/dashboard/refunds/{refund.public_id}" in shown


def test_a_part_is_refunded_from_the_form(client: Client, member: Member) -> None:
    payment = paid(merchant=member.merchant)
    ask(payment, "25.50")
    shown = page(client, f"/dashboard/payments/{payment.public_id}/refund")
    assert "74.50 USD of the payment itself (74.50 USDC)" in shown
    response = submit(client, payment, amount="12.34", reason="Out of stock")
    refund = Refund.objects.latest("id")
    assert response.headers["Location"] == f"/dashboard/refunds/{refund.public_id}"
    assert (refund.amount, refund.fiat_amount) == (units(payment, "12.34"), 1234)
    assert (refund.reason, refund.requested_by) == ("Out of stock", member.user.email)
    shown = page(client, response.headers["Location"])
    for words in (
        "12.34 USD",
        "12.34 USDC",
        "Waiting to be sent",
        "Out of stock",
        payment.public_id,
        "Cancel the refund",
    ):
        assert words in shown


def test_without_an_amount_all_that_is_left_is_refunded(client: Client, member: Member) -> None:
    payment = paid(merchant=member.merchant)
    submit(client, payment, amount="", destination=wallet(name="elsewhere"), memo="42")
    refund = Refund.objects.get()
    assert (refund.amount, refund.destination, refund.memo) == (payment.due, wallet(name="elsewhere"), "42")


def test_the_overview_says_which_refunds_wait_for_the_payers_account(client: Client, member: Member) -> None:
    control.describe_account(STELLAR, wallet(name="new"), refuses="no_trustline")
    for title in ("1 refund waits for the payer's account", "2 refunds wait for payers' accounts"):
        refund = ask(paid(merchant=member.merchant), destination=wallet(name="new"))
        assert title not in unescape(page(client, "/dashboard"))
        send(rounds=0)
        shown = unescape(page(client, "/dashboard"))
        assert title in shown
        assert 'href="/dashboard/refunds?status=pending"' in shown
        assert "add a trustline" in unescape(page(client, f"/dashboard/refunds/{refund.public_id}"))


def test_a_form_refunds_once(client: Client, member: Member) -> None:
    payment = paid(merchant=member.merchant)
    asked = {"source": "payment", "amount": "10", "form_id": form_id(client, payment)}
    replies = [client.post(f"/dashboard/payments/{payment.public_id}/refund", asked) for _ in range(2)]
    assert replies[1].headers["Location"] == f"/dashboard/refunds?q={payment.public_id}"
    assert Refund.objects.count() == 1


def test_money_in_suspense_is_chosen(client: Client, member: Member) -> None:
    payment = paid(received=["125"], merchant=member.merchant)
    surplus = discrepancy(payment)
    shown = page(client, f"/dashboard/payments/{payment.public_id}/refund")
    assert "100.00 USD of the payment itself" in shown
    assert "25.00 USDC on Stellar (simulated), waiting for a decision: more than was due" in shown
    response = submit(client, payment, source=surplus.public_id, amount="3")
    assert "leave out the amount" in unescape(response.text)
    submit(client, payment, source=surplus.public_id)
    refund = Refund.objects.get()
    assert (refund.discrepancy, refund.amount) == (surplus, surplus.amount)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"amount": "100.01"}, "100.00 USD can still be refunded"),
        ({"amount": "0"}, "Must be greater than 0."),
        ({"amount": "-5"}, "Must be greater than 0."),
        ({"amount": "1.0011"}, "at most 2 decimal places"),
        ({"amount": "NaN"}, "Enter an amount such as 12.50."),
        ({"amount": "ten"}, "Enter an amount such as 12.50."),
        ({"amount": "60"}, "it has been settled already"),
        ({"destination": "hello"}, "starts with G or M"),
        ({"destination": wallet(), "memo": "é" * 20}, "at most 28 bytes"),
        ({"memo": "42"}, "give the destination as well"),
        ({"source": "dis_1"}, "Select a valid choice"),
        ({"reason": "a\u0007b"}, "printable"),
    ],
    ids=str,
)
def test_what_is_refused_is_said_at_the_form(
    client: Client, member: Member, fields: dict[str, str], words: str
) -> None:
    payment = paid(merchant=member.merchant)
    spend(payment, "50")
    response = submit(client, payment, **fields)
    assert response.status_code == 200
    assert words in unescape(response.text)
    assert not Refund.objects.exists()


def test_nothing_paid_is_nothing_to_give_back(client: Client, member: Member) -> None:
    payment = make_payment(STELLAR, merchant=member.merchant)
    address = f"/dashboard/payments/{payment.public_id}/refund"
    assert "Nothing to refund" in page(client, address)
    assert "Nothing to refund" in unescape(client.post(address, {"source": "payment", "amount": "1"}).text)


# The list.


def test_the_list_is_filtered_and_counted(client: Client, member: Member) -> None:
    first, second = paid(merchant=member.merchant), paid_by_two(merchant=member.merchant)
    made = [ask(first, "10"), ask(second, "20"), ask(first, "5")]
    ask(paid())
    cancel_refund(made[0])
    newest_first = [refund.public_id for refund in reversed(made)]
    assert listed(client) == newest_first
    assert "3 of 3 refunds" in page(client, "/dashboard/refunds")
    assert listed(client, "?status=requires_action") == [made[1].public_id]
    assert "1 refund" in page(client, "/dashboard/refunds?status=cancelled")
    assert listed(client, f"?q={first.public_id}") == [made[2].public_id, made[0].public_id]
    assert "2 of 2 refunds" in page(client, f"/dashboard/refunds?q={first.public_id}")
    today = timezone.now().date()
    assert listed(client, f"?start={today}&end={today}") == newest_first
    assert listed(client, f"?start={today + timedelta(days=1)}") == []
    assert "Nothing matches" in page(client, "/dashboard/refunds?status=failed")
    assert "Nothing matches" in page(client, "/dashboard/refunds?q=anything")
    assert "Select a valid choice" in page(client, "/dashboard/refunds?status=lost")
    found = client.get(f"/dashboard/refunds?q={made[1].public_id}")
    assert found.headers["Location"] == f"/dashboard/refunds/{made[1].public_id}"


def test_pages_follow_each_other_without_gap_or_repetition(client: Client, member: Member) -> None:
    payment = paid(merchant=member.merchant)
    made = [ask(payment, "1").public_id for _ in range(27)][::-1]
    text = page(client, "/dashboard/refunds")
    assert "25 of 27 refunds" in text
    older = re.search(r'href="/dashboard/refunds(\?[^"]*)">Older', text)
    assert older
    assert listed(client) + listed(client, older[1]) == made
    assert listed(client, "?before=ref_1") == made[:25]


def test_a_merchant_without_refunds_is_told_where_they_begin(client: Client) -> None:
    assert "No refunds yet" in page(client, "/dashboard/refunds")


# One refund.


def test_a_refund_tells_its_story(client: Client, member: Member) -> None:
    refund = ask(paid(merchant=member.merchant), metadata={"order": "4711"})
    send()
    shown = page(client, f"/dashboard/refunds/{refund.public_id}")
    for words in ("Completed", fresh(refund).transaction_hash, wallet(), "The address that paid", "4711"):
        assert words in shown
    assert "Cancel the refund" not in shown
    titles = re.findall(r'class="timeline__item">\s*<p class="table__main">([^<]+)<', shown)
    assert titles == [
        "Completed: final on its network",
        "Has an address, waiting to be sent",
        "Created, and the money reserved",
    ]


def test_a_refund_says_by_name_which_key_asked_for_it(client: Client, member: Member) -> None:
    refund = ask(paid(merchant=member.merchant))
    own, foreign = make_key(member.merchant, name="Web shop").key, make_key(name="Somebody else's").key
    for asked, words in ((own.public_key, own.name), (foreign.public_key, foreign.public_key), ("jo@x.example",) * 2):
        Refund.objects.filter(pk=refund.pk).update(requested_by=asked)
        shown = page(client, f"/dashboard/refunds/{refund.public_id}")
        assert re.findall("<dt>Requested by</dt>\\s*<dd>\\s*(.*?)\\s*</dd>", shown) == [words]


def amounts_on_the_timeline(client: Client, payment: Payment, title: str) -> list[str]:
    """The amounts below the lines of this title, newest first; empty for a line without one."""
    shown = page(client, f"/dashboard/payments/{payment.public_id}")
    item = r'class="timeline__item">\s*<p class="table__main">([^<]+)</p>\s*(?:<p class="soft">([^<]+)</p>)?'
    return [amount for found, amount in re.findall(item, shown) if found == title]


def test_a_payment_tells_how_much_of_it_was_refunded(client: Client, member: Member) -> None:
    payment = paid(merchant=member.merchant)
    for amount in ("40", "60"):
        ask(payment, amount)
        send()
    assert amounts_on_the_timeline(client, payment, "Completed") == ["100.00 USDC received"]
    refunded = amounts_on_the_timeline(client, payment, "Refunded")
    assert refunded == ["100.00 USDC refunded in all", "40.00 USDC refunded in all"]


def test_money_that_never_was_the_payment_s_is_no_amount_of_its_own(client: Client, member: Member) -> None:
    payment = cancel_payment(make_payment(STELLAR, merchant=member.merchant))
    pay_and_confirm(payment)
    ask(payment, discrepancy=discrepancy(payment))
    send()
    assert amounts_on_the_timeline(client, payment, "Refunded") == [""]


def test_a_refund_is_cancelled(client: Client, member: Member) -> None:
    refund = ask(paid(merchant=member.merchant))
    shown = unescape(client.post(f"/dashboard/refunds/{refund.public_id}/cancel", follow=True).text)
    assert "The refund is cancelled." in shown
    assert fresh(refund).status == "cancelled"
    other = ask(refund.payment)
    send()
    shown = unescape(client.post(f"/dashboard/refunds/{other.public_id}/cancel", follow=True).text)
    assert "This refund is completed and cannot be cancelled." in shown


def test_a_refund_without_address_shows_the_link_and_takes_one(client: Client, member: Member) -> None:
    refund = ask(paid_by_two(merchant=member.merchant))
    address = f"/dashboard/refunds/{refund.public_id}"
    shown = page(client, address)
    assert "We need an address for this refund" in shown
    link = re.search(r'data-copy="(http://127.0.0.1:8000/refund/[^"]+)"', shown)
    assert link
    assert Client().get(link[1].removeprefix("http://127.0.0.1:8000")).status_code == 200
    refused = client.post(f"{address}/destination", {"destination": "hello"})
    assert "starts with G or M" in unescape(refused.text)
    client.post(f"{address}/destination", {"destination": wallet(), "memo": "42"})
    assert (fresh(refund).destination, fresh(refund).memo, fresh(refund).named_by) == (wallet(), "42", "merchant")
    shown = page(client, address)
    assert "/refund/" not in re.sub(r"/dashboard/\S*", "", shown)
    again = client.post(f"{address}/destination", {"destination": wallet(name="another")}, follow=True)
    assert "already has an address" in unescape(again.text)


def test_a_viewer_sees_neither_link_nor_form(member: Member) -> None:
    refund = ask(paid_by_two(merchant=member.merchant))
    viewer = browser_of(make_member(member.merchant, role=Role.VIEWER))
    shown = page(viewer, f"/dashboard/refunds/{refund.public_id}")
    assert "We need an address for this refund" in shown
    assert "127.0.0.1:8000/refund/" not in shown
    assert "/destination" not in shown
    assert "Cancel the refund" not in shown
    payment_page = page(viewer, f"/dashboard/payments/{refund.payment.public_id}")
    assert f"/dashboard/payments/{refund.payment.public_id}/refund" not in payment_page
    for path in (
        f"/dashboard/refunds/{refund.public_id}/cancel",
        f"/dashboard/refunds/{refund.public_id}/destination",
        f"/dashboard/payments/{refund.payment.public_id}/refund",
    ):
        assert viewer.post(path, {"destination": wallet(), "source": "payment"}).status_code == 403
    assert fresh(refund).status == "requires_action"


def test_a_failure_is_explained_with_what_to_do_next(client: Client, member: Member) -> None:
    control.describe_account(STELLAR, wallet(), refuses="memo_required")
    refund = ask(paid(merchant=member.merchant), destination=wallet())
    send(rounds=0)
    shown = page(client, f"/dashboard/refunds/{refund.public_id}")
    assert "This account belongs to many people, as those of exchanges do, and needs a memo." in shown
    assert "The money is back where it was. Ask the payer for the memo" in shown
    assert f"/dashboard/payments/{refund.payment.public_id}/refund" in shown


def test_a_refund_that_is_held_says_why_until_it_goes_on(client: Client, member: Member) -> None:
    assert set(HELD) == set(HoldReason)
    refund = ask(paid(merchant=member.merchant), destination=wallet())
    path = f"/dashboard/refunds/{refund.public_id}"
    why = "The issuer of the coin has stopped all transfers of it for now."
    control.pause_coin(STELLAR, "USDC")
    send()
    assert (fresh(refund).status, why in page(client, path)) == ("pending", True)
    assert refund_record(fresh(refund))["holdReason"] == "coin_paused"
    control.pause_coin(STELLAR, "USDC", is_paused=False)
    Payout.objects.update(next_attempt_at=timezone.now())
    send()
    assert (fresh(refund).status, why in page(client, path)) == ("completed", False)


def test_another_merchants_refund_does_not_exist(client: Client) -> None:
    refund = ask(paid_by_two())
    for public_id in (refund.public_id, ids.REFUND.encode(ids.new_uuid()), "ref_1"):
        assert client.get(f"/dashboard/refunds/{public_id}").status_code == 404
        assert client.post(f"/dashboard/refunds/{public_id}/cancel").status_code == 404
        assert client.post(f"/dashboard/refunds/{public_id}/destination", {"destination": wallet()}).status_code == 404
    assert client.get(f"/dashboard/payments/{refund.payment.public_id}/refund").status_code == 404
    assert listed(client, f"?q={refund.payment.public_id}") == []
    assert fresh(refund).status == "requires_action"
