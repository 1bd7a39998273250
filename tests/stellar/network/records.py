"""The records of Horizon: accounts, transactions, operations, effects, ledgers, claimable balances, as JSON."""

from __future__ import annotations

import base64
from typing import Any, TypeAlias

from stellar_sdk import (
    HashMemo,
    IdMemo,
    MuxedAccount,
    ReturnHashMemo,
    TextMemo,
    Transaction,
)

from tests.stellar.network.claimable import predicate_fields
from tests.stellar.network.entries import (
    AUTHORISED,
    BASE_RESERVE,
    CAN_BE_CLAWED_BACK,
    CLAWBACK_ENABLED,
    IMMUTABLE,
    MAINTAINS_LIABILITIES,
    REQUIRED,
    REVOCABLE,
    Account,
    ClaimableBalance,
    Trustline,
    amount_text,
    time_text,
)
from tests.stellar.network.envelopes import BASE_FEE
from tests.stellar.network.history import AppliedEffect, AppliedTransaction, Ledger
from tests.stellar.network.links import Links
from tests.stellar.network.moving import asset_fields
from tests.stellar.network.network import TOTAL_COINS

Json: TypeAlias = dict[str, Any]

PROTOCOL = 23
META_CHARACTERS = 990
"""What a Horizon that keeps what transactions changed, as it does by default, adds for each of their operations: a
hundred payments change 64 to 99 kB of base64, and every record that the transaction is joined to repeats it."""

_NO_LIABILITIES = {"buying_liabilities": "0.0000000", "selling_liabilities": "0.0000000"}


def account(found: Account, links: Links, closed_at: int) -> Json:
    """`closed_at` of the ledger that changed it last."""
    low, medium, high = found.thresholds
    lines = [_balance(each) for _, each in sorted(found.lines.items())]
    native = {"balance": amount_text(found.native), **_NO_LIABILITIES, "asset_type": "native"}
    weights = dict(found.signers) | {found.address: found.master_weight}
    said: Json = {
        "_links": links.account(found.address),
        "id": found.address,
        "account_id": found.address,
        "sequence": str(found.sequence),
        "subentry_count": found.subentries,
        "last_modified_ledger": found.modified,
        "last_modified_time": time_text(closed_at),
        "thresholds": {"low_threshold": low, "med_threshold": medium, "high_threshold": high},
        "flags": {
            "auth_required": bool(found.flags & REQUIRED),
            "auth_revocable": bool(found.flags & REVOCABLE),
            "auth_immutable": bool(found.flags & IMMUTABLE),
            "auth_clawback_enabled": bool(found.flags & CLAWBACK_ENABLED),
        },
        "balances": [*lines, native],
        "signers": [
            {"weight": weight, "key": key, "type": "ed25519_public_key"} for key, weight in sorted(weights.items())
        ],
        "data": {name: base64.b64encode(value).decode() for name, value in found.data.items()},
        "num_sponsoring": found.sponsoring,
        "num_sponsored": 0,
        "paging_token": found.address,
    }
    if found.sequence_ledger:
        said |= {"sequence_ledger": found.sequence_ledger, "sequence_time": str(found.sequence_time)}
    if found.home_domain:
        said["home_domain"] = found.home_domain
    return said


def transaction(applied: AppliedTransaction, links: Links, *, asked: str = "") -> Json:
    """`asked` is the hash it was asked for by: a fee bump found by its inner hash is shown under that one."""
    envelope, digest = applied.envelope, asked or applied.hash
    inner, payer = envelope.inner, envelope.payer
    said: Json = _memo(inner.transaction) | {
        "_links": links.transaction(digest, applied.ledger, inner.transaction.source.account_id, applied.token),
        "id": digest,
        "paging_token": str(applied.token),
        "successful": applied.successful,
        "hash": digest,
        "ledger": applied.ledger,
        "created_at": time_text(applied.closed_at),
        "source_account": inner.transaction.source.account_id,
        **_muxed("account", inner.transaction.source),
        "source_account_sequence": str(inner.transaction.sequence),
        "fee_account": payer.account_id,
        **_muxed("fee_account", payer),
        "fee_charged": str(applied.outcome.fee_charged),
        "max_fee": str(envelope.fee),
        "operation_count": len(applied.operations),
        "envelope_xdr": envelope.xdr,
        "result_xdr": applied.result_xdr,
        "result_meta_xdr": "A" * (META_CHARACTERS * len(applied.operations)),
        "fee_meta_xdr": "",
        "signatures": _signatures(envelope.signed if digest == applied.hash else inner),
    }
    if preconditions := _preconditions(inner.transaction):
        said["preconditions"] = preconditions
    if envelope.is_bump:
        said["fee_bump_transaction"] = {"hash": applied.hash, "signatures": _signatures(envelope.signed)}
        said["inner_transaction"] = {
            "hash": envelope.inner_hash.hex(),
            "signatures": _signatures(inner),
            "max_fee": str(inner.transaction.fee),
        }
    return said


