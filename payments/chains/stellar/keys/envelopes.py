"""Transaction envelopes: built, signed, bumped and read back. The library they need is loaded by processes that send.

Amounts and fees are in base units (stroops); envelopes are the bytes of their XDR.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from stellar_sdk import (
    Asset,
    Claimant,
    ClaimPredicate,
    CreateClaimableBalance,
    FeeBumpTransaction,
    FeeBumpTransactionEnvelope,
    IdMemo,
    Keypair,
    Memo,
    NoneMemo,
    Operation,
    Payment,
    Preconditions,
    TextMemo,
    TimeBounds,
    Transaction,
    TransactionEnvelope,
)
from stellar_sdk.utils import from_xdr_amount, to_xdr_amount

from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.stellar import addresses

TEXT_MEMO_BYTES = 28

_ALWAYS = ClaimPredicate.predicate_unconditional()


class KeyRefused(Exception):
    """A secret key cannot be used; the message never holds it."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One payment of an envelope, as it stands there."""

    account: str
    """G or M."""
    contract: str
    amount: int
    source: str
    set_aside: bool = False
    """A claimable balance that this account alone may claim, at any time."""


@dataclass(frozen=True, slots=True)
class Read:
    """The content of an envelope. A fee bump has the same content as the envelope in it, except fee and hash."""

    transaction_hash: str
    inner_hash: str
    """The same as `transaction_hash` where nothing was bumped."""
    source: str
    """Whose sequence is used."""
    sequence: int
    fee: int
    """The most it may cost."""
    operations: int
    """What that is divided by to compare offers: a fee bump counts one more."""
    valid_until: datetime | None
    memo: str | None
    payments: tuple[Sent, ...]

    @property
    def is_bumped(self) -> bool:
        return self.transaction_hash != self.inner_hash


@dataclass(frozen=True, slots=True)
class Signed:
    raw: bytes
    transaction_hash: str
    fee: int


def keypair(secret: str) -> Keypair:
    """The key pair of a secret key (S…)."""
    try:
        return Keypair.from_secret(secret.strip())
    except Exception:
        raise KeyRefused("the key is no secret key of stellar, which starts with S") from None  # it may hold the key


def sign(
    operations: Sequence[Operation],
    *,
    passphrase: str,
    source: Keypair,
    sequence: int,
    fee_per_operation: int,
    valid_until: datetime,
    memo: str | None = None,
    memo_type: str = "",
    signers: Sequence[Keypair] = (),
) -> Signed:
    """Operations with this sequence of `source`, signed by it and by `signers`. The same input gives the same bytes."""
    transaction = Transaction(
        source=source,
        sequence=sequence,
        fee=fee_per_operation * len(operations),
        operations=list(operations),
        memo=_memo(memo, memo_type),
        preconditions=Preconditions(time_bounds=TimeBounds(0, int(valid_until.timestamp()))),
    )
    envelope = TransactionEnvelope(transaction, passphrase)
    for key in dict.fromkeys((source, *signers)):
        envelope.sign(key)
    return _signed(envelope)


def payment(payout: PayoutInstruction, *, source: str | None) -> Payment | CreateClaimableBalance:
    """One payout as an operation; `source` is who pays, where that is not the source of the transaction."""
    code, _, issuer = payout.asset.contract.partition(":")
    asset, amount = Asset(code, issuer), from_xdr_amount(payout.amount)
    if payout.set_aside:
        return CreateClaimableBalance(asset, amount, [Claimant(payout.recipient)], source)
    return Payment(payout.recipient, asset, amount, source)


def bump(raw: bytes, *, passphrase: str, payer: Keypair, fee_per_operation: int) -> Signed:
    """A fee bump around the innermost envelope of these bytes. It keeps sequence, operations and validity."""
    inner = _inner(_envelope(raw, passphrase))
    fee = fee_per_operation * (len(inner.transaction.operations) + 1)
    envelope = FeeBumpTransactionEnvelope(FeeBumpTransaction(payer, fee, inner), passphrase)
    envelope.sign(payer)
    return _signed(envelope)


