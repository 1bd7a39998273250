"""Whether contracts, coins and key of a network are what the settings say: asked until they are, then remembered."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from payments.chains.errors import NotSetUp

logger = structlog.get_logger(__name__)

ASK_AGAIN_SECONDS = 30.0
"""How often a network whose set-up is wrong is looked at again: somebody may be putting it right."""


@dataclass(slots=True)
class Readiness:
    """What this process has found out about one network. One object per process and network."""

    network: str
    clock: Callable[[], float] = time.monotonic
    _found_right: set[str] = field(default_factory=set)
    _found_wrong: dict[str, tuple[float, str]] = field(default_factory=dict)

    def require(self, part: str, check: Callable[[], None]) -> None:
        """NotSetUp while this part is wrong; whatever `check` raises when nobody can say. Says once that it is wrong,
        and once that it is right again."""
        if part in self._found_right:
            return
        asked_at, fault = self._found_wrong.get(part, (0.0, ""))
        if fault and self.clock() - asked_at < ASK_AGAIN_SECONDS:
            raise NotSetUp(fault)
        try:
            check()
        except NotSetUp as error:
            if str(error) != fault:
                logger.error("network is not set up right", network=self.network, part=part, fault=str(error))
            self._found_wrong[part] = self.clock(), str(error)
            raise
        self._found_right.add(part)
        if self._found_wrong.pop(part, None):
            logger.info("network is set up right now", network=self.network, part=part)
