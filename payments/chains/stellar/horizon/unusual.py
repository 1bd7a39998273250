"""What changed the balances of an account and is no payment of it: clawbacks, claimed balances, trades, merges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from payments.chains.protocol.operations import UnusualChange, UnusualKind
from payments.chains.stellar.horizon import values
from payments.chains.stellar.horizon.client import Horizon
from payments.chains.stellar.horizon.effects import changes_by, effect
from payments.chains.stellar.horizon.operations import Payment
from payments.chains.stellar.horizon.pages import MOST_RECORDS, account_of, in_order, operations_between
from payments.chains.stellar.horizon.records import ledger_of
from payments.chains.stellar.horizon.values import NATIVE

_USUAL = ("payment", "path_payment", "contract", "create_account", "claimable_balance")


def unusual_changes(
    horizon: Horizon, account: str, assets: Collection[str], *, after: int, up_to: int
) -> tuple[UnusualChange, ...]:
    """Those of the ledgers above `after` up to `up_to`, of these assets by CODE:ISSUER and of the native coin.

    Effects record what changed, operations why; a trade that somebody else began is no operation of the account.
    """
    path = f"/accounts/{account}"
    moved = operations_between(
        horizon, f"{path}/operations", account, after=after, up_to=up_to, fresh_after=after, enough=MOST_RECORDS
    )
    payments: defaultdict[int, list[Payment]] = defaultdict(list)
    for payment in moved.payments:
        payments[payment.paging_token].append(payment)
    found = [
        UnusualChange("set_aside", each.transaction_hash, each.ledger, each.asset, each.amount)
        for each in moved.payments
        if each.kind == "claimable_balance"
        and account_of(each.sender) != account
        and each.asset in assets
        and each.amount
    ]
    totals: defaultdict[tuple[int, str], int] = defaultdict(int)
    types: defaultdict[int, set[str]] = defaultdict(set)
    effects = list(in_order(horizon, f"{path}/effects", effect, lambda each: each.place, after=after, up_to=up_to))
    for each in effects:
        types[each.operation].add(each.type)
    for each, (asset, amount) in changes_by(effects):
        if asset == NATIVE or asset in assets:
            totals[each.operation, asset] += amount
    for (token, asset), amount in totals.items():
        kind = _kind(account, payments[token], types[token])
        if amount and kind is not None:
            contract = "" if asset == NATIVE else asset
            found.append(UnusualChange(kind, _hash(horizon, token), ledger_of(token), contract, amount))
    return tuple(sorted(found, key=lambda each: (each.height, each.transaction_hash, each.contract)))


def _kind(account: str, payments: Sequence[Payment], types: Collection[str]) -> UnusualKind | None:
    """How an operation changed the account; None for what its payments record."""
    kinds = {each.kind for each in payments}
    if "clawback" in kinds:
        return "clawback"
    if "account_merge" in kinds:
        return "merged"
    if any(account_of(each.sender) == each.recipient == account for each in payments):
        return "traded"  # a path payment to itself
    if kinds.intersection(_USUAL):
        return None
    if "claimable_balance_claimed" in types:
        return "claimed"
    return "traded" if "trade" in types else "other"


def _hash(horizon: Horizon, token: int) -> str:
    """That of the transaction with this operation."""
    return horizon.query(lambda found: values.digest(found["transaction_hash"]), f"/operations/{token}")
