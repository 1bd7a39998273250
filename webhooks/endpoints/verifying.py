"""Verification of a pasted request, with the fault if it fails: for developers of receivers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from webhooks.endpoints.signing import signature_of

TOLERANCE_SECONDS = 5 * 60
"""Largest offset of a timestamp that is accepted, as in the Standard Webhooks libraries."""

_SECONDS = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"v1,[A-Za-z0-9+/]{43}=")


@dataclass(frozen=True)
class Pasted:
    """The three headers and the raw body of a request, as somebody received it."""

    message_id: str
    timestamp: str
    signature: str
    body: bytes


@dataclass(frozen=True)
class Finding:
    """The result of the verification, with the fault in words."""

    verifies: bool
    words: str


def examine(
    pasted: Pasted, *, secrets: Iterable[str], others: Mapping[str, Iterable[str]], sent: bytes | None, now: float
) -> Finding:
    """The result of the verification by a receiver with the endpoint's secrets, and the fault.

    `others` are the secrets of other endpoints by their addresses, `sent` the body that was sent with this id, if that
    is known. `now` is in seconds since the Unix epoch.
    """
    secrets = list(secrets)
    if not _SECONDS.fullmatch(pasted.timestamp):
        return Finding(False, _("webhook-timestamp must be a number of seconds, such as 1795000000."))
    given = pasted.signature.split()
    if not given or not all(_SIGNATURE.fullmatch(each) for each in given):
        return Finding(False, _("webhook-signature must begin with “v1,”, followed by 44 characters of base64."))
    if not _is_signed(pasted, pasted.body, secrets):
        return Finding(False, _what_is_wrong(pasted, secrets, others, sent))
    age = round(now - int(pasted.timestamp))
    if age > TOLERANCE_SECONDS:
        words = _("The signature is right, but %(age)d seconds old: receivers take at most 300. Send the event again.")
        return Finding(False, words % {"age": age})
    if age < -TOLERANCE_SECONDS:
        words = _("The signature is right, but its timestamp is %(age)d seconds ahead. Check the clock.")
        return Finding(False, words % {"age": -age})
    return Finding(True, _("It verifies: signed by this webhook’s secret, over this body, in the last five minutes."))


def _what_is_wrong(pasted: Pasted, secrets: list[str], others: Mapping[str, Iterable[str]], sent: bytes | None) -> str:
    for address, theirs in others.items():
        if _is_signed(pasted, pasted.body, theirs):
            words = _("Wrong secret: it was signed with the secret of another webhook, %(address)s.")
            return words % {"address": address}
    if _is_signed(pasted, pasted.body.strip(), secrets):
        return _("Altered body: it has extra spaces or line breaks around it. Verify the raw bytes.")
    if sent is None:
        return _(
            "No signature was made with this webhook’s secret, and we sent nothing with this webhook-id. Either "
            "the secret is wrong, or the headers are from another request."
        )
    if sent == pasted.body:
        return _("The body is what we sent. Either the secret is wrong, or the timestamp is from another attempt.")
    if not _is_signed(pasted, sent, secrets):
        return _(
            "The body is not what we sent with this webhook-id, and the signature matches neither. Check that "
            "headers and body are from the same request."
        )
    words = _(
        "Altered body: the signature fits the %(sent)d bytes that were sent, not these %(given)d. They differ from "
        "byte %(at)d on. Verify the raw bytes, before anything parses them."
    )
    return words % {"sent": len(sent), "given": len(pasted.body), "at": _first_difference(sent, pasted.body)}


def _first_difference(one: bytes, other: bytes) -> int:
    """The number of the first byte that differs, counted from 1."""
    pairs = enumerate(zip(one, other, strict=False), start=1)
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)) + 1)


def _is_signed(pasted: Pasted, body: bytes, secrets: Iterable[str]) -> bool:
    given = set(pasted.signature.split())
    message_id, timestamp = pasted.message_id, int(pasted.timestamp)
    made = (signature_of(each, message_id=message_id, timestamp=timestamp, body=body) for each in secrets)
    return not given.isdisjoint(made)
