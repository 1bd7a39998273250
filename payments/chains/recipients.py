"""Recipients that can never be paid on a network, recognised by the address alone. Pure; what an account accepts, only
the network knows."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from payments.chains.errors import InvalidAddress, RecipientProblem, RecipientRefused
from payments.chains.evm import addresses as evm_addresses
from payments.chains.profiles import Family, NetworkProfile
from payments.chains.stellar import addresses as stellar_addresses

_REFUSALS: Mapping[RecipientProblem, str] = {
    "destination_invalid": "There is no account at this address.",
    "no_trustline": "This account does not hold {code} yet: it must add a trustline for it first.",
    "memo_required": "This account belongs to many people: it needs a memo that says whom the money is for.",
    "destination_refused": "The issuer of {code} forbids this account to receive it.",
}

_LOST_AT_TOKENS: Mapping[Family, str] = {
    "evm": "This is the contract of a token: money sent there is lost.",
    "stellar": "This account issues the coin: what is sent there ceases to exist.",
}


def refusal(problem: RecipientProblem, code: str) -> RecipientRefused:
    """The refusal of a coin, in words for the person who named the address."""
    return RecipientRefused(problem, _REFUSALS[problem].format(code=code))


def account_of(profile: NetworkProfile, address: str) -> tuple[str, int | None]:
    """The account that an address pays, and the muxed id it may carry; InvalidAddress when it pays none."""
    if profile.family == "evm":
        return evm_addresses.parse(address), None
    return stellar_addresses.split(address)


def person_of(address: str) -> str:
    """The muxed id of an M address, as digits: whom in a shared account it is for. Empty for any other address."""
    try:
        _, identifier = stellar_addresses.split(address)
    except InvalidAddress:
        return ""
    return "" if identifier is None else str(identifier)


def payable_account(profile: NetworkProfile, address: str, *, own: Collection[str]) -> str:
    """The account behind an address somebody named; RecipientRefused when money sent there would be lost.

    `own` are the accounts and contracts that are ours on this network.
    """
    tokens = _token_accounts(profile)
    try:
        account, _ = account_of(profile, address)
    except InvalidAddress as error:
        raise RecipientRefused("destination_invalid", str(error)) from error
    if account in own:
        raise RecipientRefused("destination_invalid", "This address belongs to the payment service itself.")
    if account in tokens:
        raise RecipientRefused("destination_invalid", _LOST_AT_TOKENS[profile.family])
    return account


def _token_accounts(profile: NetworkProfile) -> set[str]:
    """The contracts of the known tokens, or the issuers of the known coins."""
    known = {asset.contract for asset in profile.assets.values()}
    known |= set(profile.metadata.get("known_not_accepted", {}).values())
    return known if profile.family == "evm" else {contract.rpartition(":")[2] for contract in known}
