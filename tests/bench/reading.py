"""How fast ethereum is read with many open payments, and how soon a webhook tells of money, on a real local node."""

from __future__ import annotations

import gc
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from statistics import median
from typing import Any

from django.db import connection, transaction
from django.test import override_settings

from config import ids
from config.environments import Environment
from merchants.services import open_merchant
from payments.chains import registry
from payments.chains.evm import addresses
from payments.chains.evm.reading import BLOCKS_PER_SCAN, MOST_ADDRESSES_PER_QUESTION
from payments.deposits.addresses import PaymentAddresses
from payments.deposits.models import ScanCursor
from payments.deposits.watching import watch_network
from payments.models import Payment
from payments.services import NewPayment, create_payment
from tests.bench.costs import milliseconds_of
from tests.bench.crowd import AMOUNT, CHAIN_ID, Crowd
from tests.bench.report import Line
from tests.evm.mainnet import settings_for
from tests.evm.network.node import LocalNode, NodeMissing
from tests.networks import ETHEREUM

DEPOSITS, LAST_BLOCKS = 100, 100
FILTERED = MOST_ADDRESSES_PER_QUESTION
"""So many open payments are still handed to the node, which then looks for them itself."""

OPEN = (FILTERED + 1, 10_000, 100_000)
RAW = 0
ROUNDS = 5
FLAT_GOAL, LIST_GOAL, CATCH_UP_GOAL = 1.5, 5.0, 100
WALLET = "0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199"

PRODUCTION = Environment.PRODUCTION


def lines() -> list[Line]:
    try:
        node = LocalNode(chain_id=CHAIN_ID)
    except NodeMissing as missing:
        return [Line("reading ethereum", f"skipped. {missing}")]
    logging.getLogger("payments").setLevel(logging.WARNING)  # it says each deposit
    with node:
        network = Crowd(node)
        with _providers(network.url):
            return _lines(network)


def _lines(network: Crowd) -> list[Line]:
    deposits = _open(_template(), OPEN[-1])[:DEPOSITS]
    start = network.height
    happened = network.live(BLOCKS_PER_SCAN, deposits) + network.live(LAST_BLOCKS, [])
    rates = _scanned(network, start, deposits)
    to_raw = {
        number: median(ours / raw for ours, raw in zip(found, rates[RAW], strict=True))
        for number, found in rates.items()
    }
    matched = [to_raw[number] for number in OPEN]
    spread = max(matched) / min(matched)
    limit = f"{median(rates[RAW]):.0f}/s raw"
    return [
        *(
            Line(
                f"logs, {number:,} open{' (the node looks)' if number == FILTERED else ''}",
                f"{median(rates[number]):7.0f} logs/s",
                limit,
                f"{to_raw[number]:.2f}x",
            )
            for number in (FILTERED, *OPEN)
        ),
        Line(
            f"the same from {OPEN[0]:,} to {OPEN[-1]:,} open",
            f"{min(matched):.2f}x to {max(matched):.2f}x of raw",
            "",
            f"{spread:.2f}x",
            f"<= {FLAT_GOAL:.2f}x",
            spread <= FLAT_GOAL,
        ),
        _list_line(),
        _catch_up_line(network, start, happened),
    ]


def _scanned(network: Crowd, start: int, deposits: list[str]) -> dict[int, list[float]]:
    """Logs a second of each round, by how many payments are open; all of them beside the same blocks read raw."""
    chain = registry.chain(PRODUCTION, ETHEREUM)
    cursor = chain.reading.cursor_at(start)
    logs = len(network.read_raw(start + 1, start + BLOCKS_PER_SCAN))

    def scan() -> None:
        addresses.spelled.cache_clear()  # as for people who have not been seen before
        arrived = chain.reading.scan(cursor, PaymentAddresses(PRODUCTION, ETHEREUM)).transfers
        if sorted(transfer.recipient for transfer in arrived) != sorted(deposits):
            raise RuntimeError(f"{len(arrived)} of {len(deposits)} deposits were found")

    rates: dict[int, list[float]] = defaultdict(list)
    for turn in range(ROUNDS + 1):  # the first is the warm-up
        for number in (RAW, FILTERED, *OPEN):
            if number == RAW:
                seconds = _seconds_of(lambda: network.read_raw(start + 1, start + BLOCKS_PER_SCAN))
            else:
                with _only(number):
                    seconds = _seconds_of(scan)
            if turn:
                rates[number].append(logs / seconds)
    return rates


