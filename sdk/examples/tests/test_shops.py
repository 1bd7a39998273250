"""Each shop in a browser, against a real sandbox: every way in which a payment can go."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import time

import pytest
from cases import CASES, NETWORK_CASES
from playwright.sync_api import Page, expect
from shops import CASE_SECONDS, Order, Shop, api, check_out, play, wait_for

SUBMIT_THREE_TIMES = """
fields => Promise.all([1, 2, 3].map(() => fetch("/orders", {method: "POST", body: new URLSearchParams(fields)})))
"""


def test_a_shopper_pays_on_the_next_page_and_comes_back(page: Page, shop: Shop) -> None:
    number = check_out(page, shop, "Pay on the next page")
    expect(page).to_have_url(re.compile("/pay/pay_"))
    page.get_by_text("Simulate the payer").click()
    page.get_by_role("button", name="Pay exactly").click()
    expect(page.get_by_text("Paid. Thank you!", exact=True)).to_be_visible(timeout=30_000)
    # No page of the order was open: the webhook alone has told the shop.
    wait_for("the webhook", 30, lambda: shop.deliveries(number) == 1)
    page.get_by_role("link", name=re.compile("^Back to")).click()
    expect(page.locator("main")).to_have_attribute("data-state", "paid")
    assert shop.deliveries(number) == 1


def test_a_shopper_pays_in_a_dialog(page: Page, shop: Shop) -> None:
    number = check_out(page, shop)
    page.get_by_role("link", name="Pay now").click()
    shown = page.frame_locator("dialog iframe")
    shown.get_by_text("Simulate the payer").click()
    shown.get_by_role("button", name="Pay exactly").click()
    expect(page.locator("main")).to_have_attribute("data-state", "paid", timeout=30_000)
    assert page.url == f"{shop.url}/orders/{number}"
    assert shop.order(number).delivered == "1"


def test_every_way_of_paying(page: Page, shops: dict[str, Shop]) -> None:
    play(CASES, shops.values(), page)


@pytest.mark.alone
def test_faults_of_a_network(page: Page, shops: dict[str, Shop]) -> None:
    play(NETWORK_CASES, shops.values(), page)


def test_a_form_that_is_sent_twice_makes_one_order_and_one_payment(page: Page, shop: Shop) -> None:
    page.goto(shop.url)
    page.get_by_role("button", name="Add to cart").first.click()
    # Two tabs of one cart page send the same form at the same time.
    form = page.locator("form[action='/orders']")
    number = form.locator("input[name=number]").get_attribute("value")
    token = page.locator("form[action='/orders'] input[name=csrfmiddlewaretoken]")
    fields = {"number": number, "how": "dialog"}
    if token.count():
        fields["csrfmiddlewaretoken"] = token.get_attribute("value")
    page.evaluate(SUBMIT_THREE_TIMES, fields)
    assert number
    first = shop.order(number).payment
    found = [one for one in api("GET", "/payments?limit=20")["data"] if one["metadata"].get("order") == number]
    assert [one["id"] for one in found] == [first]


def test_a_shop_that_was_away_finds_what_happened_meanwhile(page: Page, shop: Shop) -> None:
    paid, refunded = check_out(page, shop), check_out(page, shop)
    payments = [shop.order(number).payment for number in (paid, refunded)]
    shop.stop()
    for payment in payments:
        api("POST", f"/payments/{payment}/simulate", {"scenario": "exact"})
    for payment in payments:
        wait_for_status(payment, "completed")
    api("POST", "/refunds", {"paymentId": payments[1], "amount": 5})
    wait_for_status(payments[1], "partially_refunded")
    shop.start()
    assert shop.order(paid) == Order(paid, payments[0], "paid", "", "1")
    assert shop.deliveries(paid) == 1
    assert shop.order(refunded) == Order(refunded, payments[1], "partly_refunded", "not_delivered", "0")


def test_webhooks_are_verified_and_only_make_the_shop_look(page: Page, shop: Shop) -> None:
    number = check_out(page, shop)
    payment = api("GET", f"/payments/{shop.order(number).payment}")
    lie = {**payment, "status": "completed", "version": 99}
    event = {
        "id": "evt_01kfjhr3c8e4bs0dz6wd5n5yry", "object": "event", "type": "payment.completed", "apiVersion": "v1",
        "createdAt": payment["createdAt"], "environment": "sandbox", "version": 99, "data": {"object": lie},
    }  # fmt: skip
    body = json.dumps(event).encode()
    assert shop.post_webhook(body, signed(body, key=b"another key")) == 400
    assert shop.post_webhook(body, {}) == 400
    for changed in ({}, {"type": "payment.of_later"}):
        body = json.dumps({**event, **changed}).encode()
        assert shop.post_webhook(body, signed(body)) == 204
        assert shop.post_webhook(body, signed(body)) == 204
    assert shop.order(number).state == "awaiting"
    assert shop.deliveries(number) == 0


def wait_for_status(payment: str, status: str) -> None:
    wait_for(status, CASE_SECONDS, lambda: api("GET", f"/payments/{payment}")["status"] == status)


def signed(body: bytes, key: bytes | None = None) -> dict[str, str]:
    """Headers of a webhook, as Standard Webhooks has them."""
    key = key or base64.b64decode(os.environ["BALLAST_WEBHOOK_SECRET"].removeprefix("whsec_"))
    name, at = "evt_01kfjhr3c8e4bs0dz6wd5n5yry", str(int(time.time()))
    signature = hmac.new(key, b".".join([name.encode(), at.encode(), body]), hashlib.sha256).digest()
    return {
        "Content-Type": "application/json", "webhook-id": name, "webhook-timestamp": at,
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }  # fmt: skip
