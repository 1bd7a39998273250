"""What nobody asked for, on a real node: the native coin, tokens that keep a fee, floods of nothing and dust."""

from __future__ import annotations

from collections import Counter
from io import StringIO

import httpx
import orjson
import pytest
from django.core.management import call_command
from django.db import connection

from merchants.ledger import stops
from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Stop
from merchants.ledger.posting import AccountRef
from payments.chains import registry
from payments.chains.errors import NetworkUnavailable
from payments.chains.evm import abi
from payments.chains.evm.reading import READINGS
from payments.deposits.addresses import LOOK_AHEAD
from payments.models import Deposit, Discrepancy
from payments.monitoring.alarm_rules import of_rows
from payments.monitoring.measuring import COMPARED_BLOCKS, measure_network
from payments.monitoring.states import AlarmKind
from payments.transfers.models import Payout
from payments.treasury import native_deposits
from payments.treasury.models import NativeCoin, Sweep
from tests import stopping
from tests.chains.harness import Reader
from tests.evm.harness import NodeHarness, prepared
from tests.evm.mainnet import SLOTS_OF_A_TOKEN
from tests.evm.network import devnet
from tests.evm.street import PRODUCTION, Street, now, reconcile
from tests.networks import POLYGON

pytestmark = pytest.mark.slow

POL = 10**18


@pytest.mark.django_db(transaction=True)
class TestTheNetworksOwnCoin:
    def test_it_is_found_brought_in_and_booked_to_the_last_unit(self, street: Street) -> None:
        payment, other = street.open(), street.open()
        street.node.send(devnet.PAYER, payment.deposit_address, units=2 * POL)
        street.node.send(devnet.PAYER, other.deposit_address, units=3)
        street.let_blocks_pass()
        assert native_deposits.look_for_some(PRODUCTION, POLYGON) == 2
        assert (now(payment).status, now(payment).received) == ("created", 0)
        assert reconcile() == 0

        said = StringIO()
        chosen = ("--env", PRODUCTION, "--network", POLYGON, "--payment", payment.public_id, "--yes")
        call_command("sweep_native", *chosen, stdout=said)
        assert f"2.000000000000000000 POL at {payment.deposit_address}" in said.getvalue()
        street.sweep()
        [sweep] = Sweep.objects.all()
        assert (sweep.asset, sweep.expected, sweep.moved) == ("POL", 2 * POL, 2 * POL)
        coins = {coin.payment: (coin.held, coin.brought) for coin in NativeCoin.objects.all()}
        assert coins == {payment: (0, 2 * POL), other: (3, 0)}
        assert street.mainnet.native_held(payment.deposit_address) == 0
        street.shop.assert_books_are_the_chain()
        assert reconcile() == 0

    def test_where_a_clone_stands_already_it_is_found_as_well(self, street: Street) -> None:
        payment = street.open()
        street.mainnet.pay([("USDC", payment.deposit_address, int(payment.due))])
        street.let_blocks_pass()
        street.sweep()
        street.node.send(devnet.PAYER, payment.deposit_address, units=POL)
        street.let_blocks_pass()
        assert [coin.held for coin in native_deposits.look_at(PRODUCTION, POLYGON, [payment])] == [POL]
        native_deposits.ask_for([payment.native_coins.get()], asked_by="Ada")
        street.sweep()
        assert payment.native_coins.get().brought == POL
        street.shop.assert_books_are_the_chain()
        assert reconcile() == 0


NATIVE_LOGS = "0xffffFFFfFFffffffffffffffFfFFFfffFFFfFFfE"
"""Whose logs transfers of the native coin emit from EIP-7708 on, in the form of those of a token."""


