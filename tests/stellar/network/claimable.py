"""Claimable balances: money set aside for somebody who need not trust the asset yet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stellar_sdk import xdr
from stellar_sdk.operation import ClaimClaimableBalance, CreateClaimableBalance
from stellar_sdk.operation.create_claimable_balance import (
    ClaimPredicate,
    ClaimPredicateType,
)

from tests.stellar.network.entries import ClaimableBalance, State, amount_text, time_text
from tests.stellar.network.moving import (
    Applying,
    Codes,
    Payload,
    asset_fields,
    asset_name,
    credit,
    debit,
    stroops,
    subentry,
)
from tests.stellar.network.results import Refused

Kind = ClaimPredicateType


def create(applying: Applying, operation: CreateClaimableBalance) -> Payload:
    codes, state = xdr.CreateClaimableBalanceResultCode, applying.state
    asset, amount = asset_name(operation.asset), stroops(operation.amount)
    if not operation.claimants or amount <= 0:
        raise Refused(codes.CREATE_CLAIMABLE_BALANCE_MALFORMED)
    sending = Codes(
        codes.CREATE_CLAIMABLE_BALANCE_NO_TRUST,
        codes.CREATE_CLAIMABLE_BALANCE_NOT_AUTHORIZED,
        codes.CREATE_CLAIMABLE_BALANCE_UNDERFUNDED,
    )
    debit(state, applying.source.account_id, asset, amount, sending)
    with subentry(applying, codes.CREATE_CLAIMABLE_BALANCE_LOW_RESERVE):
        sponsoring = applying.account.sponsoring + len(operation.claimants)
        state.put_account(replace(applying.account, sponsoring=sponsoring))
    identifier = applying.transaction.get_claimable_balance_id(applying.index)
    claimants = tuple((each.destination, _absolute(each.predicate, state.closed_at)) for each in operation.claimants)
    state.put_claimable(ClaimableBalance(identifier, asset, amount, applying.source.account_id, claimants))
    created = {"asset": asset, "balance_id": identifier, "amount": amount_text(amount)}
    applying.note(applying.source, "claimable_balance_created", **created)
    for account, predicate in claimants:
        applying.note(account, "claimable_balance_claimant_created", **created, predicate=predicate_fields(predicate))
    applying.note(applying.source, "account_debited", **asset_fields(asset), amount=amount_text(amount))
    applying.note(
        applying.source,
        "claimable_balance_sponsorship_created",
        balance_id=identifier,
        sponsor=applying.source.account_id,
    )
    return {"balance_id": xdr.ClaimableBalanceID.from_xdr_bytes(bytes.fromhex(identifier))}


def claim(applying: Applying, operation: ClaimClaimableBalance) -> Payload:
    codes, state = xdr.ClaimClaimableBalanceResultCode, applying.state
    balance = state.claimable.get(operation.balance_id)
    if balance is None:
        raise Refused(codes.CLAIM_CLAIMABLE_BALANCE_DOES_NOT_EXIST)
    claimant = applying.source.account_id
    predicates = [predicate for account, predicate in balance.claimants if account == claimant]
    if not any(_holds(predicate, state.closed_at) for predicate in predicates):
        raise Refused(codes.CLAIM_CLAIMABLE_BALANCE_CANNOT_CLAIM)
    receiving = Codes(
        codes.CLAIM_CLAIMABLE_BALANCE_NO_TRUST,
        codes.CLAIM_CLAIMABLE_BALANCE_NOT_AUTHORIZED,
        codes.CLAIM_CLAIMABLE_BALANCE_LINE_FULL,
    )
    credit(state, claimant, balance.asset, balance.amount, receiving)
    state.remove_claimable(balance.id)
    _release_sponsor(state, balance)
    amount = amount_text(balance.amount)
    applying.note(
        applying.source, "claimable_balance_claimed", asset=balance.asset, balance_id=balance.id, amount=amount
    )
    applying.note(applying.source, "account_credited", **asset_fields(balance.asset), amount=amount)
    applying.note(
        applying.source,
        "claimable_balance_sponsorship_removed",
        balance_id=balance.id,
        former_sponsor=balance.sponsor,
    )
    return None


def predicate_fields(predicate: ClaimPredicate) -> dict[str, Any]:
    """A predicate as records show it. Times may be absolute or, as in an operation, relative."""
    match predicate.claim_predicate_type:
        case Kind.CLAIM_PREDICATE_NOT if predicate.not_predicate is not None:
            return {"not": predicate_fields(predicate.not_predicate)}
        case Kind.CLAIM_PREDICATE_BEFORE_ABSOLUTE_TIME:
            seconds = predicate.abs_before or 0
            return {"abs_before": time_text(seconds), "abs_before_epoch": str(seconds)}
        case Kind.CLAIM_PREDICATE_BEFORE_RELATIVE_TIME:
            return {"rel_before": str(predicate.rel_before)}
        case _:
            return {"unconditional": True}


def _absolute(predicate: ClaimPredicate, now: int) -> ClaimPredicate:
    """The predicate with times counted from the ledger it was made in."""
    match predicate.claim_predicate_type:
        case Kind.CLAIM_PREDICATE_BEFORE_RELATIVE_TIME:
            return ClaimPredicate.predicate_before_absolute_time(now + (predicate.rel_before or 0))
        case Kind.CLAIM_PREDICATE_NOT if predicate.not_predicate is not None:
            return ClaimPredicate.predicate_not(_absolute(predicate.not_predicate, now))
        case _:
            return predicate


def _holds(predicate: ClaimPredicate, now: int) -> bool:
    match predicate.claim_predicate_type:
        case Kind.CLAIM_PREDICATE_BEFORE_ABSOLUTE_TIME:
            return now < (predicate.abs_before or 0)
        case Kind.CLAIM_PREDICATE_NOT if predicate.not_predicate is not None:
            return not _holds(predicate.not_predicate, now)
        case _:
            return True


def _release_sponsor(state: State, balance: ClaimableBalance) -> None:
    if (sponsor := state.accounts.get(balance.sponsor)) is not None:
        state.put_account(replace(sponsor, sponsoring=sponsor.sponsoring - len(balance.claimants)))
