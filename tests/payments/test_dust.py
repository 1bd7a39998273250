"""What is not worth sweeping: told from what the network asks for at present, and left alone until it is needed."""

from __future__ import annotations

import uuid
from decimal import Decimal

import pytest
from django.db import transaction
from pytest_django.fixtures import Settings

from config import ids
from config.money import Asset
from merchants.ledger.posting import Line, PostingDraft, post_draft
from payments import tasks
from payments.chains import registry
from payments.chains.networks import NETWORKS
from payments.chains.protocol.payouts import Costs
from payments.chains.simulated import control
from payments.deposits import postings
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.transfers.models import Payout, Transfer
from payments.transfers.payouts import request_payout
from payments.transfers.postings import payout_account
from payments.treasury import sweeping
from payments.treasury.dust import Fees, WaitingAddress
from payments.treasury.models import Sweep, SweepRequest
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    ETHEREUM,
    SANDBOX,
    assert_all_is_well,
    confirm,
    make_payment,
    mine_and_watch,
    pay,
    pay_and_confirm,
)
from tests.transfers.scenes import drive

# At 1 gwei and 3,500 dollars: 0.0175 cents for a thousand units of gas. Emptying one takes 50,000, a sweep 30,000 more.
CENTS = 10**4

COSTS = Costs(payout=65, sweep=30 * 10**12, first_time=50 * 10**12, again=10 * 10**12)
FEES = Fees(COSTS, NETWORKS[ETHEREUM].real.native, Decimal(3500))
USDC, DAI = Asset(ETHEREUM, "USDC", 6, "0xa"), Asset(ETHEREUM, "DAI", 18, "0xb")


def address(amount: int, *, is_new: bool = True) -> WaitingAddress:
    return WaitingAddress(uuid.uuid4(), 1, amount, is_new)


class TestTelling:
    @pytest.mark.parametrize(
        ("amount", "is_new", "asset", "is_dust"),
        [
            (175_000, True, USDC, True),
            (175_001, True, USDC, False),
            (35_000, False, USDC, True),
            (35_001, False, USDC, False),
            (175 * 10**15, True, DAI, True),
            (175 * 10**15 + 1, True, DAI, False),
        ],
    )
    def test_dust_holds_no_more_than_emptying_it_costs(
        self, amount: int, is_new: bool, asset: Asset, is_dust: bool
    ) -> None:
        new, emptied = FEES.most_dust(asset)
        assert (amount <= (new if is_new else emptied)) is is_dust

    def test_a_sweep_is_paid_by_what_it_brings(self) -> None:
        assert FEES.of([address(1), address(1), address(1, is_new=False)]) == 140 * 10**12
        assert FEES.usd(140 * 10**12) == 49 * 10**16
        assert not FEES.are_paid_by([address(280_000)], USDC)
        assert FEES.are_paid_by([address(280_001)], USDC)

    def test_a_fee_is_rounded_up(self) -> None:
        assert Fees(COSTS, NETWORKS[ETHEREUM].real.native, Decimal("0.3")).usd(7) == 3


def sweeps() -> list[list[int]]:
    """The numbers of the addresses that each took."""
    return [transfer.deposits for transfer in Transfer.objects.order_by("id")]


def waiting(code: str = "USDC") -> list[tuple[int, bool]]:
    cursor = ScanCursor.objects.get(environment=SANDBOX, network=ETHEREUM)
    return [(each.amount, each.is_new) for each in sweeping.waiting_addresses(cursor, code)]


def finish_sweep() -> None:
    drive(ETHEREUM, 2)
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    drive(ETHEREUM)
    tasks.sweep()


def wait_for_coins(payment: Payment, amount: int) -> Payout:
    """A payout out of this payment's money, which is not in the hot wallet yet."""
    key = ids.new_uuid()
    with transaction.atomic():
        reserved = (
            Line(postings.available_account(payment, ETHEREUM, "USDC"), amount),
            Line(payout_account(ETHEREUM, "USDC", key), -amount),
        )
        post_draft(PostingDraft("reserved", str(key), reserved, height=1), environment=SANDBOX)
        payout = request_payout(
            id=key,
            environment=SANDBOX,
            merchant_id=payment.merchant_id,
            reference=ids.REFUND.encode(key),
            asset=registry.asset(SANDBOX, ETHEREUM, "USDC"),
            amount=amount,
            recipient=payment.merchant_wallet,
        )
    drive(ETHEREUM)
    return payout


