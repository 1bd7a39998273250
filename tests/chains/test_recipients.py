"""Who can never be paid on the real networks, told from the address alone."""

from __future__ import annotations

import pytest

from payments.chains.errors import InvalidAddress, RecipientRefused
from payments.chains.networks import NETWORKS
from payments.chains.recipients import account_of, payable_account
from payments.chains.stellar import addresses as stellar_addresses
from tests.networks import ETHEREUM, POLYGON, STELLAR

SOMEBODY = "0x52908400098527886E0F7030069857D2E4169EE7"
ACCOUNT = "GATISXX6BZ6NC7IKQBY37CJD4SOZL3CYZJWXEDG6JVIY4WBS6KXJHN6Q"
USDC_ISSUER = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"


def refusal(network: str, address: str, *, own: tuple[str, ...] = ()) -> str:
    with pytest.raises(RecipientRefused) as refused:
        payable_account(NETWORKS[network].real, address, own=own)
    assert refused.value.problem == "destination_invalid"
    return str(refused.value)


def test_an_ordinary_address_is_answered_in_its_canonical_spelling() -> None:
    for network in (ETHEREUM, POLYGON):
        assert payable_account(NETWORKS[network].real, SOMEBODY.lower(), own=()) == SOMEBODY
    assert payable_account(NETWORKS[STELLAR].real, ACCOUNT, own=()) == ACCOUNT


def test_a_muxed_address_pays_the_account_behind_it() -> None:
    muxed = stellar_addresses.mux(ACCOUNT, 42)
    assert account_of(NETWORKS[STELLAR].real, muxed) == (ACCOUNT, 42)
    assert payable_account(NETWORKS[STELLAR].real, muxed, own=()) == ACCOUNT
    assert "payment service itself" in refusal(STELLAR, muxed, own=(ACCOUNT,))


def test_an_address_of_another_network_is_refused_with_the_reason() -> None:
    assert refusal(ETHEREUM, ACCOUNT) == "An address of this network starts with 0x."
    assert refusal(STELLAR, SOMEBODY) == "An address of this network starts with G or M."
    with pytest.raises(InvalidAddress):
        account_of(NETWORKS[STELLAR].real, SOMEBODY)


@pytest.mark.parametrize("network", [ETHEREUM, POLYGON])
def test_the_zero_address_is_refused(network: str) -> None:
    assert refusal(network, "0x" + "0" * 40) == "This is the zero address: money sent there is lost."


@pytest.mark.parametrize("network", [ETHEREUM, POLYGON])
def test_the_contracts_of_tokens_are_refused_in_any_spelling(network: str) -> None:
    profile = NETWORKS[network].real
    contracts = [asset.contract for asset in profile.assets.values()]
    contracts += profile.metadata.get("known_not_accepted", {}).values()
    assert len(contracts) >= 3
    for contract in contracts:
        assert refusal(network, contract.lower()) == "This is the contract of a token: money sent there is lost."


def test_the_issuer_of_a_coin_is_refused() -> None:
    expected = "This account issues the coin: what is sent there ceases to exist."
    assert refusal(STELLAR, USDC_ISSUER) == expected
    assert refusal(STELLAR, stellar_addresses.mux(USDC_ISSUER, 1)) == expected


def test_what_is_ours_is_refused_in_any_spelling() -> None:
    assert refusal(ETHEREUM, SOMEBODY.lower(), own=(SOMEBODY,)) == "This address belongs to the payment service itself."
