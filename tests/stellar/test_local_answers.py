"""Every kind of answer of the local Horizon is what `stellar_model` expects, after every kind of operation."""

from __future__ import annotations

from typing import Any

import pytest
import requests
import stellar_model.response as model
from pydantic import BaseModel
from stellar_model.response.async_transaction_response import AsyncTransactionResponse
from stellar_sdk import Asset, Claimant, Keypair, Signer
from stellar_sdk.operation import (
    AccountMerge,
    BumpSequence,
    ChangeTrust,
    ClaimClaimableBalance,
    Clawback,
    CreateClaimableBalance,
    ManageData,
    ManageSellOffer,
    Operation,
    PathPaymentStrictReceive,
    PathPaymentStrictSend,
    Payment,
    SetOptions,
)
from stellar_sdk.operation.set_options import AuthorizationFlag

from tests.stellar.network.horizon import LocalHorizon

ALICE, BOB, CAROL, NOBODY = (Keypair.random() for _ in range(4))
A, B, C, N = (each.public_key for each in (ALICE, BOB, CAROL, NOBODY))
COIN = 10**7


@pytest.fixture
def town(horizon: LocalHorizon) -> LocalHorizon:
    """Alice has USDC and DAI, Bob offers USDC for DAI at 0.9, Carol has native coins alone."""
    for name in (A, B):
        for code in ("USDC", "DAI"):
            horizon.mint(code, name, 100 * COIN)
    horizon.fund_native(C, 10 * COIN)
    horizon.act(BOB, ManageSellOffer(horizon.asset("USDC"), horizon.asset("DAI"), "50", "0.9"))
    return horizon


def test_every_kind_of_answer_is_as_the_library_of_models_expects(town: LocalHorizon) -> None:
    usdc, dai = town.asset("USDC"), town.asset("DAI")
    created = town.envelope(ALICE, CreateClaimableBalance(usdc, "3", [Claimant(C)]))
    balance = created.transaction.get_claimable_balance_id(0)
    town.network.close_with(created)
    digest = created.hash_hex()
    ledger = town.network.state.ledger
    questions: dict[str, type[BaseModel]] = {
        "/": model.RootResponse,
        "/fee_stats": model.FeeStatsResponse,
        f"/ledgers/{ledger}": model.LedgerResponse,
        "/ledgers?order=desc": model.LedgersResponse,
        f"/accounts/{A}": model.AccountResponse,
        f"/transactions/{digest}": model.TransactionResponse,
        f"/claimable_balances/{balance}": model.ClaimableBalanceResponse,
        f"/claimable_balances?claimant={C}": model.ClaimableBalancesResponse,
        f"/offers?seller={B}": model.OffersResponse,
        f"/operations/{(ledger << 32) + 4097}": model.OperationResponse,
        f"/paths/strict-send?{_asset('source', dai)}&source_amount=9&destination_account={A}": model.PathsResponse,
        f"/paths/strict-receive?{_asset('destination', usdc)}&destination_amount=10&source_account={A}": (
            model.PathsResponse
        ),
        f"/accounts/{N}": model.ErrorResponse,
        "/nothing": model.ErrorResponse,
    }
    for path, expected in questions.items():
        said = requests.get(town.url + path, timeout=60).json()
        expected.model_validate(said)
        if expected is model.PathsResponse:
            (found,) = [each for each in said["_embedded"]["records"] if crosses(each)]
            assert (found["source_amount"], found["destination_amount"]) == ("9.0000000", "10.0000000")

    do_everything(town, balance)
    assert requests.get(f"{town.url}/accounts/{A}/data/colour", timeout=60).json() == {"value": "Ymx1ZQ=="}
    kinds = {}
    for path, page in (
        ("/operations?limit=200", model.OperationsResponse),
        ("/payments?limit=200&join=transactions", model.PaymentsResponse),
        ("/transactions?limit=200", model.TransactionsResponse),
        ("/effects?limit=200", model.EffectsResponse),
    ):
        said = requests.get(town.url + path, timeout=60).json()
        page.model_validate(said)
        kinds[path] = {each.get("type") for each in said["_embedded"]["records"]}
    assert len(kinds["/operations?limit=200"]) == 14
    assert len(kinds["/effects?limit=200"]) >= 20
    asynchronous = requests.post(f"{town.url}/transactions_async", data={"tx": created.to_xdr()}, timeout=60)
    assert asynchronous.status_code == 400
    AsyncTransactionResponse.model_validate(asynchronous.json())


def crosses(path: dict[str, Any]) -> bool:
    return (path.get("source_asset_code"), path.get("destination_asset_code")) == ("DAI", "USDC")


