"""Signed requests: vectors for the pure rules, then the same through a whole request."""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from config.environments import Environment
from merchants.access import authentication, signing
from merchants.access.errors import AuthenticationRefused
from merchants.models import SeenSignature
from merchants.services import IssuedKey
from tests.access.probe import effects
from tests.factories import api_client, key_headers, make_key

SECRET = "sk_test_4f1b9d"
NOW = 1_790_000_000_000  # milliseconds
BODY = b'{"amount":19.99,"currency":"EUR"}'


def sign(text: bytes, secret: str = SECRET) -> str:
    """Written out again, so that the vectors do not lean on the code under test."""
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class Vector:
    """A request as it arrives, the text its sender signed, and what becomes of it ("" is accepted)."""

    name: str
    signed: bytes
    expected: str
    timestamp: str | None = str(NOW)
    method: str = "POST"
    path: str = "/v1/payments"
    body: bytes = BODY
    signature: str | None = None
    secret: str = SECRET

    def outcome(self) -> str:
        try:
            signing.verify(
                secret=SECRET,
                timestamp=self.timestamp,
                signature=sign(self.signed, self.secret) if self.signature is None else self.signature,
                method=self.method,
                path=signing.signed_path(self.path),
                body=self.body,
                now_milliseconds=NOW,
            )
        except AuthenticationRefused as refusal:
            return refusal.code
        return ""


def at(milliseconds: int, expected: str, name: str) -> Vector:
    return Vector(name, f"{milliseconds}.POST./v1/payments.".encode() + BODY, expected, timestamp=str(milliseconds))


def with_timestamp(text: str, name: str, expected: str = "signature_timestamp_invalid") -> Vector:
    return Vector(name, f"{text}.POST./v1/payments.".encode() + BODY, expected, timestamp=text)


GOOD = f"{NOW}.POST./v1/payments.".encode() + BODY
IN_SANDBOX = GOOD.replace(b"/v1", b"/sandbox/v1")
HEX = sign(GOOD)
MARK = b"\xef\xbb\xbf"
INVALID, RANGE = "signature_invalid", "signature_timestamp_out_of_range"

