"""Polygon, and Amoy as its test network."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

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
    network="polygon",
    name="Polygon",
    family="evm",
    chain_id=137,
    block_seconds=1.75,
    assets=declared_coins("polygon"),
    decimals=declared_decimals("polygon"),
    rules=((None, CreditRule(confirmations=8, require_finalized=True)),),
    native=Asset("polygon", "POL", 18, ""),
    native_usd="0.25",
    transfer_usd="0.002",
    final_within_seconds=5 * 60,
    # Milestones come every few seconds.
    finality_stall_seconds=2 * 60,
    tip_floor_gwei="30",
    fee_cap_gwei="2000",
    gas_reserve=5,
    exchange_names=("Polygon PoS", "POL", "MATIC"),
    explorer="https://polygonscan.com/tx/",
    metadata=MappingProxyType({"known_not_accepted": {"USDC.e": "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174"}}),
)

NETWORK = Network(
    position=3,
    real=_REAL,
    test=replace(
        _REAL,
        name="Polygon Amoy",
        chain_id=80_002,
        explorer="https://amoy.polygonscan.com/tx/",
        assets=declared_coins("polygon", test=True),
        metadata={},
    ),
    simulation=Simulation(
        chain_id=913_370_137,
        finality_depth=2,
        rules=((None, CreditRule(confirmations=2, require_finalized=True)),),
        usual_price=30 * 10**9,
    ),
)