def effect(found: AppliedEffect, links: Links) -> Json:
    token = f"{found.token}-{found.position}"
    return {
        "_links": links.effect(found.token, token),
        "id": f"{found.token:019d}-{found.position:010d}",
        "paging_token": token,
        "account": found.effect.account,
        **(_muxed("account", found.effect.muxed) if found.effect.muxed else {}),
        "type": found.effect.type,
        "type_i": EFFECT_NUMBERS[found.effect.type],
        "created_at": time_text(found.operation.transaction.closed_at),
        **found.effect.details,
    }


def ledger(found: Ledger, links: Links) -> Json:
    return {
        "_links": links.ledger(found.number),
        "id": found.hash,
        "paging_token": str(found.token),
        "hash": found.hash,
        "prev_hash": found.previous_hash,
        "sequence": found.number,
        "successful_transaction_count": found.successful,
        "failed_transaction_count": found.failed,
        "operation_count": found.operations,
        "tx_set_operation_count": found.operations_tried,
        "closed_at": time_text(found.closed_at),
        "total_coins": amount_text(TOTAL_COINS),
        "fee_pool": "0.0000000",
        "base_fee_in_stroops": BASE_FEE,
        "base_reserve_in_stroops": BASE_RESERVE,
        "max_tx_set_size": 1000,
        "protocol_version": PROTOCOL,
        "header_xdr": "",
    }


def claimable_balance(found: ClaimableBalance, links: Links, closed_at: int) -> Json:
    """`closed_at` of the ledger that made it."""
    return {
        "_links": links.claimable_balance(found.id),
        "id": found.id,
        "asset": found.asset,
        "amount": amount_text(found.amount),
        "sponsor": found.sponsor,
        "last_modified_ledger": found.modified,
        "last_modified_time": time_text(closed_at),
        "claimants": [
            {"destination": account, "predicate": predicate_fields(predicate)} for account, predicate in found.claimants
        ],
        "flags": {"clawback_enabled": False},
        "paging_token": f"{found.modified}-{found.id}",
    }


def _balance(line: Trustline) -> Json:
    said: Json = {
        "balance": amount_text(line.balance),
        "limit": amount_text(line.limit),
        **_NO_LIABILITIES,
        "last_modified_ledger": line.modified,
        "is_authorized": bool(line.flags & AUTHORISED),
        "is_authorized_to_maintain_liabilities": bool(line.flags & (AUTHORISED | MAINTAINS_LIABILITIES)),
        **asset_fields(line.asset),
    }
    if line.flags & CAN_BE_CLAWED_BACK:
        said["is_clawback_enabled"] = True
    return said


def _memo(found: Transaction) -> Json:
    match found.memo:
        case TextMemo(memo_text=text):
            # Horizon drops what a database cannot hold as text; the bytes say it exactly.
            shown = text.decode("utf-8", "replace").replace("\0", "")
            return {"memo_type": "text", "memo": shown, "memo_bytes": base64.b64encode(text).decode()}
        case IdMemo(memo_id=number):
            return {"memo_type": "id", "memo": str(number)}
        case HashMemo(memo_hash=digest):
            return {"memo_type": "hash", "memo": base64.b64encode(digest).decode()}
        case ReturnHashMemo(memo_return=digest):
            return {"memo_type": "return", "memo": base64.b64encode(digest).decode()}
        case _:
            return {"memo_type": "none"}


def _preconditions(found: Transaction) -> Json:
    said: Json = {}
    conditions = found.preconditions
    if conditions is not None and (times := conditions.time_bounds) is not None:
        said["timebounds"] = {"min_time": str(times.min_time)}
        if times.max_time:
            said["timebounds"]["max_time"] = str(times.max_time)
    if conditions is not None and (ledgers := conditions.ledger_bounds) is not None:
        said["ledgerbounds"] = {"min_ledger": ledgers.min_ledger, "max_ledger": ledgers.max_ledger}
    return said


def _muxed(name: str, found: MuxedAccount) -> Json:
    if found.account_muxed is None:
        return {}
    return {f"{name}_muxed": found.account_muxed, f"{name}_muxed_id": str(found.account_muxed_id)}


def _signatures(envelope: Any) -> list[str]:
    return [base64.b64encode(each.signature).decode() for each in envelope.signatures]


EFFECT_NUMBERS = {
    "account_created": 0,
    "account_removed": 1,
    "account_credited": 2,
    "account_debited": 3,
    "account_thresholds_updated": 4,
    "account_home_domain_updated": 5,
    "account_flags_updated": 6,
    "signer_created": 10,
    "signer_removed": 11,
    "signer_updated": 12,
    "trustline_created": 20,
    "trustline_removed": 21,
    "trustline_updated": 22,
    "trustline_flags_updated": 26,
    "trade": 33,
    "data_created": 40,
    "data_removed": 41,
    "data_updated": 42,
    "sequence_bumped": 43,
    "claimable_balance_created": 50,
    "claimable_balance_claimant_created": 51,
    "claimable_balance_claimed": 52,
    "claimable_balance_sponsorship_created": 69,
    "claimable_balance_sponsorship_removed": 71,
}
"""What each kind of effect is as a number."""
