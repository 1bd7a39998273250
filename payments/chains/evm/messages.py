"""Who signed a text with the key of an account (EIP-191, `personal_sign`). Pure; no network, and no key of ours."""

from __future__ import annotations

from payments.chains.evm import addresses

SIGNATURE_BYTES = 65
_FIRST_V = 27


def digest_of(text: str) -> bytes:
    """The digest that a wallet signs for this text."""
    message = text.encode()
    return addresses.keccak256(b"\x19Ethereum Signed Message:\n%d%s" % (len(message), message))


def signer_of(text: str, signature: bytes) -> str:
    """The account whose key made the signature; ValueError when it is none at all."""
    from coincurve import PublicKey

    if len(signature) != SIGNATURE_BYTES:
        raise ValueError(f"a signature has {SIGNATURE_BYTES} bytes, not {len(signature)}")
    v = signature[-1]
    parity = v - _FIRST_V if v >= _FIRST_V else v
    if parity not in (0, 1):
        raise ValueError("the last byte of a signature is 0, 1, 27 or 28")
    try:
        key = PublicKey.from_signature_and_message(signature[:-1] + bytes([parity]), digest_of(text), hasher=None)
    except Exception as error:  # coincurve raises a bare Exception for what is on no curve
        raise ValueError("these bytes are no signature") from error
    return addresses.encode(addresses.keccak256(key.format(compressed=False)[1:])[-addresses.ADDRESS_BYTES :])
