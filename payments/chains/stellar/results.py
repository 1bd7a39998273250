"""The outcome of each payout in a transaction, by its result. Only processes that send load this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from stellar_sdk import xdr

from payments.chains.errors import RecipientProblem

_OF_RECIPIENT: Mapping[str, RecipientProblem] = MappingProxyType(
    {
        "op_no_destination": "destination_invalid",
        "op_no_trust": "no_trustline",
        "op_line_full": "no_trustline",
        "op_not_authorized": "destination_refused",
    }
)
"""What a payment fails for because of whom it goes to; whatever is not here is no fault of the recipient."""

_OF_CLAIMANT: Mapping[str, RecipientProblem] = MappingProxyType({"op_low_reserve": "no_trustline"})
"""Of a claimable balance, whose recipient cannot make it fail: without XLM to lock up for it, a trustline is waited for
as before. Its `op_no_trust` is about the hot wallet."""

_PAYMENT_CODES = {
    xdr.PaymentResultCode.PAYMENT_SUCCESS: "op_success",
    xdr.PaymentResultCode.PAYMENT_MALFORMED: "op_malformed",
    xdr.PaymentResultCode.PAYMENT_UNDERFUNDED: "op_underfunded",
    xdr.PaymentResultCode.PAYMENT_SRC_NO_TRUST: "op_src_no_trust",
    xdr.PaymentResultCode.PAYMENT_SRC_NOT_AUTHORIZED: "op_src_not_authorized",
    xdr.PaymentResultCode.PAYMENT_NO_DESTINATION: "op_no_destination",
    xdr.PaymentResultCode.PAYMENT_NO_TRUST: "op_no_trust",
    xdr.PaymentResultCode.PAYMENT_NOT_AUTHORIZED: "op_not_authorized",
    xdr.PaymentResultCode.PAYMENT_LINE_FULL: "op_line_full",
    xdr.PaymentResultCode.PAYMENT_NO_ISSUER: "op_no_issuer",
}

_OF_CREATING = xdr.CreateClaimableBalanceResultCode
_CLAIMABLE_BALANCE_CODES = {
    _OF_CREATING.CREATE_CLAIMABLE_BALANCE_SUCCESS: "op_success",
    _OF_CREATING.CREATE_CLAIMABLE_BALANCE_MALFORMED: "op_malformed",
    _OF_CREATING.CREATE_CLAIMABLE_BALANCE_LOW_RESERVE: "op_low_reserve",
    _OF_CREATING.CREATE_CLAIMABLE_BALANCE_NO_TRUST: "op_no_trust",
    _OF_CREATING.CREATE_CLAIMABLE_BALANCE_NOT_AUTHORIZED: "op_not_authorized",
    _OF_CREATING.CREATE_CLAIMABLE_BALANCE_UNDERFUNDED: "op_underfunded",
}


def operation_codes(result_xdr: str) -> tuple[str, ...]:
    """The code of each operation, as Horizon spells them; empty where the transaction failed as a whole.

    ValueError for what is no result of a transaction.
    """
    try:
        result = xdr.TransactionResult.from_xdr(result_xdr).result
        inner = result.inner_result_pair
        of_each = result.results if inner is None else inner.result.result.results
        return tuple(_code(each) for each in of_each or ())
    except Exception as error:
        raise ValueError("this is no result of a transaction") from error


def refused(codes: Sequence[str], set_aside: Sequence[bool]) -> dict[int, RecipientProblem]:
    """The positions of payouts that failed because of themselves, and why. `set_aside` states of each position
    whether it is a claimable balance; any beyond its end is a payment."""
    found: dict[int, RecipientProblem] = {}
    for place, code in enumerate(codes):
        known = _OF_CLAIMANT if place < len(set_aside) and set_aside[place] else _OF_RECIPIENT
        if code in known:
            found[place] = known[code]
    return found


def _code(found: xdr.OperationResult) -> str:
    if found.tr is None:
        return f"op_{found.code.name.lower().removeprefix('op_')}"
    if found.tr.payment_result is not None:
        return _PAYMENT_CODES[found.tr.payment_result.code]
    if found.tr.create_claimable_balance_result is not None:
        return _CLAIMABLE_BALANCE_CODES[found.tr.create_claimable_balance_result.code]
    return f"op_of_kind_{found.tr.type.name.lower()}"
