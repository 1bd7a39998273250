"""Records of a Horizon's replies, in types of ours. Two honest Horizons give equal ones of the same ledger.

Whatever else a record holds is left aside. Each function raises LookupError, TypeError or ValueError for what is no
such record: Horizon.query makes ProviderFailed of it. Amounts are in stroops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeVar

from payments.chains.stellar.horizon import values
from payments.chains.stellar.horizon.client import PAGE as PAGE
from payments.chains.stellar.horizon.values import NATIVE

Record = TypeVar("Record")

_LEDGER_BITS = 32


@dataclass(frozen=True, slots=True)
class RootRecord:
    """A Horizon's report of itself. It has read the ledgers from `elder_ledger` to `latest_ledger`."""

    passphrase: str
    latest_ledger: int
    latest_closed_at: datetime
    elder_ledger: int
    core_latest_ledger: int


@dataclass(frozen=True, slots=True)
class LedgerRecord:
    sequence: int
    hash: str
    closed_at: datetime
    base_fee: int
    base_reserve: int


@dataclass(frozen=True, slots=True)
class FeeStats:
    """Fees for one operation in the last ledgers: by percentile (`p99`), `min`, `mode` and `max`."""

    last_ledger: int
    base_fee: int
    capacity_usage: float
    fee_charged: Mapping[str, int]
    max_fee: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Memo:
    """The memo of an on-chain transaction. `text` of a memo of text comes from its bytes: what is no UTF-8, and NUL, is
    replaced in it, never dropped. A hash is in hexadecimal digits."""

    type: Literal["none", "text", "id", "hash", "return"]
    text: str | None = None


@dataclass(frozen=True, slots=True)
class TransactionRecord:
    """An on-chain transaction in a ledger. `hash` is the outer one of a fee bump; `inner_hash` is None without one.

    `sequence` is that of `source_account`, whoever paid the fee.
    """

    hash: str
    inner_hash: str | None
    paging_token: int
    ledger: int
    closed_at: datetime
    successful: bool
    source_account: str
    sequence: int
    fee_account: str
    fee_charged: int
    max_fee: int
    operation_count: int
    memo: Memo
    envelope_xdr: str
    result_xdr: str
    signature_lengths: tuple[int, ...] = ()

    def goes_by(self, transaction_hash: str) -> bool:
        return transaction_hash in (self.hash, self.inner_hash)


@dataclass(frozen=True, slots=True)
class Trustline:
    """What an account may hold of an asset."""

    balance: int
    limit: int
    buying_liabilities: int
    selling_liabilities: int
    is_authorized: bool
    last_modified_ledger: int

    @property
    def room(self) -> int:
        """How much more it can be paid."""
        return max(0, self.limit - self.balance - self.buying_liabilities)


@dataclass(frozen=True, slots=True)
class AccountRecord:
    """An account as it is after the last ledger that a Horizon has read. `trustlines` by CODE:ISSUER."""

    address: str
    sequence: int
    native_balance: int
    native_selling_liabilities: int
    last_modified_ledger: int
    subentry_count: int
    num_sponsoring: int
    num_sponsored: int
    trustlines: Mapping[str, Trustline]
    data: Mapping[str, bytes] = field(default_factory=dict)
    home_domain: str = ""
    thresholds: tuple[int, int, int] = (0, 0, 0)
    signers: Mapping[str, int] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()

    @property
    def changed_at(self) -> int:
        """The newest ledger that changed its balances, its sequence or what belongs to it."""
        return max(self.last_modified_ledger, *(each.last_modified_ledger for each in self.trustlines.values()), 0)


def root(found: Any) -> RootRecord:
    record = RootRecord(
        passphrase=values.text(found["network_passphrase"]),
        latest_ledger=values.whole(found["history_latest_ledger"]),
        latest_closed_at=values.instant(found["history_latest_ledger_closed_at"]),
        elder_ledger=values.whole(found["history_elder_ledger"]),
        core_latest_ledger=values.whole(found["core_latest_ledger"]),
    )
    if record.elder_ledger > record.latest_ledger:
        raise ValueError("its oldest ledger is newer than its newest")
    return record


def ledger(found: Any) -> LedgerRecord:
    return LedgerRecord(
        sequence=_height(found["sequence"]),
        hash=values.digest(found["hash"]),
        closed_at=values.instant(found["closed_at"]),
        base_fee=values.whole(found["base_fee_in_stroops"]),
        base_reserve=values.whole(found["base_reserve_in_stroops"]),
    )


def fee_stats(found: Any) -> FeeStats:
    usage = float(values.text(found["ledger_capacity_usage"]))
    if not 0 <= usage <= 1:
        raise ValueError("no share of a ledger")
    return FeeStats(
        last_ledger=values.whole(found["last_ledger"]),
        base_fee=values.whole(found["last_ledger_base_fee"]),
        capacity_usage=usage,
        fee_charged={values.text(name): values.whole(fee) for name, fee in found["fee_charged"].items()},
        max_fee={values.text(name): values.whole(fee) for name, fee in found["max_fee"].items()},
    )


