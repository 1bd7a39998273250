"""Results of the set-up checks of a network: repeated until they pass, then remembered for good or for a while."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import structlog

from payments.chains.errors import NotSetUp
from payments.chains.protocol.scans import Cursor

logger = structlog.get_logger(__name__)

RECHECK_SECONDS = 30.0
"""How often a network whose set-up is wrong is looked at again: somebody may be putting it right."""


def require_fields(network: str, cursor: Cursor, fields: Collection[str]) -> None:
    """NotSetUp for a cursor that an adapter of another kind has made: the rows are those of other networks."""
    if {*cursor} != {*fields}:
        raise NotSetUp(
            f"This database has read {network} on a network of another kind: set SANDBOX_CHAIN to what it was, "
            "or start with a database of its own, with make run by VAR=folder."
        )


@dataclass(slots=True)
class Readiness:
    """What this process has found out about one network. One object per process and network."""

    network: str
    clock: Callable[[], float] = time.monotonic
    _found_right: dict[str, float] = field(default_factory=dict)
    _found_wrong: dict[str, tuple[float, str]] = field(default_factory=dict)

    def require(self, part: str, check: Callable[[], None], *, believed_seconds: float = math.inf) -> None:
        """Raise NotSetUp while this part is wrong, or whatever `check` raises when the state is unknown. Reports once
        that it is wrong, and once that it is right again. A part that was found right is checked again after
        `believed_seconds`."""
        if part in self._found_right and self.clock() - self._found_right[part] < believed_seconds:
            return
        queried_at, fault = self._found_wrong.get(part, (0.0, ""))
        if fault and self.clock() - queried_at < RECHECK_SECONDS:
            raise NotSetUp(fault)
        try:
            check()
        except NotSetUp as error:
            if str(error) != fault:
                logger.error("network is not set up right", network=self.network, part=part, fault=str(error))
            self._found_wrong[part] = self.clock(), str(error)
            self._found_right.pop(part, None)
            raise
        self._found_right[part] = self.clock()
        if self._found_wrong.pop(part, None):
            logger.info("network is set up right now", network=self.network, part=part)
