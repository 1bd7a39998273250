"""One Horizon: queries by GET, and submission of signed envelopes. Each query is sent once, within a time limit.

What it replies is JSON that records.py reads; here it is an object or ProviderFailed, whatever a stranger sends.
"""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from urllib.parse import urlencode

import httpx
import orjson

from payments.chains.errors import ChainUnavailable
from payments.chains.providers.servers import CALL_SECONDS, Behind, ProviderFailed, Server, shown

Answer = TypeVar("Answer")

LARGEST_REPLY_BYTES = 16 * 2**20
"""A page of 200 payments with their transactions is a tenth of it, if every transaction has 100 operations. It is more
where a Horizon keeps what transactions changed (SKIP_TXMETA is off): shorter pages are queried then."""

PAGE = 200
"""The most records that Horizon puts on a page."""

_LEDGER_DIGITS = 10

_FORM = "application/x-www-form-urlencoded"


class NotKnown(ChainUnavailable):
    """Horizon has no such account, transaction or ledger: none, one older than its history, or one yet to come."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A Horizon's answer to an envelope. None of it proves that the envelope did or will not take effect.

    - pending, duplicate: the network has it.
    - error: the network would not take it now, for `result_code`, as Horizon spells it (tx_bad_seq).
    - try_again: the network has another one of the same account, or too many.
    """

    state: Literal["pending", "duplicate", "error", "try_again"]
    result_code: str = ""
    detail: str = ""


class _Needed(threading.local):
    """The newest ledger that the question of this thread rests on."""

    height = 0


class Horizon(Server):
    """One server of the stellar network."""

    def __init__(
        self,
        url: str,
        *,
        name: str = "",
        call_seconds: float = CALL_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"Accept": "application/json", "Content-Type": _FORM}
        super().__init__(url, headers=headers, call_seconds=call_seconds, transport=transport)
        self.name = name or self.name
        self._base, _, key = self._url.partition("?")
        self._base, self._key = self._base.rstrip("/"), key
        self.network_id = b""
        """That of the network it is meant to speak for, by which envelopes have their hashes."""
        self._needed = _Needed()
        self.page = PAGE
        """Records in one query: as many as it has been able to answer."""
        self.joins = True
        """Whether operations are queried together with their transactions: not while several are of the same one,
        which would be repeated in each, with all that it changed."""

    @contextmanager
    def needing(self, height: int) -> Iterator[None]:
        """Take no answer of an instance that has not read this ledger: behind one address there can be several, and
        one's report of itself does not hold for the next. An answer that does not state its ledger is accepted."""
        before, self._needed.height = self._needed.height, height
        try:
            yield
        finally:
            self._needed.height = before

    def query(self, read: Callable[[dict[str, Any]], Answer], path: str, **params: str | int) -> Answer:
        """What `read` makes of the object at a path; ProviderFailed where it raises an error of Python."""
        found = self.get(path, **params)
        try:
            return read(found)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ProviderFailed(f"{self.name} answered {path} with something else: {error}") from error

    def get(self, path: str, **params: str | int) -> dict[str, Any]:
        """The object at a path; NotKnown for 404 and 410, ProviderFailed for any other reply."""
        status, content, headers = self._exchange(
            "GET", self._address(path, params), most_bytes=LARGEST_REPLY_BYTES, reads_errors=True
        )
        newest = headers.get("Latest-Ledger", "")
        if (
            newest.isascii()
            and newest.isdigit()
            and len(newest) <= _LEDGER_DIGITS
            and int(newest) < self._needed.height
        ):
            raise Behind(f"{self.name} answered {path} as of ledger {newest}, before ledger {self._needed.height}")
        if status == httpx.codes.OK:
            return self._object(content)
        if status in (httpx.codes.NOT_FOUND, httpx.codes.GONE):
            raise NotKnown(f"{self.name} does not know {path}")
        raise ProviderFailed(f"{self.name} answered {path} with status {status}{_problem(content)}")

    def submit(self, envelope_xdr: str) -> Submission:
        """Hand over a signed envelope (base64) by POST /transactions_async. ProviderFailed when there was no answer: it
        may have arrived all the same."""
        status, content, _ = self._exchange(
            "POST",
            self._address("/transactions_async", {}),
            urlencode({"tx": envelope_xdr}).encode(),
            most_bytes=LARGEST_REPLY_BYTES,
            reads_errors=True,
        )
        try:
            response = self._object(content)
        except ProviderFailed as error:
            raise ProviderFailed(f"{self.name} answered an envelope with status {status}") from error
        match response.get("tx_status"):
            case "PENDING":
                return Submission("pending")
            case "DUPLICATE":
                return Submission("duplicate")
            case "TRY_AGAIN_LATER":
                return Submission("try_again")
            case "ERROR":
                # `errorResultXdr` before Horizon 23.
                result = response.get("error_result_xdr", response.get("errorResultXdr"))
                code, inner = result_codes(result)
                return Submission("error", code, inner)
        if status == httpx.codes.BAD_REQUEST and str(response.get("type", "")).endswith("/transaction_malformed"):
            return Submission("error", "tx_malformed", shown(response.get("detail", "")))
        raise ProviderFailed(f"{self.name} answered an envelope with status {status}{_problem(content)}")

    def _address(self, path: str, params: dict[str, str | int]) -> str:
        query = "&".join(part for part in (self._key, urlencode(params)) if part)
        return f"{self._base}{path}?{query}" if query else f"{self._base}{path}"

    def _object(self, content: bytes) -> dict[str, Any]:
        try:
            found = orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise ProviderFailed(f"{self.name} sent no whole JSON") from error
        if not isinstance(found, dict):
            raise ProviderFailed(f"{self.name} sent something else than an object")
        return found


