"""Requests of the executor to a signer, and its replies: one line of JSON each way.

A request states in fields what is to be signed, and the intents that it pays. The signer never signs bytes that it is
given.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from config.ids import created_at_of

LONGEST_LINE = 1024 * 1024
"""Bytes of a line: a hundred payouts of stellar with an earlier version take a tenth of it."""

LONGEST = {"payout_id": 64, "coin": 64, "recipient": 80, "memo": 30, "memo_type": 8, "mac": 64}
"""The most characters of each field of an intent: more than any network takes, and too few to fill the record with."""

LONGEST_NAME = 80
"""Characters of environment, network, account, coin of a sweep and what is prepared."""


class Malformed(ValueError):
    """This is no line of the protocol."""


@dataclass(frozen=True, slots=True)
class Intent:
    """A payout as requested: an amount of a coin, in base units, to one recipient. `mac` proves who requested it."""

    payout_id: str
    coin: str
    amount: int
    recipient: str
    memo: str = ""
    memo_type: str = ""
    set_aside: bool = False
    """On stellar: the same to the same recipient, as a claimable balance."""
    mac: str = ""

    @property
    def made_at(self) -> datetime | None:
        """When what it pays was made: the date is in the id, and the code holds for that id alone."""
        with suppress(ValueError, OverflowError):
            found = UUID(self.payout_id)
            return created_at_of(found) if found.version == 7 else None
        return None


@dataclass(frozen=True, slots=True)
class SigningRequest:
    """One on-chain transaction: which payouts it makes, which coin it sweeps or what it prepares, and the rest of it by
    family."""

    environment: str
    network: str
    account: str
    """Whose sequence is used: the hot wallet or a channel of it."""
    sequence: int
    intents: tuple[Intent, ...] = ()
    sweeps: str = ""
    """The code of the coin that is swept, the native one included; empty for payouts."""
    prepares: str = ""
    """`factory`, where it puts that of deposit addresses in place, or `wallet`, where it prepares that on stellar."""
    transaction: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """Signed bytes, or why there are none: a code, a reason for people, and the payouts that are at fault, if any."""

    raw: bytes = b""
    refused: str = ""
    reason: str = ""
    payouts: tuple[str, ...] = ()


def intent_mac(
    key: str,
    *,
    environment: str,
    network: str,
    payout_id: str,
    coin: str,
    amount: int,
    recipient: str,
    memo: str = "",
    memo_type: str = "",
) -> str:
    """The code by which the signer knows that a process with the key requested exactly this payout; hexadecimal."""
    fields = ["ballast payout", environment, network, payout_id, coin, str(amount), recipient, memo, memo_type]
    return hmac.digest(key.encode(), json.dumps(fields).encode(), "sha256").hex()


def is_requested(key: str, intent: Intent, *, environment: str, network: str) -> bool:
    """Whether a process with the key has requested this payout."""
    fields = {name: getattr(intent, name) for name in ("payout_id", "coin", "amount", "recipient", "memo", "memo_type")}
    mac = intent_mac(key, environment=environment, network=network, **fields)
    return hmac.compare_digest(mac.encode(), intent.mac.encode(errors="replace"))


def write_request(request: SigningRequest) -> bytes:
    return json.dumps(asdict(request), separators=(",", ":")).encode()


def read_request(line: bytes) -> SigningRequest:
    """The request in a line; Malformed for any other."""
    try:
        fields = json.loads(line)
        intents = tuple(Intent(**each) for each in fields.pop("intents"))
        request = SigningRequest(**fields, intents=intents)
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise Malformed("this is no request") from error
    names = [request.environment, request.network, request.account, request.sweeps, request.prepares]
    texts: list[tuple[Any, int]] = [(name, LONGEST_NAME) for name in names]
    numbers = [request.sequence]
    for each in request.intents:
        texts += [(getattr(each, name), longest) for name, longest in LONGEST.items()]
        numbers.append(each.amount)
    is_well_typed = (
        all(isinstance(text, str) and len(text) <= longest for text, longest in texts)
        and all(type(number) is int for number in numbers)
        and all(type(each.set_aside) is bool for each in request.intents)
        and isinstance(request.transaction, dict)
    )
    if not is_well_typed:
        raise Malformed("this request has fields of a wrong type or length")
    return request


def write_reply(reply: Reply) -> bytes:
    return json.dumps({**asdict(reply), "raw": reply.raw.hex()}, separators=(",", ":")).encode()


def read_reply(line: bytes) -> Reply:
    """The reply in a line; Malformed for any other."""
    try:
        fields = json.loads(line)
        found = Reply(bytes.fromhex(fields["raw"]), fields["refused"], fields["reason"], tuple(fields["payouts"]))
    except (TypeError, ValueError, KeyError, RecursionError) as error:
        raise Malformed("this is no reply") from error
    if bool(found.raw) == bool(found.refused):
        raise Malformed("this reply neither signs nor refuses")
    return found
