"""What sweeps did at deposit addresses, by their receipts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from config.money import Asset
from payments.chains.base import SweptFrom
from payments.chains.evm import abi
from payments.chains.evm.nodes.questions import Receipt

FAILED = abi.topic("SweepFailed(address,address)")


def swept_from(
    receipt: Receipt, *, asset: Asset, addresses: Sequence[tuple[int, str]], treasury: str
) -> tuple[SweptFrom, ...]:
    """What the on-chain transaction of a receipt did with a coin at each of these addresses, by number."""
    left: defaultdict[str, int] = defaultdict(int)
    arrived: defaultdict[str, int] = defaultdict(int)
    refused = set()
    for log in receipt.logs:
        if log.is_token_transfer and log.contract == asset.contract:
            left[log.sender] += log.amount
            arrived[log.sender] += log.amount * (log.recipient == treasury)
        elif len(log.topics) == 3 and log.topics[0] == FAILED and log.topics[1] == abi.address_topic(asset.contract):
            refused.add(log.topics[2])
    return tuple(
        SweptFrom(number, left[address], arrived[address], abi.address_topic(address) in refused)
        for number, address in addresses
    )
