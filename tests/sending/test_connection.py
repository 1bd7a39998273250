"""One connection after the other: what may be used again, what a reply consists of, and who is at the other end."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import chain, repeat
from pathlib import Path
from typing import Self

import pytest

from tests.sending.spies import answer_names, in_loop, post
from webhooks.schedule import Outcome, Reply
from webhooks.sending import outbound
from webhooks.sending.connection import HEAD_BYTES_MAX, RECEIVED_BYTES_MAX, REPLY_BYTES_MAX
from webhooks.sending.outbound import KEEP_ALIVE_SECONDS, Outbound, parse_url

HOST = "127.0.0.1"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
OTHER = b"HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\nother"

Visit = Callable[["Server", socket.socket], None]


class Server:
    """Treats the first connection by the first of its visits, the second by the second, and all others by the last."""

    def __init__(self, *visits: Visit, tls: ssl.SSLContext | None = None) -> None:
        self._visits = visits
        self._tls = tls
        self.connections = 0
        self.names: list[str | None] = []
        """Those that came with handshakes of TLS."""
        self.requests: list[bytes] = []

    def __enter__(self) -> Self:
        if self._tls is not None:
            self._tls.sni_callback = lambda _, name, __: self.names.append(name)
        self._listener = socket.create_server((HOST, 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://{HOST}:{self.port}/hook"
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def read(self, connection: socket.socket) -> bytes:
        """The next request, which must be one of ours: with a body `{}`."""
        request = b""
        while not request.endswith(b"\r\n\r\n{}"):
            if not (data := connection.recv(65536)):
                return b""
            request += data
        self.requests.append(request)
        return request

    def _serve(self) -> None:
        while True:
            try:
                connected, _ = self._listener.accept()
            except OSError:
                return
            visit = self._visits[min(self.connections, len(self._visits) - 1)]
            self.connections += 1
            threading.Thread(target=self._attend, args=(connected, visit), daemon=True).start()

    def _attend(self, connected: socket.socket, visit: Visit) -> None:
        with suppress(OSError), closing(connected):
            visit(self, self._tls.wrap_socket(connected, server_side=True) if self._tls else connected)


def answer(*replies: bytes) -> Visit:
    """One reply to each request, the last one for ever."""

    def visit(server: Server, connection: socket.socket) -> None:
        for reply in chain(replies, repeat(replies[-1])):
            if not server.read(connection):
                return
            connection.sendall(reply)

    return visit


def answer_and_close(*replies: bytes) -> Visit:
    """One reply to each request, and the end of the connection right behind the last."""

    def visit(server: Server, connection: socket.socket) -> None:
        for reply in replies:
            server.read(connection)
            connection.sendall(reply)

    return visit


def post_in_turn(url: str, number: int, *, pause_seconds: float = 0.05) -> list[Reply]:
    """By one client, one after the other."""

    async def run() -> list[Reply]:
        async with Outbound(allow_loopback=True) as client:
            replies = []
            for _ in range(number):
                replies.append(await client.post(url, body=b"{}", headers={}))
                await asyncio.sleep(pause_seconds)
            return replies

    return in_loop(run)


@pytest.fixture
def _connections_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine may need longer between two requests than connections are kept."""
    monkeypatch.setattr(outbound, "KEEP_ALIVE_SECONDS", 600.0)


def statuses(replies: list[Reply]) -> list[int | None]:
    return [reply.status_code for reply in replies]


# --- used again, or not ------------------------------------------------------------------------------


@pytest.mark.usefixtures("_connections_stay")
def test_a_connection_is_used_again() -> None:
    with Server(answer(OK)) as server:
        assert statuses(post_in_turn(server.url, 5)) == [200] * 5
        assert server.connections == 1


def test_a_connection_is_not_kept_longer_than_a_moment() -> None:
    with Server(answer(OK)) as server:
        assert statuses(post_in_turn(server.url, 2, pause_seconds=KEEP_ALIVE_SECONDS + 0.2)) == [200, 200]
        assert server.connections == 2


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        OK + b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled",
        OK + b"and something else",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1_000_000,
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    ],
    ids=["close", "HTTP/1.0", "a second reply", "surplus bytes", "a long body", "an upgrade"],
)
def test_a_connection_that_may_hold_anything_else_is_not_used_again(reply: bytes) -> None:
    with Server(answer(reply), answer(OTHER)) as server:
        before, after = post_in_turn(server.url, 2)
        assert before.status_code in (200, 101)
        assert (after.status_code, after.body) == (202, b"other")
        assert server.connections == 2


