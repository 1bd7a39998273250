"""Fingerprints of the keys without which a backup is of little use: they tell keys apart, and give none away."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache

from django.conf import settings

Fingerprints = dict[str, list[str]]
"""By the name of a setting: the fingerprint of its key, then those of its fallbacks."""

_WITH_FALLBACKS = ("SECRET_KEY", "API_KEY_PEPPER", "WEBHOOK_ENCRYPTION_KEY")


def fingerprints() -> Fingerprints:
    """Of the keys that this process was given."""
    return {name: [_fingerprint(name, key) for key in keys] for name, keys in _keys()}


def missing_keys(needed: Mapping[str, list[str]], here: Mapping[str, list[str]]) -> list[str]:
    """Settings whose key of the backup is here neither as the key nor as a fallback."""
    return [name for name, known in needed.items() if known and known[0] not in here.get(name, [])]


def missing_fallbacks(needed: Mapping[str, list[str]], here: Mapping[str, list[str]]) -> list[str]:
    """Settings of which an earlier key is not here any more: what is still under it cannot be read."""
    return [name for name, known in needed.items() if set(known[1:]) - set(here.get(name, []))]


def _keys() -> Iterator[tuple[str, list[str]]]:
    for name in _WITH_FALLBACKS:
        if key := getattr(settings, name):
            yield name, [key, *getattr(settings, f"{name}_FALLBACKS")]
    if settings.PAYOUT_INTENT_KEY:
        yield "PAYOUT_INTENT_KEY", [settings.PAYOUT_INTENT_KEY]
    of_addresses = {f"{one.kind}EVM_ADDRESS_KEY": one.address_key for one in settings.NETWORK_SETTINGS.values()}
    for name, key in sorted(of_addresses.items()):
        if key:
            yield name, [key]


@lru_cache(maxsize=32)
def _fingerprint(name: str, key: str) -> str:
    """Slow to compute, so that a weak key cannot be guessed by it either."""
    return hashlib.scrypt(key.encode(), salt=f"ballast {name}".encode(), n=2**14, r=8, p=1, dklen=8).hex()
