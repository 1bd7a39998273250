"""The records of operations, as JSON: what was asked for, and what came of it where that differs."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from stellar_sdk import MuxedAccount
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

from tests.stellar.network.claimable import predicate_fields
from tests.stellar.network.entries import amount_text, time_text
from tests.stellar.network.history import AppliedOperation
from tests.stellar.network.links import Links
from tests.stellar.network.moving import asset_fields, asset_name, stroops
from tests.stellar.network.records import Json, transaction

PAYMENTS = (CreateAccount, Payment, PathPaymentStrictReceive, PathPaymentStrictSend, AccountMerge)
"""What `/payments` lists. Claimable balances and clawbacks are not among it."""


def operation(found: AppliedOperation, links: Links, *, join: bool = False) -> Json:
    """`join` adds the record of the whole transaction."""
    applied = found.transaction
    said: Json = {
        "_links": links.operation(found.token, applied.hash),
        "id": str(found.token),
        "paging_token": str(found.token),
        "transaction_successful": applied.successful,
        "source_account": found.source.account_id,
        **_muxed("source_account", found.source),
        "type": found.outcome.kind.name,
        "type_i": found.outcome.kind.number.value,
        "created_at": time_text(applied.closed_at),
        "transaction_hash": applied.hash,
    }
    if join:
        said["transaction"] = transaction(applied, links)
    return said | _DETAILS[type(found.operation)](found, found.operation)


def _payment(found: AppliedOperation, operation: Payment) -> Json:
    amount = {"amount": amount_text(stroops(operation.amount))}
    return asset_fields(asset_name(operation.asset)) | _parties(found, operation.destination) | amount


def _create_account(found: AppliedOperation, operation: CreateAccount) -> Json:
    return {
        "starting_balance": amount_text(stroops(operation.starting_balance)),
        "funder": found.source.account_id,
        **_muxed("funder", found.source),
        "account": operation.destination,
    }


def _merge(found: AppliedOperation, operation: AccountMerge) -> Json:
    return {
        "account": found.source.account_id,
        **_muxed("account", found.source),
        "into": operation.destination.account_id,
        **_muxed("into", operation.destination),
    }


def _strict_receive(found: AppliedOperation, operation: PathPaymentStrictReceive) -> Json:
    return _path(found, operation, stroops(operation.dest_amount), found.facts.get("source_amount", 0)) | {
        "source_max": amount_text(stroops(operation.send_max))
    }


def _strict_send(found: AppliedOperation, operation: PathPaymentStrictSend) -> Json:
    return _path(found, operation, found.facts.get("amount", 0), stroops(operation.send_amount)) | {
        "destination_min": amount_text(stroops(operation.dest_min))
    }


def _path(
    found: AppliedOperation,
    operation: PathPaymentStrictReceive | PathPaymentStrictSend,
    arrived: int,
    sent: int,
) -> Json:
    source = {f"source_{name}": value for name, value in asset_fields(asset_name(operation.send_asset)).items()}
    return {
        **asset_fields(asset_name(operation.dest_asset)),
        **_parties(found, operation.destination),
        "amount": amount_text(arrived),
        "path": [asset_fields(asset_name(each)) for each in operation.path],
        "source_amount": amount_text(sent),
        **source,
    }


def _trust(found: AppliedOperation, operation: ChangeTrust) -> Json:
    if (asset := getattr(operation.asset, "issuer", None)) is None:
        return {}
    return {
        **asset_fields(f"{operation.asset.code}:{asset}"),  # type: ignore[union-attr]
        "limit": amount_text(stroops(operation.limit)),
        "trustee": asset,
        "trustor": found.source.account_id,
        **_muxed("trustor", found.source),
    }


def _flags(found: AppliedOperation, operation: SetTrustLineFlags) -> Json:
    said: Json = asset_fields(asset_name(operation.asset)) | {"trustor": operation.trustor}
    for word, flags in (("set", int(operation.set_flags or 0)), ("clear", int(operation.clear_flags or 0))):
        if numbers := [number for number in _FLAG_NAMES if flags & number]:
            said[f"{word}_flags"] = numbers
            said[f"{word}_flags_s"] = [_FLAG_NAMES[number] for number in numbers]
    return said


def _clawback(found: AppliedOperation, operation: Clawback) -> Json:
    return {
        **asset_fields(asset_name(operation.asset)),
        "from": operation.from_.account_id,
        **_muxed("from", operation.from_),
        "amount": amount_text(stroops(operation.amount)),
    }


def _create_claimable(found: AppliedOperation, operation: CreateClaimableBalance) -> Json:
    return {
        "sponsor": found.source.account_id,
        "asset": asset_name(operation.asset),
        "amount": amount_text(stroops(operation.amount)),
        "claimants": [
            {"destination": each.destination, "predicate": predicate_fields(each.predicate)}
            for each in operation.claimants
        ],
    }


def _claim(found: AppliedOperation, operation: ClaimClaimableBalance) -> Json:
    claimant = found.source
    return {"balance_id": operation.balance_id, "claimant": claimant.account_id, **_muxed("claimant", claimant)}


def _data(found: AppliedOperation, operation: ManageData) -> Json:
    value = base64.b64encode(operation.data_value).decode() if operation.data_value is not None else ""
    return {"name": operation.data_name, "value": value}


def _bump(found: AppliedOperation, operation: BumpSequence) -> Json:
    return {"bump_to": str(operation.bump_to)}


def _options(found: AppliedOperation, operation: SetOptions) -> Json:
    signer = operation.signer
    said: Json = {
        "master_key_weight": operation.master_weight,
        "low_threshold": operation.low_threshold,
        "med_threshold": operation.med_threshold,
        "high_threshold": operation.high_threshold,
        "home_domain": operation.home_domain,
        "signer_key": signer.signer_key.encoded_signer_key if signer else None,
        "signer_weight": signer.weight if signer else None,
    }
    for word, flags in (("set", int(operation.set_flags or 0)), ("clear", int(operation.clear_flags or 0))):
        if numbers := [number for number in _AUTH_NAMES if flags & number]:
            said[f"{word}_flags"] = numbers
            said[f"{word}_flags_s"] = [_AUTH_NAMES[number] for number in numbers]
    return {name: value for name, value in said.items() if value is not None}


def _offer(found: AppliedOperation, operation: ManageSellOffer) -> Json:
    price = operation.price
    return {
        "amount": amount_text(stroops(operation.amount)),
        "price": f"{price.n / price.d:.7f}",
        "price_r": {"n": price.n, "d": price.d},
        **{f"buying_{name}": value for name, value in asset_fields(asset_name(operation.buying)).items()},
        **{f"selling_{name}": value for name, value in asset_fields(asset_name(operation.selling)).items()},
        "offer_id": str(operation.offer_id),
    }


_FLAG_NAMES = {1: "authorized", 2: "authorized_to_maintain_liabilites", 4: "clawback_enabled"}
_AUTH_NAMES = {1: "auth_required", 2: "auth_revocable", 4: "auth_immutable", 8: "auth_clawback_enabled"}

_DETAILS: Mapping[type[Operation], Callable[[AppliedOperation, Any], Json]] = {
    AccountMerge: _merge,
    BumpSequence: _bump,
    ChangeTrust: _trust,
    ClaimClaimableBalance: _claim,
    Clawback: _clawback,
    CreateAccount: _create_account,
    CreateClaimableBalance: _create_claimable,
    ManageData: _data,
    ManageSellOffer: _offer,
    PathPaymentStrictReceive: _strict_receive,
    PathPaymentStrictSend: _strict_send,
    Payment: _payment,
    SetOptions: _options,
    SetTrustLineFlags: _flags,
}


def _parties(found: AppliedOperation, destination: MuxedAccount) -> Json:
    return {
        "from": found.source.account_id,
        **_muxed("from", found.source),
        "to": destination.account_id,
        **_muxed("to", destination),
    }


def _muxed(name: str, account: MuxedAccount) -> Json:
    if account.account_muxed is None:
        return {}
    return {f"{name}_muxed": account.account_muxed, f"{name}_muxed_id": str(account.account_muxed_id)}
