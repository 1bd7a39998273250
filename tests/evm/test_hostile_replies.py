"""Whatever a provider replies, the worst that comes of it is that this provider fails."""

from __future__ import annotations

import gzip
import re
import socket
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from payments.chains.errors import ChainUnavailable, FinalityViolation, RecipientRefused, TokenChanged, TransferRefused
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.rpc import LARGEST_REPLY_BYTES, Call, Rpc, RpcError
from payments.chains.providers import wire
from payments.chains.providers.servers import LONGEST_TEXT, ProviderFailed
from tests.evm.fakes import CHAIN_ID, FakeProvider
from tests.evm.hostile import World, changes, values
from tests.long_form import examples

METHODS = sorted(set(re.findall(r'Call\("(eth_\w+)"', Path(questions.__file__).read_text())))

VERDICTS = (ChainUnavailable, FinalityViolation, RecipientRefused, TokenChanged, TransferRefused)
"""How an operation may end: nothing is known, or what two providers say alike is taken for what it says."""


def outcome(operation: Callable[[EvmChain], object], chain: EvmChain) -> str:
    try:
        operation(chain)
    except VERDICTS as error:
        return f"{type(error).__name__}: {error}"
    return "answered"


@cache
def operations() -> dict[str, Callable[[EvmChain], object]]:
    return World().operations()


def ask_everything(world: World, names: Iterable[str]) -> dict[str, str]:
    """How each operation ended, by an adapter that remembers nothing."""
    return {name: outcome(operations()[name], world.chain()) for name in names}


def _noting(asked: Counter[str], answer: Any) -> Any:
    asked["times"] += 1
    return answer


@cache
def users_of(method: str) -> list[str]:
    """The operations that ask this."""
    found = []
    for name, operation in operations().items():
        world, asked = World(), Counter[str]()
        world.spoil(method, partial(_noting, asked), providers=2)
        operation(world.chain())
        found += [name] * bool(asked)
    return found


def test_every_operation_works_and_every_method_is_used_while_providers_are_honest() -> None:
    assert set(ask_everything(World(), operations()).values()) == {"answered"}
    assert len(METHODS) == 12
    assert all(map(users_of, METHODS))


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=examples(40), deadline=None)
@given(change=changes(), providers=st.integers(1, 2))
def test_no_answer_to_any_method_ends_in_another_exception(
    method: str, change: Callable[[Any], Any], providers: int
) -> None:
    world = World()
    world.spoil(method, change, providers=providers)
    for ended in ask_everything(world, users_of(method)).values():
        assert len(ended) < 2_000
        assert "\x00" not in ended


@pytest.mark.parametrize("seconds", [2**56, 2**63, 2**255])
def test_a_block_of_no_time_of_this_calendar_is_no_answer(seconds: int) -> None:
    world = World()
    world.spoil("eth_getBlockByNumber", lambda block: block | {"timestamp": hex(seconds)}, providers=1)
    assert "Only 1 of 2" in outcome(operations()["head"], world.chain())


@pytest.mark.long
@settings(max_examples=examples(300), deadline=None)
@given(
    reply=st.one_of(
        values, st.lists(st.fixed_dictionaries({"id": values}, optional={"result": values, "error": values}))
    )
)
def test_no_reply_as_a_whole_does_either(reply: Any) -> None:
    provider = FakeProvider("one.example")
    provider.reply = lambda request: httpx.Response(200, content=orjson.dumps(reply))
    with pytest.raises(ProviderFailed, match=r"one\.example") as failure:
        provider.rpc.batch(Call("eth_blockNumber"))
    assert len(str(failure.value)) < 2 * LONGEST_TEXT


CHAIN = {"jsonrpc": "2.0", "id": 0, "result": hex(CHAIN_ID)}

ENVELOPES = {
    "a list for an id": [CHAIN, {"id": [1], "result": "0x1"}],
    "an object for an id": [CHAIN, {"id": {}, "result": "0x1"}],
    "true for 1": [CHAIN, {"id": True, "result": "0x1"}],
    "1.0 for 1": [CHAIN, {"id": 1.0, "result": "0x1"}],
    "a text for an id": [CHAIN, {"id": "1", "result": "0x1"}],
    "two answers": [CHAIN, {"id": 1, "result": "0x1"}, {"id": 1, "result": "0x2"}],
    "a list for a chain": [{"id": 0, "result": ["0x89"] * 10_000}, {"id": 1, "result": "0x1"}],
}


