"""The main job, end to end: a payment is created, paid on a chain, confirmed, credited and shown."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from config.environments import Environment
from merchants import tasks as merchant_tasks
from merchants.models import Merchant
from payments import tasks
from payments.chains.simulated import control
from tests.factories import ApiClient, api_client, make_key, make_merchant
from tests.payments.scenes import BLOCKS_UNTIL_FINAL, NETWORKS, PAIRS, WALLETS

pytestmark = pytest.mark.django_db(transaction=True)


def call(client: ApiClient, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    reply = client.call(method, path, json_body=body)
    assert reply.status_code in (200, 201), reply.content
    return reply.json()


def new_payment(client: ApiClient, network: str, coin: str, amount: float, currency: str = "USD") -> Any:
    return call(
        client,
        "POST",
        "/payments",
        {
            "amount": amount,
            "currency": currency,
            "cryptocurrency": coin,
            "network": network,
            "merchantWallet": WALLETS[network],
            "metadata": {"order": f"{network} {coin}"},
        },
    )


def let_time_pass() -> None:
    """Blocks appear, and the worker does its rounds."""
    for network in NETWORKS:
        control.mine(network, BLOCKS_UNTIL_FINAL[network])
    tasks.watch_networks()
    tasks.expire_due()
    tasks.assess_due()
    merchant_tasks.fold_counts()


def reconcile() -> str:
    """What `manage.py reconcile` says. Any exit code but 0 would be a SystemExit here."""
    said = StringIO()
    call_command("reconcile", stdout=said)
    return said.getvalue()


def key_of(merchant: Merchant) -> ApiClient:
    return api_client(make_key(merchant, Environment.SANDBOX))


def test_a_payment_is_created_paid_credited_and_shown() -> None:
    client = key_of(make_merchant())
    created = new_payment(client, "ethereum", "USDC", 49.90, "EUR")
    assert (created["status"], created["amount"], created["cryptoAmount"]) == ("created", 49.9, "57.574709")
    assert call(client, "GET", "/balance")["balances"] == []
    let_time_pass()
    assert call(client, "GET", f"/payments/{created['id']}") == created

    call(client, "POST", f"/payments/{created['id']}/simulate", {"scenario": "exact"})
    control.mine("ethereum")
    tasks.watch_networks()
    confirming = call(client, "GET", f"/payments/{created['id']}")
    assert (confirming["status"], confirming["confirmations"], confirming["amountReceived"]) == (
        "pending",
        1,
        "0.000000",
    )
    let_time_pass()

    paid = call(client, "GET", f"/payments/{created['id']}")
    assert (paid["status"], paid["amountReceived"], paid["version"]) == ("completed", "57.574709", 3)
    assert paid["completedAt"] is not None
    assert [transfer["status"] for transfer in paid["transfers"]] == ["credited"]
    changed = {"status", "amountDue", "amountReceived", "version", "completedAt"}
    changed |= {"transfers", "transferCount", "confirmations"}
    assert {name for name in paid if paid[name] != created[name]} == changed

    [balance] = call(client, "GET", "/balance")["balances"]
    assert (balance["network"], balance["cryptocurrency"], balance["available"]) == ("ethereum", "USDC", "57.574709")
    assert call(client, "GET", "/payments?status=completed")["data"] == [paid]
    told = call(client, "GET", f"/payments/{created['id']}/timeline")["data"]
    assert [each["type"] for each in told] == ["payment.completed", "payment.pending", "payment.created"]
    assert "Clean: 0 errors, 0 warnings" in reconcile()


def test_every_coin_on_every_network_is_credited_in_its_own_account() -> None:
    client = key_of(make_merchant())
    amounts = {pair: 10.25 + number for number, pair in enumerate(PAIRS)}
    created = {
        (network, coin): new_payment(client, network, coin, amount) for (network, coin), amount in amounts.items()
    }
    for record in created.values():
        call(client, "POST", f"/payments/{record['id']}/simulate", {"scenario": "exact"})
    let_time_pass()

    page = call(client, "GET", "/payments?limit=100")
    assert {record["status"] for record in page["data"]} == {"completed"}
    assert (page["totalCount"], page["hasMore"]) == (9, False)
    assert call(client, "GET", "/payments?status=completed")["totalCount"] == 9
    balances = call(client, "GET", "/balance")["balances"]
    shown = {(each["network"], each["cryptocurrency"]): each["available"] for each in balances}
    assert shown == {pair: f"{amount:.6f}" for pair, amount in amounts.items()}
    assert "Clean: 0 errors, 0 warnings" in reconcile()


def test_what_goes_wrong_is_held_and_the_books_still_agree() -> None:
    client = key_of(make_merchant())
    scenarios = {
        "underpaid": "underpaid",
        "overpaid": "completed",
        "two_parts": "completed",
        "two_transfers": "completed",
        "late": "expired",
        "wrong_token": "created",
        "wrong_network": "created",
    }
    created = {scenario: new_payment(client, "ethereum", "USDC", 100)["id"] for scenario in scenarios}
    cancelled = new_payment(client, "stellar", "DAI", 5)["id"]
    assert call(client, "POST", f"/payments/{cancelled}/cancel", {})["status"] == "cancelled"
    for scenario, payment_id in created.items():
        call(client, "POST", f"/payments/{payment_id}/simulate", {"scenario": scenario})
    call(client, "POST", f"/payments/{cancelled}/simulate", {"scenario": "exact"})
    let_time_pass()
    let_time_pass()

    ends = {scenario: call(client, "GET", f"/payments/{key}")["status"] for scenario, key in created.items()}
    assert ends == scenarios
    assert call(client, "GET", f"/payments/{cancelled}")["status"] == "cancelled"
    balances = call(client, "GET", "/balance")["balances"]
    shown = {(each["network"], each["cryptocurrency"]): (each["available"], each["inSuspense"]) for each in balances}
    assert shown == {
        ("ethereum", "USDC"): ("300.000000", "125.000000"),  # of the three that are completed; surplus, and late
        ("ethereum", "USDT"): ("0.000000", "100.000000"),
        ("polygon", "USDC"): ("0.000000", "100.000000"),
        ("stellar", "DAI"): ("0.000000", "5.000000"),
    }
    assert "Clean: 0 errors, 0 warnings" in reconcile()
