"""The bytes of a signed transfer on a simulated network: what stands in them, and their hash. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from payments.chains.errors import FeesAboveCap
from payments.chains.networks import NETWORKS
from payments.chains.protocol.payouts import PayoutInstruction, SignedTransfer
from payments.chains.simulated.networks import is_evm, price

EVM_FEE_LEVEL_CAP, STELLAR_FEE_LEVEL_CAP = 100, 1_000
"""Nothing is signed that offers more than so many times the usual price."""

USUAL_MARGIN = 2
"""A transfer offers so many times the present price: it goes on fitting while the price rises a little."""

EVM_BUMP, STELLAR_BUMP = (9, 8), (10, 1)
"""What takes the place of a waiting transfer offers 12.5 % more on evm networks, and ten times as much on stellar."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a sender signs: transfers, or the token and the addresses of a sweep, and what it pays for that.

    `movements` are those of payments.chains.simulated.actions, as plain values. They leave `source`, or the sender
    where none is named. `inner` is the hash of the first version that this one only offers more for, where the network
    takes all of them for one transaction.
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
    source: str = ""
    inner: str = ""

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @property
    def expires_at(self) -> datetime | None:
        return None if self.valid_until is None else datetime.fromisoformat(self.valid_until)


def read(raw: bytes) -> Content:
    return Content(**json.loads(raw))


def hash_of(network: str, raw: bytes) -> str:
    return NETWORKS[network].real.hash_prefix + hashlib.sha256(raw).hexdigest()


def enough_to_replace(network: str, offer: int) -> int:
    """The lowest offer that takes the place of this one."""
    numerator, denominator = EVM_BUMP if is_evm(network) else STELLAR_BUMP
    return -(-offer * numerator // denominator)


def offer(network: str, fee_level: int, replacing: Collection[SignedTransfer]) -> int:
    """What a transfer signed now offers for each unit of work; FeesAboveCap when that is more than may be paid."""
    beaten = [enough_to_replace(network, read(transfer.raw).fee_offer) for transfer in replacing]
    cap = price(network, EVM_FEE_LEVEL_CAP if is_evm(network) else STELLAR_FEE_LEVEL_CAP)
    lowest = max([price(network, fee_level), *beaten])
    if lowest > cap:
        raise FeesAboveCap(f"Fees are above the cap: {lowest} of {cap}.")
    return min(max([USUAL_MARGIN * price(network, fee_level), *beaten]), cap)


def signed(content: Content, payouts: tuple[PayoutInstruction, ...]) -> SignedTransfer:
    raw = content.to_bytes()
    return SignedTransfer(
        raw=raw,
        transaction_hash=hash_of(content.network, raw),
        sender=content.sender,
        sequence=content.sequence,
        valid_until=content.expires_at,
        payouts=payouts,
        fee_limit_units=content.fee_offer * content.work,
    )
