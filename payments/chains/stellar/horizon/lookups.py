"""Queries of one Horizon about an on-chain transaction, or about some ledgers. Used by `Horizons`."""

from __future__ import annotations

from dataclasses import replace

from payments.chains.providers.servers import ProviderFailed
from payments.chains.stellar.horizon import records
from payments.chains.stellar.horizon.client import Horizon, NotKnown
from payments.chains.stellar.horizon.effects import effect
from payments.chains.stellar.horizon.operations import operation_of
from payments.chains.stellar.horizon.pages import Moved, in_order
from payments.chains.stellar.horizon.records import PAGE, LedgerRecord, TransactionRecord, token_after
from payments.chains.stellar.horizon.values import NATIVE


def transaction(horizon: Horizon, known: str) -> TransactionRecord | None:
    """The on-chain transaction with this hash, the outer or the inner one; None where it is in no ledger read."""
    try:
        found = horizon.query(records.transaction, f"/transactions/{known}")
    except NotKnown:
        return None
    if not found.goes_by(known):
        raise ProviderFailed(f"{horizon.name} answered for transaction {known} with another one")
    return found


def transaction_up_to(horizon: Horizon, known: str, height: int) -> TransactionRecord | None:
    """As transaction; None as well where its ledger is above this height."""
    found = transaction(horizon, known)
    return found if found is not None and found.ledger <= height else None


def moved_by(horizon: Horizon, known: TransactionRecord) -> Moved:
    """What an on-chain transaction moved. It has a hundred operations at most, so that one page holds them."""
    if not known.successful:
        return Moved(known.ledger, ())
    read = records.page(operation_of(known, horizon.network_id))
    found = horizon.query(read, f"/transactions/{known.hash}/operations", limit=PAGE, order="asc")
    tokens = [each.paging_token for each in found]
    if len(found) != known.operation_count or tokens != sorted(set(tokens)):
        raise ProviderFailed(f"{horizon.name} answered for transaction {known.hash} with other operations")
    moved = [payment for each in found for payment in each.payments]
    if any(each.kind == "account_merge" for each in moved):
        credited = _credited_by(horizon, known)
        moved = [
            replace(each, amount=credited.get((each.paging_token, each.recipient), 0)) if each.amount is None else each
            for each in moved
        ]
    return Moved(known.ledger, tuple(moved), tuple(each.unread for each in found if each.unread))


def sent_by(horizon: Horizon, account: str, first: int, last: int) -> tuple[TransactionRecord, ...]:
    """What an account sent in these ledgers, failed ones as well."""
    found = in_order(
        horizon,
        f"/accounts/{account}/transactions",
        records.transaction,
        lambda each: (each.paging_token,),
        after=max(0, first - 1),
        up_to=last,
        include_failed="true",
    )
    return tuple(each for each in found if each.source_account == account)


def _credited_by(horizon: Horizon, known: TransactionRecord) -> dict[tuple[int, str], int]:
    """Native coins that each operation of a transaction gave to each account: for a merge, only effects record it."""
    found = horizon.query(records.page(effect), f"/transactions/{known.hash}/effects", limit=PAGE, order="asc")
    return {
        (each.operation, each.account): amount
        for each in found
        for asset, amount in each.changes
        if asset == NATIVE and amount > 0
    }


def ledgers(horizon: Horizon, first: int, last: int) -> tuple[LedgerRecord, ...]:
    read = records.page(records.ledger)
    found = horizon.query(read, "/ledgers", cursor=token_after(first - 1), limit=last - first + 1, order="asc")
    if [each.sequence for each in found] != list(range(first, last + 1)):
        raise ProviderFailed(f"{horizon.name} answered for the ledgers {first} to {last} with others")
    return tuple(found)


def hash_in(text: str) -> str:
    """The hash as Horizon spells it, empty when this is none."""
    known = text.strip().lower()
    return known if len(known) == 64 and not set(known) - set("0123456789abcdef") else ""
