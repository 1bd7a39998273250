"""What became of a transaction: codes as Horizon names them, and the result in XDR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from stellar_sdk import xdr
from stellar_sdk.operation import (
    AccountMerge,
    BumpSequence,
    ChangeTrust,
    ClaimClaimableBalance,
    Clawback,
    CreateAccount,
    CreateClaimableBalance,
    ManageData,
    ManageSellOffer,
    Operation,
    PathPaymentStrictReceive,
    PathPaymentStrictSend,
    Payment,
    SetOptions,
    SetTrustLineFlags,
)

TxCode = xdr.TransactionResultCode
OpCode = xdr.OperationResultCode


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of operation that is understood here: its name in records, and its classes in XDR."""

    name: str
    number: xdr.OperationType
    codes: type[IntEnum]
    result: type[Any]
    field: str = ""

    @property
    def success(self) -> IntEnum:
        return next(code for code in self.codes if code == 0)

    @property
    def field_name(self) -> str:
        return self.field or f"{self.name}_result"


def _kind(name: str, codes: type[IntEnum], result: type[Any], field: str = "") -> Kind:
    return Kind(name, xdr.OperationType[name.upper()], codes, result, field)


KINDS: Mapping[type[Operation], Kind] = {
    CreateAccount: _kind("create_account", xdr.CreateAccountResultCode, xdr.CreateAccountResult),
    Payment: _kind("payment", xdr.PaymentResultCode, xdr.PaymentResult),
    PathPaymentStrictReceive: _kind(
        "path_payment_strict_receive", xdr.PathPaymentStrictReceiveResultCode, xdr.PathPaymentStrictReceiveResult
    ),
    PathPaymentStrictSend: _kind(
        "path_payment_strict_send", xdr.PathPaymentStrictSendResultCode, xdr.PathPaymentStrictSendResult
    ),
    ManageSellOffer: _kind("manage_sell_offer", xdr.ManageSellOfferResultCode, xdr.ManageSellOfferResult),
    SetOptions: _kind("set_options", xdr.SetOptionsResultCode, xdr.SetOptionsResult),
    ChangeTrust: _kind("change_trust", xdr.ChangeTrustResultCode, xdr.ChangeTrustResult),
    AccountMerge: _kind("account_merge", xdr.AccountMergeResultCode, xdr.AccountMergeResult),
    ManageData: _kind("manage_data", xdr.ManageDataResultCode, xdr.ManageDataResult),
    BumpSequence: _kind("bump_sequence", xdr.BumpSequenceResultCode, xdr.BumpSequenceResult, "bump_seq_result"),
    CreateClaimableBalance: _kind(
        "create_claimable_balance", xdr.CreateClaimableBalanceResultCode, xdr.CreateClaimableBalanceResult
    ),
    ClaimClaimableBalance: _kind(
        "claim_claimable_balance", xdr.ClaimClaimableBalanceResultCode, xdr.ClaimClaimableBalanceResult
    ),
    Clawback: _kind("clawback", xdr.ClawbackResultCode, xdr.ClawbackResult),
    SetTrustLineFlags: _kind("set_trust_line_flags", xdr.SetTrustLineFlagsResultCode, xdr.SetTrustLineFlagsResult),
}

# Horizon's names are those of core in small letters, but for these.
_TX_NAMES = {"txNO_ACCOUNT": "tx_no_source_account", "txBAD_MIN_SEQ_AGE_OR_GAP": "tx_bad_minseq_age_or_gap"}
_OP_NAMES = {
    "opBAD_AUTH": "op_bad_auth",
    "opNO_ACCOUNT": "op_no_source_account",
    "opNOT_SUPPORTED": "op_not_supported",
    "CREATE_ACCOUNT_ALREADY_EXIST": "op_already_exists",
    "PATH_PAYMENT_STRICT_RECEIVE_OVER_SENDMAX": "op_over_source_max",
    "PATH_PAYMENT_STRICT_SEND_UNDER_DESTMIN": "op_under_dest_min",
    "ACCOUNT_MERGE_SEQNUM_TOO_FAR": "op_seq_num_too_far",
    "MANAGE_SELL_OFFER_SELL_NOT_AUTHORIZED": "sell_not_authorized",
    "MANAGE_SELL_OFFER_BUY_NOT_AUTHORIZED": "buy_not_authorized",
    "MANAGE_SELL_OFFER_NOT_FOUND": "op_offer_not_found",
    "MANAGE_DATA_NAME_NOT_FOUND": "op_data_name_not_found",
    "MANAGE_DATA_INVALID_NAME": "op_data_invalid_name",
}