def _problem(content: bytes) -> str:
    """What an error of Horizon (application/problem+json) is called."""
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        return ""
    title = found.get("title") if isinstance(found, dict) else None
    return f": {title}" if isinstance(title, str) else ""


_RESULT_CODES = {
    1: "tx_fee_bump_inner_success",
    0: "tx_success",
    -1: "tx_failed",
    -2: "tx_too_early",
    -3: "tx_too_late",
    -4: "tx_missing_operation",
    -5: "tx_bad_seq",
    -6: "tx_bad_auth",
    -7: "tx_insufficient_balance",
    -8: "tx_no_source_account",
    -9: "tx_insufficient_fee",
    -10: "tx_bad_auth_extra",
    -11: "tx_internal_error",
    -12: "tx_not_supported",
    -13: "tx_fee_bump_inner_failed",
    -14: "tx_bad_sponsorship",
    -15: "tx_bad_minseq_age_or_gap",
    -16: "tx_malformed",
    -17: "tx_soroban_invalid",
}
_FEE_BYTES, _CODE_BYTES, _HASH_BYTES = 8, 4, 32


def result_codes(result_xdr: Any) -> tuple[str, str]:
    """The codes of a TransactionResult (base64 XDR) and of the inner one of a fee bump, as Horizon spells them.

    Empty where there is none. The beginning of the result is all that is read.
    """
    try:
        raw = base64.b64decode(result_xdr, validate=True) if isinstance(result_xdr, str) else b""
    except (ValueError, binascii.Error):
        return "", ""
    inner = _FEE_BYTES + _CODE_BYTES + _HASH_BYTES
    return _code_at(raw, 0), _code_at(raw, inner) if _code_at(raw, 0).startswith("tx_fee_bump") else ""


def _code_at(raw: bytes, start: int) -> str:
    code = raw[start + _FEE_BYTES : start + _FEE_BYTES + _CODE_BYTES]
    if len(code) < _CODE_BYTES:
        return ""
    number = int.from_bytes(code, "big", signed=True)
    return _RESULT_CODES.get(number, f"tx_{number}")
