"""The bytes of a signed transfer on a simulated network: what stands in them, and their hash. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from payments.chains.base import SignedTransfer
from payments.chains.errors import FeesAboveCap
from payments.chains.simulated.networks import is_evm, price

FEE_LEVEL_CAP = 100
"""Nothing is signed that offers more than so many times the usual price."""

USUAL_MARGIN = 2
"""A transfer offers so many times the present price: it goes on fitting while the price rises a little."""

BUMP_NUMERATOR, BUMP_DENOMINATOR = 9, 8
"""Who wants to take the place of a waiting transfer offers 12.5 % more, as on real evm networks."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a sender signs: transfers, or the token and the addresses of a sweep, and what it pays for that.

    `movements` are those of payments.chains.simulated.actions, as plain values.
    """

    network: str
    sender: str
    sequence: int
    valid_until: str | None
    fee_offer: int
    work: int
    movements: Sequence[Any]
    swept_contract: str = ""
    swept_addresses: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @property
    def expires_at(self) -> datetime | None:
        return None if self.valid_until is None else datetime.fromisoformat(self.valid_until)


def read(raw: bytes) -> Content:
    return Content(**json.loads(raw))


def hash_of(network: str, raw: bytes) -> str:
    digest = hashlib.sha256(raw).hexdigest()
    return f"0x{digest}" if is_evm(network) else digest


def enough_to_replace(offer: int) -> int:
    """The lowest offer that takes the place of this one."""
    return -(-offer * BUMP_NUMERATOR // BUMP_DENOMINATOR)


def offer(network: str, fee_level: int, replacing: Collection[SignedTransfer]) -> int:
    """What a transfer signed now offers for each unit of work; FeesAboveCap when that is more than may be paid."""
    beaten = [enough_to_replace(read(transfer.raw).fee_offer) for transfer in replacing]
    lowest, cap = max([price(network, fee_level), *beaten]), price(network, FEE_LEVEL_CAP)
    if lowest > cap:
        raise FeesAboveCap(f"Fees are above the cap: {lowest} of {cap}.")
    return min(max([USUAL_MARGIN * price(network, fee_level), *beaten]), cap)
