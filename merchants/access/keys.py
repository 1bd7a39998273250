"""Key pairs: how they are made, what is kept of them, and how a presented secret is compared."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.environments import Environment
from merchants.models import ApiKey

_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_BYTES: Final = 32
RANDOM_CHARACTERS: Final = 43  # 62 ** 43 > 2 ** 256

_NO_KEY_DIGEST: Final = bytes(32)


@dataclass(frozen=True, slots=True)
class KeyPair:
    public_key: str
    secret: str = field(repr=False)


def generate_pair(environment: Environment) -> KeyPair:
    """A new pair of 256 random bits each, so that the secret needs no slow hash."""
    infix = environment.key_infix
    return KeyPair(public_key=f"pk_{infix}_{_random_text()}", secret=f"sk_{infix}_{_random_text()}")


def environment_of(public_key: str) -> Environment | None:
    """The environment named in a public key; None when it does not look like one of ours."""
    for environment in Environment:
        if public_key.startswith(f"pk_{environment.key_infix}_"):
            return environment
    return None


def digest(secret: str) -> bytes:
    """SHA-256 over the pepper and the secret: all that is stored, and useless without the pepper.

    Raises ImproperlyConfigured in a process without a pepper.
    """
    return _digest(_peppers()[0], secret)


def pepper_name() -> str:
    """Name of the present pepper in rows; reveals nothing about it."""
    return pepper_names()[0]


def pepper_names() -> list[str]:
    """Names of the present pepper and of the earlier ones that still count."""
    return [hashlib.sha256(f"name of a pepper\0{pepper}".encode()).hexdigest()[:16] for pepper in _peppers()]


def secret_matches(key: ApiKey | None, secret: str) -> bool:
    """True if the secret belongs to the key, by the present pepper or an earlier one that still counts.

    An unknown key costs the same as a wrong secret.
    """
    expected = _NO_KEY_DIGEST if key is None else bytes(key.secret_digest)
    matches = [compare_digest(expected, _digest(pepper, secret)) for pepper in _peppers()]
    return any(matches) and key is not None


def bring_under_pepper(key: ApiKey, secret: str) -> None:
    """Store the digest of a key that somebody has just proved to hold under the present pepper, if it is not yet."""
    if key.pepper == (name := pepper_name()):
        return
    unchanged = ApiKey.objects.filter(pk=key.pk, secret_digest=key.secret_digest)
    unchanged.update(secret_digest=digest(secret), pepper=name)


def _peppers() -> list[str]:
    """The present one, then earlier ones that still count."""
    if not settings.API_KEY_PEPPER:
        raise ImproperlyConfigured("This process was not given API_KEY_PEPPER: its role has no use for it.")
    return [settings.API_KEY_PEPPER, *settings.API_KEY_PEPPER_FALLBACKS]


def _digest(pepper: str, secret: str) -> bytes:
    return hashlib.sha256(f"{pepper}\0{secret}".encode()).digest()


def _random_text() -> str:
    number = int.from_bytes(secrets.token_bytes(_RANDOM_BYTES), "big")
    characters = []
    for _ in range(RANDOM_CHARACTERS):
        number, position = divmod(number, 62)
        characters.append(_ALPHABET[position])
    return "".join(reversed(characters))
