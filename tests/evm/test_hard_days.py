"""Days that an operator hopes not to have, on real nodes: each ends with all paid once, and the ledger as the chain."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from threading import Barrier
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.four_eyes.services import agree
from merchants.services import change_fee
from payments import tasks as payment_tasks
from payments.chains.evm import abi
from payments.chains.evm.sending import Sending
from payments.models import Deposit
from payments.monitoring.models import Alarm
from payments.monitoring.states import AlarmKind
from payments.monitoring.tasks import measure_networks, raise_alarms
from payments.transfers.execution import executor
from payments.transfers.models import Envelope, Payout, PayoutPolicy, Transfer
from payments.transfers.states import OPEN_TRANSFERS, HoldReason, PayoutStatus
from payments.treasury.house.addresses import add_address
from payments.treasury.house.house_balance import house_balances
from payments.treasury.house.withdrawals import propose_withdrawal
from payments.treasury.models import Sweep
from refunds.models import Refund
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from tests.evm.front import GWEI
from tests.evm.mainnet import Mainnet, settings_for_production_alone
from tests.evm.network import devnet
from tests.evm.shop import RATE_SOURCES, Shop, somebody
from tests.evm.street import PRODUCTION, Street, now, reconcile
from tests.evm.test_payouts import mainnets
from tests.factories import make_user
from tests.networks import ETHEREUM, POLYGON

__all__ = ["mainnets"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

COIN = 10**6
FLOAT = 100 * COIN
"""What the house has put into the hot wallet, so that payouts need no sweep."""


def put_in(street: Street, coin: str = "USDC") -> None:
    street.mainnet.fund(coin, devnet.HOT_WALLET, FLOAT)
    street.let_blocks_pass()
    call_command("book_treasury", env="production", network=POLYGON, asset=coin, yes=True, stdout=StringIO())


def base_fee(street: Street, gwei: int) -> None:
    street.node.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(gwei * GWEI))


def raised() -> set[str]:
    measure_networks()
    raise_alarms()
    return set(Alarm.objects.open().filter(network=POLYGON).values_list("kind", flat=True))


def test_payouts_behind_a_sweep_that_hangs_are_paid_once_it_is_offered_more(street: Street) -> None:
    put_in(street)
    payments = [street.paid(), street.paid()]
    payment_tasks.sweep()
    street._drive()
    sweep = Transfer.objects.get()
    base_fee(street, 60)
    street.node.mine()  # what the sweep offers is not enough for this block, nor for the next ones
    [first] = Envelope.objects.values_list("transaction_hash", flat=True)
    assert street.node.rpc.call("eth_getTransactionReceipt", first) is None
    for payment in payments:
        request = NewRefund(amount=Decimal(1), destination=somebody(f"the payer of {payment.pk}"))
        create_refund(payment=payment, request=request, requested_by="a test")
    rounds = 0
    while Transfer.objects.filter(status__in=OPEN_TRANSFERS).exists() or Transfer.objects.count() < 2:
        assert (rounds := rounds + 1) <= 40
        base_fee(street, 60)
        street.node.mine(2)
        payment_tasks.watch_networks()
        Envelope.objects.update(signed_at=F("signed_at") - timedelta(seconds=30))
        Payout.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=timezone.now())
        street._drive()
    street.pay_out()
    payment_tasks.sweep()
    assert Envelope.objects.filter(transfer=sweep).count() > 1, "else it did not hang"
    assert set(Refund.objects.values_list("status", flat=True)) == {"completed"}
    assert [each.moved for each in Sweep.objects.all()] == [80 * COIN]
    assert sorted(amount for _, _, amount in street.mainnet.left(devnet.HOT_WALLET)) == [COIN, COIN]
    street.shop.assert_books_are_the_chain()
    assert reconcile() == 0


def test_nothing_is_signed_on_an_empty_tank_and_everything_goes_on_when_it_is_filled(street: Street) -> None:
    put_in(street)
    payment = street.paid()
    held = street.mainnet.native_held(devnet.HOT_WALLET)
    street.node.rpc.call("anvil_setBalance", devnet.HOT_WALLET, hex(GWEI))
    refund = street.give_back(payment, "1.00")
    street.sweep()
    assert (refund.status, street.mainnet.left(devnet.HOT_WALLET)) == ("processing", [])
    assert AlarmKind.GAS_TANK_LOW in raised()
    street.node.rpc.call("anvil_setBalance", devnet.HOT_WALLET, hex(held))
    street.let_blocks_pass()
    street.pay_out()
    street.pay_out()
    street.sweep()
    assert Refund.objects.get().status == "completed"
    assert Sweep.objects.get().moved == 40 * COIN
    assert AlarmKind.GAS_TANK_LOW not in raised()
    street.shop.assert_books_are_the_chain()
    assert reconcile() == 0


@pytest.fixture
def shop(mainnets: dict[str, Mainnet], settings: Settings) -> Shop:
    settings.RATE_SOURCES = RATE_SOURCES
    urls = {network: [mainnet.node.url] for network, mainnet in mainnets.items()}
    for name, value in settings_for_production_alone(urls).items():
        setattr(settings, name, value)
    return Shop(mainnets)


def test_two_networks_that_sign_at_one_moment_keep_the_limit_of_the_day(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    payments = shop.earn(1)
    PayoutPolicy.objects.update(daily_limit=3)
    shop.give_back(payments, 2)  # of 1.00 and of 1.01 on each network: all of them are 4.02
    both, sign = Barrier(2), Sending.sign

    def together(sending: Sending, *asked: Any, **named: Any) -> Any:
        if not both.broken:
            both.wait(30)
        return sign(sending, *asked, **named)

    def work(network: str) -> None:
        try:
            executor.run_round(PRODUCTION, network)
        finally:
            both.abort()
            connection.close()

    monkeypatch.setattr(Sending, "sign", together)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, [ETHEREUM, POLYGON]))
    for _ in range(3):
        shop.drive()
        shop.let_blocks_pass()
    left = [amount for _, code, _, amount in shop.left() for _ in [code]]
    assert both.n_waiting == 0
    assert set(Payout.objects.filter(status=PayoutStatus.HELD).values_list("hold_reason", flat=True)) == {
        HoldReason.DAILY_LIMIT
    }
    worth = sum(Decimal(int(each.amount)) / 10**each.decimals for each in Payout.objects.filter(status="paid"))
    assert (len(left), worth <= 3, worth > 1) == (Payout.objects.filter(status="paid").count(), True, True)
    shop.assert_books_are_the_chain()


def test_what_the_house_has_earned_leaves_and_nothing_beside_it(street: Street) -> None:
    ada, bob = (make_user(f"{name}@example.com", is_staff=True, is_superuser=True) for name in ("ada", "bob"))
    change_fee(merchant=street.shop.merchant, fee_bps=1000)
    street.paid()
    street.sweep()
    settlement = street.settle("USDC")
    assert (settlement.status, int(settlement.amount)) == ("completed", 36 * COIN)
    bank = somebody("the house's bank")
    listed, proposal = add_address(environment=PRODUCTION, network=POLYGON, address=bank, label="Bank", by=ada)
    agree(proposal, by=bob)
    listed.refresh_from_db()
    [own] = [each for each in house_balances(PRODUCTION) if each.network == POLYGON and each.asset == "USDC"]
    assert own.withdrawable == 4 * COIN
    agree(propose_withdrawal(listed, code="USDC", amount=4 * COIN, reason="rent", by=ada), by=bob)
    street.pay_out()
    assert (street.held("USDC", bank), street.held("USDC", devnet.HOT_WALLET)) == (4 * COIN, 0)
    street.shop.assert_books_are_the_chain()
    assert reconcile() == 0


def test_fifty_deposits_are_swept_for_about_a_plain_transfer_each(street: Street) -> None:
    payments = [street.open() for _ in range(50)]
    street.mainnet.pay([("USDC", each.deposit_address, int(each.due)) for each in payments])
    street.let_blocks_pass()
    street.sweep()
    [swept] = Transfer.objects.all()
    assert Deposit.objects.filter(sweep__moved=50 * 40 * COIN).count() == 50
    each = int(street.mainnet.receipt(swept.transaction_hash)["gasUsed"], 16) / 50
    plain = street.node.succeed(
        devnet.HOT_WALLET,
        street.mainnet.tokens["USDC"],
        abi.call("transfer(address,uint256)", somebody("a fresh address"), COIN),
    )
    fresh = int(plain["gasUsed"], 16)
    print(f"gas for each of 50 deposits: {each:,.0f}; a plain transfer to a fresh address: {fresh:,}")  # noqa: T201
    assert each <= fresh
    assert {now(payment).status for payment in payments} == {"completed"}
