"""The dispatcher: one event loop that holds many requests open, and two threads that use the database for it."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import cache, partial
from threading import Lock

import structlog
import uvloop
from django.utils import timezone

from config import ids
from webhooks.endpoints.signing import signed_headers
from webhooks.schedule import Outcome, Reply
from webhooks.sending.attempts import Sent
from webhooks.sending.fan_out import fan_out
from webhooks.sending.lanes import Lanes
from webhooks.sending.leases import LEASE, RENEW_AFTER
from webhooks.sending.outbound import DEADLINE_SECONDS, Outbound
from webhooks.sending.preparing import USER_AGENT, Prepared
from webhooks.sending.store import DeliveryStore
from webhooks.sending.threads import DatabaseLost, DatabaseThread

logger = structlog.get_logger(__name__)

IN_FLIGHT_MAX = 512
"""Requests open at once; about as many more deliveries may be taken ahead."""

PROBES_MAX = IN_FLIGHT_MAX // 2
"""Open requests to failing endpoints at most, so that there is always room for those that work."""

BUSY_POLL_SECONDS, IDLE_POLL_SECONDS = 0.05, 0.25
BUSY_FOR_SECONDS = 1.0
DATABASE_PAUSE_SECONDS = 0.5
DATABASE_OUTAGE_MAX_SECONDS = 60.0
SWITCH_SECONDS = 0.0005
"""Time a database thread waits for the interpreter lock while the loop runs; Python's default is ten times that."""

FRESH_SECONDS = (LEASE - RENEW_AFTER).total_seconds() - DEADLINE_SECONDS
"""After a longer silence of the database nothing more is sent: a reply might come after the lease has ended."""

STOP_SECONDS = 5.0
"""Time for requests in flight to finish when the worker is stopped."""

_HEADERS = {"Content-Type": "application/json", "User-Agent": USER_AGENT}

_lock = Lock()
_current: Dispatcher | None = None


def dispatch(*, run_seconds: float, idle_seconds: float, is_stopping: Callable[[], bool] = lambda: False) -> int:
    """Send what is due until nothing was for `idle_seconds`, or `run_seconds` have passed; returns how many it sent.

    In one process only one dispatcher takes deliveries: a second call makes that one look at once, and returns 0. A
    dispatcher whose time is over only waits for its last replies, and the next call starts another beside it.
    """
    global _current
    with _lock:
        if _current is not None and _current.is_taking:
            _current.nudge()
            return 0
        dispatcher = _current = Dispatcher(is_stopping)
    try:
        return dispatcher.run(run_seconds=run_seconds, idle_seconds=idle_seconds)
    finally:
        dispatcher.is_taking = False


@cache
def _exempt_loaded_code() -> None:
    """Exempt what is loaded by now from garbage collection: scanning it took a fifth of the time.

    Only once in each process: frozen objects are never freed, and later ones would include garbage of earlier runs.
    """
    gc.collect()
    gc.freeze()