@contextmanager
def _only(number: int) -> Iterator[None]:
    """As if so many payments had been made and no more: a table of their own in the place of the real one."""
    schema = f"bench_{number}"
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regnamespace(%s) IS NULL", [schema])
        if cursor.fetchone() == (True,):
            cursor.execute(f"CREATE SCHEMA {schema}")
            cursor.execute(f"CREATE TABLE {schema}.payments_payment (LIKE public.payments_payment INCLUDING ALL)")
            cursor.execute(
                f"INSERT INTO {schema}.payments_payment SELECT * FROM public.payments_payment"  # noqa: S608 - our own
                " WHERE environment = %s ORDER BY sequence LIMIT %s",
                [PRODUCTION, number],
            )
            cursor.execute(f"ANALYZE {schema}.payments_payment")
        cursor.execute(f"SET search_path = {schema}, public")
        try:
            yield
        finally:
            cursor.execute("SET search_path = public")


def _list_line() -> Line:
    """What each poll asks the database first."""
    listed = PaymentAddresses(PRODUCTION, ETHEREUM)
    counted = Payment.objects.filter(environment=PRODUCTION, network=ETHEREUM)
    ours = milliseconds_of(lambda: listed.addresses(MOST_ADDRESSES_PER_QUESTION), 50)
    counting = milliseconds_of(lambda: counted.values("deposit_address").distinct().count(), 10)
    return Line(
        f"watch list of a poll, {OPEN[-1]:,} open",
        f"{ours:.2f} ms",
        f"{counting:.0f} ms to count them",
        f"{counting / ours:.0f}x",
        f">= {LIST_GOAL:g}x",
        counting / ours >= LIST_GOAL,
    )


def _catch_up_line(network: Crowd, start: int, logs: int) -> Line:
    """From far behind to the head with two providers, and what was found written down."""
    second = network.url.replace("127.0.0.1", "localhost")
    with _providers(network.url, second):
        behind = registry.chain(PRODUCTION, ETHEREUM).reading.cursor_at(start)
        ScanCursor.objects.update_or_create(environment=PRODUCTION, network=ETHEREUM, defaults={"cursor": behind})
        blocks = network.height - start

        def catch_up() -> None:
            while watch_network(PRODUCTION, ETHEREUM):
                pass

        raw = blocks / _seconds_of(lambda: network.read_raw(start + 1, start + blocks))
        ours = blocks / _seconds_of(catch_up)
    reached = ScanCursor.objects.get(environment=PRODUCTION, network=ETHEREUM)
    if reached.head_height != start + blocks:
        raise RuntimeError(f"read to {reached.head_height} of {start + blocks}: {reached.last_error}")
    return Line(
        f"catching up {blocks:,} blocks, {logs:,} logs",
        f"{ours:7.0f} blocks/s, {OPEN[-1]:,} open",
        f"{raw:.0f}/s raw, once",
        f"{ours / raw:.2f}x",
        f">= {CATCH_UP_GOAL} blocks/s",
        ours >= CATCH_UP_GOAL,
    )


def _seconds_of(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@contextmanager
def _providers(*urls: str) -> Iterator[None]:
    with override_settings(**settings_for({ETHEREUM: urls})):
        yield


def _template() -> Payment:
    merchant = open_merchant(name="Busy shop", email="busy@example.com")
    asked = NewPayment(
        amount=Decimal(AMOUNT) / 10**6,
        currency="USD",
        cryptocurrency="USDC",
        network=ETHEREUM,
        merchant_wallet=WALLET,
    )
    with transaction.atomic():
        payment, _ = create_payment(merchant=merchant, environment=Environment.SANDBOX, request=asked)
    return payment


def _open(template: Payment, number: int) -> list[str]:
    """So many more open payments, equal but for their address; those addresses."""
    chain = registry.chain(PRODUCTION, ETHEREUM)
    own = {"id": "fresh.id", "sequence": "fresh.sequence", "deposit_address": "fresh.address", "environment": "%s"}
    columns = [str(field.column) for field in Payment._meta.concrete_fields]
    chosen = [own.get(column, f"template.{column}") for column in columns]
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('payments_deposit_sequence') FROM generate_series(1, %s)", [number])
        sequences = [row[0] for row in cursor.fetchall()]
        fresh = [chain.deposit_address(sequence).address for sequence in sequences]
        values: list[Any] = [PRODUCTION, [ids.new_uuid() for _ in fresh], sequences, fresh, template.pk]
        cursor.execute(
            f"INSERT INTO payments_payment ({', '.join(columns)}) SELECT {', '.join(chosen)}"  # noqa: S608 - our own columns
            " FROM payments_payment AS template,"
            " unnest(%s::uuid[], %s::bigint[], %s::text[]) AS fresh (id, sequence, address) WHERE template.id = %s",
            values,
        )
        cursor.execute("ANALYZE payments_payment")
    return fresh
