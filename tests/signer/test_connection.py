"""What passes between executor and signer: nothing is done for whoever lacks the secret, and nothing twice."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from config.doctor import registry
from config.doctor.registry import Asked
from payments.chains.errors import SignerRefused, SignerUnavailable
from payments.chains.signer import connection, server
from payments.chains.signer.connection import Certificates
from payments.chains.signer.messages import (
    LONGEST,
    Malformed,
    Reply,
    SigningRequest,
    read_reply,
    read_request,
    write_reply,
    write_request,
)
from tests.ports import free_port
from tests.signer.certificates import Authority
from tests.signer.signer import POLYGON, SECRET, OwnSigner
from tests.signer.test_service import payout


def said_to(signer: OwnSigner, *lines: bytes) -> bytes:
    """What the signer says to somebody who says these lines, after its number."""
    with connection.connect(signer.url) as found, found.makefile("rwb") as stream:
        stream.readline()
        for line in lines:
            stream.write(line)
        stream.flush()
        found.shutdown(socket.SHUT_WR)
        return stream.read()


def test_a_recorded_request_is_worth_nothing_on_another_connection(signer: OwnSigner) -> None:
    with connection.connect(signer.url) as found, found.makefile("rwb") as stream:
        number = stream.readline().strip()
        body = write_request(payout(signer))
        recorded = connection._proof(SECRET, b"request", number, body) + b" " + body + b"\n"
        stream.write(recorded)
        stream.flush()
        assert stream.readline()
    assert len(signer.lines()) == 1
    assert said_to(signer, recorded) == b""
    assert len(signer.lines()) == 1


def test_whoever_has_another_secret_gets_nothing(signer: OwnSigner) -> None:
    with pytest.raises(SignerUnavailable):
        signer.client(POLYGON, secret="a guess").sign(payout(signer))
    assert signer.lines() == []


@pytest.mark.parametrize("said", [b"", b"\n", b"x" * 70 + b" {}\n", b"no end", b"x" * 2_000_000])
def test_whatever_else_is_said_leads_to_nothing(signer: OwnSigner, said: bytes) -> None:
    with suppress(OSError):  # it does not listen to the end of what is too long
        assert said_to(signer, said) == b""
    assert signer.lines() == []
    assert signer.client(POLYGON).sign(payout(signer))


def test_a_request_that_is_none_is_not_answered(signer: OwnSigner) -> None:
    with connection.connect(signer.url) as found, found.makefile("rwb") as stream, pytest.raises(Malformed):
        connection.query(stream, SECRET, b'{"intents": []}')
    assert signer.lines() == []


@pytest.mark.parametrize("field", ["payout_id", "coin", "recipient", "memo", "memo_type", "mac"])
def test_nothing_longer_than_networks_take_is_read(signer: OwnSigner, field: str) -> None:
    def saying(length: int) -> SigningRequest:
        [asked] = payout(signer).intents
        said: dict[str, Any] = {field: "x" * length}
        return replace(payout(signer), intents=(replace(asked, **said),))

    assert read_request(write_request(saying(LONGEST[field]))) == saying(LONGEST[field])
    with pytest.raises(Malformed):
        read_request(write_request(saying(LONGEST[field] + 1)))


def test_whoever_drips_bytes_holds_no_thread_for_ever(signer: OwnSigner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "WHOLE", 0.3)
    with connection.connect(signer.url) as found, found.makefile("rb") as stream, suppress(OSError):
        stream.readline()
        for _ in range(600):  # a minute
            found.sendall(b"x")
            time.sleep(0.1)
        pytest.fail("the signer goes on listening")


def test_more_than_so_many_at_once_are_turned_away(signer: OwnSigner) -> None:
    with ExitStack() as stack:
        for _ in range(server.AT_ONCE):
            found = stack.enter_context(connection.connect(signer.url))
            assert len(stack.enter_context(found.makefile("rb")).readline()) == 65
        with pytest.raises(SignerUnavailable):
            signer.client(POLYGON).sign(payout(signer))
    deadline = time.monotonic() + 60
    while True:
        try:
            assert signer.client(POLYGON).sign(payout(signer))
            break
        except SignerUnavailable:  # threads end a moment after their connection
            assert time.monotonic() < deadline
            time.sleep(0.05)


class _Stream(BytesIO):
    """A signer that says what is in it."""

    def write(self, data: object) -> int:
        return 0


@pytest.mark.parametrize(
    "reply", [b"forged\n", b"", b"0" * 64 + b' {"raw":"00","refused":"","reason":"","payouts":[]}\n']
)
def test_a_reply_of_somebody_else_is_not_believed(reply: bytes) -> None:
    with pytest.raises((connection.NotTrusted, Malformed)):
        connection.query(_Stream(b"number\n" + reply), SECRET, b"{}")


def test_requests_and_replies_are_read_as_they_were_written(signer: OwnSigner) -> None:
    request = payout(signer)
    assert read_request(write_request(request)) == request
    for reply in (Reply(raw=b"\x02"), Reply(refused="rate", reason="Slower.", payouts=("one",))):
        assert read_reply(write_reply(reply)) == reply


@pytest.mark.parametrize("line", [b"", b"[]", b"{}", b'{"raw":"","refused":"","reason":"","payouts":[]}'])
def test_what_is_no_reply_is_refused(line: bytes) -> None:
    with pytest.raises(Malformed):
        read_reply(line)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("unix:///run/signer.sock", ("/run/signer.sock", 0)),
        ("tcp://10.0.0.5:7400", ("10.0.0.5", 7400)),
        ("tls://signer:1", ("signer", 1)),
    ],
)
def test_an_address_is_a_socket_or_a_host_with_a_port(url: str, expected: tuple[str, int]) -> None:
    assert connection.parse_address(url) == expected


@pytest.mark.parametrize(
    "url", ["", "unix://run/signer.sock", "unix:///", "tcp://host", "http://host:1", "tcp://h:1/x"]
)
def test_anything_else_is_no_address(url: str) -> None:
    with pytest.raises(ValueError, match="is no address of a signer"):
        connection.parse_address(url)


def test_where_nobody_listens_the_signer_is_unavailable_and_says_so(signer: OwnSigner) -> None:
    client, request = signer.client(POLYGON), payout(signer)
    signer.stop()
    assert not Path(signer.url.removeprefix("unix://")).exists()
    with pytest.raises(SignerUnavailable, match="does not reply at unix://"):
        client.sign(request)
    signer.start()
    assert client.sign(request)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Certificates]:
    """By who shows them: the signer at 127.0.0.1, its worker, one of another authority, and one for another name."""
    folder = tmp_path_factory.mktemp("certificates")
    ours, theirs = Authority(folder / "ours.pem"), Authority(folder / "theirs.pem")
    return {
        "signer": ours.issue(folder / "signer", "127.0.0.1"),
        "worker": ours.issue(folder / "worker", "money"),
        "stranger": replace(theirs.issue(folder / "stranger", "money"), authority=str(ours.path)),
        "believes strangers": replace(ours.issue(folder / "fooled", "money"), authority=str(theirs.path)),
        "signer elsewhere": ours.issue(folder / "elsewhere", "10.9.8.7"),
    }


@pytest.mark.parametrize(
    ("shown_by_signer", "shown_by_worker"),
    [
        ("signer", "worker"),
        ("signer", "stranger"),
        ("signer", "believes strangers"),
        ("signer elsewhere", "worker"),
        ("signer", ""),
    ],
)
def test_over_tls_both_sides_show_certificates_that_the_other_believes(
    signer: OwnSigner, certificates: dict[str, Certificates], shown_by_signer: str, shown_by_worker: str
) -> None:
    signer.stop()
    signer.url, signer.certificates = f"tls://127.0.0.1:{free_port()}", certificates[shown_by_signer]
    signer.start()
    client = signer.client(POLYGON)
    client._certificates = certificates.get(shown_by_worker)
    if (shown_by_signer, shown_by_worker) == ("signer", "worker"):
        assert client.sign(payout(signer))
    else:
        with pytest.raises(SignerUnavailable):
            client.sign(payout(signer))
        assert signer.lines() == []


def test_whoever_speaks_without_tls_to_a_signer_that_has_it_gets_nothing(
    signer: OwnSigner, certificates: dict[str, Certificates]
) -> None:
    signer.stop()
    signer.url, signer.certificates = f"tls://127.0.0.1:{free_port()}", certificates["signer"]
    signer.start()
    with connection.connect(signer.url.replace("tls", "tcp")) as plain:
        plain.sendall(b"0" * 64 + b" {}\n")
        with suppress(OSError):
            assert b"\n" not in plain.recv(100)  # no number to make proofs of
    # One that never ends its handshake keeps nobody waiting.
    with connection.connect(signer.url.replace("tls", "tcp")):
        client = signer.client(POLYGON)
        client._certificates = certificates["worker"]
        assert client.sign(payout(signer))


def test_over_tcp_it_is_the_same(signer: OwnSigner) -> None:
    signer.stop()
    signer.url = f"tcp://127.0.0.1:{free_port()}"
    signer.start()
    assert signer.client(POLYGON).sign(payout(signer))
    (signer.folder / "stop").touch()
    with pytest.raises(SignerRefused, match="stopped"):
        signer.client(POLYGON).sign(payout(signer))


def test_doctor_says_whether_a_signer_answers(signer: OwnSigner) -> None:
    def said() -> list[tuple[str, str]]:
        return [(str(each.level), each.text) for each in registry.examine(Asked(seconds=0), only=["signer"])]

    with override_settings(SIGNER_URLS={signer.url}, SIGNER_CERTIFICATES=None):
        assert said() == [("ok", f"It answers at {signer.url}.")]
    away = f"tcp://127.0.0.1:{free_port()}"
    with override_settings(SIGNER_URLS={away}, SIGNER_CERTIFICATES=None):
        [(level, text)] = said()
        assert (level, f"Nothing answers at {away}" in text) == ("fail", True)
    with override_settings(SIGNER_URLS={away}, USES_SIGNER=False, BALLAST_ROLE="web"):
        assert [level for level, _ in said()] == ["warn"]
