"""Applying one transaction to the state: fee and sequence number first, then all of its operations or none."""

from __future__ import annotations

from dataclasses import replace

from stellar_sdk.operation import (
    AccountMerge,
    Clawback,
    CreateAccount,
    CreateClaimableBalance,
    Operation,
    PathPaymentStrictReceive,
    PathPaymentStrictSend,
    Payment,
    SetTrustLineFlags,
)

from tests.stellar.network.entries import State
from tests.stellar.network.envelopes import Envelope
from tests.stellar.network.history import AppliedEffect, AppliedOperation, AppliedTransaction
from tests.stellar.network.moving import Applying
from tests.stellar.network.operations import HANDLERS
from tests.stellar.network.results import OpCode, OperationOutcome, Outcome, Refused, TxCode
from tests.stellar.network.validity import kind_of


def apply(
    state: State,
    envelope: Envelope,
    *,
    position: int,
    fee_each: int,
) -> AppliedTransaction:
    """Apply a valid transaction, as the one at this position of the ledger that `state` is becoming, counted from 1."""
    _charge(state, envelope.payer.account_id, envelope.cost(fee_each))
    _use_sequence(state, envelope)

    mark, token = state.mark(), state.ledger << 32 | position << 12
    done = [_try(state, envelope, index, operation) for index, operation in enumerate(envelope.transaction.operations)]
    successful = all(outcome.successful for outcome, _ in done)
    if not successful:
        state.undo(mark)
    outcome = _outcome(envelope, [each for each, _ in done], successful=successful, fee_each=fee_each)
    applied = AppliedTransaction(token, state.ledger, state.closed_at, envelope, outcome, outcome.to_xdr())
    for number, (result, applying) in enumerate(done, 1):
        operation = AppliedOperation(
            token=token + number,
            transaction=applied,
            operation=applying.operation,
            source=applying.source,
            outcome=result,
            accounts=_accounts(applying.operation, applying.source.account_id),
            facts=applying.facts,
        )
        if successful:
            operation.effects = [AppliedEffect(operation, at, effect) for at, effect in enumerate(applying.effects, 1)]
        applied.operations.append(operation)
    state.keep()
    return applied


def _try(state: State, envelope: Envelope, index: int, operation: Operation) -> tuple[OperationOutcome, Applying]:
    """Operations after one that failed are tried as well, so that each has a result."""
    source = operation.source or envelope.transaction.source
    applying = Applying(state, envelope.transaction, index, operation, source)
    kind, mark = kind_of(operation), state.mark()
    if source.account_id not in state.accounts:
        return OperationOutcome(kind, OpCode.opNO_ACCOUNT), applying
    try:
        payload = HANDLERS[type(operation)](applying, operation)
    except Refused as refused:
        state.undo(mark)
        return OperationOutcome(kind, refused.code), applying
    return OperationOutcome(kind, kind.success, payload or {}), applying


def _charge(state: State, address: str, fee: int) -> None:
    account = state.accounts[address]
    state.put_account(replace(account, native=account.native - fee))


def _use_sequence(state: State, envelope: Envelope) -> None:
    account = state.accounts[envelope.source]
    used = replace(
        account,
        sequence=envelope.transaction.sequence,
        sequence_ledger=state.ledger,
        sequence_time=state.closed_at,
    )
    state.put_account(used)


def _outcome(envelope: Envelope, operations: list[OperationOutcome], *, successful: bool, fee_each: int) -> Outcome:
    code, fee = TxCode.txSUCCESS if successful else TxCode.txFAILED, envelope.cost(fee_each)
    if not envelope.is_bump:
        return Outcome(code, fee, operations)
    outer = TxCode.txFEE_BUMP_INNER_SUCCESS if successful else TxCode.txFEE_BUMP_INNER_FAILED
    return Outcome(code, fee, operations, outer, envelope.inner_hash, envelope.inner_cost(fee_each))


def _accounts(operation: Operation, source: str) -> set[str]:
    """Whose history an operation belongs to."""
    match operation:
        case Payment() | PathPaymentStrictReceive() | PathPaymentStrictSend() | AccountMerge():
            return {source, operation.destination.account_id}
        case CreateAccount():
            return {source, operation.destination}
        case CreateClaimableBalance():
            return {source, *(each.destination for each in operation.claimants)}
        case Clawback():
            return {source, operation.from_.account_id}
        case SetTrustLineFlags():
            return {source, operation.trustor}
        case _:
            return {source}
