"""A day of a shop on ethereum and polygon, on real nodes: fifty payments on each, swept, given back and settled.

Production's registry, profiles and adapters do all of it; the settings name the nodes as providers. At the end the
books and `balanceOf` of every account agree to the base unit.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from io import StringIO
from itertools import cycle
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.coins import COINS
from config.environments import Environment
from merchants.ledger.balances import balance
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.evm.addresses import encode
from payments.deposits.postings import chain_account
from payments.models import Deposit, Payment
from payments.transfers import tasks as transfer_tasks
from payments.transfers.models import Payout, Transfer
from payments.transfers.owners import follow_payouts
from payments.transfers.postings import gas_account, hot_account
from payments.transfers.states import PayoutStatus, TransferPurpose, TransferStatus
from payments.treasury.models import Sweep
from refunds import tasks as refund_tasks
from settlements import tasks as settlement_tasks
from tests.evm.conftest import nodes_end_with_the_run
from tests.evm.mainnet import Mainnet, Part, prepared_mainnet, settings_for_production_alone
from tests.evm.network import devnet
from tests.evm.shop import BLOCKS_UNTIL_CONFIRMED, RATE_SOURCES, price_coins_at_a_dollar
from tests.factories import ApiClient, api_client, make_key, make_merchant
from tests.journeys.test_paid import call

__all__ = ["nodes_end_with_the_run"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("real_rates"), pytest.mark.slow]

PRODUCTION = Environment.PRODUCTION
OTHER = {"ethereum": "polygon", "polygon": "ethereum"}
PAYMENTS_EACH, REFUNDS_EACH = 50, 5
WINDOW_SECONDS = 3_600

# What payers do. Whoever is not named pays what is due.
OVERPAID, IN_TWO_PARTS = (3, 4, 5), (6, 7, 8)
LATE, WRONG_NETWORK, WRONG_COIN = 9, 10, 11

GAS_FIRST_MAX, GAS_AGAIN_MAX = 60_000, 20_000
"""For each deposit of a sweep: the first one puts a contract at the address."""

Record = dict[str, Any]


@pytest.fixture
def real_rates(settings: Settings) -> None:
    """What the exchanges say: in production no table will do."""
    settings.RATE_SOURCES = RATE_SOURCES
    price_coins_at_a_dollar()


@pytest.fixture
def mainnets(settings: Settings) -> Iterator[dict[str, Mainnet]]:
    found = {network: prepared_mainnet(network) for network in OTHER}
    nodes = {network: mainnet.node for network, mainnet in found.items()}
    # Two providers each, that must agree: one node under two names.
    providers = {name: [node.url, node.url.replace("127.0.0.1", "localhost")] for name, node in nodes.items()}
    for name, value in settings_for_production_alone(providers).items():
        setattr(settings, name, value)
    with nodes["ethereum"].put_back(), nodes["polygon"].put_back():
        yield found


@pytest.fixture
def client() -> ApiClient:
    return api_client(make_key(make_merchant(plan="enterprise"), PRODUCTION))


def test_what_is_paid_swept_given_back_and_settled_is_on_the_chain_to_the_base_unit(
    mainnets: dict[str, Mainnet], client: ApiClient
) -> None:
    let_blocks_pass(mainnets)
    stock(mainnets)
    payments = {network: make_payments(client, network) for network in mainnets}

    pay_all(mainnets, payments)
    let_blocks_pass(mainnets)
    statuses = Counter(Payment.objects.values_list("network", "status"))
    assert statuses == {(network, "completed"): PAYMENTS_EACH - 3 for network in mainnets} | {
        (network, status): count for network in mainnets for status, count in (("created", 2), ("expired", 1))
    }
    assert_books_are_the_chain(mainnets)

    first = sweep(mainnets)
    assert_books_are_the_chain(mainnets)
    for network, records in payments.items():  # everybody pays again: nobody takes an address from anybody
        mainnets[network].pay([(each["cryptocurrency"], each["depositAddress"], coins(each, 5)) for each in records])
    let_blocks_pass(mainnets)
    again = sweep(mainnets)
    for network in mainnets:
        report(network, first[network], again[network])

    refunds = [give_back(client, record) for records in payments.values() for record in paid_in_full(records)]
    let_money_move(mainnets)
    assert len(refunds) == REFUNDS_EACH * len(mainnets)
    for refund in refunds:
        given_back = call(client, "GET", f"/refunds/{refund['id']}")
        assert given_back["status"] == "completed"
        assert held(mainnets[refund["network"]], given_back) == {
            refund["destination"]: units(given_back, "cryptoAmount")
        }

    call_command("run_settlements", "--now", stdout=StringIO())
    let_money_move(mainnets)
    settlements = call(client, "GET", "/settlements")["data"]
    assert {(each["network"], each["status"]) for each in settlements} == {
        (network, "completed") for network in mainnets
    }
    for settlement in settlements:
        paid = mainnets[settlement["network"]].held("USDC", [settlement["destination"]])
        assert paid == {settlement["destination"]: units(settlement, "amount")}
    assert {each["available"] for each in call(client, "GET", "/balance")["balances"]} == {"0.000000"}

    left = payments["polygon"][0]  # and somebody pays once more, which nothing has swept yet
    mainnets["polygon"].pay([(left["cryptocurrency"], left["depositAddress"], 11)])
    let_blocks_pass(mainnets)
    assert_books_are_the_chain(mainnets)
    assert balance(chain_account("polygon", left["cryptocurrency"]), environment=PRODUCTION) == 11
    assert not Transfer.objects.exclude(status=TransferStatus.FINAL).exists()
    assert not Payout.objects.exclude(status=PayoutStatus.PAID).exists()
    assert reconcile() == 0
    mainnets["polygon"].fund("USDT", devnet.HOT_WALLET, 1)  # had there been a single unit more, it would have been seen
    mainnets["polygon"].node.mine(BLOCKS_UNTIL_CONFIRMED)
    assert reconcile() == 1


# --- what people do ----------------------------------------------------------------------------------


def stock(mainnets: dict[str, Mainnet]) -> None:
    """The operator puts in what conversions and fees are paid from, and books it."""
    for network, mainnet in mainnets.items():
        mainnet.fund("USDC", devnet.HOT_WALLET, 10_000 * 10**6)
        mainnet.node.mine(BLOCKS_UNTIL_CONFIRMED)
        for code in ("USDC", registry.profile(PRODUCTION, network).native.code):
            call_command("book_treasury", env="production", network=network, asset=code, yes=True, stdout=StringIO())


def make_payments(client: ApiClient, network: str) -> list[Record]:
    """One after another, over the API, each coin in its turn; number LATE has no more than a minute."""
    return [
        call(
            client,
            "POST",
            "/payments",
            {
                "amount": 10 + number / 4,
                "currency": "USD",
                "cryptocurrency": coin,
                "network": network,
                "merchantWallet": somebody(f"merchant on {network}"),
                "expiresIn": 60 if number == LATE else WINDOW_SECONDS,
            },
        )
        for number, coin in zip(range(PAYMENTS_EACH), cycle(COINS), strict=False)
    ]


def pay_all(mainnets: dict[str, Mainnet], payments: dict[str, list[Record]]) -> None:
    """Payers pay: most what they should, some too much, in parts, late, on another network, in another coin."""
    now: defaultdict[str, list[Part]] = defaultdict(list)
    then: defaultdict[str, list[Part]] = defaultdict(list)
    for network, records in payments.items():
        for number, record in enumerate(records):
            coin, address, due = record["cryptocurrency"], record["depositAddress"], units(record, "cryptoAmount")
            if number in OVERPAID:
                now[network].append((coin, address, due + 12_345))
            elif number in IN_TWO_PARTS:
                now[network].append((coin, address, due // 3))
                then[network].append((coin, address, due - due // 3))
            elif number == LATE:
                then[network].append((coin, address, due))
            elif number == WRONG_NETWORK:
                now[OTHER[network]].append((coin, address, units(record, "cryptoAmount", network=OTHER[network])))
            elif number == WRONG_COIN:
                other = [*COINS][([*COINS].index(coin) + 1) % len(COINS)]
                now[network].append((other, address, units(record, "cryptoAmount", coin=other)))
            else:
                now[network].append((coin, address, due))
    for parts in (now, then):
        for network, mainnet in mainnets.items():
            mainnet.pay(parts[network])
            mainnet.node.mine()
            mainnet.let_time_pass(120)
    payment_tasks.watch_networks()
    payment_tasks.expire_due()


def paid_in_full(records: list[Record]) -> list[Record]:
    return records[-REFUNDS_EACH:]


def give_back(client: ApiClient, record: Record) -> Record:
    """All of it, to an address of the payer's."""
    destination = somebody(f"payer of {record['id']}")
    refund: Record = call(client, "POST", "/refunds", {"paymentId": record["id"], "destination": destination})
    return refund | {"destination": destination, "network": record["network"]}


