"""Who can never be paid on a network, told from the address alone. Pure; what an account accepts, the network knows."""

from __future__ import annotations

from collections.abc import Collection

from payments.chains.errors import InvalidAddress, RecipientRefused
from payments.chains.evm import addresses as evm_addresses
from payments.chains.profiles import NetworkProfile
from payments.chains.stellar import addresses as stellar_addresses


def account_of(profile: NetworkProfile, address: str) -> tuple[str, int | None]:
    """The account that an address pays, and the muxed id it may carry; InvalidAddress when it pays none."""
    if profile.family == "evm":
        return evm_addresses.parse(address), None
    return stellar_addresses.split(address)


def payable_account(profile: NetworkProfile, address: str, *, own: Collection[str]) -> str:
    """The account behind an address somebody named; RecipientRefused when money sent there would be lost.

    `own` are the accounts and contracts that are ours on this network.
    """
    try:
        account, _ = account_of(profile, address)
    except InvalidAddress as error:
        raise RecipientRefused("destination_invalid", str(error)) from error
    if account in own:
        raise RecipientRefused("destination_invalid", "This address belongs to the payment service itself.")
    if account in _token_accounts(profile):
        message = (
            "This is the contract of a token: money sent there is lost."
            if profile.family == "evm"
            else "This account issues the coin: what is sent there ceases to exist."
        )
        raise RecipientRefused("destination_invalid", message)
    return account


def _token_accounts(profile: NetworkProfile) -> set[str]:
    """The contracts of the known tokens, or the issuers of the known coins."""
    known = {asset.contract for asset in profile.assets.values()}
    known |= set(profile.metadata.get("known_not_accepted", {}).values())
    return known if profile.family == "evm" else {contract.rpartition(":")[2] for contract in known}
