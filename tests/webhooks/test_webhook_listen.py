"""The local receiver: what it believes, what it prints, and that it runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import IO, Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from webhooks.endpoints.listener import TOLERANCE_SECONDS, Receiver, problem_of
from webhooks.endpoints.secrets import new_secret
from webhooks.endpoints.signing import signed_headers

SECRET, OTHER = new_secret(), new_secret()
NOW = 1_800_000_000
ROOT = Path(settings.BASE_DIR)


def event(**changes: Any) -> bytes:
    record = {"id": "pay_1", "object": "payment", "status": "completed"}
    return json.dumps({"type": "payment.completed", "version": 4, "data": {"object": record}, **changes}).encode()


def signed(body: bytes, *secrets: str, message_id: str = "evt_1", timestamp: int = NOW) -> dict[str, str]:
    return signed_headers(secrets or [SECRET], message_id=message_id, timestamp=timestamp, body=body)


class Terminal:
    """A receiver whose clock stands still, and what it wrote."""

    def __init__(self, **options: Any) -> None:
        self.lines: list[str] = []
        self.receiver = Receiver(self.lines.append, now=lambda: NOW, **options)

    def receive(self, body: bytes, headers: dict[str, str] | None = None) -> tuple[int, str]:
        status, _ = self.receiver.receive(signed(body) if headers is None else headers, body)
        return status.value, self.lines[-1]


# --- what it believes --------------------------------------------------------------------------------


@pytest.mark.parametrize("secrets", [[SECRET], [OTHER, SECRET], [SECRET, OTHER]])
@pytest.mark.parametrize("age", [0, TOLERANCE_SECONDS, -TOLERANCE_SECONDS])
def test_what_the_secret_signed_lately_is_believed(secrets: list[str], age: int) -> None:
    body = event()
    headers = signed(body, *secrets, timestamp=NOW - age)
    assert problem_of(headers, body, secret=SECRET, now=NOW) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"webhook-id": "evt_2"}, "no signature is by this secret"),
        ({"webhook-id": ""}, "is missing"),
        ({"webhook-timestamp": str(NOW + 1)}, "no signature is by this secret"),
        ({"webhook-timestamp": "now"}, "not a number of seconds"),
        ({"webhook-timestamp": "१२३"}, "not a number of seconds"),
        ({"webhook-timestamp": "9" * 5000}, "not a number of seconds"),
        ({"webhook-signature": ""}, "is missing"),
        ({"webhook-signature": "v1,"}, "no signature is by this secret"),
        ({"webhook-signature": "v1,Zürich é"}, "no signature is by this secret"),
    ],
)
def test_a_changed_header_is_not_believed(change: dict[str, str], words: str) -> None:
    body = event()
    problem = problem_of(signed(body) | change, body, secret=SECRET, now=NOW)
    assert problem is not None
    assert words in problem


def test_a_changed_body_another_secret_and_an_old_signature_are_not_believed() -> None:
    body = event()
    assert problem_of(signed(body), body + b" ", secret=SECRET, now=NOW) == "no signature is by this secret"
    assert problem_of(signed(body, OTHER), body, secret=SECRET, now=NOW) == "no signature is by this secret"
    assert problem_of(signed(body), body, secret=SECRET, now=NOW + 301) == "it was signed 301 seconds ago"
    assert problem_of(signed(body), body, secret=SECRET, now=NOW - 301) == "it was signed 301 seconds in the future"


# --- what it prints ----------------------------------------------------------------------------------


def test_an_event_is_printed_readably() -> None:
    terminal = Terminal(secret=SECRET)
    status, printed = terminal.receive(event())
    assert status == 200
    first, second, third = printed.splitlines()
    assert first.endswith("  payment.completed  verified  -> 200")
    assert (second.strip(), third.strip()) == ("evt_1", "pay_1 completed  version 4")
    assert terminal.receiver.summary == "1 request, 1 event, 1 verified, 0 refused."


def test_repetitions_and_old_versions_are_recognised() -> None:
    terminal = Terminal(secret=SECRET)
    terminal.receive(event())
    assert "came before: number 2 with this webhook-id" in terminal.receive(event())[1]
    late = event(version=3)
    assert "version 3 (old: version 4 came before)" in terminal.receive(late, signed(late, message_id="evt_0"))[1]
    assert terminal.receiver.summary == "3 requests, 2 events, 3 verified, 0 refused, 1 repeated."


def test_a_forgery_is_refused_and_remembered_for_nothing() -> None:
    terminal = Terminal(secret=SECRET)
    status, printed = terminal.receive(event(version=9), signed(event(), OTHER))
    assert status == 400
    assert "REFUSED: no signature is by this secret  -> 400" in printed
    assert "old" not in terminal.receive(event())[1]
    assert terminal.receiver.summary == "2 requests, 1 event, 1 verified, 1 refused."


def test_without_a_secret_nothing_is_called_verified() -> None:
    terminal = Terminal()
    assert "not checked  -> 200" in terminal.receive(event(), {"webhook-id": "evt_1"})[1]
    assert terminal.receiver.summary == "1 request, 1 event."


def test_it_fails_as_often_as_it_is_told() -> None:
    terminal = Terminal(secret=SECRET, failures_left=2)
    assert [terminal.receive(event())[0] for _ in range(3)] == [500, 500, 200]
    assert terminal.receiver.summary == "3 requests, 1 event, 3 verified, 0 refused, 2 repeated, 2 told to fail."


@pytest.mark.parametrize("body", [b"", b"null", b"[1]", b"\xff", b"[" * 100_000, b'{"data": 1, "version": "x"}'])
def test_whatever_arrives_is_printed_on_a_line(body: bytes) -> None:
    assert "no event" in Terminal(secret=SECRET).receive(body)[1]


def test_nothing_that_arrives_moves_the_cursor() -> None:
    body = event(type="\x1b[2J\x1b]0;hi\x07" + "x" * 500)
    printed = Terminal().receive(body, {"webhook-id": "evt\x1b[1A\u202e"})[1]
    assert all(character.isprintable() or character == "\n" for character in printed)
    assert "x" * 101 not in printed


# --- the command -------------------------------------------------------------------------------------


class Running:
    """The command in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.output: IO[str] = process.stdout
        self.introduction = [self.output.readline()]
        while self.introduction[-1].strip():
            self.introduction.append(self.output.readline())
        self.port = int(self.introduction[0].split("127.0.0.1:")[1].split("/")[0])

    def call(self, method: str, body: bytes = b"", headers: dict[str, str] | None = None) -> HTTPResponse:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, "/", body, headers or {})
        reply = connection.getresponse()
        reply.read()
        connection.close()
        return reply

    def end(self, by: signal.Signals) -> str:
        self.process.send_signal(by)
        rest, _ = self.process.communicate(timeout=60)
        return rest