@pytest.mark.django_db
class TestSweeping:
    def test_dust_is_left_alone_beside_what_is_worth_it(self) -> None:
        good, dust = make_payment(amount="5"), make_payment(amount="0.17")
        pay(good)
        pay(dust)
        confirm(good)
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 1
        assert sweeps() == [[good.sequence]]
        finish_sweep()
        assert waiting() == [(dust.due, True)]
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
        assert_all_is_well()

    def test_dust_is_swept_once_fees_come_down(self, settings: Settings) -> None:
        payment = pay_and_confirm(make_payment(amount="5"))
        control.set_fee_level(ETHEREUM, 20)
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
        control.set_fee_level(ETHEREUM, 1)
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 1
        assert sweeps() == [[payment.sequence]]

    def test_one_address_that_pays_for_itself_but_not_for_a_sweep_waits_for_others(self) -> None:
        first = pay_and_confirm(make_payment(amount="0.25"))
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
        second = pay_and_confirm(make_payment(amount="0.24"))
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 1
        assert sweeps() == [[first.sequence, second.sequence]]

    def test_a_payout_that_waits_takes_dust_as_well(self) -> None:
        payment = pay_and_confirm(make_payment(amount="0.17"))
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
        assert wait_for_coins(payment, payment.due).reference
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 1
        assert sweeps() == [[payment.sequence]]

    def test_dust_does_not_help_to_reach_the_threshold(self, settings: Settings) -> None:
        settings.SWEEP_THRESHOLD = 5
        pay(make_payment(amount="0.17"))
        good = make_payment(amount="4.9")
        pay(good)
        confirm(good)
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0

    def test_an_address_emptied_before_costs_less(self) -> None:
        payment = pay_and_confirm(make_payment(amount="5"))
        tasks.sweep()
        finish_sweep()
        pay_and_confirm(payment, "1")
        assert waiting() == [(100 * CENTS, False)]

    def test_an_address_emptied_before_is_worth_it_sooner(self) -> None:
        payment = pay_and_confirm(make_payment(amount="5"))
        tasks.sweep()
        finish_sweep()
        pay_and_confirm(payment, "0.1")
        pay_and_confirm(make_payment(amount="0.1"))
        twice = make_payment(amount="0.1")
        pay(twice, "0.05")
        pay_and_confirm(twice, "0.05")
        cursor = ScanCursor.objects.get(environment=SANDBOX, network=ETHEREUM)
        worth = sweeping.addresses_worth_sweeping(cursor, USDC, FEES)
        assert [(each.payment, each.amount) for each in worth] == [(payment.pk, 10 * CENTS)]
        assert sweeping.all_that_waits(cursor, "USDC") == (3, 30 * CENTS)

    def test_what_the_networks_coin_is_worth_is_the_operators_to_say(self, settings: Settings) -> None:
        pay_and_confirm(make_payment(amount="0.17"))
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
        settings.NATIVE_COIN_USD = {"ETH": "100"}
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 1


@pytest.mark.django_db
class TestRequests:
    def ask(self) -> SweepRequest:
        return sweeping.request_sweep(environment=SANDBOX, network=ETHEREUM, asset="USDC", requested_by="Ada")

    def test_a_request_does_not_wait_for_the_threshold(self, settings: Settings) -> None:
        settings.SWEEP_THRESHOLD = 1_000
        payment = pay_and_confirm(make_payment(amount="5"))
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
        request = self.ask()
        assert self.ask() == request
        tasks.sweep()
        assert sweeps() == [[payment.sequence]]
        request.refresh_from_db()
        assert request.done_at is not None
        later = pay_and_confirm(make_payment(amount="5"))
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
        assert waiting() == [(later.due, True)]

    def test_a_request_takes_no_dust_and_is_over_when_there_is_nothing_else(self) -> None:
        pay_and_confirm(make_payment(amount="0.17"))
        request = self.ask()
        assert sweeping.sweep_due(SANDBOX, ETHEREUM) == 0
        request.refresh_from_db()
        assert request.done_at is not None
        assert Sweep.objects.count() == 0

    def test_a_request_waits_while_the_network_pays_nothing(self) -> None:
        pay_and_confirm(make_payment(amount="5"))
        request = self.ask()
        control.outage(ETHEREUM, 60)
        tasks.sweep()
        request.refresh_from_db()
        assert request.done_at is None
