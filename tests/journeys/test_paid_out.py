"""Money out, end to end: three payments in two coins, a part given back, the rest settled, every unit accounted for."""

from __future__ import annotations

import csv
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.transfers import tasks as transfer_tasks
from payments.transfers.owners import follow_payouts
from refunds import tasks as refund_tasks
from settlements import tasks as settlement_tasks
from tests.factories import make_merchant
from tests.journeys.test_paid import call, key_of, let_time_pass, new_payment, reconcile
from tests.payments.scenes import NETWORKS, SANDBOX, WALLETS
from webhooks.models import Event

pytestmark = pytest.mark.django_db(transaction=True)

PAYER = address_named("ethereum", "the payer's own wallet")


def let_money_move(rounds: int = 4) -> None:
    """Blocks appear, and the workers do what beat asks of them."""
    for _ in range(rounds):
        payment_tasks.sweep()
        refund_tasks.resolve_destinations()
        settlement_tasks.advance_due()
        transfer_tasks.drive()
        follow_payouts()
        let_time_pass()
        transfer_tasks.drive()
        payment_tasks.sweep()
        follow_payouts()


def stock(coin: str, amount: int) -> None:
    """The operator puts coins of his own into the hot wallet, to convert out of."""
    chain = registry.chain(SANDBOX, "ethereum")
    asset = registry.asset(SANDBOX, "ethereum", coin)
    control.fund("ethereum", address=chain.payout_address(), code=coin, amount=amount * 10**asset.decimals)
    let_time_pass()
    call_command("book_treasury", env="sandbox", network="ethereum", asset=coin, yes=True, stdout=StringIO())


def held(address: str, coin: str) -> Decimal:
    """What an address holds on the chain."""
    asset = registry.asset(SANDBOX, "ethereum", coin)
    return Decimal(registry.chain(SANDBOX, "ethereum").reading.balance(address, asset)).scaleb(-asset.decimals)


def test_money_comes_in_a_part_goes_back_and_the_rest_is_settled_to_the_last_unit() -> None:
    merchant = make_merchant()
    client = key_of(merchant)
    stock("USDC", 500)
    payments = [
        new_payment(client, "ethereum", coin, amount)
        for coin, amount in (("USDC", 100), ("USDC", 49.99), ("DAI", 30.5))
    ]
    for payment in payments:
        call(client, "POST", f"/payments/{payment['id']}/simulate", {"scenario": "exact"})
    let_time_pass()
    assert {call(client, "GET", f"/payments/{each['id']}")["status"] for each in payments} == {"completed"}

    refund = call(
        client,
        "POST",
        "/refunds",
        {"paymentId": payments[0]["id"], "amount": 25.5, "reason": "One mug broke", "destination": PAYER},
    )
    assert (refund["status"], refund["amount"], refund["cryptoAmount"]) == ("pending", 25.5, "25.500000")
    let_money_move()
    refunded = call(client, "GET", f"/refunds/{refund['id']}")
    assert refunded["status"] == "completed"
    assert refunded["transactionHash"]
    assert held(PAYER, "USDC") == Decimal("25.5")
    first = call(client, "GET", f"/payments/{payments[0]['id']}")
    assert (first["status"], first["amountRefunded"]) == ("partially_refunded", "25.500000")

    call_command("run_settlements", "--now", stdout=StringIO())
    let_money_move()
    [settlement] = call(client, "GET", "/settlements")["data"]
    assert settlement["status"] == "completed"
    assert (settlement["settlementCurrency"], settlement["destination"]) == ("USDC", WALLETS["ethereum"])
    assert settlement["paymentCount"] == 3
    gross, fee, back, amount = (
        Decimal(settlement[name]) for name in ("grossAmount", "feeAmount", "refundAmount", "amount")
    )
    assert gross - fee - back == amount == held(WALLETS["ethereum"], "USDC")
    assert (fee, back) == (Decimal(0), Decimal("25.5"))
    assert [balance["available"] for balance in call(client, "GET", "/balance")["balances"]] == ["0.000000"] * 2

    assert_statement_balances(client, settlement)
    told = Event.objects.filter(merchant=merchant).order_by("id").values_list("type", flat=True)
    assert [type for type in told if type.startswith(("refund", "settlement"))] == [
        "refund.created",
        "refund.processing",
        "refund.completed",
        "settlement.created",
        "settlement.completed",
    ]
    assert "payment.refunded" in told
    assert "Clean: 0 errors, 0 warnings" in reconcile()


def assert_statement_balances(client: Any, settlement: Any) -> None:
    statement = call(client, "GET", f"/settlements/{settlement['id']}/statement")
    accounts = {account["cryptocurrency"]: account for account in statement["coins"]}
    assert set(accounts) == {"USDC", "DAI"}
    for account in accounts.values():
        moved = sum(Decimal(entry["amount"]) for entry in account["entries"])
        assert Decimal(account["openingBalance"]) + moved == Decimal(account["closingBalance"]) == 0
    reply = client.call("GET", f"/settlements/{settlement['id']}/statement?format=csv")
    assert reply["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(StringIO(reply.content.decode())))
    assert {row["statement_version"] for row in rows} == {"1"}


@pytest.mark.parametrize("network", NETWORKS)
def test_every_coin_of_every_network_can_be_given_back(network: str) -> None:
    client = key_of(make_merchant())
    payments = [new_payment(client, network, coin, 12.34) for coin in ("USDC", "USDT", "DAI")]
    for payment in payments:
        call(client, "POST", f"/payments/{payment['id']}/simulate", {"scenario": "exact"})
    let_time_pass()
    refunds = [call(client, "POST", "/refunds", {"paymentId": payment["id"]}) for payment in payments]
    let_money_move()
    for payment, refund in zip(payments, refunds, strict=True):
        assert call(client, "GET", f"/refunds/{refund['id']}")["status"] == "completed"
        paid = call(client, "GET", f"/payments/{payment['id']}")
        assert (paid["status"], paid["amountRefunded"]) == ("refunded", "12.340000")
    assert "Clean: 0 errors, 0 warnings" in reconcile()