# --- what blocks and workers do ----------------------------------------------------------------------


def let_blocks_pass(mainnets: dict[str, Mainnet]) -> None:
    """Enough for whatever waits to count, and one look at them."""
    for mainnet in mainnets.values():
        mainnet.node.mine(BLOCKS_UNTIL_CONFIRMED)
    payment_tasks.watch_networks()
    payment_tasks.expire_due()
    payment_tasks.assess_due()


def let_money_move(mainnets: dict[str, Mainnet], rounds: int = 2) -> None:
    """What beat asks of the workers, and blocks between."""
    for _ in range(rounds):
        refund_tasks.resolve_destinations()
        settlement_tasks.advance_due()
        drive()
        follow_payouts()
        let_blocks_pass(mainnets)
        drive()
        payment_tasks.sweep()
        follow_payouts()


def drive() -> None:
    """One round of each wallet, as if the time to ask again had come."""
    Transfer.objects.filter(finished_at__isnull=True).update(next_step_at=timezone.now())
    transfer_tasks.drive()


def sweep(mainnets: dict[str, Mainnet]) -> dict[str, list[tuple[int, int]]]:
    """Sweep everything there is; by network, the deposit addresses and the gas of each on-chain transaction."""
    before = set(Transfer.objects.values_list("pk", flat=True))
    payment_tasks.sweep()
    drive()
    let_blocks_pass(mainnets)
    drive()
    payment_tasks.sweep()
    swept = Transfer.objects.filter(purpose=TransferPurpose.SWEEP).exclude(pk__in=before)
    assert Counter(swept.values_list("network", "asset")) == {(net, code): 1 for net in mainnets for code in COINS}
    assert not Sweep.objects.filter(booked_at__isnull=True).exists()
    assert not Deposit.objects.filter(sweep__isnull=True).exists()
    gas = defaultdict(list)
    for transfer in swept:
        used = int(mainnets[transfer.network].receipt(transfer.transaction_hash)["gasUsed"], 16)
        gas[transfer.network].append((len(transfer.deposits), used))
    return gas


