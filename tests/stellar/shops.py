"""Shops in production that are paid on a stellar of our own, and everybody who pays them or is paid."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone
from stellar_sdk import Keypair
from stellar_sdk.operation import ChangeTrust, CreateAccount, Operation
from stellar_sdk.operation import Payment as Pay

from config.coins import COINS
from config.environments import Environment
from merchants.ledger.balances import balance
from merchants.models import Merchant
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.profiles import NetworkProfile
from payments.chains.settings_parser import MAINNET, NetworkSettings
from payments.models import Payment
from payments.services import NewPayment, create_payment
from payments.transfers import tasks as transfer_tasks
from payments.transfers.models import PayoutPolicy, Transfer
from payments.transfers.payouts import policy_of
from payments.transfers.postings import gas_account, hot_account
from tests.evm.shop import RATE_SOURCES, price_coins_at_a_dollar
from tests.networks import STELLAR
from tests.stellar.network import devnet
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.network.keys import HOT_WALLET, HOT_WALLET_KEY
from tests.stellar.network.preparing import prepare

PRODUCTION = Environment.PRODUCTION
COIN = 10**7

Sent = tuple[Sequence[Operation], str | int | None]
"""What one transaction does, and its memo."""


def local_profile() -> NetworkProfile:
    """The local network's, whose newest ledger is asked for anew each time."""
    return replace(devnet.profile(STELLAR), block_seconds=0.001)


def settings_for(urls: Sequence[str], *, claimable_balances: bool = False) -> dict[str, Any]:
    """What an operator sets to take payments in production through these Horizons, and nothing in the sandbox."""
    stellar = NetworkSettings(
        rpc_urls=tuple(urls),
        one_may_decide=len(urls) == 1,
        hot_wallet=HOT_WALLET,
        hot_wallet_key=HOT_WALLET_KEY,
        claimable_balances=claimable_balances,
    )
    return {
        "PRODUCTION_NETWORKS": [STELLAR],
        "NETWORK_SETTINGS": settings.NETWORK_SETTINGS | {(MAINNET, STELLAR): stellar},
        "SANDBOX_CHAIN": "testnet",
        "RATE_SOURCES": RATE_SOURCES,
    }


@cache
def key_of(name: str) -> Keypair:
    """Somebody's key, the same each time."""
    return Keypair.from_raw_ed25519_seed(hashlib.sha256(name.encode()).digest())


def address_of(name: str) -> str:
    return key_of(name).public_key


class Shop:
    """The hot wallet is stocked and booked; ledgers close when they are told to."""

    def __init__(self, horizon: LocalHorizon, stock: Mapping[str, int]) -> None:
        """`stock` in whole coins, for what is converted."""
        self.horizon = horizon
        prepare(horizon)
        policy_of(PRODUCTION)
        PayoutPolicy.objects.update(
            approval_above=None, daily_limit=None, merchant_daily_limit=None, transfer_limit=None
        )
        price_coins_at_a_dollar()
        for code, amount in stock.items():
            horizon.mint(code, HOT_WALLET, amount * COIN)
        self.let_ledgers_close()
        for code in (*stock, "XLM"):
            call_command("book_treasury", env="production", network=STELLAR, asset=code, yes=True, stdout=StringIO())

    # What people do.

    def move_in(self, *names: str, codes: Iterable[str] = COINS) -> None:
        """Give each an account that trusts these coins."""
        for name in names:
            key = key_of(name)
            operations: list[Operation] = [CreateAccount(key.public_key, "100")]
            operations += [ChangeTrust(self.horizon.asset(code), source=key.public_key) for code in codes]
            signers = (self.horizon.root, key) if len(operations) > 1 else (self.horizon.root,)
            [applied] = self.horizon.network.close_with(
                self.horizon.envelope(self.horizon.root, *operations, signers=signers)
            )
            assert applied.successful

    def stock_people(self, code: str, *names: str) -> None:
        for name in names:
            self.horizon.mint(code, address_of(name), 100_000 * COIN)

    def open(self, merchant: Merchant, wallet: str, amount: Decimal, coin: str = "USDC") -> Payment:
        wanted = NewPayment(amount=amount, currency="USD", cryptocurrency=coin, network=STELLAR, merchant_wallet=wallet)
        with transaction.atomic():
            return create_payment(merchant=merchant, environment=PRODUCTION, request=wanted)[0]

    def send(self, sender: str, *sent: Sent) -> list[str]:
        """Transactions of one account, one after the other in one ledger; their hashes."""
        envelopes = [
            self.horizon.envelope(key_of(sender), *operations, memo=memo, after=place, fee=200)
            for place, (operations, memo) in enumerate(sent)
        ]
        applied = self.horizon.network.close_with(*envelopes)
        assert [each.successful for each in applied] == [True] * len(sent)
        return [each.hash for each in applied]

    def paying(self, payment: Payment, *, to: str = "", units: int | None = None) -> Pay:
        """A payment of what is due, to the account or, if said so, to another address."""
        amount = Operation.from_xdr_amount(int(payment.due) if units is None else units)
        return Pay(to or payment.deposit_address, self.horizon.asset(payment.cryptocurrency), amount)

    # What ledgers and workers do.

    def let_ledgers_close(self) -> None:
        """One ledger, at the time it is, and a look at what is in it."""
        self.horizon.close_ledger(max(1, time.time() - self.horizon.network.state.closed_at))
        payment_tasks.watch_networks()
        payment_tasks.assess_due()

    def drive(self) -> None:
        """One round of the wallet, as if the time to ask again had come."""
        Transfer.objects.filter(finished_at__isnull=True).update(next_step_at=timezone.now())
        transfer_tasks.drive()

    # What there is.

    def held(self, name: str, code: str = "USDC") -> int:
        """What somebody has, in stroops."""
        return self.horizon.balance(address_of(name), code)

    def assert_ledger_is_the_chain(self) -> None:
        """The hot wallet, coin by coin, and what it has for fees."""
        for code in COINS:
            booked = balance(hot_account(STELLAR, code), environment=PRODUCTION)
            assert (code, self.horizon.balance(HOT_WALLET, code)) == (code, booked)
        native = registry.profile(PRODUCTION, STELLAR).native
        assert self.horizon.balance(HOT_WALLET, "XLM") == balance(gas_account(native), environment=PRODUCTION)


def reconcile() -> int:
    """The exit code of `manage.py reconcile --full`."""
    said = StringIO()
    try:
        call_command("reconcile", "--full", stdout=said)
    except SystemExit as end:
        print(said.getvalue())  # noqa: T201 - shown when the test fails
        return int(end.code or 0)
    return 0
