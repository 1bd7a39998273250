"""The `ballast` command: what it prints, keeps and refuses."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from ballast import Webhook
from ballast.cli import app, events, keys, session, triggers
from ballast.events import EVENTS, parse_event

PAYMENT = {
    "id": "pay_1", "object": "payment", "status": "completed", "amount": 25.5, "currency": "EUR",
    "amountDue": "29.580000", "amountReceived": "29.580000", "amountRefunded": "0.000000", "cryptocurrency": "USDC",
    "network": "polygon", "createdAt": "2027-01-31T09:30:00.000Z", "statusReasons": [],
    "metadata": {"order": "\x1b[2J"}, "url": "https://p/1",
}  # fmt: skip
EVENT = {
    "id": "evt_1", "object": "event", "type": "payment.completed", "apiVersion": "v1", "environment": "sandbox",
    "createdAt": "2027-01-31T09:34:40.123Z", "version": 3, "data": {"object": PAYMENT},
}  # fmt: skip
Handler = Callable[[httpx.Request], httpx.Response]


def page(*records: dict[str, Any]) -> httpx.Response:
    return httpx.Response(200, json={"object": "list", "data": records, "hasMore": False, "totalCount": len(records)})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "BALLAST_URL",
        "BALLAST_PUBLIC_KEY",
        "BALLAST_SECRET_KEY",
        "BALLAST_WEBHOOK_SECRET",
        "BALLAST_PROFILE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(keys, "path", lambda: tmp_path / "ballast" / "keys.json")
    return tmp_path


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[[Handler], list[httpx.Request]]:
    """Makes the handler what the command reaches; somebody is logged in."""
    keys.save("default", keys.Keys("https://pay.example.com", "pk_test_public", "sk_test_secret"))
    connect = session.connect

    def start(handler: Handler) -> list[httpx.Request]:
        asked: list[httpx.Request] = []

        def handle(request: httpx.Request) -> httpx.Response:
            asked.append(request)
            return handler(request)

        def connected(found: keys.Keys) -> Any:
            return connect(found, http_client=httpx.Client(transport=httpx.MockTransport(handle)), max_retries=0)

        for module in (session, app):
            monkeypatch.setattr(module, "connect", connected)
        return asked

    return start


def test_log_in_keeps_keys_for_their_owner_alone(
    home: Path, serve: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(lambda _: httpx.Response(200, json={"id": "mer_1", "name": "Demo Coffee"}))
    monkeypatch.setenv("BALLAST_SECRET_KEY", "sk_test_other")
    arguments = ["-p", "shop", "login", "--url", "https://pay.example.com/", "--public-key", "pk_test_other"]
    assert app.run(arguments) == 0
    file = home / "ballast" / "keys.json"
    printed = capsys.readouterr().out
    assert "Logged in as Demo Coffee (sandbox)" in printed
    assert "sk_test_other" not in printed
    assert set(json.loads(file.read_text())) == {"default", "shop"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [each.name for each in file.parent.iterdir()] == ["keys.json"]
    monkeypatch.delenv("BALLAST_SECRET_KEY")
    assert app.run(["-p", "shop", "logout"]) == 0
    assert set(json.loads(file.read_text())) == {"default"}


def test_wrong_keys_are_not_kept(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {
        "error": {"type": "authentication_error", "code": "key_invalid", "message": "Invalid.", "requestId": "req_1"}
    }
    serve(lambda _: httpx.Response(401, json=body))
    monkeypatch.setenv("BALLAST_SECRET_KEY", "sk_test_other")
    assert app.run(["-p", "shop", "login", "--url", "https://a.example.com", "--public-key", "pk_test_other"]) == 1
    assert keys.load("shop") is None


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_keys_that_others_can_read_are_not_used(serve: Any, capsys: pytest.CaptureFixture[str]) -> None:
    serve(lambda _: page())
    keys.path().chmod(0o644)
    assert app.run(["payments", "list"]) == 3
    assert "chmod 600" in capsys.readouterr().err


def test_payments_are_columns_for_programs_and_json_on_wish(serve: Any, capsys: pytest.CaptureFixture[str]) -> None:
    asked = serve(lambda _: page(PAYMENT))
    assert app.run(["payments", "list", "--status", "completed", "-n", "3"]) == 0
    assert capsys.readouterr().out == (
        "pay_1\tcompleted\t25.5 EUR\t29.580000 USDC\t29.580000\tpolygon\t2027-01-31 09:30:00\n"
    )
    assert dict(asked[0].url.params) == {"status": "completed", "limit": "3"}
    assert app.run(["payments", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == PAYMENT


def test_a_payment_is_created(serve: Any, capsys: pytest.CaptureFixture[str]) -> None:
    asked = serve(lambda _: httpx.Response(201, json=PAYMENT))
    assert app.run(["payments", "create", "25.50", "-c", "eur", "-m", "order=10=07", "--idempotency-key", "o-1"]) == 0
    assert asked[0].content == b'{"amount":25.50,"currency":"EUR","metadata":{"order":"10=07"}}'
    assert asked[0].headers["Idempotency-Key"] == "o-1"
    assert asked[0].headers["User-Agent"].endswith(" ballast-cli/0.1.0")
    printed = capsys.readouterr().out
    assert "url\thttps://p/1\n" in printed
    assert "\x1b" not in printed  # which somebody else may have written


@pytest.mark.parametrize(
    ("status", "error", "code", "words"),
    [
        (401, "authentication_error", 1, "ballast login"),
        (404, "not_found_error", 1, "live keys"),
        (403, "permission_error", 1, "scopes"),
        (0, "", 3, "can it be reached"),
    ],
)
def test_errors_say_what_to_do(
    status: int, error: str, code: int, words: str, serve: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def reply(request: httpx.Request) -> httpx.Response:
        if not status:
            raise httpx.ConnectError("refused", request=request)
        body = {"error": {"type": error, "code": "a_code", "message": "No.", "requestId": "req_1"}}
        return httpx.Response(status, json=body)

    serve(reply)
    assert app.run(["payments", "get", "pay_1"]) == code
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.out == ""


def test_without_keys_it_says_how_to_log_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["payments", "list"]) == 3
    assert "ballast login" in capsys.readouterr().err
    assert app.run(["payments", "lst"]) == 2


PAIR = {
    "BALLAST_URL": "https://live.example.com", "BALLAST_PUBLIC_KEY": "pk_live_public",
    "BALLAST_SECRET_KEY": "sk_live_secret",
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "variables", "host", "code"),
    [
        ([], PAIR, "live.example.com", 0),
        (["-p", "default"], PAIR, "pay.example.com", 0),
        ([], {**PAIR, "BALLAST_PROFILE": "default"}, "pay.example.com", 0),
        (["-p", "shop"], PAIR, None, 3),
        ([], {**PAIR, "BALLAST_URL": ""}, "pay.example.com", 0),
    ],
)
def test_a_profile_that_is_named_goes_before_the_variables(
    arguments: list[str], variables: dict[str, str], host: str | None, code: int, serve: Any,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    asked = serve(lambda _: page(PAYMENT))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert app.run([*arguments, "payments", "list"]) == code
    assert [request.url.host for request in asked] == ([host] if host else [])
    assert code == 0 or "ballast --profile shop login" in capsys.readouterr().err


class Enough(Exception):
    """Ends what would go on."""


def followed(serve: Any, *pages: list[dict[str, Any]]) -> list[str]:
    """The ids of new events, when the API replies with these pages one after the other."""
    replies = iter(pages)
    serve(lambda _: page(*next(replies)))

    def sleep(_seconds: float) -> None:
        if not list_left:
            raise Enough
        list_left.pop()

    list_left = [None] * (len(pages) - 2)
    found: list[str] = []
    client = session.connect(keys.load("default"))  # type: ignore[arg-type]
    with contextlib.suppress(Enough):
        found.extend(event.id for event in events.new_records(client.events.list, 1, sleep))
    return found


def event(number: int, second: int) -> dict[str, Any]:
    return {**EVENT, "id": f"evt_{number}", "createdAt": f"2027-01-31T09:34:{second:02}.000Z"}


def test_each_new_event_comes_once_and_in_order(serve: Any) -> None:
    old, late = event(1, 10), event(3, 12)  # the third is dated before the second, and was committed after it
    pages = ([old], [event(2, 14), old], [event(2, 14), late, old], [event(4, 20), event(2, 14), late, old])
    assert followed(serve, *pages) == ["evt_2", "evt_3", "evt_4"]


def test_the_first_event_ever_is_new(serve: Any) -> None:
    assert followed(serve, [], [event(1, 10)]) == ["evt_1"]


REQUEST = {
    "id": "rql_1", "object": "request", "method": "POST", "path": "/sandbox/v1/payments", "query": "",
    "statusCode": 400, "errorCode": "missing_parameter", "requestId": "req_1", "idempotencyKey": None,
    "publicKey": "pk_test_public", "ipAddress": None, "durationMs": 12, "environment": "sandbox",
    "createdAt": "2027-01-31T09:34:40.123Z",
}  # fmt: skip


@pytest.mark.parametrize("as_json", [False, True])
def test_the_log_of_requests_is_followed_by_its_filters(
    as_json: bool, serve: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = iter([page(), page(REQUEST)])

    def reply(_: httpx.Request) -> httpx.Response:
        if (found := next(pages, None)) is None:
            raise KeyboardInterrupt
        return found

    asked = serve(reply)
    chosen = ["--status", "error", "-m", "post", "--path", "payments", "--every", "0.2"]
    assert app.run(["logs", "tail", *chosen, *(["--json"] if as_json else [])]) == 130
    printed = capsys.readouterr().out
    if as_json:
        assert json.loads(printed) == REQUEST
    else:
        line = "2027-01-31 09:34:40  400  POST /sandbox/v1/payments  12 ms  req_1  missing_parameter\n"
        assert printed == line
    filters = {"status": "error", "method": "POST", "path": "payments"}
    assert [dict(request.url.params) for request in asked[:2]] == [
        {**filters, "limit": "1"}, {**filters, "created_gte": "1970-01-01T00:00:00.000Z", "limit": "100"}
    ]  # fmt: skip
    assert asked[0].url.path == "/sandbox/v1/requests"


def test_a_forwarded_event_verifies_with_the_secret_that_is_shown() -> None:
    secret = events.listening_secret("sk_test_secret")
    received: list[Any] = []

    def receive(request: httpx.Request) -> httpx.Response:
        received.append(Webhook(secret).verify(request.content, request.headers))
        return httpx.Response(204)

    parsed = parse_event(EVENT)
    with httpx.Client(transport=httpx.MockTransport(receive)) as http:
        assert events.forward(http, events.address("3000"), Webhook(secret), parsed) == "204 No Content"
    assert received[0].data.object.id == "pay_1"
    assert events.address("localhost:3000/hooks") == "http://localhost:3000/hooks"


@pytest.mark.parametrize("own", ["", "whsec_dGhlIG1lcmNoYW50J3Mgb3du"])
def test_only_a_secret_of_its_own_is_shown(
    own: str, serve: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(lambda _: page())
    monkeypatch.setenv("BALLAST_WEBHOOK_SECRET", own)
    monkeypatch.setattr(events, "new_events", lambda *_: [parse_event(EVENT)])
    used: list[Webhook] = []
    monkeypatch.setattr(events, "forward", lambda _http, _url, webhook, _event: used.append(webhook))
    assert app.run(["listen", "--forward-to", "3000"]) == 0
    printed = capsys.readouterr()
    secret = own or events.listening_secret("sk_test_secret")
    assert used[0].sign(b"", "evt_1", 1) == Webhook(secret).sign(b"", "evt_1", 1)
    assert (secret in printed.out + printed.err) == (not own)
    assert own or secret in printed.err
    assert not own or "BALLAST_WEBHOOK_SECRET" in printed.err


def test_an_event_that_was_never_sent_says_what_helps(serve: Any, capsys: pytest.CaptureFixture[str]) -> None:
    serve(lambda _: page())
    assert app.run(["events", "resend", "evt_1"]) == 3
    assert "listen --forward-to" in capsys.readouterr().err


def test_what_is_triggered_is_waited_for(serve: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def reply(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/events"):
            return page({**EVENT, "type": "payment.underpaid"})
        return httpx.Response(201, json=PAYMENT)

    asked = serve(reply)
    assert app.run(["trigger", "payment.underpaid"]) == 0
    assert [request.url.path for request in asked] == [
        "/sandbox/v1/payments", "/sandbox/v1/payments/pay_1/simulate", "/sandbox/v1/events"
    ]  # fmt: skip
    assert json.loads(asked[1].content) == {"scenario": "underpaid"}
    assert "payment.underpaid" in capsys.readouterr().out
    assert app.run(["trigger", "payment.teleported"]) == 2


def test_nothing_is_triggered_with_live_keys(serve: Any, capsys: pytest.CaptureFixture[str]) -> None:
    asked = serve(lambda _: page())
    keys.save("default", keys.Keys("https://pay.example.com", "pk_live_public", "sk_live_secret"))
    assert app.run(["trigger", "payment.created"]) == 3
    assert asked == []
    assert "sandbox alone" in capsys.readouterr().err


def test_every_trigger_is_an_event() -> None:
    assert set(triggers.TRIGGERS) <= set(EVENTS)


PUBLIC_KEY = "f43af27db10652d03ddef321739a2221be72eaa2b748ac441a79b878b14ec710"
SIGNATURE = (
    "d1589f0f75e40dbfc4818a989f9dcb8a07f93d93fe0b230fcfd058c007e14dd7"
    "04e3506ccd61d12551c09266294ec27245270fcbab9ae7c351ea50d793215a08"
)


def receipt(**changed: Any) -> dict[str, Any]:
    """The receipt that SIGNATURE signs, but for what was changed after that."""
    payload = {"kind": "payment", "issuedAt": "2027-01-31T09:30:00.000Z", "environment": "sandbox", "merchant": "Café"}
    return {"format": "ballast-receipt-1", "key": "k1", "payload": {**payload, **changed}, "signature": SIGNATURE}


def published(**changed: str | None) -> str:
    key = {
        "id": "k1", "algorithm": "Ed25519", "publicKey": PUBLIC_KEY,
        "validFrom": "2027-01-01T00:00:00.000Z", "validUntil": "2028-01-01T00:00:00.000Z", **changed,
    }  # fmt: skip
    return json.dumps({"keys": [{name: value for name, value in key.items() if value is not None}]})


@pytest.mark.parametrize(
    ("content", "key", "code", "words"),
    [
        (receipt(), {}, 0, "Genuine"),
        (receipt(merchant="Cafe"), {}, 1, "changed"),
        (receipt(), {"id": "k2"}, 1, "not among these"),
        (receipt(), {"validUntil": "2027-01-01T00:00:00.000Z"}, 1, "not in use"),
        (receipt(), {"algorithm": None}, 3, "keys.json: A key is not complete"),
        (receipt(), {"validFrom": None}, 3, "keys.json: A key is not complete"),
        ({**receipt(), "more": "x"}, {}, 3, "receipt.json: This is no receipt"),
        ({**receipt(), "signature": SIGNATURE.upper()}, {}, 3, "receipt.json: The signature is not complete"),
        (receipt(amount=5), {}, 3, "a number"),
        ('{"a": "1", "a": "2"}', {}, 3, "twice"),
    ],
)
def test_receipts(
    content: dict[str, Any] | str, key: dict[str, str | None], code: int, words: str, home: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (home / "keys.json").write_text(published(**key))
    (home / "receipt.json").write_text(content if isinstance(content, str) else json.dumps(content))
    assert app.run(["receipts", "verify", str(home / "receipt.json"), "--keys", str(home / "keys.json")]) == code
    printed = capsys.readouterr()
    assert words in printed.out + printed.err


@pytest.mark.parametrize("typed", ["https://pay.example.com/", "https://pay.example.com/sandbox/v1"])
def test_the_address_of_the_api_is_one_of_the_service(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {
        "https://pay.example.com/pay/pay_1/receipt.json": json.dumps(receipt()),
        "https://pay.example.com/.well-known/ballast-receipts.json": published(),
    }
    monkeypatch.setattr(httpx, "get", lambda url, **_: httpx.Response(200, text=pages[url]))
    keys.save("default", keys.Keys(typed, "pk_test_public", "sk_test_secret"))
    assert app.run(["receipts", "verify", "pay_1"]) == 0


def test_keys_that_anybody_on_the_way_may_change_are_not_asked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(httpx, "get", lambda _url, **_: httpx.Response(200, text=published()))
    file = home / "receipt.json"
    file.write_text(json.dumps(receipt()))
    assert app.run(["receipts", "verify", str(file), "--keys", "http://pay.example.com/keys.json"]) == 3
    assert "https://" in capsys.readouterr().err
    assert app.run(["receipts", "verify", str(file), "--keys", "http://127.0.0.1:8000/keys.json"]) == 0