def report(network: str, first: list[tuple[int, int]], again: list[tuple[int, int]]) -> None:
    """Say what a deposit cost, and hold it to what it may."""
    [once, twice] = [sum(gas for _, gas in swept) / sum(count for count, _ in swept) for swept in (first, again)]
    print(f"{network}: gas for each deposit {once:,.0f} in the first sweep, {twice:,.0f} in the next")  # noqa: T201
    assert once < GAS_FIRST_MAX
    assert twice < GAS_AGAIN_MAX


# --- what there is -----------------------------------------------------------------------------------


def assert_books_are_the_chain(mainnets: dict[str, Mainnet]) -> None:
    """Every account: the hot wallet's coins and gas, and each deposit address, coin by coin."""
    addresses = set(Payment.objects.values_list("deposit_address", flat=True))
    for network, mainnet in mainnets.items():
        native = registry.profile(PRODUCTION, network).native
        assert mainnet.native_held(devnet.HOT_WALLET) == balance(gas_account(native), environment=PRODUCTION)
        for code in COINS:
            [hot] = mainnet.held(code, [devnet.HOT_WALLET]).values()
            assert hot == balance(hot_account(network, code), environment=PRODUCTION)
            waiting: Counter[str] = Counter()
            for deposit in Deposit.objects.filter(network=network, asset=code, sweep__isnull=True):
                waiting[deposit.recipient] += int(deposit.amount)
            on_chain = {address: amount for address, amount in mainnet.held(code, addresses).items() if amount}
            assert on_chain == waiting
            assert sum(on_chain.values()) == balance(chain_account(network, code), environment=PRODUCTION)


def reconcile() -> int:
    """The exit code of `manage.py reconcile --full`."""
    try:
        call_command("reconcile", "--full", stdout=StringIO())
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def held(mainnet: Mainnet, refund: Record) -> dict[str, int]:
    return mainnet.held(refund["cryptocurrency"], [refund["destination"]])


def units(record: Record, name: str, *, network: str = "", coin: str = "") -> int:
    """An amount of a record in base units of its coin, or of another one."""
    code = coin or record.get("cryptocurrency") or record["settlementCurrency"]
    asset = registry.asset(PRODUCTION, network or record["network"], code)
    whole, _, part = record[name].partition(".")
    return int(whole + part) * int(10 ** (asset.decimals - len(part)))


def coins(record: Record, count: int) -> int:
    """So many whole coins of a payment, in base units."""
    return count * int(10 ** registry.asset(PRODUCTION, record["network"], record["cryptocurrency"]).decimals)


def somebody(name: str) -> str:
    """An address with nothing on it."""
    return encode(hashlib.sha256(name.encode()).digest()[-20:])
