"""Deliveries a dispatcher has taken and not yet sent: a few requests to each endpoint are open, the others wait in
line."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Iterable, Mapping

from webhooks.sending.due_deliveries import IN_FLIGHT_PER_ENDPOINT, Holding
from webhooks.sending.preparing import Prepared

AHEAD_MAX = 8
"""Number of further deliveries taken for an endpoint that replies quickly, to be sent during the next exchange."""


class Lane:
    """The deliveries of one endpoint."""

    __slots__ = ("answered", "has_failed", "has_turn", "in_flight", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Prepared] = deque()
        self.in_flight: list[Prepared] = []
        self.answered = 0
        """Replies between the last two exchanges with the database."""
        self.has_turn = False
        self.has_failed = False
        """Since the last exchange. The database does not know of it yet, and may hand out more deliveries."""

    @property
    def may_send(self) -> bool:
        return bool(self.waiting) and len(self.in_flight) < IN_FLIGHT_PER_ENDPOINT


class Lanes:
    """Endpoints are served one after the other, so that none waits for the backlog of another."""

    def __init__(self) -> None:
        self._lanes: dict[uuid.UUID, Lane] = {}
        self._turns: deque[Lane] = deque()
        self.in_flight = 0

    def __bool__(self) -> bool:
        """True if anything is in flight or waits."""
        return any(lane.in_flight or lane.waiting for lane in self._lanes.values())

    @property
    def probes(self) -> int:
        """Number of them for failing endpoints."""
        lanes = self._lanes.values()
        return sum(prepared.due.is_probe for lane in lanes for prepared in (*lane.in_flight, *lane.waiting))

    def add(self, taken: Iterable[Prepared]) -> None:
        """Line them up, except those of endpoints that have failed meanwhile: these get one request at a time."""
        for prepared in taken:
            key = prepared.due.endpoint_id
            lane = self._lanes.get(key) or self._lanes.setdefault(key, Lane())
            if not lane.has_failed:
                lane.waiting.append(prepared)
                self._line_up(lane)

    def next(self) -> Prepared | None:
        """The next that may be sent; from now on it is in flight."""
        while self._turns:
            lane = self._turns.popleft()
            lane.has_turn = False
            if lane.may_send:
                prepared = lane.waiting.popleft()
                lane.in_flight.append(prepared)
                self.in_flight += 1
                self._line_up(lane)
                return prepared
        return None

    def end(self, prepared: Prepared, *, is_success: bool) -> None:
        """A request has ended. After a failure nothing more goes to the endpoint until that is recorded."""
        lane = self._lanes[prepared.due.endpoint_id]
        lane.in_flight.remove(prepared)
        self.in_flight -= 1
        if is_success:
            self._line_up(lane)
        else:
            lane.has_failed = True
            lane.waiting.clear()

    def forget_waiting(self) -> None:
        """Send nothing more of what has been taken. It is still due."""
        for lane in self._lanes.values():
            lane.waiting.clear()

    def take_stock(self, answered: Mapping[uuid.UUID, int]) -> list[Holding]:
        """Returns what is held of each endpoint, for an exchange that records how often each endpoint has `answered`.

        An endpoint can use as many more as it answered during the last two exchanges. What waits for one that
        answered nothing is dropped, so that nothing is sent that was taken long ago.
        """
        holdings = []
        for key, lane in list(self._lanes.items()):
            ahead = lane.answered + answered.get(key, 0)
            lane.answered, lane.has_failed = answered.get(key, 0), False
            if not ahead:
                lane.waiting.clear()
            if ahead or lane.in_flight:
                held = [prepared.due.delivery_id for prepared in (*lane.in_flight, *lane.waiting)]
                holdings.append(Holding(key, held, min(ahead, AHEAD_MAX)))
            else:
                del self._lanes[key]
        return holdings

    def _line_up(self, lane: Lane) -> None:
        if not lane.has_turn and lane.may_send:
            lane.has_turn = True
            self._turns.append(lane)
