"""Trustlines, and what an issuer may do to them: authorise, freeze, claw back."""

from __future__ import annotations

from dataclasses import replace

from stellar_sdk import LiquidityPoolAsset, xdr
from stellar_sdk.operation import ChangeTrust, Clawback, SetTrustLineFlags

from tests.stellar.network.entries import (
    AUTHORISED,
    CAN_BE_CLAWED_BACK,
    CLAWBACK_ENABLED,
    MAINTAINS_LIABILITIES,
    REQUIRED,
    Account,
    Trustline,
    amount_text,
    issuer_of,
)
from tests.stellar.network.moving import (
    Applying,
    Payload,
    asset_fields,
    asset_name,
    stroops,
    subentry,
)
from tests.stellar.network.results import Refused

_FLAG_FIELDS = {
    AUTHORISED: "authorized_flag",
    MAINTAINS_LIABILITIES: "authorized_to_maintain_liabilites_flag",  # Horizon writes it so
    CAN_BE_CLAWED_BACK: "clawback_enabled_flag",
}


def change_trust(applying: Applying, operation: ChangeTrust) -> Payload:
    codes, account = xdr.ChangeTrustResultCode, applying.account
    if isinstance(operation.asset, LiquidityPoolAsset) or operation.asset.is_native():
        raise Refused(codes.CHANGE_TRUST_MALFORMED)
    asset, limit = asset_name(operation.asset), stroops(operation.limit)
    if issuer_of(asset) == account.address:
        raise Refused(codes.CHANGE_TRUST_SELF_NOT_ALLOWED)
    line = account.lines.get(asset)
    shown = asset_fields(asset) | {"limit": amount_text(limit)}
    if (line is not None and limit < line.balance) or (line is None and limit == 0):
        raise Refused(codes.CHANGE_TRUST_INVALID_LIMIT)
    if limit == 0:
        applying.state.put_account(
            replace(account, lines={name: kept for name, kept in account.lines.items() if name != asset})
        )
        applying.note(applying.source, "trustline_removed", **shown)
        return None
    issuer = applying.state.accounts.get(operation.asset.issuer or "")
    if issuer is None:
        raise Refused(codes.CHANGE_TRUST_NO_ISSUER)
    with subentry(applying, codes.CHANGE_TRUST_LOW_RESERVE):
        if line is None:
            applying.state.put_account(account)  # a trustline more is a change of the account as well
            applying.state.put_line(account.address, Trustline(asset, limit, flags=_flags_at_first(issuer)))
            applying.note(applying.source, "trustline_created", **shown)
        else:
            applying.state.put_line(account.address, replace(line, limit=limit))
            applying.note(applying.source, "trustline_updated", **shown)
    return None


def set_trust_line_flags(applying: Applying, operation: SetTrustLineFlags) -> Payload:
    codes, state = xdr.SetTrustLineFlagsResultCode, applying.state
    asset = asset_name(operation.asset)
    set_flags, clear_flags = int(operation.set_flags or 0), int(operation.clear_flags or 0)
    trustor = state.accounts.get(operation.trustor)
    if trustor is None or asset not in trustor.lines:
        raise Refused(codes.SET_TRUST_LINE_FLAGS_NO_TRUST_LINE)
    line = trustor.lines[asset]
    state.put_line(trustor.address, replace(line, flags=line.flags & ~clear_flags | set_flags))
    changed = {name: True for flag, name in _FLAG_FIELDS.items() if set_flags & flag}
    changed |= {name: False for flag, name in _FLAG_FIELDS.items() if clear_flags & flag}
    applying.note(applying.source, "trustline_flags_updated", trustor=trustor.address, **asset_fields(asset), **changed)
    return None


def claw_back(applying: Applying, operation: Clawback) -> Payload:
    codes, state = xdr.ClawbackResultCode, applying.state
    asset, amount = asset_name(operation.asset), stroops(operation.amount)
    holder = operation.from_
    account = state.accounts.get(holder.account_id)
    if account is None or asset not in account.lines:
        raise Refused(codes.CLAWBACK_NO_TRUST)
    line = account.lines[asset]
    if line.balance < amount:
        raise Refused(codes.CLAWBACK_UNDERFUNDED)
    state.put_line(account.address, replace(line, balance=line.balance - amount))
    moved = asset_fields(asset) | {"amount": amount_text(amount)}
    applying.note(applying.source, "account_credited", **moved)
    applying.note(holder, "account_debited", **moved)
    return None


def _flags_at_first(issuer: Account) -> int:
    authorised = 0 if issuer.flags & REQUIRED else AUTHORISED
    return authorised | (CAN_BE_CLAWED_BACK if issuer.flags & CLAWBACK_ENABLED else 0)