def transaction(found: Any) -> TransactionRecord:
    outer = found.get("fee_bump_transaction")
    inner = found.get("inner_transaction")
    token = values.whole(found["paging_token"])
    record = TransactionRecord(
        hash=values.digest(found["hash"] if outer is None else outer["hash"]),
        inner_hash=None if inner is None else values.digest(inner["hash"]),
        paging_token=token,
        ledger=_height(found["ledger"]),
        closed_at=values.instant(found["created_at"]),
        successful=values.flag(found["successful"]),
        source_account=values.account(found["source_account"]),
        sequence=values.whole(found["source_account_sequence"]),
        fee_account=values.account(found["fee_account"]),
        fee_charged=values.whole(found["fee_charged"]),
        max_fee=values.whole(found["max_fee"]),
        operation_count=values.whole(found["operation_count"]),
        memo=_memo(found),
        envelope_xdr=_xdr(found.get("envelope_xdr", "")),
        result_xdr=_xdr(found.get("result_xdr", "")),
        signature_lengths=tuple(len(values.data(each)) for each in found.get("signatures") or ()),
    )
    if token >> _LEDGER_BITS != record.ledger or not record.goes_by(found["hash"]):
        raise ValueError("a transaction that contradicts itself")
    return record


def account(found: Any) -> AccountRecord:
    address = values.account(found["account_id"])
    held = values.listed(found["balances"])
    [native] = [each for each in held if each["asset_type"] == NATIVE]
    issued = [each for each in held if each["asset_type"] not in (NATIVE, "liquidity_pool_shares")]
    trustlines = {values.asset(each): _trustline(each) for each in issued}
    if len(trustlines) != len(issued):
        raise ValueError("two trustlines of one asset")
    thresholds = found["thresholds"]
    return AccountRecord(
        address=address,
        sequence=values.whole(found["sequence"]),
        native_balance=values.stroops(native["balance"]),
        native_selling_liabilities=values.stroops(native["selling_liabilities"]),
        last_modified_ledger=values.whole(found["last_modified_ledger"]),
        subentry_count=values.whole(found["subentry_count"]),
        num_sponsoring=values.whole(found["num_sponsoring"]),
        num_sponsored=values.whole(found["num_sponsored"]),
        trustlines=trustlines,
        data={values.text(name): values.data(value) for name, value in found["data"].items()},
        home_domain=values.text(found.get("home_domain", "")),
        thresholds=(
            values.whole(thresholds["low_threshold"]),
            values.whole(thresholds["med_threshold"]),
            values.whole(thresholds["high_threshold"]),
        ),
        signers={values.text(each["key"]): values.whole(each["weight"]) for each in values.listed(found["signers"])},
        flags=frozenset(values.text(name) for name, is_set in found["flags"].items() if values.flag(is_set)),
    )


def page(read: Callable[[Any], Record]) -> Callable[[Any], list[Record]]:
    """Reads a page of records."""

    def read_page(found: Any) -> list[Record]:
        listed = values.listed(found["_embedded"]["records"])
        if len(listed) > PAGE:
            raise ValueError("more records than were requested")
        return [read(each) for each in listed]

    return read_page


def token_after(height: int) -> int:
    """The paging token that comes after all records of this ledger, and before those of the next."""
    return ((height + 1) << _LEDGER_BITS) - 1


def ledger_of(paging_token: int) -> int:
    return paging_token >> _LEDGER_BITS


def _trustline(found: Any) -> Trustline:
    return Trustline(
        balance=values.stroops(found["balance"]),
        limit=values.stroops(found["limit"]),
        buying_liabilities=values.stroops(found["buying_liabilities"]),
        selling_liabilities=values.stroops(found["selling_liabilities"]),
        is_authorized=values.flag(found["is_authorized"]),
        last_modified_ledger=values.whole(found["last_modified_ledger"]),
    )


def text_memo(content: bytes) -> Memo:
    return Memo("text", content.decode(errors="replace").replace("\x00", "\N{REPLACEMENT CHARACTER}"))


def _memo(found: Any) -> Memo:
    match found["memo_type"]:
        case "none":
            return Memo("none")
        case "id":
            return Memo("id", values.identifier(found["memo"]))
        case "text":
            content = values.data(found["memo_bytes"]) if "memo_bytes" in found else values.text(found["memo"]).encode()
            return text_memo(content)
        case "hash" | "return" as kind:
            return Memo(kind, values.data(found["memo"]).hex())
    raise ValueError("no memo of a known type")


def _height(found: Any) -> int:
    height = values.whole(found)
    if not 0 < height < 1 << _LEDGER_BITS:
        raise ValueError("no number of a ledger")
    return height


def _xdr(found: Any) -> str:
    if not isinstance(found, str):
        raise TypeError("no XDR")
    return found
