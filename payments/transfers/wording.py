"""Words for merchants about payouts that become claimable balances."""

from __future__ import annotations

from config.money import Asset


def set_aside_on(date: str) -> str:
    """Fate of money that waits for a wallet's trustline, on a date that is shown."""
    return f"If the wallet does not hold the coin on {date}, the money is set aside for it: the wallet then claims it."


def how_to_claim(asset: Asset) -> str:
    """Instructions for a merchant whose money was set aside."""
    code, _, issuer = asset.contract.partition(":")
    return (
        f"The wallet could not take {code} for days, so the money was set aside for it on the network, where nobody "
        f"else can take it. In the app of the wallet, add the asset {code} of the issuer {issuer}, then claim the "
        "claimable balance with the id below."
    )
