"""A merchant with settlements in every state, reached as real ones are, for the tests of what is shown of them."""

from __future__ import annotations

from decimal import Decimal

from config.environments import Environment
from config.money import to_units
from merchants.models import Merchant
from payments.chains import registry
from payments.chains.errors import RecipientProblem
from payments.chains.simulated import control
from payments.models import Payment
from settlements.models import Settlement
from settlements.services import advance, run_now
from tests.payments.scenes import BLOCKS_UNTIL_FINAL, ETHEREUM, judge, make_payment, mine, pay, read
from tests.transfers.scenes import finish, stock

SANDBOX = Environment.SANDBOX


def earn(
    merchant: Merchant, amount: str = "100", *, coin: str = "USDC", network: str = ETHEREUM, wallet: str = ""
) -> Payment:
    """A payment that came in; one dollar is one coin. Only its own network is read: many tests begin with this."""
    fields = {"merchant_wallet": wallet} if wallet else {}
    payment = make_payment(network, coin, amount, merchant=merchant, **fields)
    pay(payment)
    mine(network, BLOCKS_UNTIL_FINAL[network])
    read(network)
    return judge(payment)


def make_settlements(merchant: Merchant) -> list[Settlement]:
    """Everything that has come in, made into settlements; nothing is paid yet."""
    run = run_now(merchant=merchant, environment=SANDBOX, requested_by="jo@example.com")
    return list(run.settlements.order_by("network", "destination"))


def earn_and_settle(
    merchant: Merchant, amount: str = "100", *, coin: str = "USDC", network: str = ETHEREUM
) -> Settlement:
    """One payment as one settlement, pending."""
    earn(merchant, amount, coin=coin, network=network)
    [settlement] = make_settlements(merchant)
    return settlement


def fill_treasury(network: str = ETHEREUM, coin: str = "USDC", amount: str = "100000") -> None:
    """The operator has coins there to pay with and to convert into."""
    asset = registry.asset(SANDBOX, network, coin)
    stock(network, to_units(Decimal(amount), asset.decimals), coin)


def pay_out(settlement: Settlement) -> Settlement:
    """As the workers do: handed over, sent, mined until final, completed. The treasury must be filled."""
    advance(settlement.id)
    finish(settlement.network)
    return advance(settlement.id)


def fail(settlement: Settlement, problem: RecipientProblem = "no_trustline") -> Settlement:
    """Its wallet refuses what is sent to it."""
    control.describe_account(settlement.network, settlement.destination, refuses=problem)
    return advance(settlement.id)


def accept_again(settlement: Settlement) -> None:
    control.describe_account(settlement.network, settlement.destination, refuses="")