class Refused(Exception):
    """An operation cannot be applied, for this reason."""

    def __init__(self, code: IntEnum) -> None:
        super().__init__(code.name)
        self.code = code


@dataclass(frozen=True, slots=True)
class OperationOutcome:
    """What became of one operation. `code` belongs to its kind, or is one that any operation may have."""

    kind: Kind
    code: IntEnum
    payload: Mapping[str, Any] = field(default_factory=dict)
    """What a result of this kind carries besides its code."""

    @property
    def successful(self) -> bool:
        return self.code == 0 and not isinstance(self.code, OpCode)

    def to_xdr(self) -> xdr.OperationResult:
        if isinstance(self.code, OpCode):
            return xdr.OperationResult(self.code)
        inner = xdr.OperationResultTr(
            self.kind.number, **{self.kind.field_name: self.kind.result(self.code, **self.payload)}
        )
        return xdr.OperationResult(OpCode.opINNER, inner)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a transaction. A fee bump's own code stands in `outer`."""

    code: TxCode
    fee_charged: int
    operations: Sequence[OperationOutcome] = ()
    outer: TxCode | None = None
    inner_hash: bytes = b""
    inner_fee: int = 0

    @property
    def successful(self) -> bool:
        return self.code == TxCode.txSUCCESS

    def codes(self) -> dict[str, Any]:
        """`result_codes` of Horizon; `operations` is there only where operations have results."""
        if self.outer is None:
            said: dict[str, Any] = {"transaction": tx_name(self.code)}
        else:
            said = {"transaction": tx_name(self.outer)}
            if self.outer in (TxCode.txFEE_BUMP_INNER_FAILED, TxCode.txFEE_BUMP_INNER_SUCCESS):
                said["inner_transaction"] = tx_name(self.code)
        if self.operations:
            said["operations"] = [op_name(each) for each in self.operations]
        return said

    def to_xdr(self) -> str:
        results = [each.to_xdr() for each in self.operations] if self.code in _WITH_RESULTS else None
        if self.outer in (TxCode.txFEE_BUMP_INNER_FAILED, TxCode.txFEE_BUMP_INNER_SUCCESS):
            inner = xdr.InnerTransactionResult(
                xdr.Int64(self.inner_fee),
                xdr.InnerTransactionResultResult(self.code, results=results),
                xdr.InnerTransactionResultExt(0),
            )
            pair = xdr.InnerTransactionResultPair(xdr.Hash(self.inner_hash), inner)
            said = xdr.TransactionResultResult(self.outer, inner_result_pair=pair)
        else:
            said = xdr.TransactionResultResult(self.outer or self.code, results=results)
        return xdr.TransactionResult(xdr.Int64(self.fee_charged), said, xdr.TransactionResultExt(0)).to_xdr()


_WITH_RESULTS = (TxCode.txSUCCESS, TxCode.txFAILED)


def tx_name(code: TxCode) -> str:
    """`tx_bad_seq`."""
    return _TX_NAMES.get(code.name) or f"tx_{code.name.removeprefix('tx').lower()}"


def op_name(outcome: OperationOutcome) -> str:
    """`op_no_trust`."""
    name = outcome.code.name
    if known := _OP_NAMES.get(name):
        return known
    return f"op_{name.removeprefix(outcome.kind.name.upper() + '_').lower()}"
