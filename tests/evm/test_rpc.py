"""One provider is asked once, and believed only when its answer is whole."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import orjson
import pytest

from payments.chains.errors import ChainUnavailable
from payments.chains.evm.nodes.rpc import LARGEST_REPLY_BYTES, Call, RpcError
from payments.chains.providers.servers import ProviderFailed
from tests.evm.fakes import FakeProvider, Refusal
from tests.evm.node import TestNode


@pytest.fixture
def provider() -> FakeProvider:
    return FakeProvider("one.example.com")


def answered(content: bytes, status: int = 200) -> Callable[[httpx.Request], httpx.Response]:
    return lambda request: httpx.Response(status, content=content)


def frame(number: int, **said: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, **said}


CHAIN = frame(0, result="0x89")

USELESS = {
    "status": answered(b"[]", 503),
    "redirect": answered(b"[]", 302),
    "empty": answered(b""),
    "text": answered(b"<html>welcome</html>"),
    "cut JSON": answered(orjson.dumps([CHAIN, frame(1, result="0x1")])[:-7]),
    "no list": answered(orjson.dumps(CHAIN)),
    "one error for all": answered(orjson.dumps({"error": {"code": -32600, "message": "batch too large"}})),
    "a question forgotten": answered(orjson.dumps([CHAIN])),
    "no result": answered(orjson.dumps([CHAIN, frame(1)])),
    "another chain": answered(orjson.dumps([frame(0, result="0x1"), frame(1, result="0x1")])),
    "no chain": answered(orjson.dumps([frame(0, error={"code": 1, "message": "no"}), frame(1, result="0x1")])),
    "rate limit": answered(
        orjson.dumps([CHAIN, frame(1, error={"code": -32005, "message": "Too Many Requests: rate limit"})])
    ),
    "internal": answered(orjson.dumps([CHAIN, frame(1, error={"code": -32603, "message": "oops"})])),
    "too long": answered(b" " * (LARGEST_REPLY_BYTES + 1)),
}


@pytest.mark.parametrize("kind", USELESS)
def test_what_is_no_whole_answer_is_none(provider: FakeProvider, kind: str) -> None:
    provider.reply = USELESS[kind]
    with pytest.raises(ProviderFailed, match=r"one\.example\.com"):
        provider.rpc.call("eth_blockNumber")
    assert provider.requests == 1  # trying again is for somebody else to decide


@pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError])
def test_a_provider_that_is_not_there_is_unavailable(provider: FakeProvider, error: type[httpx.TransportError]) -> None:
    provider.fail(error("gone"))
    with pytest.raises(ChainUnavailable):
        provider.rpc.call("eth_blockNumber")


def test_answers_stand_in_the_order_of_the_questions(provider: FakeProvider) -> None:
    provider.reply = answered(orjson.dumps([frame(2, result="b"), frame(1, result=None), CHAIN]))
    assert provider.rpc.batch(Call("one"), Call("two")) == [None, "b"]


def test_answers_too_long_together_are_asked_for_in_halves(provider: FakeProvider) -> None:
    def reply(request: httpx.Request) -> httpx.Response:
        asked = orjson.loads(request.content)
        long = " " * (LARGEST_REPLY_BYTES // 2)  # two of them are more than anybody reads
        said = [CHAIN, *(frame(each["id"], result=each["method"] + long) for each in asked[1:])]
        return httpx.Response(200, content=orjson.dumps(said))

    provider.reply = reply
    found = provider.rpc.batch(Call("one"), Call("two"), Call("three"))
    assert [each.strip() for each in found] == ["one", "two", "three"]


def test_an_error_that_answers_is_an_answer(provider: FakeProvider) -> None:
    def refuse(*_: object) -> None:
        raise Refusal("execution reverted: blocked", 3, "0x08c379a0")

    provider.answers["eth_call"] = refuse
    with pytest.raises(RpcError) as refusal:
        provider.rpc.call("eth_call")
    assert (refusal.value.code, refusal.value.data, refusal.value.is_reverted) == (3, "0x08c379a0", True)


def test_the_key_in_an_address_is_never_said(provider: FakeProvider) -> None:
    provider.fail()
    with pytest.raises(ProviderFailed) as failure:
        provider.rpc.call("eth_blockNumber")
    assert "key" not in str(failure.value)


@pytest.mark.parametrize(
    ("message", "meaning"),
    [
        ("query returned more than 10000 results", "is_too_large"),
        ("exceed maximum block range: 2000", "is_too_large"),
        ("Log response size exceeded. You can make requests with up to a 2K block range", "is_too_large"),
        ("exceed max topics: too many topics", "is_too_large"),
        ("unknown block", "misses_block"),
        ("header not found", "misses_block"),
        ("missing trie node 1d0e (path )", "misses_block"),
        ("BlockOutOfRangeError: block height is 31 but requested was 24", "misses_block"),
        ("already known", "knows_already"),
        ("transaction already imported", "knows_already"),
        ("execution reverted", "is_reverted"),
        ("execution reverted: header not found", "is_reverted"),
        ("execution reverted: too many requests, try again", "is_reverted"),
        ("out of gas", "takes_all_gas"),
        ("your app has exceeded its compute units per second capacity", "is_passing"),
    ],
)
def test_what_nodes_say_is_understood(message: str, meaning: str) -> None:
    error = RpcError(-32000, message)
    meanings = {"is_too_large", "misses_block", "knows_already", "is_reverted", "is_passing", "takes_all_gas"}
    assert {name for name in meanings if getattr(error, name)} == {meaning}


def test_what_a_contract_does_says_nothing_of_its_provider() -> None:
    assert not RpcError(-32603, "EVM error OutOfGas").is_passing
    assert RpcError(-32603, "no reason").is_passing


def test_a_real_node_is_understood(node: TestNode) -> None:
    assert node.rpc.batch(Call("eth_chainId"), Call("eth_blockNumber"))[0] == "0x1"
    with pytest.raises(RpcError) as refusal:
        node.rpc.call("eth_getLogs", {"blockHash": "0x" + "ab" * 32})
    assert refusal.value.misses_block
