"""What sweeps did at deposit addresses, by their receipts, and why they would leave coins at some of them now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from config.money import Asset
from payments.chains.base import SweptFrom, Unsweepable
from payments.chains.errors import ChainUnavailable
from payments.chains.evm import abi, questions
from payments.chains.evm.providers import Providers
from payments.chains.evm.questions import Question, Receipt
from payments.chains.evm.rpc import RpcError

FAILED = abi.topic("SweepFailed(address,address)")

ANYBODY, ANYBODY_ELSE = "0x" + "11" * 20, "0x" + "22" * 20
"""Two addresses that no issuer has a reason to forbid anything."""

CALLS_PER_BATCH = 50
SAID_MAX = 200


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


class Trials:
    """Tries transfers without sending them: what the contract of a coin would do after the newest block."""

    def __init__(self, providers: Providers, *, treasury: str) -> None:
        self._providers = providers
        self._treasury = treasury

    def why_unsweepable(self, asset: Asset, addresses: Sequence[tuple[int, str]]) -> dict[int, Unsweepable]:
        """Those of these addresses whose coins could not be sent to the treasury, by number, and why."""
        height = self._providers.head().height
        asked = [questions.token_balance(asset.contract, address, height) for _, address in addresses]
        held = dict(zip(addresses, self._each(asked), strict=True))
        found = {place[0]: Unsweepable("empty") for place, units in held.items() if not units}
        tried = [(place, units) for place, units in held.items() if units]
        moves = [(address, self._treasury, units) for (_, address), units in tried]
        refused = [
            (place, error)
            for (place, _), error in zip(tried, self._tried(asset, moves, height), strict=True)
            if error is not None
        ]
        if not refused:
            return found
        elsewhere = [(address, ANYBODY, 0) for (_, address), _ in refused]
        anybody, wallet, *others = self._tried(
            asset, [(ANYBODY, ANYBODY_ELSE, 0), (ANYBODY, self._treasury, 0), *elsewhere], height
        )
        for ((number, _), error), from_here in zip(refused, others, strict=True):
            found[number] = Unsweepable(_reason(anybody, wallet, from_here), error.message[:SAID_MAX])
        return found

    def _tried(self, asset: Asset, moves: Iterable[tuple[str, str, int]], height: int) -> list[RpcError | None]:
        """What the contract says against each transfer: sender, recipient, amount. None where it would be made."""
        asked = [
            questions.result(
                asset.contract, abi.call("transfer(address,uint256)", recipient, units), height, sender=sender
            )
            for sender, recipient, units in moves
        ]
        errors = [answer if isinstance(answer, RpcError) else _refusal(answer) for answer in self._each(asked)]
        if unclear := next((error for error in errors if error is not None and not error.is_reverted), None):
            raise ChainUnavailable(f"{self._providers.network} cannot try a transfer: {unclear}") from unclear
        return errors

    def _each(self, asked: Sequence[Question[Any]]) -> Iterator[Any]:
        for start in range(0, len(asked), CALLS_PER_BATCH):
            yield from self._providers.agree_each(*asked[start : start + CALLS_PER_BATCH])


def _refusal(answer: bytes) -> RpcError | None:
    """A contract may return that it refuses instead of reverting; many return nothing at all."""
    is_refused = len(answer) == abi.WORD and not abi.uint(answer)
    return RpcError(3, "execution reverted: the transfer returned false") if is_refused else None


def _reason(
    anybody: RpcError | None, wallet: RpcError | None, from_here: RpcError | None
) -> Literal["paused", "wallet_refused", "frozen", "refused"]:
    if anybody is not None:
        return "paused"
    if wallet is not None:
        return "wallet_refused"
    return "refused" if from_here is None else "frozen"
