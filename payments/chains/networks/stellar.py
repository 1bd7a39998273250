"""Stellar, and its test network."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from config.money import Asset
from payments.chains.profiles import CreditRule, Network, NetworkProfile, Simulation, declared_coins, declared_decimals

_RULES = ((None, CreditRule(confirmations=1)),)

_REAL = NetworkProfile(
    network="stellar",
    name="Stellar",
    family="stellar",
    block_seconds=5.5,
    # USDT and DAI have no issuer that everybody means: the operator names one, or they are refused.
    assets=declared_coins("stellar"),
    decimals=declared_decimals("stellar"),
    rules=_RULES,
    native=Asset("stellar", "XLM", 7, ""),
    native_usd="0.50",
    transfer_usd="0.00001",
    shares_account=True,
    takes_memos=True,
    transfers_expire=True,
    hash_prefix="",
    qr_has_amount=True,
    payouts_per_transfer=100,
    replace_after_seconds=20,  # a few ledgers: core forgets what waits for four
    transfers_in_flight=1,  # core takes one of each source account into a ledger
    final_within_seconds=60,
    gas_reserve=100,
    exchange_names=("XLM",),
    explorer="https://stellar.expert/explorer/public/tx/",
    metadata=MappingProxyType({"network_passphrase": "Public Global Stellar Network ; September 2015"}),
)

NETWORK = Network(
    position=1,
    real=_REAL,
    test=replace(
        _REAL,
        name="Stellar test network",
        explorer="https://stellar.expert/explorer/testnet/tx/",
        assets=declared_coins("stellar", test=True),
        metadata=MappingProxyType({"network_passphrase": "Test SDF Network ; September 2015"}),
    ),
    simulation=Simulation(finality_depth=0, rules=_RULES, usual_price=100, payout_work=1),
)
