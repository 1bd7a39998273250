"""What a token kept of a transfer, where its contract tells as Tether's does: by a second event, and by its rate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from payments.chains.evm import abi, questions
from payments.chains.evm.providers import Providers
from payments.chains.evm.questions import Log
from payments.chains.evm.rpc import RpcError

_RATE_SCALE = 10_000

Moved = tuple[int, Log]
"""A transfer with its ordinal."""


class TokenFees:
    """Asks each token once how much of a transfer it keeps, as of a block."""

    def __init__(self, providers: Providers, height: int) -> None:
        self._providers, self._height = providers, height
        self._rates: dict[str, int] = {}

    def kept(self, log: Log, following: Log | None) -> int:
        """How much of what was sent the token kept, by the transfer that follows at once from the same sender.

        That may as well be another payment of somebody who pays several people: it is a fee only where it is no more
        than the token's rate says.
        """
        if following is None or not _is_pair(log, following):
            return 0
        most = (log.amount + following.amount) * self._rate(log.contract) // _RATE_SCALE
        return following.amount if following.amount <= most else 0

    def _rate(self, contract: str) -> int:
        """In hundredths of a percent; nothing where the contract knows no such rate."""
        if contract not in self._rates:
            asked = questions.result(contract, abi.call("basisPointsRate()"), self._height)
            try:
                answer = self._providers.agree_on(asked)
            except RpcError:
                answer = b""
            self._rates[contract] = abi.uint(answer) if len(answer) == abi.WORD else 0
        return self._rates[contract]


def with_following(moved: Iterable[Moved]) -> Iterator[tuple[Moved, Log | None]]:
    """Each transfer, and the one after it."""
    listed = list(moved)
    for one, (_, following) in pairwise(listed):
        yield one, following
    if listed:
        yield listed[-1], None


def _is_pair(log: Log, following: Log) -> bool:
    place = (following.transaction_hash, following.index, following.contract, following.sender)
    is_next = place == (log.transaction_hash, log.index + 1, log.contract, log.sender)
    return is_next and following.recipient != log.recipient
