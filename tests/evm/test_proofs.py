"""Nothing is called replaced without the transaction that took its place: a mistake there would pay twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import orjson
import pytest

from payments.chains.errors import ChainUnavailable
from payments.chains.protocol.chain import Chain
from tests.chains.sending import Till
from tests.evm.harness import NodeHarness, prepared


@pytest.fixture
def till() -> Iterator[Till]:
    with prepared("ethereum").node.put_back():
        yield Till(NodeHarness("ethereum"))


def seen_through(till: Till, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Chain:
    """The network behind two providers that both change answers in this way."""
    harness = till.harness
    assert isinstance(harness, NodeHarness)

    def reply(request: httpx.Request) -> httpx.Response:
        questions = orjson.loads(request.read())
        answers = orjson.loads(harness.front.handle_request(request).read())
        asked = {question["id"]: question for question in questions}
        for answer in answers:
            change(asked[answer["id"]], answer)
        return httpx.Response(200, content=orjson.dumps(answers))

    transport = httpx.MockTransport(reply)
    return harness.chain_through(transport, transport)


def without_receipts(question: dict[str, Any], answer: dict[str, Any]) -> None:
    if question["method"] == "eth_getTransactionReceipt":
        answer["result"] = None


def without_old_states(question: dict[str, Any], answer: dict[str, Any]) -> None:
    if question["method"] == "eth_getTransactionCount" and answer.get("result") == "0x0":
        del answer["result"]
        answer["error"] = {"code": -32000, "message": "missing trie node 5c (path )"}


def test_a_receipt_that_is_not_indexed_yet_is_no_replacement(till: Till) -> None:
    transfer = till.send(100)
    with pytest.raises(ChainUnavailable, match="does not report yet who used sequence 0"):
        seen_through(till, without_receipts).sending.status(transfer)
    assert till.chain.sending.status(transfer).state == "included"


def test_a_use_that_cannot_be_found_any_more_is_no_replacement(till: Till) -> None:
    first = till.sign(100)
    second = till.sign(200)
    till.chain.sending.broadcast(first)
    till.harness.mine(3)
    with pytest.raises(ChainUnavailable):
        seen_through(till, without_old_states).sending.status(second)
    assert till.chain.sending.status(second).state == "replaced"


@pytest.mark.parametrize("blocks_since", [0, 1, 2, 5, 11])
def test_the_block_of_the_replacement_is_found_however_long_ago(till: Till, blocks_since: int) -> None:
    first, second = till.sign(100), till.sign(200)
    till.chain.sending.broadcast(first)
    till.harness.mine()
    height = till.chain.reading.head().height
    till.send(5)  # a later number is used as well
    till.harness.mine(blocks_since)
    status = till.chain.sending.status(second)
    assert (status.state, status.height, status.confirmations) == ("replaced", height, blocks_since + 2)


def test_nobody_but_the_hot_wallet_pays(till: Till) -> None:
    with pytest.raises(ValueError, match="leave from"):
        till.chain.sending.sign(till.sign().payouts, sender=till.recipient, sequence=0)