VECTORS = [
    Vector("as the specification says", GOOD, ""),
    Vector("an empty body is the empty string", f"{NOW}.GET./v1/payments.".encode(), "", method="GET", body=b""),
    Vector("the dot after the path stays", f"{NOW}.GET./v1/payments".encode(), INVALID, method="GET", body=b""),
    Vector("an empty object is a body", f"{NOW}.POST./v1/payments.{{}}".encode(), "", body=b"{}"),
    Vector("an empty object is not an empty body", f"{NOW}.POST./v1/payments.".encode(), INVALID, body=b"{}"),
    Vector("under /sandbox the path begins with /v1", GOOD, "", path="/sandbox/v1/payments"),
    Vector("the sandbox prefix is not signed", IN_SANDBOX, INVALID, path="/sandbox/v1/payments"),
    Vector("below another mount as well", GOOD, "", path="/ballast/sandbox/v1/payments"),
    Vector("only the first /v1 begins it", GOOD.replace(b"/v1/", b"/v1/v1/"), "", path="/v1/v1/payments"),
    Vector("without /v1 the path stands as it is", GOOD.replace(b"/v1", b"/v2"), "", path="/v2/payments"),
    Vector("another path", GOOD, INVALID, path="/v1/refunds"),
    Vector("a trailing slash is another path", GOOD, INVALID, path="/v1/payments/"),
    Vector("a signed trailing slash fits one", GOOD.replace(b"payments.", b"payments/."), "", path="/v1/payments/"),
    Vector("a doubled slash is another path", GOOD, INVALID, path="/v1//payments"),
    Vector("an encoded slash stays encoded", GOOD.replace(b"payments.", b"a%2Fb."), "", path="/v1/a%2Fb"),
    Vector("an encoded slash is not a slash", GOOD.replace(b"payments.", b"a/b."), INVALID, path="/v1/a%2Fb"),
    Vector("hex case in the path counts", GOOD.replace(b"payments.", b"a%2fb."), INVALID, path="/v1/a%2Fb"),
    Vector("another method", GOOD, INVALID, method="PATCH"),
    Vector("the method is in capitals", GOOD.replace(b"POST", b"post"), INVALID),
    Vector("reordered JSON", GOOD, INVALID, body=b'{"currency":"EUR","amount":19.99}'),
    Vector("spaces in JSON", GOOD, INVALID, body=b'{"amount": 19.99, "currency": "EUR"}'),
    Vector("a line end after the body", GOOD, INVALID, body=BODY + b"\n"),
    Vector("a byte order mark", GOOD, INVALID, body=MARK + BODY),
    Vector("a signed byte order mark fits", GOOD.replace(BODY, MARK + BODY), "", body=MARK + BODY),
    Vector("bytes that are no text", f"{NOW}.POST./v1/payments.".encode() + b"\xff\x00", "", body=b"\xff\x00"),
    Vector("one bit of the body", GOOD, INVALID, body=BODY.replace(b"19.99", b"19.98")),
    Vector("dots in the body", f"{NOW}.POST./v1/payments.a.b".encode(), "", body=b"a.b"),
    # The specification's text does not tell a path's dots from the body's; no path of the API has any.
    Vector("a dot of the path may be one of the body", f"{NOW}.POST./v1/payments.x.".encode(), "", body=b"x."),
    at(NOW - 299_000, "", "299 s old"),
    at(NOW - 300_000, "", "300 s old"),
    at(NOW - 300_001, RANGE, "300.001 s old"),
    at(NOW - 301_000, RANGE, "301 s old"),
    at(NOW + 299_000, "", "299 s ahead"),
    at(NOW + 300_000, "", "300 s ahead"),
    at(NOW + 300_001, RANGE, "300.001 s ahead"),
    at(NOW // 1000, RANGE, "seconds in place of milliseconds"),
    at(NOW * 1000, RANGE, "microseconds in place of milliseconds"),
    at(0, RANGE, "the epoch"),
    with_timestamp("9" * 17, "more digits than any time"),
    with_timestamp("", "an empty timestamp"),
    with_timestamp(f"+{NOW}", "a plus sign"),
    with_timestamp(f"-{NOW}", "a minus sign"),
    with_timestamp(f" {NOW}", "a space before"),
    with_timestamp(f"{NOW} ", "a space after"),
    with_timestamp(f"{NOW}\n", "a line end after"),
    with_timestamp(f"{NOW}.0", "a fraction"),
    with_timestamp("1_790_000_000_000", "underscores"),
    with_timestamp("1.79e12", "an exponent"),
    with_timestamp("0x1a0c5d40c00", "hexadecimal"),
    with_timestamp(str(NOW).translate(str.maketrans("0123456789", "０１２３４５６７８９")), "full-width digits"),
    with_timestamp(f"{NOW},{NOW}", "the header sent twice"),
    with_timestamp("2026-09-21T13:33:20Z", "a date"),
    Vector("no timestamp", GOOD, "signature_missing", timestamp=None),
    Vector("leading zeros are signed as they were sent", b"0" + GOOD, "", timestamp=f"0{NOW}"),
    Vector("leading zeros left out of the text", GOOD, INVALID, timestamp=f"0{NOW}"),
    Vector("an empty signature", GOOD, INVALID, signature=""),
    Vector("capital letters", GOOD, INVALID, signature=HEX.upper()),
    Vector("a prefix", GOOD, INVALID, signature=f"sha256={HEX}"),
    Vector("too short", GOOD, INVALID, signature=HEX[:-1]),
    Vector("too long", GOOD, INVALID, signature=HEX + "0"),
    Vector("a space after the signature", GOOD, INVALID, signature=HEX + " "),
    Vector("a line end after the signature", GOOD, INVALID, signature=HEX + "\n"),
    Vector("the signature sent twice", GOOD, INVALID, signature=f"{HEX},{HEX}"),
    Vector("full-width digits in the signature", GOOD, INVALID, signature="０" * 64),
    Vector("base64", GOOD, INVALID, signature="n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="),
    Vector("the digest without a key", GOOD, INVALID, signature=hashlib.sha256(GOOD).hexdigest()),
    Vector("signed with another key", GOOD, INVALID, secret="sk_test_other"),
    Vector("signed with the public key", GOOD, INVALID, secret="pk_test_4f1b9d"),
]  # fmt: skip


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_vector(vector: Vector) -> None:
    assert vector.outcome() == vector.expected


def test_no_signature_with_a_timestamp_is_missing() -> None:
    with pytest.raises(signing.SignatureMissing):
        signing.verify(
            secret=SECRET,
            timestamp=str(NOW),
            signature=None,
            method="GET",
            path="/v1/x",
            body=b"",
            now_milliseconds=NOW,
        )


@given(body=st.binary(max_size=200), path=st.text("/abc%2F._-", max_size=30), change=st.integers(0, 10**6))
def test_a_signature_fits_its_request_and_no_other_body(body: bytes, path: str, change: int) -> None:
    request: dict[str, Any] = {"secret": SECRET, "timestamp": str(NOW), "method": "POST", "path": f"/v1/{path}"}
    signature = signing.signature_of(**request, body=body)
    assert signing.verify(**request, body=body, signature=signature, now_milliseconds=NOW).hex() == signature
    tampered = bytearray(body or b"\0")
    tampered[change % len(tampered)] ^= 1 + change % 255
    if bytes(tampered) != body:
        with pytest.raises(signing.SignatureInvalid):
            signing.verify(**request, body=bytes(tampered), signature=signature, now_milliseconds=NOW)


# --- through a whole request -------------------------------------------------------------------------


def signed_headers(
    issued: IssuedKey, method: str, path: str, body: bytes = b"", *, milliseconds: int | None = None
) -> dict[str, str]:
    timestamp = str(milliseconds if milliseconds is not None else time.time_ns() // 1_000_000)
    signature = sign(f"{timestamp}.{method}.{path}.".encode() + body, issued.secret)
    return {"X-Service-Timestamp": timestamp, "X-Service-Signature": signature}


def outcome(reply: Any) -> tuple[int, str]:
    return reply.status_code, reply.json().get("error", {}).get("code", "")


@pytest.mark.django_db
@pytest.mark.urls("tests.access.probe")
class TestRequests:
    @pytest.mark.parametrize("environment", Environment)
    def test_a_signed_post_is_done(self, environment: Environment) -> None:
        issued = make_key(environment=environment, require_signature=True)
        body = b'{"name": "Signed"}'
        headers = signed_headers(issued, "POST", "/v1/probe", body)
        assert api_client(issued).call("POST", "/probe", data=body, headers=headers).status_code == 201
        assert effects("Signed") == 1

    def test_the_query_is_not_signed(self) -> None:
        issued = make_key()
        headers = signed_headers(issued, "GET", "/v1/probe")
        assert api_client(issued).call("GET", "/probe?limit=1", headers=headers).status_code == 200

    def test_a_key_that_requires_a_signature_refuses_a_bare_request(self) -> None:
        issued = make_key(require_signature=True)
        reply = api_client(issued).call("POST", "/probe", json_body={"name": "Bare"})
        assert outcome(reply) == (401, "signature_missing")
        assert effects("Bare") == 0

    @pytest.mark.parametrize("header", ["X-Service-Timestamp", "X-Service-Signature"])
    def test_either_header_alone_is_refused_even_when_no_signature_is_required(self, header: str) -> None:
        issued = make_key()
        headers = {header: signed_headers(issued, "GET", "/v1/probe")[header]}
        assert outcome(api_client(issued).call("GET", "/probe", headers=headers)) == (401, "signature_missing")

    def test_a_changed_body_is_refused_and_not_done(self) -> None:
        issued = make_key()
        headers = signed_headers(issued, "POST", "/v1/probe", b'{"name": "Mine"}')
        reply = api_client(issued).call("POST", "/probe", data=b'{"name": "Theirs"}', headers=headers)
        assert outcome(reply) == (401, "signature_invalid")
        assert (effects("Mine"), effects("Theirs")) == (0, 0)

    def test_of_a_hundred_replays_one_is_accepted(self) -> None:
        issued = make_key(environment=Environment.PRODUCTION)
        body = b'{"name": "Once"}'
        headers = signed_headers(issued, "POST", "/v1/probe", body)
        client = api_client(issued)
        outcomes = [outcome(client.call("POST", "/probe", data=body, headers=headers)) for _ in range(100)]
        assert outcomes == [(201, "")] + [(401, "signature_replayed")] * 99
        assert effects("Once") == 1

    def test_a_refused_signature_is_not_remembered(self) -> None:
        issued = make_key()
        old = time.time_ns() // 1_000_000 - 400_000
        headers = signed_headers(issued, "GET", "/v1/probe", milliseconds=old)
        assert outcome(api_client(issued).call("GET", "/probe", headers=headers)) == (
            401,
            "signature_timestamp_out_of_range",
        )
        assert not SeenSignature.objects.exists()

    def test_signatures_are_kept_as_long_as_they_could_be_accepted(self) -> None:
        issued = make_key()
        api_client(issued).call("GET", "/probe", headers=signed_headers(issued, "GET", "/v1/probe"))
        seen_at = SeenSignature.objects.get().seen_at
        tolerance = timedelta(milliseconds=signing.TOLERANCE_MILLISECONDS)
        assert authentication.purge_signatures(now=seen_at + 2 * tolerance) == 0
        assert authentication.purge_signatures(now=seen_at + 4 * tolerance) == 1

    @pytest.mark.parametrize("name", ["RAW_URI", "REQUEST_URI"])
    def test_the_path_is_taken_as_received_where_the_server_tells(self, name: str) -> None:
        issued = make_key()
        raw = "/sandbox/v1/%70robe"
        headers = {**key_headers(issued), **signed_headers(issued, "GET", "/v1/%70robe")}
        request = RequestFactory(headers=headers).get("/sandbox/v1/probe")
        request.META[name] = f"{raw}?x=%2F"
        assert authentication.authenticate(request, Environment.SANDBOX) == issued.key
