"""Providers fail, forget and lie; no money is believed that is not there, and none is missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import orjson
import pytest

from payments.chains.errors import ChainUnavailable, FinalityViolation
from payments.chains.evm.addresses import encode
from payments.chains.evm.reading import MOST_ADDRESSES_PER_QUESTION, Pace
from tests.chains.harness import Reader, Watched
from tests.evm.faults import FaultyProvider
from tests.evm.harness import NodeHarness, prepared

pytestmark = pytest.mark.slow

POLLS = 60


@pytest.fixture
def harness() -> Iterator[NodeHarness]:
    with prepared("ethereum").node.put_back():
        yield NodeHarness("ethereum")


def keys(reader: Reader) -> set[tuple[str, int]]:
    return set(reader.known)


@pytest.mark.parametrize("seed", range(4))
def test_faults_and_lies_of_providers_move_no_money_and_hide_none(harness: NodeHarness, seed: int) -> None:
    usdc = harness.chain.profile.assets["USDC"]
    to = harness.chain.deposit_address(7).address
    liar = FaultyProvider(harness.front, seed, invents_for=(usdc.contract, to))
    honest = FaultyProvider(harness.front, seed + 1_000)
    reader, truth = Reader(harness.chain_through(liar, honest), to), Reader(harness.chain, to)
    truth.read()
    reader.cursor = truth.cursor
    answered = 0
    for poll in range(POLLS):
        if poll % 3 == 0:
            harness.pay((usdc.contract, poll + 1, to, None))
        if poll % 10 == 9:
            harness.reorg(2, "moved")
        harness.mine()
        truth.read()
        try:
            reader.read_once()
            answered += 1
        except ChainUnavailable:
            pass
        assert keys(reader) <= keys(truth) | {(sent, 0) for sent in harness.front.raws}
        assert all(transfer.amount <= POLLS for transfer in reader.known.values())
    assert liar.lies
    assert honest.faults > 20
    assert answered == 0  # whoever lies about every block is never believed, and nothing is known without a second
    liar.is_well = honest.is_well = True
    for _ in range(2):
        reader.read_once()
    assert reader.known == truth.known


@pytest.mark.parametrize("seed", range(4))
def test_bad_days_of_honest_providers_only_take_time(harness: NodeHarness, seed: int) -> None:
    usdc = harness.chain.profile.assets["USDC"]
    to = harness.chain.deposit_address(7).address
    providers = [FaultyProvider(harness.front, 10 * seed + number) for number in range(3)]
    reader, truth = Reader(harness.chain_through(*providers), to), Reader(harness.chain, to)
    truth.read()
    reader.cursor = truth.cursor
    answered = 0
    for poll in range(POLLS):
        harness.pay((usdc.contract, poll + 1, to, None))
        if poll % 10 == 9:
            harness.reorg(2, "dropped")
        harness.mine()
        truth.read()
        try:
            reader.read_once()
            answered += 1
        except ChainUnavailable:
            continue
        assert all(transfer.asset == usdc and transfer.amount <= POLLS for transfer in reader.known.values())
    assert answered >= 3
    for provider in providers:
        provider.is_well = True
    for _ in range(2):
        reader.read_once()
    assert reader.known == truth.known


def on_another_fork(harness: NodeHarness) -> Callable[[httpx.Request], httpx.Response]:
    def reply(request: httpx.Request) -> httpx.Response:
        answers = orjson.loads(harness.front.handle_request(request).read())
        for answer in answers:
            if isinstance(answer["result"], dict) and "parentHash" in answer["result"]:
                answer["result"]["hash"] = "0x" + "ab" * 32
        return httpx.Response(200, content=orjson.dumps(answers))

    return reply


@pytest.mark.parametrize("place", range(3))
def test_one_with_other_blocks_does_not_keep_two_others_from_being_read(harness: NodeHarness, place: int) -> None:
    usdc = harness.chain.profile.assets["USDC"]
    to = harness.chain.deposit_address(7).address
    transports: list[httpx.BaseTransport] = [harness.front] * 3
    transports[place] = httpx.MockTransport(on_another_fork(harness))
    reader = Reader(harness.chain_through(*transports), to)
    reader.read()
    harness.pay((usdc.contract, 5, to, None))
    harness.mine()
    reader.read()
    assert [transfer.amount for transfer in reader.known.values()] == [5]


def test_a_final_block_that_changed_for_one_provider_alone_is_no_violation(harness: NodeHarness) -> None:
    another_hash = on_another_fork(harness)
    to = harness.chain.deposit_address(7).address
    reader = Reader(harness.chain, to)
    reader.read()
    for transports in ([another_hash, None], [None, another_hash]):
        alone = [harness.front if each is None else httpx.MockTransport(each) for each in transports]
        with pytest.raises(ChainUnavailable):
            harness.chain_through(*alone).reading.scan(reader.cursor, reader.watch)
    both = [httpx.MockTransport(another_hash)] * 2
    with pytest.raises(FinalityViolation):
        harness.chain_through(*both).reading.scan(reader.cursor, reader.watch)


def test_with_more_open_addresses_than_a_filter_takes_all_are_still_watched(harness: NodeHarness) -> None:
    usdc = harness.chain.profile.assets["USDC"]
    to = harness.chain.deposit_address(7).address
    crowd = [encode(number.to_bytes(20, "big")) for number in range(1, MOST_ADDRESSES_PER_QUESTION + 1)]
    few, many = Reader(harness.chain, to), Reader(harness.chain, to, *crowd)
    for reader in (few, many):
        reader.read()
    for number in range(5):
        harness.pay((usdc.contract, number + 1, to, None), (usdc.contract, 9, harness.stranger(1), None))
        harness.mine()
    few.read()
    many.read()
    assert len(few.known) == 5
    assert many.known == few.known


def refusing_more_than(harness: NodeHarness, blocks: int) -> Callable[[httpx.Request], httpx.Response]:
    def reply(request: httpx.Request) -> httpx.Response:
        questions = orjson.loads(request.read())
        answers = orjson.loads(harness.front.handle_request(request).read())
        for question in questions:
            if question["method"] == "eth_getLogs":
                asked = question["params"][0]
                if int(asked["toBlock"], 16) - int(asked["fromBlock"], 16) >= blocks:
                    error = {"code": -32005, "message": f"query exceeds max block range {blocks}"}
                    answers = [each for each in answers if each["id"] != question["id"]]
                    answers.append({"jsonrpc": "2.0", "id": question["id"], "error": error})
        return httpx.Response(200, content=orjson.dumps(answers))

    return reply


def test_ranges_shrink_to_what_providers_take(harness: NodeHarness) -> None:
    usdc = harness.chain.profile.assets["USDC"]
    to = harness.chain.deposit_address(7).address
    start = harness.chain.reading.head().height
    for number in range(12):
        harness.pay((usdc.contract, number + 1, to, None))
        harness.mine()
    pace = Pace()
    transport = httpx.MockTransport(refusing_more_than(harness, 3))
    chain = harness.chain_through(transport, transport, pace=pace)
    scan = chain.reading.scan(harness.chain.reading.cursor_at(start), Watched(to))
    assert [transfer.amount for transfer in scan.transfers] == list(range(1, 13))
    assert pace.blocks <= 4
    nothing = httpx.MockTransport(refusing_more_than(harness, 0))
    with pytest.raises(ChainUnavailable, match="even one block"):
        harness.chain_through(nothing, nothing).reading.scan(harness.chain.reading.cursor_at(start), Watched(to))


def test_a_flood_of_nothing_asks_for_no_receipts(harness: NodeHarness) -> None:
    asked: list[str] = []

    def counting(request: httpx.Request) -> httpx.Response:
        asked.extend(question["method"] for question in orjson.loads(request.read()))
        return harness.front.handle_request(request)

    usdc = harness.chain.profile.assets["USDC"]
    to = harness.chain.deposit_address(7).address
    start = harness.chain.reading.head().height
    for _ in range(3):
        harness.pay(*[(usdc.contract, 0, to, None)] * 50)
    harness.mine()
    transport = httpx.MockTransport(counting)
    scan = harness.chain_through(transport, transport).reading.scan(harness.chain.reading.cursor_at(start), Watched(to))
    assert scan.transfers == ()
    assert "eth_getTransactionReceipt" not in asked
