"""Values in a Horizon's replies, in types of ours. Each raises TypeError or ValueError for what is none. Pure."""

from __future__ import annotations

import base64
import re
from datetime import datetime
from functools import lru_cache
from typing import Any

from payments.chains.stellar import addresses

NATIVE = "native"
"""The asset that is XLM, where any other is CODE:ISSUER."""

MOST_UNITS = 2**63 - 1
"""The largest amount and the largest sequence there can be on the network."""

STROOPS = 10**7
"""In one unit of any asset."""

_WHOLE = re.compile(r"[0-9]{1,20}")
_AMOUNT = re.compile(r"([0-9]{1,12})\.([0-9]{7})")
_MOVED = re.compile(r"([0-9]{1,32})\.([0-9]{7})")
_HASH = re.compile(r"[0-9a-f]{64}")
_CODE = re.compile(r"[a-zA-Z0-9]{1,12}")
_CONTRACT = re.compile(r"C[A-Z2-7]{55}")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_LONGEST_TEXT = 1_000


def listed(found: Any) -> list[Any]:
    if not isinstance(found, list):
        raise TypeError("no list")
    return found


def text(found: Any) -> str:
    if not isinstance(found, str) or len(found) > _LONGEST_TEXT:
        raise TypeError("no text")
    return found


def flag(found: Any) -> bool:
    if not isinstance(found, bool):
        raise TypeError("neither true nor false")
    return found


def whole(found: Any) -> int:
    """A number that is counted, as a number or as its digits."""
    # true is an int in Python
    number = found if type(found) is int else int(_spelled(_WHOLE, found, "number"))
    if not 0 <= number <= MOST_UNITS:
        raise ValueError("a number that nothing is counted by")
    return number


def stroops(found: Any) -> int:
    """An amount, which has seven decimals, in the smallest unit; never negative."""
    match = _AMOUNT.fullmatch(text(found))
    if match is None:
        raise ValueError("no amount")
    amount = int(match[1]) * STROOPS + int(match[2])
    if amount > MOST_UNITS:
        raise ValueError("more than there can be")
    return amount


def moved_by_contract(found: Any) -> int:
    """An amount that a contract moved, which may be more than any account can hold."""
    match = _MOVED.fullmatch(text(found))
    if match is None:
        raise ValueError("no amount")
    return int(match[1]) * STROOPS + int(match[2])


def digest(found: Any) -> str:
    """A hash, in lower case."""
    return _spelled(_HASH, found, "hash")


def instant(found: Any) -> datetime:
    return datetime.fromisoformat(_spelled(_INSTANT, found, "time"))


def account(found: Any) -> str:
    """A G address."""
    return _account(text(found))


@lru_cache(maxsize=4_096)
def _account(found: str) -> str:
    """Remembered, because the same few accounts stand in every record of a page."""
    address, identifier = addresses.split(found)
    if identifier is not None:
        raise ValueError("a muxed account where none can be")
    return address


def muxed(found: Any, *, of: str) -> str:
    """An M address of this account."""
    if addresses.split(text(found))[0] != of:
        raise ValueError("a muxed account of somebody else")
    return text(found)


def account_or_contract(found: Any) -> str:
    known = text(found)
    return known if _CONTRACT.fullmatch(known) else account(known)


def identifier(found: Any) -> str:
    """A memo id or the id of a muxed account: an unsigned 64-bit number, as its digits."""
    number = int(_spelled(_WHOLE, found, "id"))
    if number > addresses.MAXIMUM_ID:
        raise ValueError("no 64-bit id")
    return str(number)


def asset(found: Any, prefix: str = "") -> str:
    """`CODE:ISSUER` or `native`, from the fields asset_type, asset_code and asset_issuer of a record."""
    if (kind := text(found[f"{prefix}asset_type"])) == NATIVE:
        return NATIVE
    if kind not in ("credit_alphanum4", "credit_alphanum12"):
        raise ValueError("no asset that can be held")
    return _issued(found[f"{prefix}asset_code"], found[f"{prefix}asset_issuer"])


def spelled_asset(found: Any) -> str:
    """The same from its one-field form, `CODE:ISSUER` or `native`."""
    code, _, issuer = text(found).partition(":")
    return NATIVE if code == NATIVE and not issuer else _issued(code, issuer)


def data(found: Any) -> bytes:
    """Bytes in base64."""
    return base64.b64decode(text(found), validate=True)


def _issued(code: Any, issuer: Any) -> str:
    return f"{_spelled(_CODE, code, 'asset code')}:{account(issuer)}"


def _spelled(form: re.Pattern[str], found: Any, kind: str) -> str:
    if not isinstance(found, str) or form.fullmatch(found) is None:
        raise TypeError(f"no {kind}")
    return found
