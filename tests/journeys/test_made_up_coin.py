"""A euro coin that is declared by its one entry, from the API to reconcile: it is never taken for a dollar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import call_command

from config.coins import COINS, USD, Coin, Contract, usd_worth
from merchants.services import update_settings
from payments.chains.networks import NETWORKS
from payments.chains.profiles import declared_coins, declared_decimals
from payments.chains.simulated.networks import _profile
from payments.models import Payment
from payments.rates.agreement import rule_for
from payments.rates.providers import providers
from payments.rates.tables import bundled_rates
from tests.factories import make_merchant
from tests.forgetting import forget_networks
from tests.journeys.test_paid import call, key_of, let_time_pass, new_payment, reconcile
from tests.journeys.test_paid_out import PAYER, held, let_money_move, stock
from tests.payments.scenes import SANDBOX, WALLETS

pytestmark = pytest.mark.django_db(transaction=True)

CODE = "EURX"
MADE_UP = Coin(
    code=CODE,
    name="Made-up Euro",
    peg="EUR",
    dollars=Decimal("1.15"),
    markets={"kraken": "EURXUSD", "bitstamp": "eurxusd"},
    on={
        "stellar": Contract(7),
        "ethereum": Contract(6, real="0x4444444444444444444444444444444444444444"),
        "polygon": Contract(6),
    },
)


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The entry; what was worked out from the entries when modules were loaded is worked out again."""
    caches = (_profile, bundled_rates)
    monkeypatch.setitem(COINS, CODE, MADE_UP)
    for name, network in tuple(NETWORKS.items()):
        real = replace(network.real, assets=declared_coins(name), decimals=declared_decimals(name))
        monkeypatch.setitem(NETWORKS, name, replace(network, real=real))
    for cached in caches:
        cached.cache_clear()
    forget_networks()
    yield
    for cached in caches:
        cached.cache_clear()


def test_a_price_in_euros_is_paid_given_back_in_part_and_settled_in_dollars_to_the_last_unit() -> None:
    merchant = make_merchant()
    client = key_of(merchant)
    update_settings(merchant=merchant, environment=SANDBOX, changes={"settlement_currency": "USDC"})
    stock("USDC", 500)
    paid = new_payment(client, "ethereum", CODE, 100, "EUR")
    assert paid["cryptoAmount"] == "100.000000", "one coin is one euro"
    call(client, "POST", f"/payments/{paid['id']}/simulate", {"scenario": "exact"})
    let_time_pass()
    assert call(client, "GET", f"/payments/{paid['id']}")["status"] == "completed"
    refund = call(client, "POST", "/refunds", {"paymentId": paid["id"], "amount": 20, "destination": PAYER})
    let_money_move()
    assert call(client, "GET", f"/refunds/{refund['id']}")["status"] == "completed"
    assert held(PAYER, CODE) == 20

    call_command("run_settlements", "--now", stdout=StringIO())
    let_money_move()
    [settlement] = call(client, "GET", "/settlements")["data"]
    assert (settlement["status"], settlement["settlementCurrency"]) == ("completed", "USDC")
    in_dollars = bundled_rates()[CODE, USD]
    assert Decimal(settlement["amount"]) == held(WALLETS["ethereum"], "USDC")
    assert abs(Decimal(settlement["amount"]) - 80 * in_dollars) < Decimal("0.00001")
    assert "Clean: 0 errors, 0 warnings" in reconcile()


def test_limits_rules_and_prices_know_what_it_is_worth() -> None:
    assert usd_worth(CODE, 100 * 10**6, 6) == 115 * 10**18
    assert usd_worth(CODE, 1, 18) == 2, "rounded up"
    client = key_of(make_merchant())
    for coin, currency in (("USDC", "USD"), (CODE, "EUR")):
        new_payment(client, "ethereum", coin, 900, currency)
    waits = dict(Payment.objects.values_list("cryptocurrency", "require_finalized"))
    assert waits == {"USDC": False, CODE: True}, "900 euros are more than a thousand dollars"
    rule = rule_for((CODE, USD))
    assert rule is not None
    assert rule.lowest < Decimal("1.15") < rule.highest
    found = providers()
    assert "/api/v2/ticker/eurxusd/" in found["bitstamp"].requests
    assert any("EURXUSD" in path for path in found["kraken"].requests)
    assert [name for name, each in found.items() if CODE in each.coins] == ["kraken", "bitstamp"]