def test_a_reply_that_nobody_asked_for_answers_no_later_request() -> None:
    is_answered, is_smuggled = threading.Event(), threading.Event()

    def visit(server: Server, connection: socket.socket) -> None:
        server.read(connection)
        connection.sendall(OK)
        is_answered.wait(60)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled")
        is_smuggled.set()
        server.read(connection)

    async def run(url: str) -> list[Reply]:
        async with Outbound(allow_loopback=True) as client:
            first = await client.post(url, body=b"{}", headers={})
            is_answered.set()
            await asyncio.to_thread(is_smuggled.wait, 60)
            await asyncio.sleep(0.01)  # the loop reads what has come
            return [first, await client.post(url, body=b"{}", headers={})]

    with Server(visit, answer(OTHER)) as server:
        assert [reply.body for reply in in_loop(lambda: run(server.url))] == [b"ok", b"other"]


@pytest.mark.usefixtures("_connections_stay")
def test_a_request_into_a_connection_that_is_just_being_closed_is_sent_again() -> None:
    """The server has closed, or reads the request and closes without a word: no byte of a reply came back."""

    def visit(server: Server, connection: socket.socket) -> None:
        server.read(connection)
        connection.sendall(OK)
        server.read(connection)

    with Server(visit, answer(OTHER)) as server:
        replies = post_in_turn(server.url, 2)
        assert [(reply.status_code, reply.error) for reply in replies] == [(200, ""), (202, "")]
        assert server.connections == 2
        assert len(server.requests) == 3


def test_a_new_connection_that_closes_without_a_word_is_a_failure_at_once() -> None:
    def visit(server: Server, connection: socket.socket) -> None:
        server.read(connection)

    with Server(visit) as server:
        (reply,) = post_in_turn(server.url, 1)
        assert (reply.status_code, reply.error) == (None, "The connection was closed without a reply.")
        assert server.connections == 1


@pytest.mark.usefixtures("_connections_stay")
def test_a_reply_that_breaks_off_in_a_connection_used_before_is_a_failure_and_not_sent_again() -> None:
    with Server(answer_and_close(OK, b"HTTP/1.1 20")) as server:
        replies = post_in_turn(server.url, 2)
        assert statuses(replies) == [200, None]
        assert replies[1].error == "The connection broke off before the reply was complete."
        assert server.connections == 1


# --- what a reply consists of ------------------------------------------------------------------------


@pytest.mark.usefixtures("_connections_stay")
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\n" + OK, (200, b"ok")),
        (CHUNKED + b"2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: 1\r\n\r\n", (200, b"abc")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"")),
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", (200, b"")),
        (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", (200, b"ok")),
    ],
    ids=["interim replies", "chunks and a trailer", "no content", "no reason", "bare line feeds"],
)  # fmt: skip
def test_replies_in_good_order(reply: bytes, expected: tuple[int, bytes]) -> None:
    with Server(answer(reply)) as server:
        for came in post_in_turn(server.url, 3):
            assert (came.status_code, came.body) == expected
            assert (came.retry_after, came.error) == (None, "")
        assert server.connections == 1


def test_a_reply_in_single_bytes_is_put_together() -> None:
    def visit(server: Server, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while server.read(connection):
            for byte in OK:
                connection.sendall(bytes([byte]))

    with Server(visit) as server:
        assert [(reply.status_code, reply.body) for reply in post_in_turn(server.url, 2)] == [(200, b"ok")] * 2


def test_a_reply_without_a_length_ends_with_the_connection() -> None:
    with Server(answer_and_close(b"HTTP/1.1 200 OK\r\n\r\nall of it")) as server:
        (reply,) = post_in_turn(server.url, 1)
    assert (reply.status_code, reply.body, reply.error) == (200, b"all of it", "")


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
    ],
)
def test_what_is_no_reply_is_a_failure(reply: bytes) -> None:
    with Server(answer(reply)) as server:
        (came,) = post_in_turn(server.url, 1)
    assert came.outcome is Outcome.FAILURE
    assert came.status_code is None
    assert came.error.startswith("The reply is not HTTP")


def test_a_retry_after_behind_the_body_says_nothing() -> None:
    late = b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nRetry-After: 9\r\n\r\n"
    with Server(answer(late)) as server:
        (reply,) = post_in_turn(server.url, 1)
    assert (reply.status_code, reply.retry_after) == (503, None)


