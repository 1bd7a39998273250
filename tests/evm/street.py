"""A shop on polygon, on a real node, and everybody who sends something to its payments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from io import StringIO

from django.core.management import call_command
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.environments import Environment
from merchants.services import SettingsChanges, update_settings
from payments import tasks as payment_tasks
from payments.chains.evm import abi
from payments.models import Payment
from payments.services import NewPayment, create_payment
from payments.transfers import tasks as transfer_tasks
from payments.transfers.models import Payout, Transfer
from payments.transfers.owners import follow_payouts
from refunds.models import Refund
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from settlements import due_runs
from settlements.models import Settlement
from settlements.services import run_now
from tests.evm.mainnet import Mainnet, prepared_mainnet, settings_for_production_alone
from tests.evm.network import devnet
from tests.evm.shop import RATE_SOURCES, Shop, somebody
from tests.networks import POLYGON

PRODUCTION = Environment.PRODUCTION
BLOCKS_UNTIL_FINAL = 13


class Street:
    """A shop on polygon, and everybody who sends something to its payments."""

    def __init__(self, mainnet: Mainnet) -> None:
        self.mainnet, self.node = mainnet, mainnet.node
        self.shop = Shop({mainnet.network: mainnet})

    def open(self, coin: str = "USDC") -> Payment:
        wanted = NewPayment(
            amount=Decimal(40),
            currency="USD",
            cryptocurrency=coin,
            network=self.mainnet.network,
            merchant_wallet=devnet.OWNER,
        )
        with transaction.atomic():
            return create_payment(merchant=self.shop.merchant, environment=PRODUCTION, request=wanted)[0]

    def paid(self, coin: str = "USDC") -> Payment:
        """A payment, paid to the unit and confirmed."""
        payment = self.open(coin)
        self.mainnet.pay([(coin, payment.deposit_address, int(payment.due))])
        self.let_blocks_pass()
        return now(payment)

    def tell_issuer(self, coin: str, signature: str, *arguments: abi.Argument) -> None:
        """Call a function of a token that only its issuer may call."""
        call = abi.call(signature, *arguments)
        self.node.succeed(self.node.accounts[9], self.mainnet.tokens[coin], call)

    def freeze(self, coin: str, account: str, *, frozen: bool = True) -> None:
        self.tell_issuer(coin, "set_blocked(address,bool)", account, int(frozen))

    def pause(self, coin: str, *, paused: bool = True) -> None:
        self.tell_issuer(coin, "set_paused(bool)", int(paused))

    def let_blocks_pass(self) -> None:
        self.node.mine(BLOCKS_UNTIL_FINAL)
        payment_tasks.watch_networks()

    def sweep(self) -> None:
        """Sign what is due or asked for, send it, let it become final, and book it."""
        payment_tasks.sweep()
        self._drive()
        self.let_blocks_pass()
        self._drive()
        payment_tasks.sweep()

    def give_back(self, payment: Payment, amount: str) -> Refund:
        """Refund a part, to an address with nothing on it, and let it become final."""
        request = NewRefund(amount=Decimal(amount), destination=somebody(f"the payer of {payment.pk}"))
        refund = create_refund(payment=now(payment), request=request, requested_by="a test")
        self.pay_out()
        return Refund.objects.get(pk=refund.pk)

    def settle(self, coin: str) -> Settlement:
        """Settle all there is in this coin, and let it become final."""
        changes = SettingsChanges(settlement_currency=coin)
        update_settings(merchant=self.shop.merchant, environment=PRODUCTION, changes=changes)
        run_now(merchant=self.shop.merchant, environment=PRODUCTION, requested_by="a test")
        due_runs.advance_due()
        self.pay_out()
        return Settlement.objects.get()

    def pay_out(self) -> None:
        """Send what is to leave, let it become final, and tell whoever asked for it."""
        Payout.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=timezone.now())
        self._drive()
        self.let_blocks_pass()
        self._drive()
        follow_payouts()

    def held(self, coin: str, account: str) -> int:
        return self.mainnet.held(coin, [account])[account]

    def _drive(self) -> None:
        Transfer.objects.filter(finished_at__isnull=True).update(next_step_at=timezone.now())
        transfer_tasks.drive()


@contextmanager
def open_street(settings: Settings) -> Iterator[Street]:
    mainnet = prepared_mainnet(POLYGON)
    settings.RATE_SOURCES = RATE_SOURCES
    for name, value in settings_for_production_alone({POLYGON: [mainnet.node.url]}).items():
        setattr(settings, name, value)
    with mainnet.node.put_back():
        yield Street(mainnet)


def reconcile() -> int:
    """The exit code of a full run."""
    try:
        call_command("reconcile", "--full", stdout=StringIO())
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def now(payment: Payment) -> Payment:
    return Payment.objects.get(pk=payment.pk)
