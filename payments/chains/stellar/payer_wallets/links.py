"""Payment links of the stellar network (SEP-7)."""

from __future__ import annotations

from urllib.parse import quote

from config.money import from_units

PUBLIC_PASSPHRASE = "Public Global Stellar Network ; September 2015"  # noqa: S105  a network's name, no secret

MESSAGE_LENGTH = 300
"""Characters a wallet shows of a message; what is longer is cut off."""


def pay(
    *,
    destination: str,
    amount: int,
    decimals: int,
    asset_code: str,
    asset_issuer: str,
    memo: str | None = None,
    message: str = "",
    network_passphrase: str | None = None,
) -> str:
    """The link that fills in a payment. `memo` is a memo id; none goes with an M address, which carries its own.

    `network_passphrase` is given for every network but the public one.
    """
    parameters = {
        "destination": destination,
        "amount": _plain(amount, decimals),
        "asset_code": asset_code,
        "asset_issuer": asset_issuer,
    }
    if memo is not None:
        parameters.update(memo=memo, memo_type="MEMO_ID")
    if message:
        parameters["msg"] = message[:MESSAGE_LENGTH]
    if network_passphrase is not None:
        parameters["network_passphrase"] = network_passphrase
    return "web+stellar:pay?" + "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())


def _plain(amount: int, decimals: int) -> str:
    """`12.5`: exact, without an exponent and without trailing zeros."""
    text = f"{from_units(amount, decimals):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