@pytest.mark.django_db(transaction=True)
def test_logs_of_the_native_coin_are_no_deposit_beside_the_coins_own(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The local node knows no fork that emits them. A token at that address does, in one transaction with the coin.
    mainnet = street.mainnet
    mainnet._move(mainnet.tokens["USDC"], NATIVE_LOGS)
    monkeypatch.setitem(mainnet.tokens, "POL", NATIVE_LOGS)
    mainnet.fund("POL", mainnet._payer, POL)
    payment, other = street.open(), street.open()
    due = int(payment.due)
    ours, theirs = payment.deposit_address, other.deposit_address
    [sent] = mainnet.pay([("POL", ours, due), ("USDC", ours, due), ("POL", ours, due), ("POL", theirs, due)])
    street.let_blocks_pass()
    assert [log["address"] == NATIVE_LOGS.lower() for log in mainnet.receipt(sent)["logs"]] == [True, False, True, True]
    assert (now(payment).status, now(payment).received, now(other).received) == ("completed", due, 0)
    assert [(each.payment, each.amount) for each in Deposit.objects.all()] == [(payment, due)]
    assert not Discrepancy.objects.exists()
    found = registry.chain(PRODUCTION, POLYGON).reading.find_transfers(sent)
    assert [each.amount for each in found if each.asset is not None] == [due]
    assert reconcile() == 0


@pytest.mark.django_db(transaction=True)
def test_a_token_that_begins_to_keep_a_fee_is_credited_by_its_log_and_found_by_its_balance(street: Street) -> None:
    keep_a_hundredth(street, "USDT")
    payment = street.open("USDT")
    street.mainnet.pay([("USDT", payment.deposit_address, int(payment.due))])
    street.let_blocks_pass()
    assert (now(payment).status, now(payment).received) == ("completed", payment.due)
    assert street.held("USDT", payment.deposit_address) == payment.due * 99 // 100
    street.sweep()
    [sweep] = Sweep.objects.all()
    assert (sweep.expected, sweep.moved) == (payment.due, payment.due * 99 // 100)
    arrived = street.held("USDT", devnet.HOT_WALLET)
    assert arrived == sweep.moved * 99 // 100
    booked = balance(AccountRef(POLYGON, "USDT", AccountKind.CHAIN_HOT), environment=PRODUCTION)
    assert booked == sweep.moved
    assert reconcile() == 2
    assert stopping.stands(environment=PRODUCTION, network=POLYGON), "nothing is paid until a person has looked"


def set_decimals(street: Street, coin: str, decimals: int) -> None:
    """Upgrade a token to count otherwise."""
    rpc, token = street.node.rpc, street.mainnet.tokens[coin]
    asset = registry.asset(PRODUCTION, POLYGON, coin)
    kept = "0x" + abi.encode(decimals).hex()
    for slot in range(SLOTS_OF_A_TOKEN):
        if int(rpc.call("eth_getStorageAt", token, hex(slot), "latest"), 16) in (6, 18) and slot > 3:
            rpc.call("anvil_setStorageAt", token, hex(slot), kept)
    assert abi.uint(street.node.ask(asset.contract, abi.call("decimals()"))) == decimals


def keep_a_hundredth(street: Street, coin: str) -> None:
    token = street.node.deploy_token("FeeToken", coin, 6)
    code = street.node.rpc.call("eth_getCode", token, "latest")
    street.node.rpc.call("anvil_setCode", street.mainnet.tokens[coin], code)


def stopped() -> set[str]:
    measure_network(PRODUCTION, POLYGON)
    return stops.stopped_coins(PRODUCTION, POLYGON)


@pytest.mark.django_db(transaction=True)
def test_a_token_of_other_decimals_stops_what_is_new_in_that_coin_and_touches_nothing_booked(street: Street) -> None:
    waiting = street.paid()
    street.sweep()
    assert stopped() == set()
    set_decimals(street, "USDC", 18)
    assert stopped() == {"USDC"}
    alarms = [each for each in of_rows(PRODUCTION, POLYGON) if each.kind == AlarmKind.PAYOUTS_STOPPED]
    assert [each.subject for each in alarms] == ["USDC"]
    assert "has 18 decimals, not 6" in alarms[0].message
    assert "lift the stop once" in alarms[0].message
    with pytest.raises(NetworkUnavailable, match="USDC on polygon cannot be paid with"):
        street.open()
    assert street.paid("DAI").status == "completed"
    refund = street.give_back(waiting, "5")
    assert [(each.status, each.hold_reason) for each in Payout.objects.all()] == [("held", "payouts_stopped")]
    assert (now(waiting).status, now(waiting).received) == ("completed", waiting.due)
    street.sweep()
    assert list(Sweep.objects.order_by("pk").values_list("asset", flat=True)) == ["USDC", "DAI"]

    set_decimals(street, "USDC", 6)
    assert stopping.lift(environment=PRODUCTION, network=POLYGON, asset="USDC", by="two people")
    assert stopped() == set()
    street.pay_out()
    assert street.held("USDC", refund.destination) == 5 * 10**6
    assert street.paid().status == "completed"
    street.sweep()
    assert reconcile() == 0


@pytest.mark.django_db(transaction=True)
def test_a_token_that_keeps_a_part_and_says_nothing_of_it_is_stopped_by_its_first_deposit(street: Street) -> None:
    street.paid("USDT")
    assert stopped() == set()
    keep_a_hundredth(street, "USDT")
    short = street.paid("USDT")
    assert stopped() == {"USDT"}
    [breaker] = Stop.objects.all()
    assert "paid 40" in breaker.reason
    assert "39.6" in breaker.reason
    with pytest.raises(NetworkUnavailable, match="USDT on polygon"):
        street.open("USDT")
    street.sweep()
    assert not Sweep.objects.exists()
    assert now(short).received == short.due
    assert street.paid().status == "completed"

    stopping.lift(environment=PRODUCTION, network=POLYGON, asset="USDT", by="two people")
    assert stopped() == set(), "what it did before somebody decided stops nothing again"
    street.paid("USDT")
    assert stopped() == {"USDT"}


@pytest.mark.django_db(transaction=True)
def test_an_address_that_lacks_a_part_of_what_was_paid_stops_the_coin(street: Street) -> None:
    keep_a_hundredth(street, "USDT")
    short = street.paid("USDT")
    street.node.mine(2 * COMPARED_BLOCKS)
    street.let_blocks_pass()
    assert stopped() == set(), "nodes forget the balances of its block"
    assert reconcile() == 2
    assert stopped() == {"USDT"}
    assert short.deposit_address in Stop.objects.get(asset="USDT").reason


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ahead", [1, 5 * LOOK_AHEAD])
def test_a_cent_at_an_address_before_its_payment_stops_nobody(street: Street, ahead: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('payments_deposit_sequence')")
        number = cursor.fetchone()[0] + ahead
    address = registry.chain(PRODUCTION, POLYGON).deposit_address(number).address
    street.mainnet.pay([("USDC", address, 1)])
    for _ in range(READINGS + 1):  # until no scan reads its block any more
        street.let_blocks_pass()
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('payments_deposit_sequence', %s, false)", [number])
    payment = street.open()
    assert payment.deposit_address == address
    street.mainnet.pay([("USDC", address, int(payment.due))])
    street.let_blocks_pass()
    assert (now(payment).status, now(payment).received) == ("completed", payment.due)
    street.sweep()
    [sweep] = Sweep.objects.all()
    assert (sweep.expected, sweep.moved) == (payment.due, payment.due + 1)
    held = Discrepancy.objects.get()
    assert (held.kind, held.merchant, held.payment, held.amount) == ("unasked", None, None, 1)
    street.shop.assert_books_are_the_chain()
    assert reconcile() == 0
    assert not stopping.stands(environment=PRODUCTION, network=POLYGON)


@pytest.mark.django_db(transaction=True)
def test_a_flood_of_dust_is_kept_to_the_unit_and_delays_nobody(street: Street) -> None:
    victim, other = street.open(), street.open()
    street.mainnet.pay([("USDC", victim.deposit_address, 1)] * 300)
    street.mainnet.pay([("USDC", other.deposit_address, int(other.due))])
    street.let_blocks_pass()
    assert (now(victim).status, now(victim).received, now(victim).deposit_count) == ("underpaid", 300, 300)
    assert now(other).status == "completed"
    street.mainnet.pay([("USDC", victim.deposit_address, int(victim.due) - 300)])
    street.let_blocks_pass()
    assert (now(victim).status, now(victim).received) == ("completed", victim.due)
    assert Deposit.objects.filter(payment=victim).count() == 301
    assert reconcile() == 0


class Counting(httpx.BaseTransport):
    """Counts what a provider is asked, by method."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner
        self.asked: Counter[str] = Counter()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        questions = orjson.loads(request.read())
        self.asked.update(question["method"] for question in questions)
        return self._inner.handle_request(httpx.Request("POST", request.url, content=orjson.dumps(questions)))


def test_ten_thousand_transfers_of_nothing_cost_nothing_but_time() -> None:
    found = prepared("polygon")
    with found.node.put_back():
        harness = NodeHarness("polygon")
        ours = [harness.chain.deposit_address(number).address for number in range(100)]
        contract = harness.profile.assets["USDC"].contract
        provider = Counting(harness.front)
        reader = Reader(harness.chain_through(provider), *ours)
        reader.read()
        for _ in range(100):
            harness.pay(*((contract, 0, address, None) for address in ours))
        sent = harness.pay((contract, 7, ours[0], None))
        while harness.front.pool:
            harness.mine()
        provider.asked.clear()
        reader.read()
        assert [(found.transaction_hash, found.amount) for found in reader.known.values()] == [(sent, 7)]
        assert provider.asked["eth_getTransactionReceipt"] == 1
        assert sum(provider.asked.values()) < 40
