"""Fees that a token keeps of a transfer, where its contract reports them as Tether's does: by a second event, and by
its rate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from payments.chains.evm import abi
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.questions import Log
from payments.chains.evm.nodes.rpc import RpcError

_RATE_SCALE = 10_000

Moved = tuple[int, Log]
"""A transfer with its ordinal."""


class TokenFees:
    """Queries each token once for the part of a transfer that it keeps, as of a block."""

    def __init__(self, providers: Providers, height: int) -> None:
        self._providers, self._height = providers, height
        self._rates: dict[str, int] = {}

    def kept(self, log: Log, beside: Iterable[Log]) -> int:
        """How much of what was sent the token kept, by the transfers from the same sender next to it.

        Such a one may as well be another payment of somebody who pays several people: it is a fee only where it is no
        more than the token's rate gives. Tether emits the fee before the transfer, others after it. Where both could
        be, the larger one is nearer to the rate.
        """
        return max((each.amount for each in beside if _is_pair(log, each) and self._is_fee(log, each)), default=0)

    def _is_fee(self, log: Log, other: Log) -> bool:
        return other.amount <= (log.amount + other.amount) * self._rate(log.contract) // _RATE_SCALE

    def _rate(self, contract: str) -> int:
        """In hundredths of a percent; nothing where the contract knows no such rate."""
        if contract not in self._rates:
            question = questions.result(contract, abi.call("basisPointsRate()"), self._height)
            try:
                answer = self._providers.agree_on(question)
            except RpcError:
                answer = b""
            self._rates[contract] = abi.uint(answer) if len(answer) == abi.WORD else 0
        return self._rates[contract]


def with_neighbours(moved: Iterable[Moved]) -> Iterator[tuple[Moved, list[Log]]]:
    """Each transfer, and those before and after it."""
    listed = list(moved)
    for place, one in enumerate(listed):
        yield one, [log for _, log in (*listed[max(place - 1, 0) : place], *listed[place + 1 : place + 2])]


def _is_pair(log: Log, other: Log) -> bool:
    is_alike = (other.transaction_hash, other.contract, other.sender) == (
        log.transaction_hash,
        log.contract,
        log.sender,
    )
    return is_alike and abs(other.index - log.index) == 1 and other.recipient != log.recipient
