"""Ethereum, and Sepolia as its test network."""

from __future__ import annotations

from dataclasses import replace

from config.money import Asset
from payments.chains.profiles import (
    CreditRule,
    Network,
    NetworkProfile,
    Simulation,
    declared_coins,
    declared_decimals,
)

_REAL = NetworkProfile(
    network="ethereum",
    name="Ethereum",
    family="evm",
    chain_id=1,
    block_seconds=12,
    assets=declared_coins("ethereum"),
    decimals=declared_decimals("ethereum"),
    # `safe` is no rule: what it means depends on the provider.
    rules=((1_000, CreditRule(confirmations=12)), (None, CreditRule(1, require_finalized=True))),
    native=Asset("ethereum", "ETH", 18, ""),
    native_usd="3500",
    transfer_usd="0.30",
    final_within_seconds=15 * 60,
    # An epoch of 32 blocks becomes final every 6.4 minutes, and one may be missed: three are a stall.
    finality_stall_seconds=20 * 60,
    gas_reserve=2,
    exchange_names=("ERC-20", "ERC20", "ETH"),
    explorer="https://etherscan.io/tx/",
)

NETWORK = Network(
    position=2,
    real=_REAL,
    test=replace(
        _REAL,
        name="Ethereum Sepolia",
        chain_id=11_155_111,
        explorer="https://sepolia.etherscan.io/tx/",
        assets=declared_coins("ethereum", test=True),
    ),
    simulation=Simulation(
        chain_id=913_370_001,
        finality_depth=6,
        rules=((1_000, CreditRule(confirmations=3)), (None, CreditRule(1, require_finalized=True))),
        usual_price=10**9,
    ),
)
