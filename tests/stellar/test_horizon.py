"""One Horizon is asked once, and believed only when its reply is whole."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import httpx
import orjson
import pytest

from payments.chains.providers.servers import Behind, ProviderFailed
from payments.chains.stellar.horizon import records
from payments.chains.stellar.horizon.client import LARGEST_REPLY_BYTES, Horizon, NotKnown, Submission
from payments.chains.stellar.horizon.pages import in_order
from tests.evm.test_hostile_replies import served
from tests.stellar.recordings import ToldHorizon, recorded, told


def answered(content: bytes, status: int = 200) -> Callable[[httpx.Request], httpx.Response]:
    return lambda request: httpx.Response(status, content=content)


def gone(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("gone", request=request)


PROBLEM = {"type": "https://stellar.org/horizon-errors/x", "title": "Over Capacity\x00" + "x" * 10**5, "status": 503}

USELESS = {
    "server error": answered(orjson.dumps(PROBLEM), 503),
    "rate limit": answered(b"slow down", 429),
    "redirect": answered(b"", 302),
    "empty": answered(b""),
    "text": answered(b"<html>welcome</html>"),
    "cut JSON": answered(b'{"a": 1'),
    "a list": answered(b"[]"),
    "deep nesting": answered(b'{"a":' * 100_000),
    "too long": answered(b" " * (LARGEST_REPLY_BYTES + 1)),
    "gone": gone,
    "another record": answered(b'{"network_passphrase": 5}'),
}


@pytest.mark.parametrize("kind", USELESS)
def test_what_is_no_whole_answer_is_none(kind: str) -> None:
    server = ToldHorizon(USELESS[kind])
    with pytest.raises(ProviderFailed, match=r"^one\.example ") as failure:
        server.horizon.query(records.root, "/")
    assert len(server.asked) == 1  # trying again is for somebody else to decide
    assert "secret" not in str(failure.value)
    assert "\x00" not in str(failure.value)
    assert len(str(failure.value)) < 400


@pytest.mark.parametrize("status", [404, 410])
def test_what_it_does_not_have_is_no_failure_of_it(status: int) -> None:
    with pytest.raises(NotKnown):
        told(status, {"status": status}).horizon.get("/ledgers/1")


def test_a_question_keeps_the_path_and_the_key_of_its_address() -> None:
    server = told(200, recorded("root"))
    assert server.horizon.query(records.root, "/ledgers", cursor=7, order="asc").latest_ledger == 16
    assert str(server.asked[0].url) == "https://one.example/path/ledgers?key=secret&cursor=7&order=asc"


SUBMISSIONS: list[tuple[int, Any, Submission]] = [
    (201, recorded("taken"), Submission("pending")),
    (409, recorded("taken_before"), Submission("duplicate")),
    (400, recorded("not_enough_sequence"), Submission("error", "tx_bad_seq")),
    (400, {"tx_status": "ERROR", "error_result_xdr": "AAAAAAAAAGT////7AAAAAA=="}, Submission("error", "tx_bad_seq")),
    (400, {"tx_status": "ERROR", "error_result_xdr": 5}, Submission("error")),
    (503, {"tx_status": "TRY_AGAIN_LATER", "hash": "ab"}, Submission("try_again")),
]


@pytest.mark.parametrize(("status", "said", "expected"), SUBMISSIONS)
def test_what_is_said_of_an_envelope_is_passed_on(status: int, said: Any, expected: Submission) -> None:
    server = told(status, said)
    assert server.horizon.submit("AA+/") == expected
    assert server.asked[0].content == b"tx=AA%2B%2F"
    assert len(server.asked) == 1


def test_an_envelope_that_cannot_be_read_is_refused() -> None:
    submission = told(400, recorded("malformed")).horizon.submit("AA==")
    assert (submission.state, submission.result_code) == ("error", "tx_malformed")


@pytest.mark.parametrize("kind", USELESS)
def test_nothing_said_of_an_envelope_leaves_its_outcome_unknown(kind: str) -> None:
    server = ToldHorizon(USELESS[kind])
    with pytest.raises(ProviderFailed):
        server.horizon.submit("AA==")
    assert len(server.asked) == 1


def test_a_reply_that_drips_ends_when_the_time_for_the_call_is_over() -> None:
    with served([b" "] * 400, drips="body", pause_seconds=0.05) as url, pytest.raises(ProviderFailed, match="Timeout"):
        Horizon(url, call_seconds=0.3).get("/")


def test_an_instance_behind_the_address_that_lacks_what_is_needed_has_not_answered() -> None:
    said: dict[str, Any] = {"status": 200, "headers": {}}
    horizon = ToldHorizon(lambda request: httpx.Response(said["status"], json={}, headers=said["headers"])).horizon
    for status, newest, is_taken in [
        (200, "41", False),
        (404, "41", False),  # a transaction that it has not read yet is not one that there is not
        (200, "42", True),
        (200, "043", True),
        (200, "", True),
        (200, "\u0661", True),
        (200, "9" * 5000, True),
    ]:
        said.update(status=status, headers={"Latest-Ledger": newest.encode()})
        with horizon.needing(42), nullcontext() if is_taken else pytest.raises(Behind, match="before ledger 42"):
            assert horizon.get("/accounts/x") == {}
    said.update(status=404, headers={"Latest-Ledger": "41"})
    with pytest.raises(NotKnown):
        horizon.get("/accounts/x")


def test_a_page_that_is_not_whole_in_time_is_shorter_the_next_time() -> None:
    server = ToldHorizon(gone)
    sizes = []
    for _ in range(9):
        sizes.append(server.horizon.page)
        with pytest.raises(ProviderFailed, match="ReadTimeout"):
            list(in_order(server.horizon, "/payments", dict, lambda record: (0,), after=1, up_to=9))
    assert sizes == [200, 100, 50, 25, 12, 6, 3, 1, 1]
    assert [int(each.url.params["limit"]) for each in server.asked] == sizes