class Dispatcher:
    """Takes, sends and records deliveries in a loop. Killed, it loses nothing: its leases end with its session."""

    def __init__(self, is_stopping: Callable[[], bool] = lambda: False) -> None:
        self.is_taking = True
        self._is_stopping = is_stopping
        self._store = DeliveryStore()
        self._store_thread = DatabaseThread("webhooks-store")
        self._fan_out_thread = DatabaseThread("webhooks-fan-out")
        self._fanning_out: asyncio.Task[int] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._clients: dict[bool, Outbound] = {}
        self._lanes = Lanes()
        self._senders: set[asyncio.Task[None]] = set()
        self._results: list[Sent] = []
        self._fresh_until = 0.0
        self._woken = asyncio.Event()
        self._is_nudged = False
        self._attempts = 0
        self._lost_at: float | None = None

    def nudge(self) -> None:
        """Look at once. From any thread."""
        self._is_nudged = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended just now
                self._loop.call_soon_threadsafe(self._woken.set)

    def run(self, *, run_seconds: float, idle_seconds: float) -> int:
        """Run until nothing was due for `idle_seconds`, or `run_seconds` have passed; returns how many it sent."""
        _exempt_loaded_code()
        sys.setswitchinterval(SWITCH_SECONDS)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(self._run(run_seconds, idle_seconds))

    async def _run(self, run_seconds: float, idle_seconds: float) -> int:
        self._loop = asyncio.get_running_loop()
        try:
            async with Outbound() as public, Outbound(allow_loopback=True) as local:
                self._clients = {False: public, True: local}
                await self._work(time.monotonic() + run_seconds, idle_seconds)
                self.is_taking = False
                await self._finish()
        finally:
            await self._store_thread.close()
            await self._fan_out_thread.close()
        return self._attempts

    async def _work(self, ends_at: float, idle_seconds: float) -> None:
        quiet_since = time.monotonic()
        while (now := time.monotonic()) < ends_at and not self._is_stopping():
            if await self._step() or self._lanes:
                quiet_since = time.monotonic()  # from here on: recording may have taken long
            elif now - quiet_since >= idle_seconds:
                return
            await self._wait(BUSY_POLL_SECONDS if now - quiet_since < BUSY_FOR_SECONDS else IDLE_POLL_SECONDS)

    async def _finish(self) -> None:
        """Wait for what is in flight, only briefly once the worker stops, and give back what has not come by then."""
        self._lanes.forget_waiting()
        stops_at = float("inf")
        while self._senders and time.monotonic() < stops_at:
            if self._is_stopping():
                stops_at = min(stops_at, time.monotonic() + STOP_SECONDS)
            await self._wait(IDLE_POLL_SECONDS)
            await self._step()
        for sender in self._senders:
            sender.cancel()
        await self._step()
        if self._fanning_out is not None:
            with suppress(DatabaseLost):
                await self._fanning_out
        await self._store_thread.run(self._store.give_back)

    async def _step(self) -> bool:
        """Record results, send what is due and fan out new events meanwhile; True when there was anything to do."""
        try:
            found = self._is_nudged and await self._fanned_out()  # the last look has ended: begin another at once
            if self.is_taking and self._fanning_out is None:
                self._fanning_out = asyncio.create_task(self._fan_out())
            was_busy = await self._exchange()
            found |= await self._fanned_out()
        except DatabaseLost as error:
            await self._wait_for_database(error)
            return True
        self._lost_at = None
        return was_busy or found

    async def _fan_out(self) -> int:
        """Make the deliveries of all new events; beside the exchange, because many of them take the database long."""
        events, found = 0, 1
        while self.is_taking and (found or self._is_nudged):
            self._is_nudged = False  # what happens from here on may be too late for this look, and then needs another
            if found := await self._fan_out_thread.run(fan_out):
                events += found
                self._woken.set()
        return events

    async def _fanned_out(self) -> bool:
        """True if events have been found, or may yet be."""
        if (task := self._fanning_out) is None:
            return False
        if not task.done():
            return True
        self._fanning_out = None
        return await task > 0

    async def _exchange(self) -> bool:
        self._woken.clear()
        results, self._results = self._results, []
        started = time.monotonic()
        if not self._is_fresh():
            self._lanes.forget_waiting()
        holdings = self._lanes.take_stock(Counter(sent.due.endpoint_id for sent in results))
        room = IN_FLIGHT_MAX + sum(holding.ahead - len(holding.delivery_ids) for holding in holdings)
        exchange = partial(
            self._store.exchange,
            results,
            room=room if self.is_taking else 0,
            probes=PROBES_MAX - self._lanes.probes,
            holdings=holdings,
        )
        try:
            taken = await self._store_thread.run(exchange)
        except DatabaseLost:
            self._results = results + self._results
            self._fresh_until = 0.0  # the leases have ended with the session
            raise
        self._attempts += len(results)
        self._fresh_until = started + FRESH_SECONDS
        self._lanes.add(taken)
        while self._lanes.in_flight < IN_FLIGHT_MAX and (prepared := self._next()):
            sender = asyncio.create_task(self._send_on(prepared))
            self._senders.add(sender)
            sender.add_done_callback(self._senders.discard)
        return bool(results or taken)

    async def _send_on(self, prepared: Prepared | None) -> None:
        """Send this one, then whatever comes next, one after the other."""
        while prepared is not None:
            sent = await self._send(prepared)
            self._results.append(sent)
            self._woken.set()
            self._lanes.end(prepared, is_success=sent.reply.outcome is Outcome.SUCCESS)
            prepared = self._next()

    def _next(self) -> Prepared | None:
        return self._lanes.next() if self._is_fresh() else None

    def _is_fresh(self) -> bool:
        """True if nobody else can have the leases under which the lanes were filled."""
        return time.monotonic() < self._fresh_until

    async def _send(self, prepared: Prepared) -> Sent:
        started_at, started = timezone.now(), time.monotonic()
        reply = await self._reply(prepared)
        duration = timedelta(seconds=time.monotonic() - started)
        return Sent(ids.new_uuid(), prepared.due, self._store.number, started_at, duration, reply)

    async def _reply(self, prepared: Prepared) -> Reply:
        _, target, message = prepared
        if target.problem:
            return Reply(error=target.problem)
        # The receiver compares it with the clock of its own machine, so it is this machine's, which no test moves.
        signed = signed_headers(target.secrets, message_id=message.id, timestamp=int(time.time()), body=message.body)
        try:
            client = self._clients[target.allow_loopback]
            return await client.post(target.url, body=message.body, headers=_HEADERS | signed)
        except Exception as error:  # our own fault must count as a failed attempt, or it would be tried for ever
            logger.exception("webhook_request_failed", delivery=str(prepared.due.delivery_id))
            return Reply(error=f"Ballast failed to send it: {type(error).__name__}.")

    async def _wait(self, seconds: float) -> None:
        """Wait until a reply comes, `nudge` is called, or the time has passed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()

    async def _wait_for_database(self, error: DatabaseLost) -> None:
        now = time.monotonic()
        if self._lost_at is None:
            self._lost_at = now
            logger.warning("webhook_dispatcher_lost_database", error=str(error))
        if now - self._lost_at >= DATABASE_OUTAGE_MAX_SECONDS:
            raise error
        await asyncio.sleep(DATABASE_PAUSE_SECONDS)
