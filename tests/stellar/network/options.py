"""What an account says about itself: flags, thresholds, signers, home domain."""

from __future__ import annotations

from dataclasses import replace

from stellar_sdk import Signer, xdr
from stellar_sdk.operation import SetOptions

from tests.stellar.network.entries import Account
from tests.stellar.network.moving import Applying, Payload, subentry

_FLAG_FIELDS = {
    1: "auth_required_flag",
    2: "auth_revocable_flag",
    4: "auth_immutable_flag",
    8: "auth_clawback_enabled_flag",
}


def set_options(applying: Applying, operation: SetOptions) -> Payload:
    account = applying.account
    set_flags, clear_flags = int(operation.set_flags or 0), int(operation.clear_flags or 0)
    asked = (operation.low_threshold, operation.med_threshold, operation.high_threshold)
    low, medium, high = (
        before if wanted is None else wanted for before, wanted in zip(account.thresholds, asked, strict=True)
    )
    changed = replace(
        account,
        flags=account.flags & ~clear_flags | set_flags,
        thresholds=(low, medium, high),
        master_weight=account.master_weight if operation.master_weight is None else operation.master_weight,
        home_domain=account.home_domain if operation.home_domain is None else operation.home_domain,
    )
    with subentry(applying, xdr.SetOptionsResultCode.SET_OPTIONS_LOW_RESERVE):
        if operation.signer is not None:
            changed = replace(changed, signers=_signers(account, operation.signer))
        applying.state.put_account(changed)
    _note(applying, operation, account, changed)
    return None


def _signers(account: Account, signer: Signer) -> dict[str, int]:
    key, signers = signer.signer_key.encoded_signer_key, dict(account.signers)
    if signer.weight:
        signers[key] = signer.weight
    else:
        signers.pop(key, None)
    return signers


def _note(applying: Applying, operation: SetOptions, before: Account, after: Account) -> None:
    source = applying.source
    if after.home_domain != before.home_domain:
        applying.note(source, "account_home_domain_updated", home_domain=after.home_domain)
    if after.thresholds != before.thresholds:
        names = ("low_threshold", "med_threshold", "high_threshold")
        applying.note(source, "account_thresholds_updated", **dict(zip(names, after.thresholds, strict=True)))
    if after.flags != before.flags:
        set_flags, clear_flags = int(operation.set_flags or 0), int(operation.clear_flags or 0)
        flags = {name: True for flag, name in _FLAG_FIELDS.items() if set_flags & flag}
        flags |= {name: False for flag, name in _FLAG_FIELDS.items() if clear_flags & flag}
        applying.note(source, "account_flags_updated", **flags)
    weights_before = {before.address: before.master_weight} | dict(before.signers)
    weights_after = {after.address: after.master_weight} | dict(after.signers)
    for key in sorted(weights_before | weights_after):
        old, new = weights_before.get(key, 0), weights_after.get(key, 0)
        if old != new:
            action = "signer_removed" if not new else "signer_updated" if old else "signer_created"
            applying.note(source, action, weight=new, public_key=key, key="")
