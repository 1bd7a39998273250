"""Secrets by role. A process does not start when it is given a secret that its role does not use."""

from __future__ import annotations

from collections.abc import Mapping

ALL = "all"
"""A process that does everything: an embedded run, a worker of every queue, a management command."""

ROLES = (ALL, "web", "chain", "webhooks", "money", "reports", "beat", "migrate", "signer")

_WEB, _WEBHOOKS = frozenset({"web"}), frozenset({"web", "webhooks"})
_SIGNING = frozenset({"money", "signer"})
"""The worker that sends, or, where there is one, the signer in its place: never both (`SIGNER_URL`)."""
_ADDRESSES = frozenset({"web", "chain", "money", "reports"})

USERS: Mapping[str, frozenset[str]] = {
    "SECRET_KEY": _WEB,
    "SECRET_KEY_FALLBACKS": _WEB,
    "API_KEY_PEPPER": _WEB,
    "API_KEY_PEPPER_FALLBACKS": _WEB,
    "WEBHOOK_ENCRYPTION_KEY": _WEBHOOKS,
    "WEBHOOK_ENCRYPTION_KEY_FALLBACKS": _WEBHOOKS,
    "PAYOUT_INTENT_KEY": frozenset({"web", "money", "signer"}),
    "SIGNER_SECRET": frozenset({"money", "signer"}),
    **{f"AWS_{name}": _SIGNING for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN")},
    "VAULT_TOKEN": _SIGNING,
    "VAULT_TOKEN_FILE": _SIGNING,
    "EMAIL_URL": frozenset({"webhooks", "reports"}),
    **{
        f"{kind}EVM_{secret}": _SIGNING
        for kind in ("", "TESTNET_")
        for secret in ("KEYSTORE", "KEYSTORE_PASSWORD", "HOT_WALLET_KEY")
    },
    **{f"{kind}EVM_ADDRESS_KEY": _ADDRESSES for kind in ("", "TESTNET_")},
    **{
        f"{kind}STELLAR_{secret}": _SIGNING
        for kind in ("", "TESTNET_")
        for secret in ("HOT_WALLET_KEY", "HOT_WALLET_KEY_FILE")
    },
}
"""The roles that use each secret, besides those that do everything."""


def uses(role: str, secret: str) -> bool:
    return role == ALL or role in USERS[secret]


def given_to(secret: str) -> str:
    """The roles that should be given it instead, for the message."""
    return f"give it to {' and '.join(sorted(USERS[secret]))} alone"
