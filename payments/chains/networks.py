"""The real networks as data: names, chain ids, accepted contracts and when a deposit counts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from config.money import Asset
from payments.chains.profiles import CreditRule, NetworkProfile

ETHEREUM, POLYGON, STELLAR = "ethereum", "polygon", "stellar"
NETWORKS = (STELLAR, ETHEREUM, POLYGON)
COINS = ("USDC", "USDT", "DAI")

NATIVE_COINS = {
    ETHEREUM: Asset(ETHEREUM, "ETH", 18, ""),
    POLYGON: Asset(POLYGON, "POL", 18, ""),
    STELLAR: Asset(STELLAR, "XLM", 7, ""),
}
"""What fees are paid in. It has no contract."""

SHARED_WALLETS = frozenset({STELLAR})
"""Networks whose deposits arrive at the very account that payouts leave from."""

SWEEPS_PER_TRANSFER = 100
"""So many that a sweep with enough gas for each address stays within what ethereum allows one transaction."""

STELLAR_DECIMALS = 7
PUBLIC_STELLAR_PASSPHRASE = "Public Global Stellar Network ; September 2015"  # noqa: S105  a network's name, no secret


def _coins(network: str, *rows: tuple[str, int, str]) -> Mapping[str, Asset]:
    return MappingProxyType({code: Asset(network, code, decimals, contract) for code, decimals, contract in rows})


REAL_PROFILES: Mapping[str, NetworkProfile] = MappingProxyType(
    {
        ETHEREUM: NetworkProfile(
            network=ETHEREUM,
            name="Ethereum",
            family="evm",
            chain_id=1,
            block_seconds=12,
            assets=_coins(
                ETHEREUM,
                ("USDC", 6, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
                ("USDT", 6, "0xdAC17F958D2ee523a2206206994597C13D831ec7"),
                ("DAI", 18, "0x6B175474E89094C44Da98b954EedeAC495271d0F"),
            ),
            # `safe` is no rule: what it means depends on the provider.
            rules=((1_000, CreditRule(confirmations=12)), (None, CreditRule(1, require_finalized=True))),
            native=NATIVE_COINS[ETHEREUM],
            # An epoch of 32 blocks becomes final every 6.4 minutes, and one may be missed: three are a stall.
            finality_stall_seconds=20 * 60,
            sweeps_per_transfer=SWEEPS_PER_TRANSFER,
        ),
        POLYGON: NetworkProfile(
            network=POLYGON,
            name="Polygon",
            family="evm",
            chain_id=137,
            block_seconds=2,
            assets=_coins(
                POLYGON,
                ("USDC", 6, "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"),
                ("USDT", 6, "0xc2132D05D31c914a87C6611C10748AEb04B58e8F"),
                ("DAI", 18, "0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063"),
            ),
            rules=((None, CreditRule(confirmations=8, require_finalized=True)),),
            native=NATIVE_COINS[POLYGON],
            # Milestones come every few seconds.
            finality_stall_seconds=2 * 60,
            sweeps_per_transfer=SWEEPS_PER_TRANSFER,
            metadata=MappingProxyType({"known_not_accepted": {"USDC.e": "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174"}}),
        ),
        STELLAR: NetworkProfile(
            network=STELLAR,
            name="Stellar",
            family="stellar",
            chain_id=None,
            block_seconds=5.5,
            # USDT and DAI have no issuer that everybody means: the operator names one, or they are refused.
            assets=_coins(
                STELLAR,
                ("USDC", STELLAR_DECIMALS, "USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"),
            ),
            rules=((None, CreditRule(confirmations=1)),),
            native=NATIVE_COINS[STELLAR],
            payouts_per_transfer=100,
            metadata=MappingProxyType({"network_passphrase": PUBLIC_STELLAR_PASSPHRASE}),
        ),
    }
)


def _test_profile(network: str, *, name: str, chain_id: int, usdc: str) -> NetworkProfile:
    """As the real network but for its coins: only the issuer of USDC puts it on test networks."""
    return replace(
        REAL_PROFILES[network], name=name, chain_id=chain_id, assets=_coins(network, ("USDC", 6, usdc)), metadata={}
    )


TEST_PROFILES: Mapping[str, NetworkProfile] = MappingProxyType(
    {
        ETHEREUM: _test_profile(
            ETHEREUM,
            name="Ethereum Sepolia",
            chain_id=11_155_111,
            usdc="0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
        ),
        POLYGON: _test_profile(
            POLYGON,
            name="Polygon Amoy",
            chain_id=80_002,
            usdc="0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582",
        ),
    }
)
"""The test networks in place of the real ones, with the USDC of its issuer, Circle."""
