"""The transfer by which the keepers of a cold wallet refill the hot wallet. Nothing is queried from a network, or
sent."""

from __future__ import annotations

from collections.abc import Mapping

from payments.chains import registry
from payments.chains.evm import abi
from payments.chains.protocol.addresses import DepositAddress
from payments.treasury.house.cold.wallet_target import WalletTarget


def transfer_of(each: WalletTarget, units: int) -> Mapping[str, str]:
    """Fields for the cold wallet's own software: a hardware wallet takes the link, a multisig the call."""
    chain = registry.chain(each.environment, each.asset.network)
    to = DepositAddress(each.hot_wallet)
    fields = {"from": each.cold_wallet, "to": each.hot_wallet, "amount": each.shown(units)}
    fields["link"] = chain.payment_uri(to=to, asset=each.asset, amount=units)
    if chain.profile.family == "evm":
        call = abi.call("transfer(address,uint256)", each.hot_wallet, units)
        fields |= {"contract": each.asset.contract, "data": f"0x{call.hex()}"}
    else:
        fields["memo"] = "none"
    return fields
