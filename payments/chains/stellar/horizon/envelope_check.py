"""Whether a Horizon's record of a payment agrees with what its sender signed: by the envelope and its hash. Pure, by
XDR.

The hash of an on-chain transaction is that of its envelope and of the network: a server that reports another memo,
recipient or amount beside the same hash is detected, without a second server. What a contract moved stands in no
envelope.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from payments.chains.stellar import addresses
from payments.chains.stellar.horizon.records import Memo, text_memo
from payments.chains.stellar.horizon.values import NATIVE

_V0, _V1, _BUMP = 0, 2, 5
_MUXED = 0x100
_MOST_SIGNATURES = 20
_SIGNATURE_BYTES = 4 + 4 + 64
_MOST_PATH = 5

CREATE_ACCOUNT, PAYMENT, STRICT_RECEIVE, CHANGE_TRUST, MERGE, MANAGE_DATA, BUMP_SEQUENCE, STRICT_SEND = (
    0, 1, 2, 6, 8, 10, 11, 13,
)  # fmt: skip


class Contradiction(ValueError):
    """A record contradicts the envelope beside it, or that envelope is not the transaction's."""


@dataclass(frozen=True, slots=True)
class Paid:
    """A payment as it was signed. `amount` is what arrives: `is_least` where the sender has named the least alone."""

    recipient: str
    muxed_id: str | None
    asset: str
    amount: int
    is_least: bool = False


@dataclass(frozen=True, slots=True)
class Signed:
    memo: Memo
    payments: Mapping[int, Paid]
    """By the place of their operation."""
    read: int
    """How many operations could be read: behind one of another kind nothing is known where."""


def signed(envelope_xdr: str, transaction_hash: str, network_id: bytes, lengths: tuple[int, ...] = ()) -> Signed:
    """The content of an envelope that has this hash on this network. `lengths` of its signatures where they are
    unusual."""
    raw = base64.b64decode(envelope_xdr, validate=True)
    reader = _Reader(raw)
    kind = reader.number()
    if kind not in (_V0, _V1, _BUMP):
        raise Contradiction("an envelope of a kind that is not known")
    tagged = struct.pack(">ii", _V1, 0) + raw[4:] if kind == _V0 else raw
    if not _has_hash(tagged, transaction_hash, network_id, lengths):
        raise Contradiction("an envelope that has not the hash of its transaction")
    if kind == _BUMP:
        reader.account()
        reader.skip(8)
        if reader.number() != _V1:
            raise Contradiction("a fee bump of something else than a transaction")
    if kind == _V0:
        reader.skip(32)
    else:
        reader.account()
    reader.skip(4 + 8)
    reader.preconditions()
    memo = reader.memo()
    count = reader.number()
    payments: dict[int, Paid] = {}
    for place in range(count):
        if not reader.operation(place, payments):
            return Signed(memo, payments, read=place)
    return Signed(memo, payments, read=count)


def _has_hash(tagged: bytes, transaction_hash: str, network_id: bytes, lengths: tuple[int, ...]) -> bool:
    """Whether what stands before the signatures has this hash; most have signatures of one length."""
    usual = [(count, _SIGNATURE_BYTES * count) for count in range(_MOST_SIGNATURES + 1)]
    unusual = sum(4 + 4 + (length + 3) // 4 * 4 for length in lengths)
    for count, size in [(len(lengths), unusual), *usual]:
        end = len(tagged) - 4 - size
        if end <= 0 or tagged[end : end + 4] != struct.pack(">I", count):
            continue
        if hashlib.sha256(network_id + tagged[:end]).hexdigest() == transaction_hash:
            return True
    return False


class _Reader:
    """Reads XDR from its beginning on; struct.error is raised as Contradiction at its end."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0

    def _take(self, form: str) -> Any:
        try:
            [found] = struct.unpack_from(form, self._raw, self._at)
        except struct.error as error:
            raise Contradiction("an envelope that ends too soon") from error
        self._at += struct.calcsize(form)
        return found

    def skip(self, count: int) -> None:
        self._at += count

    def number(self) -> int:
        return int(self._take(">I"))

    def long(self) -> int:
        return int(self._take(">q"))

    def text(self) -> bytes:
        length = self.number()
        found: bytes = self._take(f">{length}s")
        self.skip(-length % 4)
        return found

    def account(self) -> tuple[str, str | None]:
        muxed = str(self._take(">Q")) if self.number() == _MUXED else None
        return addresses.encode_account(self._take(">32s")), muxed

    def asset(self) -> str:
        kind = self.number()
        if kind == 0:
            return NATIVE
        if kind not in (1, 2):
            raise Contradiction("an asset that is not known")
        code: bytes = self._take(">4s" if kind == 1 else ">12s")
        return f"{code.rstrip(bytes(1)).decode()}:{self.account()[0]}"

    def preconditions(self) -> None:
        kind = self.number()
        if kind == 1:
            self.skip(16)
        elif kind == 2:
            for size in (16, 8, 8):  # time bounds, ledger bounds, the least sequence
                if self.number():
                    self.skip(size)
            self.skip(8 + 4)
            for _ in range(self.number()):
                self._signer()

    def _signer(self) -> None:
        kind = self.number()
        self.skip(32)
        if kind == 3:  # a signed payload
            self.text()

    def memo(self) -> Memo:
        match self.number():
            case 0:
                return Memo("none")
            case 1:
                return text_memo(self.text())
            case 2:
                return Memo("id", str(self._take(">Q")))
            case 3:
                return Memo("hash", self._take(">32s").hex())
            case 4:
                return Memo("return", self._take(">32s").hex())
        raise Contradiction("a memo of no known type")

    def operation(self, place: int, payments: dict[int, Paid]) -> bool:
        """Reads one; False where its kind is not known here."""
        if self.number():
            self.account()
        kind = self.number()
        if kind == CREATE_ACCOUNT:
            self.account()
            self.skip(8)
        elif kind == PAYMENT:
            (recipient, muxed), asset = self.account(), self.asset()
            payments[place] = Paid(recipient, muxed, asset, self.long())
        elif kind in (STRICT_RECEIVE, STRICT_SEND):
            self.asset()
            self.skip(8)
            (recipient, muxed), asset = self.account(), self.asset()
            amount = self.long()
            if (path := self.number()) > _MOST_PATH:
                raise Contradiction("a path that is too long")
            for _ in range(path):
                self.asset()
            payments[place] = Paid(recipient, muxed, asset, amount, is_least=kind == STRICT_SEND)
        elif kind == MERGE:
            self.account()
        elif kind == BUMP_SEQUENCE:
            self.skip(8)
        elif kind == MANAGE_DATA:
            self.text()
            if self.number():
                self.text()
        elif kind == CHANGE_TRUST:
            self.asset()
            self.skip(8)
        else:
            return False
        return True
