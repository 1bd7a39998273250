"""Ethereum, and Sepolia as its test network."""

from __future__ import annotations

from dataclasses import replace

from config.money import Asset
from payments.chains.profiles import CreditRule, LocalNode, Network, NetworkProfile, Simulation, coins

_DECIMALS = {"USDC": 6, "USDT": 6, "DAI": 18}

_REAL = NetworkProfile(
    network="ethereum",
    name="Ethereum",
    family="evm",
    chain_id=1,
    block_seconds=12,
    assets=coins(
        "ethereum",
        _DECIMALS,
        USDC="0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        USDT="0xdAC17F958D2ee523a2206206994597C13D831ec7",
        DAI="0x6B175474E89094C44Da98b954EedeAC495271d0F",
    ),
    decimals=_DECIMALS,
    # `safe` is no rule: what it means depends on the provider.
    rules=((1_000, CreditRule(confirmations=12)), (None, CreditRule(1, require_finalized=True))),
    native=Asset("ethereum", "ETH", 18, ""),
    native_usd="3500",
    final_within_seconds=15 * 60,
    # An epoch of 32 blocks becomes final every 6.4 minutes, and one may be missed: three are a stall.
    finality_stall_seconds=20 * 60,
    gas_reserve=2,
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
        assets=coins("ethereum", _DECIMALS, USDC="0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"),
    ),
    simulation=Simulation(
        chain_id=913_370_001,
        finality_depth=6,
        rules=((1_000, CreditRule(confirmations=3)), (None, CreditRule(1, require_finalized=True))),
        usual_price=10**9,
    ),
    local=LocalNode(chain_id=31_337, port=8545),
)
