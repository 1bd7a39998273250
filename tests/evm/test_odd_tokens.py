"""A journey of deposit, sweep, refund and settlement for each thing that a token or its issuer may do, on a real node.

Each ends with the ledger equal to the chain and a clean full reconciliation, or with a finding that names what differs.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from merchants.ledger.balances import balance
from merchants.ledger.models import Stop
from payments.deposits.postings import chain_account
from payments.models import Payment
from payments.transfers.postings import token_fee_account
from payments.treasury.models import SweptAddress
from refunds.records import refund_record
from settlements.exports.formats import statement_csv, statement_record
from settlements.plans.reading import statement_of
from settlements.records import settlement_record
from tests.evm.network import devnet
from tests.evm.shop import somebody
from tests.evm.street import PRODUCTION, Street, now, reconcile
from tests.networks import POLYGON

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

COLLECTOR = somebody("the issuer's till")
RATE_BPS = 15
"""What USDT keeps of a transfer in hundredths of a percent, once its issuer turns that on."""


def nothing(street: Street, payment: Payment) -> None:
    """A token that does nothing odd beside what it is."""


def freeze_for_a_sweep(street: Street, payment: Payment) -> None:
    street.freeze(payment.cryptocurrency, payment.deposit_address)
    street.sweep()
    street.freeze(payment.cryptocurrency, payment.deposit_address, frozen=False)


def pause_for_a_sweep(street: Street, payment: Payment) -> None:
    street.pause(payment.cryptocurrency)
    street.sweep()
    street.pause(payment.cryptocurrency, paused=False)


def keep_a_fee(street: Street, payment: Payment) -> None:
    street.tell_issuer(payment.cryptocurrency, "set_fee(uint256,address)", RATE_BPS, COLLECTOR)


def put_in(street: Street, coin: str, units: int) -> None:
    street.mainnet.fund(coin, devnet.HOT_WALLET, units)
    street.let_blocks_pass()
    place = {"env": "production", "network": POLYGON, "asset": coin}
    call_command("book_treasury", **place, yes=True, stdout=StringIO())


def let_pauses_end() -> None:
    SweptAddress.objects.filter(try_again_at__isnull=False).update(try_again_at=timezone.now())


def assert_ledger_is_the_chain(street: Street, *payments: Payment) -> None:
    street.shop.assert_books_are_the_chain()
    for coin in {payment.cryptocurrency for payment in payments}:
        there = sum(street.held(coin, each.deposit_address) for each in payments if each.cryptocurrency == coin)
        assert balance(chain_account(POLYGON, coin), environment=PRODUCTION) == there


@pytest.mark.parametrize(
    ("coin", "happens", "fee_bps"),
    [
        pytest.param("DAI", nothing, 0, id="18 digits"),
        pytest.param("USDT", nothing, 0, id="no return value"),
        pytest.param("USDC", freeze_for_a_sweep, 0, id="freeze"),
        pytest.param("USDC", pause_for_a_sweep, 0, id="pause"),
        pytest.param("USDT", keep_a_fee, RATE_BPS, id="fee"),
    ],
)
def test_a_journey_ends_with_the_ledger_equal_to_the_chain(
    street: Street, coin: str, happens: Callable[[Street, Payment], None], fee_bps: int
) -> None:
    payment, other = street.paid(coin), street.paid(coin)
    happens(street, payment)
    let_pauses_end()
    street.sweep()
    if fee_bps:
        assert reconcile() == 1, "a warning: the ledger itself says what it was"
        assert not Stop.objects.standing().exists()
        put_in(street, coin, 10**6)  # the house bears what the token kept of the sweep
    refund = street.give_back(payment, "5.55")
    settlement = street.settle(coin)

    assert (refund.status, settlement.status) == ("completed", "completed")
    for amount, received, wallet in (
        (refund.amount, refund.received, refund.destination),
        (settlement.amount, settlement.received, settlement.destination),
    ):
        assert received == amount - amount * fee_bps // 10_000
        assert street.held(coin, wallet) == received, "nothing is told to have arrived that did not"
    swept = sum(int(each.due) for each in (payment, other))
    assert balance(token_fee_account(POLYGON, coin), environment=PRODUCTION) == swept * fee_bps // 10_000
    assert_ledger_is_the_chain(street, payment, other)
    assert reconcile() == 0


def test_what_a_token_kept_of_payouts_is_shown_everywhere(street: Street) -> None:
    payment = street.paid("USDT")
    street.sweep()
    keep_a_fee(street, payment)
    refund = street.give_back(payment, "5.55")
    settlement = street.settle("USDT")

    shown = refund_record(refund)
    assert (shown["cryptoAmount"], shown["tokenFee"], shown["receivedAmount"]) == ("5.550000", "0.008325", "5.541675")
    shown = settlement_record(settlement)
    assert (shown["amount"], shown["tokenFee"], shown["receivedAmount"]) == ("34.450000", "0.051675", "34.398325")
    statement = statement_of(settlement)
    [account] = statement_record(statement)["coins"]
    fees = {entry["type"]: entry["tokenFee"] for entry in account["entries"]}
    assert fees == {"payment": None, "refund": "0.008325", "settlement": "0.051675"}
    rows = csv.DictReader(StringIO(statement_csv(statement)))
    kept = [row["token_fee"] for row in rows if row["type"] in ("refund", "settlement") and row["token_fee"]]
    assert kept == ["0.008325", "0.051675"]
    assert balance(token_fee_account(POLYGON, "USDT"), environment=PRODUCTION) == 0, "the recipients bear it"


def test_a_short_deposit_says_that_the_token_kept_a_part(street: Street) -> None:
    first = street.open("USDT")
    keep_a_fee(street, first)
    street.mainnet.pay([("USDT", first.deposit_address, int(first.due))])
    street.let_blocks_pass()
    deposit = first.deposits.get()
    assert (deposit.amount, deposit.token_fee) == (39_940_000, 60_000)
    assert (now(first).status, now(first).status_reasons) == ("underpaid", ["token_fee", "underpaid"])

    street.tell_issuer("USDT", "set_fee(uint256,address)", 0, COLLECTOR)
    other = street.open("USDT")
    street.mainnet.pay([("USDT", other.deposit_address, 39_940_000), ("USDT", devnet.OWNER, 60_000)])
    street.let_blocks_pass()
    assert now(other).status_reasons == ["underpaid"], "one who pays two people in a row has paid no fee"


def test_destroyed_coins_end_with_a_finding_that_names_them(street: Street) -> None:
    lost, other = street.paid("USDT"), street.paid("USDT")
    street.freeze("USDT", lost.deposit_address)
    street.tell_issuer("USDT", "destroy(address)", lost.deposit_address)
    street.sweep()
    refund = street.give_back(other, "5.55")
    assert refund.status == "completed"
    street.shop.assert_books_are_the_chain()
    assert balance(chain_account(POLYGON, "USDT"), environment=PRODUCTION) == lost.due
    said = StringIO()
    with pytest.raises(SystemExit):
        call_command("reconcile", "--full", stdout=said)
    for name in (
        lost.deposit_address,
        str(lost.pk),
        str(lost.merchant_id),
        "40,000,000",
        "does not hold them any more",
    ):
        assert name in said.getvalue()