@pytest.mark.parametrize(
    ("beginning", "block", "status"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 1000, None),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000, None),
        (CHUNKED + b"1;", b"x" * 6000, 200),
        (CHUNKED + b"0\r\nT: ", b"x" * 6000, 200),
        (CHUNKED, b"1\r\nx\r\n" * 1000, 200),
    ],
    ids=["headers", "interim replies", "a chunk's head", "a trailer", "tiny chunks"],
)
def test_what_never_ends_is_left_early(beginning: bytes, block: bytes, status: int | None) -> None:
    taken = 0

    def visit(server: Server, connection: socket.socket) -> None:
        nonlocal taken
        server.read(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        connection.sendall(beginning)
        while True:
            taken += connection.send(block)

    with Server(visit) as server:
        (reply,) = post_in_turn(server.url, 1)
    assert reply.status_code == status
    assert len(reply.body) <= REPLY_BYTES_MAX
    assert taken < 20 * max(HEAD_BYTES_MAX, RECEIVED_BYTES_MAX)


# --- where it goes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "start"),
    [
        ("http://shop.example", "POST / HTTP/1.1\r\nHost: shop.example\r\n"),
        ("HTTP://Shop.Example:80?a=b#c", "POST /?a=b HTTP/1.1\r\nHost: shop.example\r\n"),
        ("https://shop.example:443/a%20b?c=d&e=%2F", "POST /a%20b?c=d&e=%2F HTTP/1.1\r\nHost: shop.example\r\n"),
        ("http://[2606:2800:220:1::1]:8080/x", "POST /x HTTP/1.1\r\nHost: [2606:2800:220:1::1]:8080\r\n"),
    ],
)  # fmt: skip
def test_how_a_request_begins(url: str, start: str) -> None:
    address = parse_url(url)
    assert address is not None
    assert address.start.startswith(start)


@pytest.mark.parametrize(
    "url",
    ["http://shop.example/a b", "http://shop.example/\r\nHost: inside", "http://shop.example\r\n/", "http://shop.example/é",
     "http://user@shop.example/", "http://shop.example:0/", "http://shop.example:65536/", "http://shop.example:/",
     "http://shop.example:80:80/", "http://sh%6fp.example/", "http://[::1%25lo]/", "http://[shop.example]/x y",
     "//shop.example/", "https:shop.example", "http://ſhop.example/", "http://shop.example/\x7f"],
)  # fmt: skip
def test_what_is_no_plain_address_is_not_called(url: str) -> None:
    assert parse_url(url) is None


def test_a_host_with_a_dead_address_is_reached_at_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_names(monkeypatch, lambda host: ["127.0.0.9", "127.0.0.1"])
    with Server(answer(OK)) as server:
        reply = post(f"http://shop.example:{server.port}/hook", allow_loopback=True)
    assert reply.status_code == 200


# --- TLS ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Of `shop.example`, signed by itself; and its key."""
    folder = tmp_path_factory.mktemp("tls")
    name, key = folder / "certificate.pem", folder / "key.pem"
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=shop.example", "-addext", "subjectAltName=DNS:shop.example",
        "-out", str(name), "-keyout", str(key),
    ]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl here to make a certificate with")
    return name, key


@pytest.fixture
def tls_shop(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that speaks TLS, at whatever name is asked for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    answer_names(monkeypatch, lambda host: ["127.0.0.1"])
    with Server(answer(OK), tls=context) as server:
        yield server


@pytest.mark.usefixtures("_connections_stay")
def test_a_host_is_asked_by_its_name_and_known_by_its_certificate(
    tls_shop: Server, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    replies = post_in_turn(f"https://shop.example:{tls_shop.port}/hook", 3)
    assert statuses(replies) == [200] * 3
    assert tls_shop.names == ["shop.example"]
    assert tls_shop.connections == 1
    assert tls_shop.requests[0].startswith(b"POST /hook HTTP/1.1\r\nHost: shop.example:")


def test_a_certificate_of_somebody_else_is_refused(
    tls_shop: Server, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    (reply,) = post_in_turn(f"https://other.example:{tls_shop.port}/hook", 1)
    assert reply.status_code is None
    assert "certificate is not valid for 'other.example'" in reply.error
    assert tls_shop.requests == []


def test_a_certificate_that_nobody_vouches_for_is_refused(tls_shop: Server) -> None:
    (reply,) = post_in_turn(f"https://shop.example:{tls_shop.port}/hook", 1)
    assert reply.status_code is None
    assert "certificate verify failed" in reply.error
    assert tls_shop.requests == []


def test_a_server_without_tls_is_refused() -> None:
    def visit(_: Server, connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(OK)

    with Server(visit) as server:
        (reply,) = post_in_turn(server.url.replace("http:", "https:"), 1)
    assert reply.status_code is None
    assert reply.error.startswith(f"Could not connect to {HOST}:{server.port}: ")