def do_everything(town: LocalHorizon, balance: str) -> None:
    """One operation of every kind, and of every way to change something."""
    usdc, dai = town.asset("USDC"), town.asset("DAI")
    town.trust(CAROL, "USDC")
    town.act(CAROL, ClaimClaimableBalance(balance))
    town.act(CAROL, Payment(A, usdc, "3"), ChangeTrust(usdc, "0"))
    town.act(
        ALICE, PathPaymentStrictReceive(B, dai, "10", usdc, "1", []), PathPaymentStrictSend(B, dai, "1", usdc, "1", [])
    )
    town.act(ALICE, ManageData("colour", "red"), ManageData("colour", "blue"), ManageData("other", "x"))
    town.act(ALICE, ManageData("other", None), BumpSequence(town.network.state.accounts[A].sequence + 5))
    town.act(
        BOB,
        SetOptions(home_domain="example.org", low_threshold=1, set_flags=AuthorizationFlag.AUTHORIZATION_REQUIRED),
        SetOptions(signer=Signer.ed25519_public_key(C, 1)),
        SetOptions(signer=Signer.ed25519_public_key(C, 2)),
        SetOptions(signer=Signer.ed25519_public_key(C, 0)),
    )
    town.deauthorise(A, "USDC")
    town.authorise(A, "USDC")
    town.clawback(A, "USDC", COIN)
    town.act(CAROL, AccountMerge(A))


def test_operations_that_cannot_be_done_say_why(town: LocalHorizon) -> None:
    usdc, dai, own = town.asset("USDC"), town.asset("DAI"), Asset("OWN", A)
    issuer = town.issuer("USDC")
    town.deauthorise(B, "DAI")
    cases: list[tuple[Keypair, Operation, str]] = [
        (ALICE, Payment(B, usdc, "0"), "op_malformed"),
        (ALICE, Payment(B, dai, "1"), "op_not_authorized"),
        (BOB, Payment(A, dai, "1"), "op_src_not_authorized"),
        (ALICE, PathPaymentStrictReceive(N, dai, "1", usdc, "1", []), "op_no_destination"),
        (ALICE, PathPaymentStrictReceive(B, usdc, "1", own, "1", []), "op_no_trust"),
        (ALICE, PathPaymentStrictSend(A, usdc, "1", dai, "1", []), "op_too_few_offers"),
        (ALICE, ChangeTrust(own), "op_self_not_allowed"),
        (ALICE, ManageData("colour", None), "op_data_name_not_found"),
        (ALICE, AccountMerge(B), "op_has_sub_entries"),
        (CAROL, AccountMerge(N), "op_no_account"),
        (CAROL, Payment(A, Asset.native(), "9.1"), "op_underfunded"),
        (CAROL, ClaimClaimableBalance("00000000" + "ab" * 32), "op_does_not_exist"),
        (ALICE, CreateClaimableBalance(usdc, "1000", [Claimant(C)]), "op_underfunded"),
        (ALICE, Clawback(usdc, B, "1"), "op_malformed"),
        (issuer, Clawback(usdc, B, "1000"), "op_underfunded"),
        (issuer, Clawback(usdc, C, "1"), "op_no_trust"),
        (ALICE, SetOptions(signer=Signer.ed25519_public_key(A, 1)), "op_bad_signer"),
        (ALICE, ManageSellOffer(usdc, dai, "1", "1", 99), "op_offer_not_found"),
        (CAROL, ManageSellOffer(usdc, dai, "1", "1"), "op_sell_no_trust"),
        (BOB, Payment(A, usdc, "1", source=A), "op_bad_auth"),
    ]
    for source, operation, expected in cases:
        with pytest.raises(ValueError, match=expected):
            town.act(source, operation)
    assert town.balance(A, "USDC") == 100 * COIN


def test_a_pending_claim_keeps_its_reserve(town: LocalHorizon) -> None:
    def reserve() -> Any:
        return town.network.state.accounts[A].reserve

    before = reserve()
    created = town.envelope(ALICE, CreateClaimableBalance(town.asset("USDC"), "3", [Claimant(A), Claimant(C)]))
    town.network.close_with(created)
    assert reserve() == before + COIN
    town.act(ALICE, ClaimClaimableBalance(created.transaction.get_claimable_balance_id(0)))
    assert reserve() == before


def _asset(side: str, asset: Asset) -> str:
    kind = f"{side}_asset_type={asset.type}"
    return f"{kind}&{side}_asset_code={asset.code}&{side}_asset_issuer={asset.issuer}"
