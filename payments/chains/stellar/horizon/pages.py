"""Records that Horizon gives by pages, in their order. A server that repeats itself or never ends has failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from payments.chains.protocol.transfers import UnreadRecord
from payments.chains.providers.servers import ProviderFailed, ReplyTooLong, ReplyTooSlow
from payments.chains.stellar import addresses
from payments.chains.stellar.horizon import values
from payments.chains.stellar.horizon.client import Horizon
from payments.chains.stellar.horizon.operations import OperationRecord, Payment, neighbours, transaction_place
from payments.chains.stellar.horizon.records import PAGE, ledger_of, page, token_after

Record = TypeVar("Record")
Place = tuple[int, ...]
"""Where a record stands: its paging token, in numbers. The first gives the ledger."""

MOST_RECORDS = 100_000
"""Far more than one question is ever about."""

MOST_OF_ONE = 2
"""Operations of a transaction, on average, up to which it is joined to each: a question less, and little that is sent
twice."""

MOST_IN_A_LEDGER = 10_000
"""Operations of one account that one ledger cannot hold: the network takes a few thousand of all accounts."""


def in_order(
    horizon: Horizon,
    path: str,
    read: Callable[[Any], Record],
    place_of: Callable[[Record], Place],
    *,
    after: int,
    up_to: int,
    **params: str | int,
) -> Iterator[Record]:
    """The records of the ledgers above `after` up to `up_to`, oldest first. After a full page the next one is queried.

    Where Horizon keeps what transactions changed, each record brings it along: a page that is too long is queried in
    halves, and those after it as well. One that is not whole in time is shorter at the next query.
    """
    place: Place = (token_after(after),)
    cursor = place
    seen = 0
    while seen < MOST_RECORDS:
        position, size = "-".join(map(str, cursor)), horizon.page
        try:
            found = horizon.query(page(read), path, cursor=position, limit=size, order="asc", **params)
        except ReplyTooLong:
            if size == 1 or "join" in params:
                raise
            horizon.page = size // 2
            continue
        except ReplyTooSlow:
            # If it were queried again at once, a server that hangs would delay its caller for every half.
            horizon.page = max(1, size // 2)
            raise
        horizon.page = min(PAGE, size + size // 8 + 1)
        seen += len(found)
        for record in found:
            if place_of(record) <= place:
                raise ProviderFailed(f"{horizon.name} answered {path} with records out of their order")
            place = cursor = place_of(record)
            if ledger_of(place[0]) > up_to:
                return
            yield record
        if len(found) < size:
            return
    raise ProviderFailed(f"{horizon.name} answered {path} with pages that do not end")


@dataclass(frozen=True, slots=True)
class Moved:
    """What operations of an account moved, and the last ledger of which that is everything."""

    last_height: int
    payments: tuple[Payment, ...]
    unread: tuple[UnreadRecord, ...] = ()


def operations_between(
    horizon: Horizon, path: str, account: str, *, after: int, up_to: int, fresh_after: int, enough: int
) -> Moved:
    """What operations of an account moved above `after`.

    Reads on to `up_to`, or until there are `enough` operations of ledgers above `fresh_after`, and to the end of the
    ledger then. Their transactions come joined to them, or, where several are of the same one, by themselves.
    """
    moved = partial(_moved, horizon, path, account, after=after, up_to=up_to, fresh_after=fresh_after, enough=enough)
    if horizon.joins:
        horizon.joins = False  # unless it answers, and little of it twice
        with suppress(ReplyTooLong):
            return moved(_Transactions(), join="transactions")
    return moved(_Apart(horizon, account, up_to))


class _Transactions:
    """Those that operations brought along; counts them, and the operations that move something."""

    operations = transactions = _last = 0

    def joined(self, found: Any) -> Any:
        """An operation with its transaction."""
        try:
            place = transaction_place(found)
        except (LookupError, TypeError, ValueError):
            return found  # the code that reads it reports the fault
        if place is None:
            return found
        self.operations += 1
        self.transactions += place != self._last
        self._last = place
        return self._join(found, place)

    def _join(self, found: Any, place: int) -> Any:
        return found


class _Apart(_Transactions):
    """Those of an account, which come in the order of its operations."""

    def __init__(self, horizon: Horizon, account: str, up_to: int) -> None:
        self._horizon, self._path, self._up_to = horizon, f"/accounts/{account}/transactions", up_to
        self._pages: Iterator[tuple[int, Any]] | None = None
        self._sent: tuple[int, Any] = 0, None

    def _join(self, found: Any, place: int) -> Any:
        if self._pages is None:
            first = ledger_of(place) - 1
            self._pages = in_order(self._horizon, self._path, _as_sent, _token, after=first, up_to=self._up_to)
        while self._sent[0] < place and (following := next(self._pages, None)) is not None:
            self._sent = following
        if self._sent[0] == place:
            return {**found, "transaction": self._sent[1]}
        # A contract may move coins of an account that its transaction is not listed for.
        return {**found, "transaction": self._horizon.get(f"/transactions/{values.digest(found['transaction_hash'])}")}


def _as_sent(found: Any) -> tuple[int, Any]:
    return values.whole(found["paging_token"]), found


def _token(found: tuple[int, Any]) -> Place:
    return found[:1]


def _moved(
    horizon: Horizon,
    path: str,
    account: str,
    transactions: _Transactions,
    *,
    after: int,
    up_to: int,
    fresh_after: int,
    enough: int,
    **params: str,
) -> Moved:
    found, unread, fresh, last = list[Payment](), list[UnreadRecord](), 0, after
    read = neighbours(account, horizon.network_id)
    records = in_order(
        horizon, path, lambda each: read(transactions.joined(each)), operation_place, after=after, up_to=up_to, **params
    )
    for record in records:
        ledger = ledger_of(record.paging_token)
        if fresh >= enough and ledger > last:
            break
        fresh += ledger > fresh_after
        last = ledger
        if fresh >= enough + MOST_IN_A_LEDGER:
            raise ProviderFailed(f"{horizon.name} answered {path} with more than a ledger can hold")
        if any(not concerns(each, account) for each in record.payments if each.kind != "contract"):
            raise ProviderFailed(f"{horizon.name} answered for {account} with a payment of somebody else")
        found += [each for each in record.payments if concerns(each, account)]
        unread += [record.unread] if record.unread else []
    else:
        last = up_to
    horizon.joins = transactions.operations <= MOST_OF_ONE * transactions.transactions
    return Moved(last, tuple(found), tuple(unread))


def operation_place(record: OperationRecord) -> Place:
    return (record.paging_token,)


def concerns(payment: Payment, account: str) -> bool:
    """Whether it moved something from or to this account. A balance set aside is also theirs who may claim it later."""
    return payment.kind == "claimable_balance" or account in (payment.recipient, account_of(payment.sender))


def account_of(sender: str) -> str:
    """The account behind an M address; others as they are."""
    return addresses.split(sender)[0] if sender.startswith("M") else sender
