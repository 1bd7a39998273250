"""Values in a node's answers, in types of ours. Each raises TypeError or ValueError for what is no such value. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from payments.chains.evm import addresses

_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_HASH = re.compile(r"0x[0-9a-fA-F]{64}")
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*")

_MOST_COUNTED = 2**63 - 1
"""What a column of the database holds: no height, index or sequence of a real network comes near it."""

_LAST_SECOND = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())


def number(found: Any) -> int:
    """At most 256 bits, as amounts are."""
    return int(_spelled(_QUANTITY, found, "number"), 16)


def counted(found: Any) -> int:
    """A height, an index, a sequence, an amount of gas."""
    value = number(found)
    if value > _MOST_COUNTED:
        raise ValueError("a number larger than anything that is counted")
    return value


def flag(found: Any) -> bool:
    value = number(found)
    if value > 1:
        raise ValueError("neither yes nor no")
    return bool(value)


def instant(found: Any) -> datetime:
    seconds = number(found)
    if seconds > _LAST_SECOND:
        raise ValueError("no time of this calendar")
    return datetime.fromtimestamp(seconds, UTC)


def data(found: Any) -> bytes:
    return bytes.fromhex(_spelled(_DATA, found, "bytes")[2:])


def digest(found: Any) -> str:
    """A hash, in lower case."""
    return _spelled(_HASH, found, "hash").lower()


def address(found: Any) -> str:
    return addresses.spelled(data(found))


def listed(found: Any) -> list[Any]:
    if not isinstance(found, list):
        raise TypeError("no list")
    return found


def _spelled(form: re.Pattern[str], found: Any, kind: str) -> str:
    if not isinstance(found, str) or form.fullmatch(found) is None:
        raise TypeError(f"no {kind}")
    return found
