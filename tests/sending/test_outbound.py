from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.patience import until
from tests.sending.receivers import Shop
from tests.sending.spies import answer_names, in_loop, post, watch_connections
from webhooks.schedule import Outcome, Reply
from webhooks.sending.connection import ERROR_CHARACTERS_MAX, REPLY_BYTES_MAX
from webhooks.sending.outbound import CONNECT_SECONDS, DEADLINE_SECONDS, Outbound

PUBLIC = "93.184.215.14"
MEBIBYTE = 2**20


def local(url: str, *, deadline_seconds: float = 60) -> Reply:
    return post(url, allow_loopback=True, deadline_seconds=deadline_seconds)


class Memory:
    """How much this process's memory grew at its highest, in bytes."""

    def __enter__(self) -> Memory:
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins anew
        self._before = self._status("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        self.growth = self._status("VmHWM") - self._before

    def _status(self, name: str) -> int:
        lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(lines[name].split()[0]) * 1024


# --- where a request goes ----------------------------------------------------------------------------


def test_a_name_that_flips_between_outside_and_inside_never_leads_inside(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = 0

    def flip(host: str) -> Iterable[str]:
        nonlocal looked_up
        looked_up += 1
        return [PUBLIC] if looked_up % 2 else ["127.0.0.1"]

    answer_names(monkeypatch, flip)
    dialled = watch_connections(monkeypatch)

    async def run() -> None:
        async with Outbound() as client:
            for _ in range(100):
                await client.post(f"http://flip.example:{shop.port}/hook", body=b"{}", headers={})

    in_loop(run)

    assert looked_up >= 100
    assert shop.arrivals == []
    assert {host for host, *_ in dialled} == {PUBLIC}


def test_a_name_is_looked_up_once_for_each_request(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer_names(monkeypatch, lambda host: ["127.0.0.1"])
    assert local(f"http://shop.example:{shop.port}/hook").status_code == 200
    assert asked == ["shop.example"]


def test_the_host_header_keeps_the_name(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_names(monkeypatch, lambda host: ["127.0.0.1"])
    local(f"http://shop.example:{shop.port}/hook?a=%2Fb&c=d%20e")
    (arrival,) = shop.arrivals
    assert arrival.headers["host"] == f"shop.example:{shop.port}"


def test_a_name_that_nobody_answers_for_holds_up_nobody_else(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()

    def answer(host: str) -> Iterable[str]:
        if host == "silent.example":
            is_over.wait(60)
            raise socket.gaierror("no name server replied")
        return ["127.0.0.1"]

    asked = answer_names(monkeypatch, answer)

    async def run() -> Reply:
        async with Outbound(allow_loopback=True, connect_seconds=60) as client:

            def post(host: str, path: str) -> asyncio.Future[Reply]:
                return asyncio.ensure_future(
                    client.post(f"http://{host}.example:{shop.port}{path}", body=b"{}", headers={})
                )

            silent = [post("silent", "/silent") for _ in range(100)]
            reply = await post("shop", "/hook")
            assert not any(each.done() for each in silent)
            is_over.set()
            assert {each.status_code for each in await asyncio.gather(*silent)} == {None}
            return reply

    assert in_loop(run).status_code == 200
    assert asked.count("silent.example") == 1
    assert shop.at("/silent") == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(shop: Shop, status: int) -> None:
    url = shop.behave("/moved", status=status, headers={"Location": shop.url("/inside")})
    reply = local(url)
    assert (reply.status_code, reply.error, reply.outcome) == (status, "Redirects are not followed.", Outcome.FAILURE)
    assert shop.at("/inside") == []


def test_proxies_of_the_environment_are_not_asked(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, shop.url("/proxy"))
    answer_names(monkeypatch, lambda host: [PUBLIC])
    dialled = watch_connections(monkeypatch)
    post("http://shop.example/hook")
    assert shop.arrivals == []
    assert {host for host, *_ in dialled} == {PUBLIC}


def test_a_host_that_nobody_listens_at_is_a_failure() -> None:
    reply = local("http://127.0.0.1:1/hook")
    assert reply.status_code is None
    assert "127.0.0.1:1" in reply.error


@pytest.mark.parametrize("url", ["", "http://", "http:///hook", "http://[::1/hook", "http://a b/", "ftp://127.0.0.1/"])
def test_what_is_no_address_is_a_failure(url: str) -> None:
    reply = local(url)
    assert reply.status_code is None
    assert reply.error


# --- what comes back ---------------------------------------------------------------------------------


def test_the_bytes_arrive_as_they_are(shop: Shop) -> None:
    async def run() -> Reply:
        async with Outbound(allow_loopback=True) as client:
            return await client.post(shop.url(), body=b'{"a": "\xc3\xbc"}\n', headers={"Webhook-Id": "evt_1"})

    assert in_loop(run).outcome is Outcome.SUCCESS
    (arrival,) = shop.arrivals
    assert arrival.body == b'{"a": "\xc3\xbc"}\n'
    assert arrival.headers["webhook-id"] == "evt_1"
    assert "accept-encoding" not in arrival.headers


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(200, Outcome.SUCCESS), (202, Outcome.SUCCESS), (299, Outcome.SUCCESS), (304, Outcome.FAILURE),
     (400, Outcome.FAILURE), (404, Outcome.FAILURE), (410, Outcome.GONE), (429, Outcome.FAILURE),
     (503, Outcome.FAILURE)],
)  # fmt: skip
def test_only_2xx_is_success(shop: Shop, status: int, outcome: Outcome) -> None:
    assert local(shop.behave(status=status, body=b"")).outcome is outcome


def test_of_a_long_reply_the_beginning_is_kept(shop: Shop) -> None:
    reply = local(shop.behave(body=bytes(range(256)) * 1024))
    assert reply.body == (bytes(range(256)) * 1024)[:REPLY_BYTES_MAX]
    assert reply.status_code == 200


def test_a_reply_of_a_gigabyte_is_left_after_its_beginning(shop: Shop) -> None:
    written = 0

    async def gigabyte(writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
        block = b"x" * 65536
        for _ in range(16384):
            writer.write(block)
            await writer.drain()
            written += len(block)

    url = shop.serve_raw(gigabyte)
    started = time.monotonic()
    with Memory() as memory:
        reply = local(url)
    assert (reply.status_code, reply.body) == (200, b"x" * REPLY_BYTES_MAX)
    assert time.monotonic() - started < 30, "it waited for the deadline"
    assert written < 64 * MEBIBYTE
    assert memory.growth < 20 * MEBIBYTE


def test_a_gzip_bomb_is_not_unpacked(shop: Shop) -> None:
    bomb = gzip.compress(bytes(64 * MEBIBYTE))
    url = shop.behave(body=bomb, headers={"Content-Encoding": "gzip"})
    with Memory() as memory:
        reply = local(url)
    assert (reply.status_code, reply.body) == (200, bomb[:REPLY_BYTES_MAX])
    assert memory.growth < 20 * MEBIBYTE


def test_a_head_without_end_is_refused(shop: Shop) -> None:
    async def headers(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"".join(b"X-%d: %s\r\n" % (number, b"y" * 4000) for number in range(100)))
            await writer.drain()

    url = shop.serve_raw(headers)
    with Memory() as memory:
        reply = local(url)
    assert reply.status_code is None
    assert memory.growth < 20 * MEBIBYTE


def test_one_header_without_end_is_refused(shop: Shop) -> None:
    async def header(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while True:
            writer.write(b"y" * 65536)
            await writer.drain()

    url = shop.serve_raw(header)
    with Memory() as memory:
        reply = local(url)
    assert reply.status_code is None
    assert memory.growth < 20 * MEBIBYTE


def test_an_endless_row_of_interim_replies_ends_with_the_deadline(shop: Shop) -> None:
    async def interim(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.001)

    url = shop.serve_raw(interim)
    started = time.monotonic()
    assert local(url, deadline_seconds=0.5).status_code is None
    assert time.monotonic() - started < 30


def test_garbage_is_a_failure_that_can_be_stored_and_shown(shop: Shop) -> None:
    async def garbage(writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\xff\xfe<script>\x1b[31m\r\n\xed\xa0\x80\r\n\r\n" + b"z" * 2000)
        await writer.drain()

    reply = local(shop.serve_raw(garbage))
    assert reply.status_code is None
    assert 0 < len(reply.error) <= ERROR_CHARACTERS_MAX
    assert reply.error.isprintable()
    reply.error.encode()


def test_a_connection_that_breaks_off_is_a_failure_before_the_status_and_none_after_it(shop: Shop) -> None:
    async def nothing(writer: asyncio.StreamWriter) -> None:
        return

    async def half(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await writer.drain()

    assert local(shop.serve_raw(nothing)).status_code is None
    reply = local(shop.serve_raw(half))
    assert (reply.status_code, reply.body, reply.outcome) == (200, b"half", Outcome.SUCCESS)


def test_retry_after_is_read(shop: Shop) -> None:
    reply = local(shop.behave(status=503, headers={"Retry-After": "120"}))
    assert reply.retry_after is not None
    assert reply.retry_after.total_seconds() == 120


# --- how long it takes -------------------------------------------------------------------------------


class GivenClock(asyncio.SelectorEventLoop):
    """A loop whose time stands still until it is told to pass, however slow the machine is."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__()

    def time(self) -> float:
        return self._now

    async def pass_time(self, seconds: float) -> None:
        """All that has come is read before, and all that is due has been done afterwards."""
        for passing in (0.0, seconds):
            self._now += passing
            for _ in range(10):
                await asyncio.sleep(0)


def ends_after(seconds: float, url: str, *, once: Callable[[], bool]) -> Reply:
    """The reply of an attempt that has not ended just before so many seconds, and then has."""
    loop = GivenClock()

    async def run() -> Reply:
        async with Outbound(allow_loopback=True) as client:
            attempt = asyncio.ensure_future(client.post(url, body=b"{}", headers={}))
            await asyncio.to_thread(until, once)
            await loop.pass_time(seconds - 0.01)
            assert not attempt.done()
            await loop.pass_time(0.01)
            assert attempt.done()
            return await attempt

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(run())


def drip(head: bytes, drops: bytes) -> Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]:
    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        for drop in drops:
            writer.write(bytes([drop]))
            await writer.drain()
            await asyncio.sleep(0.1)

    return write


@pytest.mark.parametrize(
    ("head", "drops"),
    [(b"", b""), (b"HTTP/1.1 200 OK\r\nContent-Le", b""), (b"", b"HTTP/1.1 200 OK\r\nServer: " + b"y" * 600),
     (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"x" * 600)],
    ids=["nothing", "half a head", "a head in drops", "a body in drops"],
)  # fmt: skip
def test_every_attempt_ends_after_fifteen_seconds(shop: Shop, head: bytes, drops: bytes) -> None:
    has_begun = threading.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        dripping = asyncio.ensure_future(drip(head, drops)(writer))
        await asyncio.sleep(0)  # the head and the first drop have been written
        has_begun.set()
        await dripping
        await asyncio.sleep(60)

    reply = ends_after(15, shop.serve_raw(answer), once=has_begun.is_set)

    assert DEADLINE_SECONDS == 15
    if b"\r\n\r\n" in head:
        assert reply.outcome is Outcome.SUCCESS
        assert 1 <= len(reply.body) <= 600
    else:
        assert (reply.status_code, reply.error) == (None, "No reply within 15 seconds.")


def test_a_connection_that_is_not_made_is_given_up_after_five_seconds(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over = threading.Event()

    def answer_late(host: str) -> Iterable[str]:
        is_over.wait(60)
        return ["127.0.0.1"]

    asked = answer_names(monkeypatch, answer_late)
    try:
        reply = ends_after(5, f"http://slow.example:{shop.port}/", once=lambda: bool(asked))
    finally:
        is_over.set()
    assert CONNECT_SECONDS == 5
    assert reply.error == "No connection within 5 seconds."
    assert shop.arrivals == []
