"""A shop in production that was paid on real nodes and gives the money back: many payouts, each to somebody else."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from io import StringIO

from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from config.coins import COINS
from config.environments import Environment
from merchants.ledger.balances import balance
from merchants.services import open_merchant
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.evm.addresses import encode
from payments.models import Payment
from payments.rates.models import CurrentRate
from payments.rates.quoting import forget_rates
from payments.services import NewPayment, create_payment
from payments.states import PaymentStatus
from payments.transfers import tasks as transfer_tasks
from payments.transfers.models import PayoutPolicy, Transfer
from payments.transfers.payouts import policy_of
from payments.transfers.postings import gas_account, hot_account
from payments.treasury.models import Sweep
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from tests.evm.mainnet import Mainnet
from tests.evm.network import devnet

PRODUCTION = Environment.PRODUCTION
BLOCKS_UNTIL_CONFIRMED = 13

RATE_SOURCES = ["kraken"]
"""A setting: in production no bundled table is quoted."""

Paid = tuple[str, str, str, int]
"""Network, code of the coin, recipient, base units."""


class Shop:
    """One merchant, whose networks nothing but time stands between."""

    def __init__(self, mainnets: Mapping[str, Mainnet]) -> None:
        self.mainnets = mainnets
        self.merchant = open_merchant(name="Shop", email="shop@example.com", plan="business")
        self.asked: Counter[Paid] = Counter()
        policy_of(PRODUCTION)
        PayoutPolicy.objects.update(
            approval_above=None, daily_limit=None, merchant_daily_limit=None, transfer_limit=None
        )
        price_coins_at_a_dollar()
        self.let_blocks_pass()
        for network in mainnets:
            native = registry.profile(PRODUCTION, network).native.code
            call_command("book_treasury", env="production", network=network, asset=native, yes=True, stdout=StringIO())

    def earn(self, payments_each: int) -> list[Payment]:
        """So many payments on each network, credited, and their coins in the hot wallet."""
        payments = [self._open(network, number) for network in self.mainnets for number in range(payments_each)]
        for network, mainnet in self.mainnets.items():
            here = [payment for payment in payments if payment.network == network]
            mainnet.pay([(each.cryptocurrency, each.deposit_address, int(each.due)) for each in here])
        self.let_blocks_pass()
        earned = list(Payment.objects.filter(pk__in=[payment.pk for payment in payments]).order_by("pk"))
        assert {payment.status for payment in earned} == {PaymentStatus.COMPLETED}
        payment_tasks.sweep()
        self.drive()
        self.let_blocks_pass()
        self.drive()
        payment_tasks.sweep()
        assert not Sweep.objects.filter(booked_at__isnull=True).exists()
        return earned

    def give_back(self, payments: Sequence[Payment], refunds_of_each: int, *, before: int = 0) -> None:
        """So many parts of each payment beside the parts `before`, every part to another address and no two alike."""
        for payment in payments:
            for number in range(before, before + refunds_of_each):
                destination = somebody(f"payer {number} of {payment.pk}")
                request = NewRefund(amount=Decimal(100 + number) / 100, destination=destination)
                refund = create_refund(payment=payment, request=request, requested_by="a test")
                self.asked[refund.network, refund.cryptocurrency, destination, int(refund.amount)] += 1

    def left(self) -> Counter[Paid]:
        """Everything that ever left the hot wallets, as the nodes themselves tell it."""
        return Counter(
            (network, *part) for network, mainnet in self.mainnets.items() for part in mainnet.left(devnet.HOT_WALLET)
        )

    def assert_books_are_the_chain(self) -> None:
        """The hot wallets, coin by coin, to the base unit; their gas too."""
        for network, mainnet in self.mainnets.items():
            for code in COINS:
                [held] = mainnet.held(code, [devnet.HOT_WALLET]).values()
                assert held == balance(hot_account(network, code), environment=PRODUCTION)
            native = registry.profile(PRODUCTION, network).native
            assert mainnet.native_held(devnet.HOT_WALLET) == balance(gas_account(native), environment=PRODUCTION)

    def _open(self, network: str, number: int) -> Payment:
        request = NewPayment(
            amount=Decimal(40),
            currency="USD",
            cryptocurrency=[*COINS][number % len(COINS)],
            network=network,
            merchant_wallet=somebody("the merchant"),
        )
        with transaction.atomic():
            return create_payment(merchant=self.merchant, environment=PRODUCTION, request=request)[0]

    def let_blocks_pass(self) -> None:
        for mainnet in self.mainnets.values():
            mainnet.node.mine(BLOCKS_UNTIL_CONFIRMED)
        payment_tasks.watch_networks()

    def drive(self) -> None:
        Transfer.objects.filter(finished_at__isnull=True).update(next_step_at=timezone.now())
        transfer_tasks.drive()


def price_coins_at_a_dollar() -> None:
    """What the exchanges would say."""
    now = timezone.now()
    CurrentRate.objects.bulk_create(
        CurrentRate(base=coin, quote="USD", rate=Decimal(1), sources=RATE_SOURCES, observed_at=now, agreed_at=now)
        for coin in COINS
    )
    forget_rates()


def somebody(name: str) -> str:
    """An address with nothing on it."""
    return encode(hashlib.sha256(name.encode()).digest()[-20:])
