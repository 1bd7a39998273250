"""Which process is given which secret. A process that is handed one it has no use for does not start."""

from __future__ import annotations

from collections.abc import Mapping

ALL = "all"
"""A process that does everything: an embedded run, a worker of every queue, a management command."""

ROLES = (ALL, "web", "chain", "webhooks", "money", "reports", "beat", "migrate")

_WEB, _WEBHOOKS, _MONEY = frozenset({"web"}), frozenset({"web", "webhooks"}), frozenset({"money"})

USERS: Mapping[str, frozenset[str]] = {
    "SECRET_KEY": _WEB,
    "SECRET_KEY_FALLBACKS": _WEB,
    "API_KEY_PEPPER": _WEB,
    "WEBHOOK_ENCRYPTION_KEY": _WEBHOOKS,
    "WEBHOOK_ENCRYPTION_KEY_FALLBACKS": _WEBHOOKS,
    "EMAIL_URL": frozenset({"webhooks", "reports"}),
    "EVM_KEYSTORE": _MONEY,
    "EVM_KEYSTORE_PASSWORD": _MONEY,
    "EVM_HOT_WALLET_KEY": _MONEY,
    "TESTNET_EVM_KEYSTORE": _MONEY,
    "TESTNET_EVM_KEYSTORE_PASSWORD": _MONEY,
    "TESTNET_EVM_HOT_WALLET_KEY": _MONEY,
}
"""The roles that use each secret, besides those that do everything."""


def uses(role: str, secret: str) -> bool:
    return role == ALL or role in USERS[secret]


def given_to(secret: str) -> str:
    """For a refusal: who is to be given it instead."""
    return f"give it to {' and '.join(sorted(USERS[secret]))} alone"
