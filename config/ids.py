"""Public ids: a prefix and a UUIDv7 in Crockford base32, so that ids sort by time and read aloud.

The millisecond inside the id is the record's `created_at`, so a date filter becomes a range of ids
and every list is ordered by one index. What one machine makes within a millisecond is in order too.
"""

from __future__ import annotations

import re
import secrets
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford base32, lower case: no i, l, o, u
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]
_PAIR_SHIFTS = range(120, -1, -10)
_VALUES = {character: value for value, character in enumerate(ALPHABET)}
_BODY = re.compile(rf"[0-7][{ALPHABET}]{{25}}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_UTC = _EPOCH.replace(tzinfo=None)

_VERSION_7 = 0x7 << 76
_VARIANT = 0x2 << 62
_NANOSECONDS = 1_000_000  # of a millisecond


def new_uuid(milliseconds: int | None = None) -> uuid.UUID:
    """A UUIDv7 of now, or of any moment within the given Unix millisecond.

    Behind the millisecond are 12 bits of its fraction, a quarter of a microsecond each (RFC 9562, section 6.2, method
    3), and 62 random bits.
    """
    if milliseconds is None:
        milliseconds, nanoseconds = divmod(time.time_ns(), _NANOSECONDS)
    else:
        nanoseconds = secrets.randbelow(_NANOSECONDS)
    fraction = (nanoseconds << 12) // _NANOSECONDS
    return uuid.UUID(int=milliseconds << 80 | _VERSION_7 | fraction << 64 | _VARIANT | secrets.randbits(62))


def created_at_of(value: uuid.UUID) -> datetime:
    """The instant inside a UUIDv7, to the millisecond, UTC."""
    return _EPOCH + timedelta(milliseconds=value.int >> 80)


def created_at_text(value: uuid.UUID) -> str:
    """The same as replies show it, in half the time."""
    return (_EPOCH_UTC + timedelta(milliseconds=value.int >> 80)).isoformat(timespec="milliseconds") + "Z"


FIRST_KEY, LAST_KEY = uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)
"""No key is smaller or larger."""


def first_uuid_at(instant: datetime) -> uuid.UUID:
    """The smallest UUIDv7 whose millisecond is not before `instant`."""
    microseconds = (instant - _EPOCH) // timedelta(microseconds=1)
    milliseconds = max(0, -(-microseconds // 1000))
    return uuid.UUID(int=milliseconds << 80 | _VERSION_7 | _VARIANT)


class PublicId:
    """Turns keys into `prefix_` ids and back. One instance per kind of record, which people call `noun`."""

    def __init__(self, prefix: str, noun: str) -> None:
        self.prefix = prefix
        self.noun = noun

    @property
    def pattern(self) -> str:
        """Of the ids of this kind, as a regular expression that JSON Schema knows too."""
        return f"^{self.prefix}_{_BODY.pattern}$"

    def encode(self, value: uuid.UUID) -> str:
        number = value.int
        return f"{self.prefix}_{''.join([_PAIRS[number >> shift & 1023] for shift in _PAIR_SHIFTS])}"

    def decode(self, text: str) -> uuid.UUID | None:
        """The key behind a public id, or None when the text is not one of this kind."""
        prefix, separator, body = text.partition("_")
        if prefix != self.prefix or not separator or not _BODY.fullmatch(body):
            return None
        number = 0
        for character in body:
            number = number << 5 | _VALUES[character]
        return uuid.UUID(int=number)


class KeyedByTime:
    """A record whose key is a UUIDv7, which holds the millisecond it was made in."""

    id: Any

    @property
    def created_at(self) -> datetime:
        return created_at_of(self.id)


class PublicRecord:
    """A record that callers know by a public id; the model declares the kind."""

    id: Any
    public_ids: ClassVar[PublicId]

    @property
    def public_id(self) -> str:
        return self.public_ids.encode(self.id)


PAYMENT = PublicId("pay", "payment")
REFUND = PublicId("ref", "refund")
SETTLEMENT = PublicId("set", "settlement")
WEBHOOK = PublicId("whk", "webhook")
EVENT = PublicId("evt", "event")
DELIVERY = PublicId("dlv", "delivery")
MERCHANT = PublicId("mer", "merchant")
REQUEST = PublicId("req", "request")
KEY = PublicId("key", "key pair")
DISCREPANCY = PublicId("dis", "discrepancy")
TRANSFER = PublicId("trf", "transfer")
EXPORT = PublicId("exp", "export")
VIEW = PublicId("viw", "view")
PAYMENT_LINK = PublicId("plk", "payment link")
REFUND_BATCH = PublicId("rfb", "refund batch")
ACTION = PublicId("act", "action")
LOGGED_REQUEST = PublicId("rql", "logged request")
MEMBER = PublicId("mbr", "member")
MERCHANT_WALLET = PublicId("wal", "wallet")
DEBT_OFFSET = PublicId("off", "debt offset")
DEBT_DECISION = PublicId("ded", "debt decision")
WITHDRAWAL = PublicId("wdr", "withdrawal")
PAYER_RETURN = PublicId("rtn", "return to a payer")
INVOICE = PublicId("inv", "invoice")

KINDS = (
    PAYMENT,
    REFUND,
    SETTLEMENT,
    WEBHOOK,
    EVENT,
    DELIVERY,
    MERCHANT,
    REQUEST,
    KEY,
    DISCREPANCY,
    TRANSFER,
    EXPORT,
    VIEW,
    PAYMENT_LINK,
    REFUND_BATCH,
    ACTION,
    MEMBER,
    MERCHANT_WALLET,
    LOGGED_REQUEST,
    DEBT_OFFSET,
    DEBT_DECISION,
    INVOICE,
)