def read(raw: bytes, *, passphrase: str) -> Read:
    """The content of these bytes; ValueError when they are no envelope."""
    envelope = _envelope(raw, passphrase)
    inner = _inner(envelope)
    transaction = inner.transaction
    bounds = transaction.preconditions.time_bounds if transaction.preconditions else None
    is_bump = isinstance(envelope, FeeBumpTransactionEnvelope)
    source = transaction.source.account_id
    return Read(
        transaction_hash=envelope.hash_hex(),
        inner_hash=inner.hash_hex(),
        source=source,
        sequence=transaction.sequence,
        fee=envelope.transaction.fee,
        operations=len(transaction.operations) + is_bump,
        valid_until=datetime.fromtimestamp(bounds.max_time, UTC) if bounds and bounds.max_time else None,
        memo=_memo_text(transaction.memo),
        payments=tuple(sent for each in transaction.operations if (sent := _sent(each, source)) is not None),
    )


def _sent(operation: Operation, source: str) -> Sent | None:
    """What an operation pays, or sets aside for one account without a condition; None where it does neither."""
    match operation:
        case Payment():
            account = operation.destination.universal_account_id
        case CreateClaimableBalance(claimants=[Claimant(predicate=predicate) as claimant]) if predicate == _ALWAYS:
            account = claimant.destination
        case _:
            return None
    asset = operation.asset
    return Sent(
        account=account,
        contract=f"{asset.code}:{asset.issuer}" if asset.issuer else "",
        amount=to_xdr_amount(operation.amount),
        source=operation.source.account_id if operation.source else source,
        set_aside=isinstance(operation, CreateClaimableBalance),
    )


def pays(found: Read, payouts: Sequence[PayoutInstruction], *, wallet: str) -> bool:
    """Whether an envelope makes exactly these payouts, in this order and from this wallet, and does nothing else."""
    wanted = tuple(
        Sent(
            account=payout.recipient,
            contract=payout.asset.contract,
            amount=payout.amount,
            source=wallet,
            set_aside=payout.set_aside,
        )
        for payout in payouts
    )
    is_all = found.operations - found.is_bumped == len(wanted)
    memo = _memo_text(_memo(payouts[0].memo, payouts[0].memo_type)) if payouts else None
    return is_all and found.payments == wanted and found.memo == memo


def operations_of(raw: bytes, *, passphrase: str) -> list[Operation]:
    """The operations of an envelope, or of the one in it."""
    return list(_inner(_envelope(raw, passphrase)).transaction.operations)


def fits_memo(text: str) -> bool:
    """Whether a memo can hold this text."""
    return len(text.encode()) <= TEXT_MEMO_BYTES


def _signed(envelope: TransactionEnvelope | FeeBumpTransactionEnvelope) -> Signed:
    return Signed(envelope.to_xdr_object().to_xdr_bytes(), envelope.hash_hex(), envelope.transaction.fee)


def _envelope(raw: bytes, passphrase: str) -> TransactionEnvelope | FeeBumpTransactionEnvelope:
    text = b64encode(raw).decode()
    try:
        if FeeBumpTransactionEnvelope.is_fee_bump_transaction_envelope(text):
            return FeeBumpTransactionEnvelope.from_xdr(text, passphrase)
        return TransactionEnvelope.from_xdr(text, passphrase)
    except Exception as error:
        raise ValueError("these bytes are no envelope of a transaction") from error


def _inner(envelope: TransactionEnvelope | FeeBumpTransactionEnvelope) -> TransactionEnvelope:
    if isinstance(envelope, FeeBumpTransactionEnvelope):
        return envelope.transaction.inner_transaction_envelope
    return envelope


def _memo(text: str | None, memo_type: str) -> Memo:
    """The memo: a number is a memo id, as most services mean it, unless it was recorded as a text, which is kept as it
    is."""
    reference = (text or "").strip() if memo_type == "text" else addresses.normalise_memo(text)
    if not reference:
        return NoneMemo()
    if memo_type != "text" and addresses.is_id(reference):
        return IdMemo(int(reference))
    if memo_type == "id":
        raise ValueError("a memo id is a whole number of 64 bits")
    if not fits_memo(reference):
        raise ValueError(f"a text memo has at most {TEXT_MEMO_BYTES} bytes")
    return TextMemo(reference)


def _memo_text(memo: Memo) -> str | None:
    if isinstance(memo, IdMemo):
        return str(memo.memo_id)
    if isinstance(memo, TextMemo):
        return memo.memo_text.decode(errors="replace")
    return None
