"""The sandbox as a shop's own tests use it: each of these is a case that no test network gives at will."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from ballast import Webhook
from ballast_sandbox import Sandbox


@pytest.fixture
def payment(sandbox: Sandbox):
    return sandbox.payments.create(
        amount=25, currency="USD", cryptocurrency="USDC", network="polygon", merchant_wallet=sandbox.wallet
    )


def test_a_payment_is_paid(sandbox: Sandbox, payment) -> None:
    sandbox.pay(payment)

    assert Decimal(sandbox.wait(payment, "completed").amount_due) == 0
    [delivery] = sandbox.webhooks.wait("payment.completed", payment)
    event = Webhook(sandbox.webhooks.secret).verify(delivery.body, delivery.headers)
    assert event.data.object.id == payment.id


def test_too_little_arrives_and_the_rest_later(sandbox: Sandbox, payment) -> None:
    sandbox.pay_short(payment)
    assert Decimal(sandbox.wait(payment, "underpaid").amount_due) == Decimal(payment.crypto_amount) / 2

    sandbox.pay(payment)
    sandbox.wait(payment, "completed")


def test_too_much_arrives(sandbox: Sandbox, payment) -> None:
    sandbox.pay_over(payment)
    sandbox.webhooks.wait("payment.overpaid", payment)


def test_a_payment_is_paid_twice(sandbox: Sandbox, payment) -> None:
    sandbox.pay_twice(payment)

    sandbox.webhooks.wait("payment.overpaid", payment)
    assert sandbox.payments.get(payment.id).status_reasons == ["overpaid"]


def test_a_network_is_reorganised(sandbox: Sandbox) -> None:
    payment = sandbox.payments.create(
        amount=25, currency="USD", cryptocurrency="USDC", network="ethereum", merchant_wallet=sandbox.wallet
    )
    sandbox.reorganise(payment)

    sandbox.webhooks.wait("payment.reversed", payment)
    sandbox.wait(payment, "completed")


def test_a_network_is_out_of_reach(sandbox: Sandbox, payment) -> None:
    assert sandbox.outage(payment).status == "created"
    sandbox.clock.advance(seconds=15)
    sandbox.wait(payment, "completed")


def test_time_passes_until_a_payment_expires_and_money_comes_a_day_later(sandbox: Sandbox, payment) -> None:
    before = sandbox.clock.now()
    assert sandbox.clock.advance(hours=25) - before >= timedelta(hours=25)
    sandbox.wait(payment, "expired")

    sandbox.pay(payment)
    sandbox.webhooks.wait("payment.late", payment)
    assert sandbox.payments.get(payment.id).status == "expired"


def test_a_webhook_that_failed_is_sent_again_hours_later(sandbox: Sandbox, payment) -> None:
    sandbox.webhooks.fail()
    sandbox.pay(payment)
    first, *_ = sandbox.webhooks.wait("payment.completed", payment, status=500)
    sandbox.clock.advance(hours=3)
    sandbox.webhooks.wait("payment.completed", payment, status=500, count=2)

    sandbox.webhooks.fail(0)
    sandbox.clock.advance(hours=9)
    [last] = sandbox.webhooks.wait("payment.completed", payment, status=200)

    assert last.id == first.id
    assert last.received_at - first.received_at >= timedelta(hours=12)
    # Signed by the time of this machine, so that a shop whose clock no test moves can verify it.
    assert Webhook(sandbox.webhooks.secret).verify(last.body, last.headers).id == first.id


def test_a_settlement_day_comes(sandbox: Sandbox, payment) -> None:
    sandbox.client.merchant.update_settings(settlement_schedule={"frequency": "daily"})
    sandbox.pay(payment)
    sandbox.wait(payment, "completed")

    sandbox.clock.advance(days=2)
    delivery, *_ = sandbox.webhooks.wait("settlement.completed")
    assert delivery.event["data"]["object"]["network"] == "polygon"
