"""Webhooks a second, beside a bare client that posts the same bodies, and with a tenth of the endpoints hanging."""

from __future__ import annotations

import asyncio
import gc
import itertools
import time
import uuid
from collections.abc import Sequence
from multiprocessing.sharedctypes import Synchronized
from statistics import median
from typing import NamedTuple

import aiohttp
import uvloop
from django.db import transaction

from config import ids
from config.api.renderers import render_json
from config.environments import Environment
from merchants.services import open_merchant
from tests.bench.receiver import HOST, receiver
from tests.bench.report import Line
from webhooks.events.catalogue import PAYMENT_COMPLETED
from webhooks.events.recording import build_event, record_events
from webhooks.models import Endpoint, Event
from webhooks.records import event_record
from webhooks.sending import dispatch
from webhooks.services import disable_endpoint, register_endpoint
from webhooks.states import DisabledReason

MERCHANTS, ENDPOINTS, EVENTS = 2, 50, 60
"""Events and endpoints of each merchant: 6,000 deliveries in a measurement."""

HANGING_SHARE = 0.1
BARE_CONNECTIONS = 64
ROUNDS = 3
BARE_GOAL, HANGING_GOAL = 0.5, 0.8

_numbers = itertools.count(1)


class Round(NamedTuple):
    """Requests a second, each kind for itself."""

    bare: float
    bare_uvloop: float
    ours: float
    hanging: float


def lines() -> list[Line]:
    with receiver() as (port, answered):
        gc.freeze()
        rounds = [_round(port, answered) for _ in range(ROUNDS + 1)][1:]
    middle = Round(*(median(figures) for figures in zip(*rounds, strict=True)))
    to_bare = median(each.ours / each.bare for each in rounds)
    to_bare_uvloop = median(each.ours / each.bare_uvloop for each in rounds)
    to_ours = median(each.hanging / each.ours for each in rounds)
    return [
        Line(
            "webhooks, every endpoint well",
            f"{middle.ours:7.0f} deliveries/s",
            f"{middle.bare:.0f}/s bare aiohttp",
            f"{to_bare:.2f}x",
            f">= {BARE_GOAL:.2f}x",
            to_bare >= BARE_GOAL,
        ),
        Line(
            "the same, to a bare client on uvloop",
            "",
            f"{middle.bare_uvloop:.0f}/s bare aiohttp",
            f"{to_bare_uvloop:.2f}x",
        ),
        Line(
            f"webhooks, {HANGING_SHARE:.0%} of endpoints hang",
            f"{middle.hanging:7.0f} deliveries/s",
            f"{middle.ours:.0f}/s with all of them well",
            f"{to_ours:.2f}x",
            f">= {HANGING_GOAL:.2f}x",
            to_ours >= HANGING_GOAL,
        ),
    ]


def _round(port: int, answered: Synchronized[int]) -> Round:
    events = _happen(port, hanging=0)
    ours = _deliver(answered, MERCHANTS * EVENTS * ENDPOINTS)
    bodies = [render_json(event_record(event)) for event in events]
    bare = asyncio.run(_post_bare(port, bodies))
    bare_uvloop = uvloop.run(_post_bare(port, bodies))
    hanging = int(HANGING_SHARE * ENDPOINTS)
    _happen(port, hanging=hanging)
    return Round(bare, bare_uvloop, ours, _deliver(answered, MERCHANTS * EVENTS * (ENDPOINTS - hanging)))


def _happen(port: int, *, hanging: int) -> list[Event]:
    """Events of new merchants, committed and not yet fanned out; the endpoints of before are out of the way."""
    for endpoint in Endpoint.objects.filter(status="enabled"):
        disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
    events: list[Event] = []
    for _ in range(MERCHANTS):
        number = next(_numbers)
        merchant = open_merchant(name=f"Receiver {number}", email=f"receiver{number}@example.com")
        for turn in range(ENDPOINTS):
            path = f"{'hanging' if turn < hanging else 'hook'}/{number}/{turn}"
            register_endpoint(merchant=merchant, environment=Environment.SANDBOX, url=f"http://{HOST}:{port}/{path}")
        own = [
            build_event(
                merchant_id=merchant.pk,
                environment=Environment.SANDBOX,
                type=PAYMENT_COMPLETED,
                object_id=uuid.uuid4(),
                version=1,
                payload={"object": "payment", "id": ids.PAYMENT.encode(ids.new_uuid()), "note": "x" * 800},
            )
            for _ in range(EVENTS)
        ]
        with transaction.atomic():
            record_events(own)
        events += own
    return events


def _deliver(answered: Synchronized[int], number: int) -> float:
    """Deliveries a second, from the first look at the database to the last arrival."""
    goal, arrived_at = answered.value + number, 0.0

    def is_done() -> bool:
        nonlocal arrived_at
        if not arrived_at and answered.value >= goal:
            arrived_at = time.perf_counter()
        return bool(arrived_at)

    dispatch.STOP_SECONDS = 0.1  # nobody waits for those that hang
    started = time.perf_counter()
    dispatch.Dispatcher(is_done).run(run_seconds=60, idle_seconds=5)
    return number / (arrived_at - started)


async def _post_bare(port: int, bodies: Sequence[bytes]) -> float:
    requests = [(f"http://{HOST}:{port}/bare/{turn}", body) for body in bodies for turn in range(ENDPOINTS)]
    waiting = iter(requests)
    headers = {"Content-Type": "application/json"}

    async def work(session: aiohttp.ClientSession) -> None:
        for url, body in waiting:
            async with session.post(url, data=body, headers=headers) as response:
                await response.read()

    started = time.perf_counter()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(work(session) for _ in range(BARE_CONNECTIONS)))
    return len(requests) / (time.perf_counter() - started)