@contextmanager
def running(*arguments: str) -> Iterator[Running]:
    command = [sys.executable, "manage.py", "webhook_listen", "--port", "0", *arguments]
    environment = {**os.environ, "HOOK_SECRET": SECRET}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield Running(process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_it_runs_until_it_is_told_to_end(by: signal.Signals) -> None:
    with running("--secret-env", "HOOK_SECRET", "--fail", "1") as listener:
        body = event()
        headers = signed(body, timestamp=int(time.time()))
        assert [listener.call("POST", body, headers).status for _ in range(2)] == [500, 200]
        assert listener.call("POST", body + b" ", headers).status == 400
        assert listener.call("GET").status == 405
        assert listener.call("POST", b"", {"Content-Length": "9999999"}).status == 413
        rest = listener.end(by)
        assert "payment.completed  verified  -> 200" in rest
        assert "3 requests, 1 event, 2 verified, 1 refused, 1 repeated, 1 told to fail." in rest
        assert listener.process.returncode == 0


def test_it_says_where_to_register_it_and_how_to_verify() -> None:
    with running() as listener:
        words = "".join(listener.introduction)
        assert f"{settings.PUBLIC_URL}/dashboard/webhooks/new" in words
        assert "Signatures are not checked" in words
        assert "0 requests, 0 events." in listener.end(signal.SIGINT)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"secret": "whsec_"}, "no secret of a webhook"),
        ({"secret": "whsec_not base64!"}, "no secret of a webhook"),
        ({"secret": SECRET.removeprefix("whsec_")}, "no secret of a webhook"),
        ({"secret_env": "NO_SUCH_VARIABLE"}, "The environment has no NO_SUCH_VARIABLE."),
        ({"fail": -1}, "must not be negative"),
        ({"delay": float("nan")}, "must not be negative"),
        ({"port": 99999}, "Name another by --port."),
    ],
)
def test_a_senseless_option_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(CommandError, match=words.replace(".", r"\.")):
        call_command("webhook_listen", **options)
