"""Whether a transaction may wait for the next ledger: the checks of core, in its order.

What fails here leaves no trace: no fee is charged and no sequence number is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from stellar_sdk import DecoratedSignature, Keypair, Transaction, xdr
from stellar_sdk.exceptions import BadSignatureError
from stellar_sdk.operation import (
    AccountMerge,
    BumpSequence,
    ClaimClaimableBalance,
    Clawback,
    CreateClaimableBalance,
    Operation,
    PathPaymentStrictReceive,
    PathPaymentStrictSend,
    Payment,
    SetOptions,
    SetTrustLineFlags,
)

from tests.stellar.network.entries import Account, State
from tests.stellar.network.envelopes import Envelope
from tests.stellar.network.moving import stroops
from tests.stellar.network.results import KINDS, Kind, OpCode, OperationOutcome, Outcome, TxCode

LOW, MEDIUM, HIGH = 0, 1, 2
_LEVELS: Mapping[type[Operation], int] = {
    AccountMerge: HIGH,
    BumpSequence: LOW,
    ClaimClaimableBalance: LOW,
    SetTrustLineFlags: LOW,
}

# Amounts that must be more than nothing, and how each kind says that one is not.
_AMOUNTS: Mapping[type[Operation], tuple[Callable[[Any], tuple[str, ...]], str]] = {
    Payment: (lambda op: (op.amount,), "PAYMENT_MALFORMED"),
    PathPaymentStrictReceive: (lambda op: (op.dest_amount, op.send_max), "PATH_PAYMENT_STRICT_RECEIVE_MALFORMED"),
    PathPaymentStrictSend: (lambda op: (op.send_amount, op.dest_min), "PATH_PAYMENT_STRICT_SEND_MALFORMED"),
    CreateClaimableBalance: (lambda op: (op.amount,), "CREATE_CLAIMABLE_BALANCE_MALFORMED"),
    Clawback: (lambda op: (op.amount,), "CLAWBACK_MALFORMED"),
}


@dataclass(slots=True)
class Signatures:
    """The signatures of an envelope, and which of them counted for something."""

    hash: bytes
    signatures: Sequence[DecoratedSignature]
    _weights: dict[str, int] = field(default_factory=dict)
    _used: set[int] = field(default_factory=set)

    def suffice(self, account: Account, level: int) -> bool:
        """Whether they have enough weight for an operation of this level by this account."""
        keys = {account.address: account.master_weight} | dict(account.signers)
        weight = self._weight(account.address, keys)
        return weight > 0 and weight >= account.thresholds[level]

    def signed_by(self, address: str) -> bool:
        """Whether the key that an account would have signed, where there is no account yet."""
        return self._weight(address, {address: 1}) > 0

    @property
    def one_is_unused(self) -> bool:
        return len(self._used) < len(self.signatures)

    def _weight(self, address: str, keys: Mapping[str, int]) -> int:
        if address not in self._weights:
            self._weights[address] = sum(weight for key, weight in keys.items() if weight and self._has(key))
        return self._weights[address]

    def _has(self, key: str) -> bool:
        hint = Keypair.from_public_key(key).signature_hint()
        for position, signature in enumerate(self.signatures):
            if signature.signature_hint == hint and _is_signed(key, self.hash, signature.signature):
                self._used.add(position)
                return True
        return False


@lru_cache(maxsize=4096)
def _is_signed(key: str, digest: bytes, signature: bytes) -> bool:
    """Asked again for what has waited, and costs more than all the rest."""
    try:
        Keypair.from_public_key(key).verify(digest, signature)
    except BadSignatureError:
        return False
    return True


def kind_of(operation: Operation) -> Kind:
    """The kind of an operation; one that is not understood here has a kind without results."""
    return KINDS.get(type(operation)) or Kind(
        "", operation._XDR_OPERATION_TYPE, xdr.OperationResultCode, xdr.OperationResult
    )


def check(state: State, envelope: Envelope) -> Outcome | None:
    """Why a transaction is rejected against this state; None if nothing speaks against it."""
    if not envelope.is_bump:
        found = _check_transaction(state, envelope)
        return None if found is None else Outcome(found[0], envelope.cost(), found[1])
    if (code := _check_fee_bump(state, envelope)) is not None:
        return Outcome(TxCode.txFAILED, envelope.cost(), outer=code)
    if (found := _check_transaction(state, envelope)) is None:
        return None
    outer = TxCode.txFEE_BUMP_INNER_FAILED
    return Outcome(found[0], envelope.cost(), found[1], outer, envelope.inner_hash, envelope.inner_cost())


def _check_fee_bump(state: State, envelope: Envelope) -> TxCode | None:
    offered, before = envelope.fee * len(envelope.transaction.operations), envelope.transaction.fee
    if envelope.fee < envelope.cost() or offered < before * envelope.operations_paid:
        return TxCode.txINSUFFICIENT_FEE
    payer = state.accounts.get(envelope.payer.account_id)
    if payer is None:
        return TxCode.txNO_ACCOUNT
    signatures = Signatures(envelope.hash, envelope.signed.signatures)
    if not signatures.suffice(payer, LOW):
        return TxCode.txBAD_AUTH
    if payer.native - payer.reserve < envelope.fee:
        return TxCode.txINSUFFICIENT_BALANCE
    return TxCode.txBAD_AUTH_EXTRA if signatures.one_is_unused else None


def _check_transaction(state: State, envelope: Envelope) -> tuple[TxCode, tuple[OperationOutcome, ...]] | None:
    """The code, and the results of the operations where one of them is what speaks against it."""
    transaction, pays_itself = envelope.transaction, not envelope.is_bump
    if not transaction.operations:
        return TxCode.txMISSING_OPERATION, ()
    if (code := _outside_bounds(state, transaction)) is not None:
        return code, ()
    if pays_itself and transaction.fee < envelope.cost():
        return TxCode.txINSUFFICIENT_FEE, ()
    source = state.accounts.get(envelope.source)
    if source is None:
        return TxCode.txNO_ACCOUNT, ()
    if transaction.sequence != source.sequence + 1:
        return TxCode.txBAD_SEQ, ()
    signatures = Signatures(envelope.inner_hash, envelope.inner.signatures)
    if not signatures.suffice(source, LOW):
        return TxCode.txBAD_AUTH, ()
    if pays_itself and source.native - source.reserve < transaction.fee:
        return TxCode.txINSUFFICIENT_BALANCE, ()
    outcomes = tuple(_check_operation(state, envelope, each, signatures) for each in transaction.operations)
    if not all(each.successful for each in outcomes):
        return TxCode.txFAILED, outcomes
    return (TxCode.txBAD_AUTH_EXTRA, ()) if signatures.one_is_unused else None


def _outside_bounds(state: State, transaction: Transaction) -> TxCode | None:
    preconditions = transaction.preconditions
    if preconditions is not None and (times := preconditions.time_bounds) is not None:
        if times.min_time > state.closed_at:
            return TxCode.txTOO_EARLY
        if times.max_time and times.max_time < state.closed_at:
            return TxCode.txTOO_LATE
    return None


def _check_operation(
    state: State, envelope: Envelope, operation: Operation, signatures: Signatures
) -> OperationOutcome:
    kind = kind_of(operation)
    if type(operation) not in KINDS:
        return OperationOutcome(kind, OpCode.opNOT_SUPPORTED)
    address = (operation.source or envelope.transaction.source).account_id
    account = state.accounts.get(address)
    signed = signatures.signed_by(address) if account is None else signatures.suffice(account, _level(operation))
    if not signed:
        return OperationOutcome(kind, OpCode.opBAD_AUTH)
    if (rule := _AMOUNTS.get(type(operation))) is not None:
        amounts, code = rule
        if any(stroops(amount) <= 0 for amount in amounts(operation)):
            return OperationOutcome(kind, kind.codes[code])
    return OperationOutcome(kind, kind.success)


def _level(operation: Operation) -> int:
    if isinstance(operation, SetOptions):
        powers = (
            operation.master_weight,
            operation.low_threshold,
            operation.med_threshold,
            operation.high_threshold,
            operation.signer,
        )
        return MEDIUM if all(each is None for each in powers) else HIGH
    return _LEVELS.get(type(operation), MEDIUM)
