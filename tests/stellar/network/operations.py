"""Applying operations, one function for each kind. They change the state, or raise Refused with the reason.

What a whole transaction did is undone by its caller when one of its operations is refused.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import replace
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

from tests.stellar.network import claimable, offers, options, trust
from tests.stellar.network.entries import BASE_RESERVE, NATIVE, Account, amount_text
from tests.stellar.network.moving import (
    Applying,
    Codes,
    Payload,
    asset_fields,
    asset_name,
    credit,
    debit,
    spendable,
    stroops,
    subentry,
)
from tests.stellar.network.results import Refused


def pay(applying: Applying, operation: Payment) -> Payload:
    codes = xdr.PaymentResultCode
    asset, amount = asset_name(operation.asset), stroops(operation.amount)
    destination = operation.destination
    if destination.account_id not in applying.state.accounts:
        raise Refused(codes.PAYMENT_NO_DESTINATION)
    applying.note(destination, "account_credited", **asset_fields(asset), amount=amount_text(amount))
    applying.note(applying.source, "account_debited", **asset_fields(asset), amount=amount_text(amount))
    if asset == NATIVE and destination.account_id == applying.source.account_id:
        return None
    receiving = Codes(codes.PAYMENT_NO_TRUST, codes.PAYMENT_NOT_AUTHORIZED, codes.PAYMENT_LINE_FULL)
    sending = Codes(codes.PAYMENT_SRC_NO_TRUST, codes.PAYMENT_SRC_NOT_AUTHORIZED, codes.PAYMENT_UNDERFUNDED)
    credit(applying.state, destination.account_id, asset, amount, receiving)
    debit(applying.state, applying.source.account_id, asset, amount, sending)
    return None


def create_account(applying: Applying, operation: CreateAccount) -> Payload:
    codes, state = xdr.CreateAccountResultCode, applying.state
    balance = stroops(operation.starting_balance)
    if operation.destination in state.accounts:
        raise Refused(codes.CREATE_ACCOUNT_ALREADY_EXIST)
    if balance < 2 * BASE_RESERVE:
        raise Refused(codes.CREATE_ACCOUNT_LOW_RESERVE)
    if spendable(state, applying.source.account_id, NATIVE) < balance:
        raise Refused(codes.CREATE_ACCOUNT_UNDERFUNDED)
    state.put_account(replace(applying.account, native=applying.account.native - balance))
    state.put_account(Account(operation.destination, sequence=state.ledger << 32, native=balance))
    created = amount_text(balance)
    applying.note(operation.destination, "account_created", starting_balance=created)
    applying.note(applying.source, "account_debited", asset_type="native", amount=created)
    applying.note(operation.destination, "signer_created", weight=1, public_key=operation.destination, key="")
    return None


def merge_account(applying: Applying, operation: AccountMerge) -> Payload:
    codes, state, account = xdr.AccountMergeResultCode, applying.state, applying.account
    into = operation.destination.account_id
    if into == account.address:
        raise Refused(codes.ACCOUNT_MERGE_MALFORMED)
    if into not in state.accounts:
        raise Refused(codes.ACCOUNT_MERGE_NO_ACCOUNT)
    if account.subentries:
        raise Refused(codes.ACCOUNT_MERGE_HAS_SUB_ENTRIES)
    if account.sequence >= state.ledger << 32:
        raise Refused(codes.ACCOUNT_MERGE_SEQNUM_TOO_FAR)
    if account.sponsoring:
        raise Refused(codes.ACCOUNT_MERGE_IS_SPONSOR)
    receiver = state.accounts[into]
    state.put_account(replace(receiver, native=receiver.native + account.native))
    state.remove_account(account.address)
    merged = amount_text(account.native)
    applying.note(applying.source, "account_debited", asset_type="native", amount=merged)
    applying.note(operation.destination, "account_credited", asset_type="native", amount=merged)
    applying.note(applying.source, "account_removed")
    return {"source_account_balance": xdr.Int64(account.native)}


def manage_data(applying: Applying, operation: ManageData) -> Payload:
    codes, account, name = xdr.ManageDataResultCode, applying.account, operation.data_name
    data = dict(account.data)
    if operation.data_value is None:
        if name not in data:
            raise Refused(codes.MANAGE_DATA_NAME_NOT_FOUND)
        del data[name]
        applying.note(applying.source, "data_removed", name=name)
    else:
        action = "data_updated" if name in data else "data_created"
        data[name] = operation.data_value
        applying.note(applying.source, action, name=name, value=base64.b64encode(operation.data_value).decode())
    with subentry(applying, codes.MANAGE_DATA_LOW_RESERVE):
        applying.state.put_account(replace(account, data=data))
    return None


def bump_sequence(applying: Applying, operation: BumpSequence) -> Payload:
    account = applying.account
    if operation.bump_to > account.sequence:
        applying.state.put_account(
            replace(
                account,
                sequence=operation.bump_to,
                sequence_ledger=applying.state.ledger,
                sequence_time=applying.state.closed_at,
            )
        )
        applying.note(applying.source, "sequence_bumped", new_seq=str(operation.bump_to))
    return None


HANDLERS: Mapping[type[Operation], Callable[[Applying, Any], Payload]] = {
    AccountMerge: merge_account,
    BumpSequence: bump_sequence,
    ChangeTrust: trust.change_trust,
    ClaimClaimableBalance: claimable.claim,
    Clawback: trust.claw_back,
    CreateAccount: create_account,
    CreateClaimableBalance: claimable.create,
    ManageData: manage_data,
    ManageSellOffer: offers.manage_sell_offer,
    PathPaymentStrictReceive: offers.pay,
    PathPaymentStrictSend: offers.pay,
    Payment: pay,
    SetOptions: options.set_options,
    SetTrustLineFlags: trust.set_trust_line_flags,
}
