"""What prepares a network is signed by a signer of its own as well, by its own settings and nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from stellar_sdk import Asset, ChangeTrust, CreateAccount, ManageData, Operation, Payment, SetOptions

from payments.chains.errors import SignerRefused
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.evm.deposit_addresses.deployment import DEPLOYER
from payments.chains.evm.keys.remote_signing import RemoteSigner
from payments.chains.evm.keys.signing import Purpose, read_signed
from payments.chains.stellar import addresses
from payments.chains.stellar.channels import entry_name
from payments.chains.stellar.keys import envelopes
from payments.chains.stellar.keys.remote_signing import RemoteKeys
from payments.chains.stellar.keys.wallet_keys import Keys
from tests.evm.network import devnet
from tests.signer.signer import POLYGON, PROFILES, STELLAR, OwnSigner
from tests.signer.test_service import SOMEBODY as SOMEBODY_ON_EVM
from tests.signer.test_service import USDC as USDC_ON_EVM
from tests.signer.test_service import transaction, transfer
from tests.signer.test_stellar_rules import SOMEBODY
from tests.stellar.network.keys import HOT_WALLET_KEY, PASSPHRASE
from tests.stellar.place import XLM, Place

FACTORY = Purpose(prepares="factory")
WALLET = Keys(HOT_WALLET_KEY)
USDC = Asset(*PROFILES[STELLAR].assets["USDC"].contract.split(":"))
CHANNELS = Keys(HOT_WALLET_KEY, channels=2).channels


def test_the_factory_of_its_own_settings_is_put_in_place_and_no_other(signer: OwnSigner) -> None:
    remote = RemoteSigner(devnet.HOT_WALLET, signer.client(POLYGON))
    ours = transaction(0, to=DEPLOYER, data=devnet.DEPLOYMENT.data, gas=2_000_000)
    assert read_signed(remote.sign(ours, FACTORY).raw) == ours
    thiefs = deployment.with_owner(SOMEBODY_ON_EVM)
    for changes in (
        {"to": DEPLOYER, "data": thiefs.data},
        {"to": SOMEBODY_ON_EVM, "data": devnet.DEPLOYMENT.data},
        {"to": DEPLOYER, "data": devnet.DEPLOYMENT.data, "units": 1},
        {"to": USDC_ON_EVM, "data": transfer(SOMEBODY_ON_EVM, 1)},
    ):
        with pytest.raises(SignerRefused, match="differs"):
            remote.sign(transaction(1, **changes), FACTORY)
    for purpose in (Purpose(prepares="wallet"), Purpose(prepares="factory", sweeps="USDC")):
        with pytest.raises(SignerRefused, match="differs"):
            remote.sign(transaction(1, to=DEPLOYER, data=devnet.DEPLOYMENT.data), purpose)


def prepared(signer: OwnSigner, *operations: Operation, **changes: Any) -> envelopes.Signed:
    fields = {
        "passphrase": PASSPHRASE,
        "sequence": 7,
        "fee_per_operation": 200,
        "valid_until": signer.clock() + timedelta(minutes=5),
        **changes,
    }
    return RemoteKeys(WALLET.address, signer.client(STELLAR)).sign_operations(operations, **fields)


@pytest.fixture
def channelled(signer: OwnSigner) -> OwnSigner:
    signer.wallets[STELLAR]._keys = Keys(HOT_WALLET_KEY, channels=2)  # type: ignore[attr-defined]
    return signer


def test_the_wallet_on_stellar_is_prepared_as_its_own_key_does(channelled: OwnSigner) -> None:
    entries = [ManageData(entry_name(n), addresses.key_of(each)) for n, each in enumerate(CHANNELS, 1)]
    operations = [
        ChangeTrust(USDC),
        ManageData("config.memo_required", b"1"),
        *(CreateAccount(each, "1") for each in CHANNELS),
        *entries,
    ]
    own = WALLET.sign_operations(
        operations,
        passphrase=PASSPHRASE,
        sequence=7,
        fee_per_operation=200,
        valid_until=channelled.clock() + timedelta(minutes=5),
    )
    assert prepared(channelled, *operations) == own
    assert channelled.record.fees_in_a_day(*STELLAR) == 6 * 200 + 2 * 10**7  # what the channels were handed counts


def test_a_wallet_whose_key_is_with_the_signer_is_set_up_on_a_network() -> None:
    place, signer = Place(prepared=False), OwnSigner()
    try:
        place.local.fund_native(WALLET.address, 100 * XLM)
        chain = place.chain_through(place.horizons, RemoteKeys(WALLET.address, signer.client(STELLAR)))
        plan = chain.preparation().plan()
        assert len(plan.steps) == len(PROFILES[STELLAR].assets) + 1
        chain.sending.broadcast(chain.preparation().sign(plan))
        place.local.close_ledger()
        assert chain.preparation().plan().steps == ()
    finally:
        signer.end()
        place.stop()


@pytest.mark.parametrize(
    "operation",
    [
        Payment(SOMEBODY, USDC, "1"),
        CreateAccount(SOMEBODY, "1"),
        CreateAccount(CHANNELS[0], "6"),
        ChangeTrust(Asset("USDC", SOMEBODY)),
        ChangeTrust(USDC, limit="0"),
        ManageData(entry_name(1), addresses.key_of(SOMEBODY)),
        ManageData("config.memo_required", None),
        SetOptions(master_weight=0),
        ManageData("config.memo_required", b"1", source=SOMEBODY),
    ],
    ids=lambda each: type(each).__name__,
)
def test_anything_else_is_refused_even_beside_what_is_right(channelled: OwnSigner, operation: Operation) -> None:
    with pytest.raises(SignerRefused, match="differs"):
        prepared(channelled, ChangeTrust(USDC), operation)
    assert [line for line in channelled.lines() if '"hash"' in line] == []


def test_what_prepares_is_held_to_caps_and_validity_too(signer: OwnSigner) -> None:
    with pytest.raises(SignerRefused, match="fees"):
        prepared(signer, ChangeTrust(USDC), fee_per_operation=100_001)
    with pytest.raises(SignerRefused, match="differs"):
        prepared(signer, ChangeTrust(USDC), valid_until=signer.clock() + timedelta(hours=1))
    with pytest.raises(SignerRefused, match="differs"):
        prepared(signer)
