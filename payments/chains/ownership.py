"""Whether a signed text shows that somebody has the key of an address. Pure: no network is queried."""

from __future__ import annotations

import base64
import binascii

from django.utils.translation import gettext_lazy as _

from payments.chains.evm import messages as evm_messages
from payments.chains.profiles import NetworkProfile
from payments.chains.recipients import account_of
from payments.chains.stellar import messages as stellar_messages


class SignatureUnreadable(ValueError):
    """What was handed in is no signature of this family of networks; the message describes a valid one."""


def has_signed(profile: NetworkProfile, address: str, text: str, signature: str) -> bool:
    """Whether the key of the address signed this text. SignatureUnreadable when the signature is none at all.

    A contract has no key, so no signature is ever its own.
    """
    account, _ = account_of(profile, address)
    signed = bytes_of(profile, signature)
    try:
        if profile.family == "evm":
            return evm_messages.signer_of(text, signed) == account
        return stellar_messages.is_signed_by(account, text, signed)
    except ValueError:
        raise SignatureUnreadable(_LOOKS_LIKE[profile.family]) from None


def bytes_of(profile: NetworkProfile, signature: str) -> bytes:
    """What a person has pasted, of stellar one signature to a line; SignatureUnreadable when it is not written so."""
    try:
        if profile.family == "evm":
            return bytes.fromhex("".join(signature.split()).removeprefix("0x"))
        return b"".join(map(_of_base64_or_hex, signature.split()))
    except ValueError:
        raise SignatureUnreadable(_LOOKS_LIKE[profile.family]) from None


_LOOKS_LIKE = {
    "evm": _("This is no signature. Wallets show one as 0x and 130 characters after it."),
    "stellar": _("This is no signature. Wallets show one as 88 characters that end with ==."),
}


def _of_base64_or_hex(text: str) -> bytes:
    if len(text) == 2 * stellar_messages.SIGNATURE_BYTES:
        return bytes.fromhex(text)
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("neither base64 nor hexadecimal") from error
