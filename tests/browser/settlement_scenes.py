"""A merchant's settlements in every state, with one to come and money that is carried over."""

from __future__ import annotations

from datetime import time
from decimal import Decimal

from config.environments import Environment
from merchants.models import Merchant
from merchants.services import SettingsChanges, update_settings
from settlements.models import Settlement
from settlements.payouts.handover import advance
from tests.networks import ETHEREUM, POLYGON, STELLAR
from tests.refunds.scenes import ask
from tests.settlements.page_scenes import earn, fail, fill_treasury, make_settlements, pay_out

SETTLED_WEEKLY: SettingsChanges = {
    "settlement_frequency": "weekly",
    "settlement_weekday": 1,
    "settlement_time": time(9, 30),
    "settlement_timezone": "Europe/Amsterdam",
    "settlement_minimum": Decimal(25),
}


def add_settlements(merchant: Merchant, wallets: dict[str, str]) -> dict[str, Settlement]:
    """By the name of their state. What the merchant has so far goes into the first of them."""
    merchant.fee_bps = 50
    merchant.save(update_fields=["fee_bps"])
    update_settings(merchant=merchant, environment=Environment.SANDBOX, changes=SETTLED_WEEKLY)
    fill_treasury(POLYGON)

    refunded = earn(merchant, "180", network=POLYGON, wallet=wallets[POLYGON])
    ask(refunded, "45", destination=wallets[POLYGON].lower())
    for amount in ("64.20", "19.90", "310"):
        earn(merchant, amount, network=POLYGON, wallet=wallets[POLYGON])
    earn(merchant, "92.5", coin="DAI", network=POLYGON, wallet=wallets[POLYGON])
    earn(merchant, "240", network=STELLAR, wallet=wallets[STELLAR])
    made = {(settlement.network, settlement.destination): settlement for settlement in make_settlements(merchant)}
    completed, failed = pay_out(made[POLYGON, wallets[POLYGON]]), fail(made[STELLAR, wallets[STELLAR]])

    earn(merchant, "410", coin="USDT", network=ETHEREUM, wallet=wallets[ETHEREUM])
    [unconverted] = make_settlements(merchant)
    waiting = advance(unconverted.id)

    earn(merchant, "128.40", network=POLYGON, wallet=wallets[POLYGON])
    earn(merchant, "9.99", network=ETHEREUM, wallet=wallets[ETHEREUM])
    return {"completed": completed, "failed": failed, "waiting": waiting}
