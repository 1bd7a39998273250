"""Faults in the form of two presented keys. Pure; messages reveal only what the sender wrote."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"""["'<{“‘].*|.*["'>}”’]""", re.DOTALL)
_KEY = re.compile(r"(?P<half>[ps])k_(?P<infix>live|test)_")
_BOTH = "Send the public key as Authorization: Bearer pk_… and the secret key as X-Api-Secret: sk_…."


def problem_of(authorization: str, secret: str, *, random_characters: int) -> str | None:
    """The reason these two headers cannot be a pair of keys, as a sentence with the right form; None when they may be.

    A key has `random_characters` behind its prefix.
    A pair that is refused here does not count as a guess.
    """
    public_key = _without_scheme(authorization)
    for header, text in (("Authorization", public_key), ("X-Api-Secret", secret.strip())):
        if text and _QUOTED.fullmatch(text):
            return f"The key in {header} stands in quotation marks or brackets. Send it without them."
    public, private = _KEY.match(public_key), _KEY.match(_without_scheme(secret))
    if public and private and (public["half"], private["half"]) == ("s", "p"):
        return f"The two keys are swapped. {_BOTH}"
    if public and public["half"] == "s":
        return f"Authorization has a secret key (sk_…). {_BOTH}"
    if private and private["half"] == "p":
        return f"X-Api-Secret has a public key (pk_…). {_BOTH}"
    if private and secret.strip() != _without_scheme(secret):
        return "X-Api-Secret takes the secret key alone, without Bearer before it."
    if public and private and public["infix"] != private["infix"]:
        return "One of the two keys is for the sandbox (test), the other for production (live). Send both of one pair."
    for name, key, text in (("public", public, public_key), ("secret", private, secret.strip())):
        if key and len(text) != (length := key.end() + random_characters):
            return f"A {name} key has {length} characters, this one has {len(text)}. Copy it again."
    return None


def missing(authorization: str, secret: str) -> str | None:
    """The header that is missing or has the wrong form; None when both are right."""
    if not authorization and not secret:
        return None
    if not secret:
        return f"The header X-Api-Secret is missing. {_BOTH}"
    if not authorization:
        return f"The header Authorization is missing. {_BOTH}"
    return f"Authorization must be Bearer, a blank and the public key. {_BOTH}"


def _without_scheme(text: str) -> str:
    text = text.strip()
    scheme, blank, rest = text.partition(" ")
    return rest.strip() if blank and scheme.lower() == "bearer" else text
