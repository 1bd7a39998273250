"""A merchant with settlements in every state, reached as real ones are, for the tests of what is shown of them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

from config.environments import Environment
from config.money import to_units
from merchants.models import Merchant
from payments.chains import registry
from payments.chains.errors import RecipientProblem
from payments.chains.simulated import control
from payments.models import Payment
from payments.monitoring.accounting.periods import Days
from payments.transfers.owners import follow_payouts
from settlements.invoices.issuer import Issuer
from settlements.invoices.issuing import issue_month
from settlements.invoices.models import BillingDetails, Invoice, InvoiceSeries
from settlements.models import Settlement
from settlements.payouts.handover import advance
from settlements.services import run_now
from tests.accounting.clock import made_at
from tests.ledger.books import COINS, FEES, available_account, move
from tests.payments.scenes import BLOCKS_UNTIL_FINAL, ETHEREUM, assess, make_payment, mine, pay, read
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
    return assess(payment)


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


def make_invoice(merchant: Merchant) -> Invoice:
    """An invoice over ten coins of fees in January 2026; for a merchant that has none yet."""
    details = BillingDetails.objects.create(merchant=merchant, name=merchant.name, address="Quay 1", country="DE")
    InvoiceSeries.objects.get_or_create(environment=SANDBOX, defaults={"begins_on": date(2026, 1, 1)})
    own = available_account(str(merchant.pk))
    with made_at(datetime(2026, 1, 15, tzinfo=UTC)):
        move(10_000_000, debit=COINS, credit=own)
        move(10_000_000, debit=own, credit=FEES)
    by = Issuer("Example Payments GmbH", "Kaistraße 1", "DE", "DE123456789")
    [invoice] = issue_month(details, SANDBOX, Days(date(2026, 1, 1), date(2026, 1, 31)), by)
    return invoice


def fill_treasury(network: str = ETHEREUM, coin: str = "USDC", amount: str = "100000") -> None:
    """The operator has coins there to pay with and to convert into."""
    asset = registry.asset(SANDBOX, network, coin)
    stock(network, to_units(Decimal(amount), asset.decimals), coin)


def pay_out(settlement: Settlement) -> Settlement:
    """As the workers do: handed over, sent, mined until final, completed. The treasury must be filled."""
    advance(settlement.id)
    finish(settlement.network)
    follow_payouts()
    return Settlement.objects.get(pk=settlement.pk)


def fail(settlement: Settlement, problem: RecipientProblem = "destination_refused") -> Settlement:
    """Its wallet refuses what is sent to it."""
    control.describe_account(settlement.network, settlement.destination, refuses=problem)
    return advance(settlement.id)


def accept_again(settlement: Settlement) -> None:
    control.describe_account(settlement.network, settlement.destination, refuses="")