@pytest.mark.parametrize("kind", ENVELOPES)
def test_an_envelope_that_no_node_sends_is_no_answer(kind: str) -> None:
    provider = FakeProvider("one.example")
    provider.reply = lambda request: httpx.Response(200, content=orjson.dumps(ENVELOPES[kind]))
    with pytest.raises(ProviderFailed, match=r"one\.example"):
        provider.rpc.batch(Call("eth_blockNumber"))


def test_deep_nesting_is_no_answer() -> None:
    provider = FakeProvider("one.example")
    for content in (b"[" * 1_000_000, b"[" * 900 + b"]" * 900, b'{"id":' * 100_000):
        provider.reply = lambda request, content=content: httpx.Response(200, content=content)
        with pytest.raises(ProviderFailed):
            provider.rpc.batch(Call("eth_blockNumber"))


def test_a_strangers_words_are_short_and_printable_before_anybody_keeps_them() -> None:
    error = RpcError(3, "execution reverted\x00\x1b[2J" + "x" * 10**6, "0x" + "00" * 10**6)
    assert len(error.message) == LONGEST_TEXT + 1
    assert "\x00" not in str(error)
    assert "\x1b" not in str(error)
    assert error.is_reverted


def packed(content: bytes, times: int) -> bytes:
    for _ in range(times):
        content = gzip.compress(content)
    return content


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("gzip", partial(packed, b" " * (LARGEST_REPLY_BYTES + 1), 1)),
        ("gzip, gzip", partial(packed, b" " * (LARGEST_REPLY_BYTES + 1), 2)),
        ("deflate", partial(zlib.compress, b"[]")),
        ("gzip", partial(bytes, b"no gzip")),
    ],
)
def test_what_unpacks_to_more_than_anybody_should_read_is_not_unpacked(
    encoding: str, content: Callable[[], bytes]
) -> None:
    with served([content()], encoding=encoding) as url, pytest.raises(ProviderFailed):
        Rpc(url, chain_id=CHAIN_ID).batch(Call("eth_blockNumber"))


def test_a_packed_reply_is_read() -> None:
    content = gzip.compress(orjson.dumps([CHAIN, {"id": 1, "result": "0x5"}]))
    with served([content[:20], content[20:]], encoding="gzip") as url:
        assert Rpc(url, chain_id=CHAIN_ID).batch(Call("eth_blockNumber")) == ["0x5"]


@pytest.mark.parametrize("part", ["head", "body"])
def test_a_reply_that_drips_ends_when_the_time_for_the_call_is_over(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Ten seconds pass with each step: connecting, and every part that is sent or read.
    monkeypatch.setattr(wire, "time", SimpleNamespace(monotonic=count(0, 10).__next__))
    with (
        served([b" "] * 400, drips=part, pause_seconds=0.05) as url,
        pytest.raises(ProviderFailed, match="ReadTimeout"),
    ):
        Rpc(url, chain_id=CHAIN_ID, call_seconds=100).batch(Call("eth_blockNumber"))


@contextmanager
def served(parts: list[bytes], *, encoding: str = "", drips: str = "", pause_seconds: float = 0.0) -> Iterator[str]:
    """Whoever asks gets these parts, one after the other."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n" % sum(map(len, parts))
    head += b"Content-Encoding: %s\r\n" % encoding.encode() if encoding else b""
    ended = threading.Event()

    def serve() -> None:
        try:
            with server.accept()[0] as caller:
                caller.recv(65_536)
                sent = [head + b"X-Slow: ", *parts] if drips == "head" else [head + b"\r\n", *parts]
                for part in sent:
                    caller.sendall(part)
                    if ended.wait(pause_seconds):
                        return
                caller.shutdown(socket.SHUT_WR)
                while caller.recv(65_536):  # closed with a part of the question unread, it would take the reply back
                    pass
        except OSError:
            pass  # whoever asked has gone

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        ended.set()
        thread.join(5)
