"""Webhooks while the worker is killed and Redis forgets: nothing is lost, little comes twice, and nobody waits long."""

from __future__ import annotations

import random
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from django.db import connection, transaction

from config import ids
from config.environments import Environment
from merchants.models import Merchant
from merchants.services import open_merchant
from tests.gauntlet.installation import BEAT, WORKER, Installation
from tests.gauntlet.report import Check, Progress
from tests.sending.receivers import Shop
from webhooks.events.catalogue import PAYMENT_COMPLETED
from webhooks.events.recording import build_event, record_events
from webhooks.models import Endpoint
from webhooks.services import disable_endpoint, register_endpoint
from webhooks.states import DisabledReason, EndpointStatus

EVENTS, KILLS, FLUSHES = 2000, 20, 3
TURN_SECONDS = 6.3
DRAIN_SECONDS = 60.0
HEALTHY = [f"/healthy/{number}" for number in range(10)]
HANGING = [f"/hanging/{number}" for number in range(5)]
FAILING = [f"/failing/{number}" for number in range(3)]
GONE, MOVED = "/gone", "/moved"

BURSTS, BURST_EVENTS = 6, 60
BURST_SECONDS = 30.0
KILL_DELAY_SECONDS = 0.3
CARELESS_WORKER = [sys.executable, "-m", "tests.gauntlet.careless_worker", *WORKER[3:]]

RESTART_EVENTS, RESTART_GOAL_SECONDS = 50, 10.0
DUPLICATES_GOAL, P95_GOAL_SECONDS = 0.02, 3.0

SHORT: dict[str, Any] = {
    "EVENTS": 40, "KILLS": 2, "FLUSHES": 1, "TURN_SECONDS": 3.0, "DUPLICATES_GOAL": 0.2,
    "P95_GOAL_SECONDS": 20.0,  # most events wait for a start, beside other scenarios: less than a lease of 30 s
    "BURSTS": 1, "BURST_EVENTS": 30, "BURST_SECONDS": 10.0, "RESTART_EVENTS": 10, "RESTART_GOAL_SECONDS": 20.0,
}  # fmt: skip


@dataclass
class Story:
    """What was committed when, by the id that arrives with it."""

    merchant: Merchant
    committed: dict[str, float] = field(default_factory=dict)

    def happen(self, number: int = 1) -> None:
        """So many events, each in a database transaction of its own."""
        for _ in range(number):
            event = build_event(
                merchant_id=self.merchant.pk,
                environment=Environment.SANDBOX,
                type=PAYMENT_COMPLETED,
                object_id=uuid.uuid4(),
                version=1,
                payload={"object": "payment", "id": ids.PAYMENT.encode(ids.new_uuid()), "amount": "25.00"},
            )
            with transaction.atomic():
                record_events([event])
            self.committed[event.public_id] = time.monotonic()


@dataclass(frozen=True)
class Tally:
    """What arrived at some paths of what was committed."""

    expected: int
    missing: int
    duplicates: int
    p95: float
    slowest: float

    @classmethod
    def of(cls, story: Story, shop: Shop, paths: Sequence[str]) -> Tally:
        waits, missing, duplicates = [], 0, 0
        for path in paths:
            first: dict[str, float] = {}
            counted: Counter[str] = Counter()
            for arrival in shop.at(path):
                first.setdefault(arrival.message_id, arrival.at)
                counted[arrival.message_id] += 1
            missing += len(story.committed.keys() - first.keys())
            duplicates += sum(counted[key] - 1 for key in counted if key in story.committed)
            waits += [first[key] - at for key, at in story.committed.items() if key in first]
        waits.sort()
        expected = missing + len(waits)
        return cls(
            expected, missing, duplicates, waits[int(0.95 * len(waits))] if waits else 0.0, max(waits, default=0)
        )


def run(installation: Installation, chance: random.Random) -> list[Check]:
    progress = Progress()
    with Shop() as shop:
        installation.start("beat", BEAT)
        checks = [
            *_under_fire(installation, shop, chance, progress),
            *_killed_in_a_burst(installation, shop, chance, progress),
            *_restarted(installation, shop, progress),
            _reconciled(installation),
        ]
    connection.close()
    return checks


# --- twenty endpoints, twenty kills ------------------------------------------------------------------


def _under_fire(installation: Installation, shop: Shop, chance: random.Random, progress: Progress) -> list[Check]:
    story = Story(open_merchant(name="Gauntlet", email="gauntlet@example.com"))
    for path in HANGING:
        shop.behave(path, hangs=True)
    for path in FAILING:
        shop.behave(path, status=500)
    shop.behave(GONE, status=410)
    shop.behave(MOVED, status=302, headers={"Location": shop.url("/followed")})
    _register(story.merchant, shop, [*HEALTHY, *HANGING, *FAILING, GONE, MOVED])

    installation.start("worker", WORKER)
    story.happen()
    _wait_for(lambda: len(shop.at(GONE)) > 0 and all(shop.at(path) for path in HEALTHY), 60)

    flushes = {turn: chance.random() for turn in chance.sample(range(KILLS), FLUSHES)}
    for turn in range(KILLS):
        number = EVENTS // KILLS - (turn == 0)  # one has happened
        _turn(installation, shop, story, chance, number=number, flush_at=flushes.get(turn))
        progress.say(f"{len(story.committed)} events, {len(shop.arrivals)} arrivals, {turn + 1} kills", now=True)
    _wait_for(lambda: Tally.of(story, shop, HEALTHY).missing == 0, DRAIN_SECONDS)
    stopped = installation.stop("worker")

    healthy = Tally.of(story, shop, HEALTHY)
    gone = Endpoint.objects.get(merchant=story.merchant, url=shop.url(GONE))
    most = max(shop.most_in_flight[path] for path in HEALTHY)
    unknown = {arrival.message_id for arrival in shop.arrivals} - story.committed.keys()
    return [
        Check(
            f"{EVENTS} events reach each of {len(HEALTHY)} healthy endpoints; {KILLS} kills, {FLUSHES} flushes",
            f"{healthy.missing} of {healthy.expected} missing",
            healthy.missing == 0 and healthy.expected == EVENTS * len(HEALTHY) and not unknown,
        ),
        Check(
            f"at most {DUPLICATES_GOAL:.0%} of them come twice",
            f"{healthy.duplicates} ({healthy.duplicates / healthy.expected:.2%})",
            healthy.duplicates <= DUPLICATES_GOAL * healthy.expected,
        ),
        Check(
            f"from commit to arrival, p95 under {P95_GOAL_SECONDS:g} s",
            f"{healthy.p95:.2f} s, slowest {healthy.slowest:.2f} s",
            healthy.p95 < P95_GOAL_SECONDS,
        ),
        Check(
            "what answers 410 is asked once and disabled",
            f"{len(shop.at(GONE))} requests, {gone.status}",
            len(shop.at(GONE)) == 1 and gone.status == EndpointStatus.DISABLED,
        ),
        Check("redirects are not followed", f"{len(shop.at('/followed'))} requests", not shop.at("/followed")),
        Check(
            "what hangs or fails is tried, by one request at a time, and stays enabled",
            f"{len(shop.at(HANGING[0]))} and {len(shop.at(FAILING[0]))} requests to one of each",
            all(shop.at(path) for path in (*HANGING, *FAILING, MOVED)) and _are_enabled(story, shop),
        ),
        Check("never more than 4 requests in flight to an endpoint", f"{most} at most", most <= 4),
        Check("the worker ends when it is told to", "within 15 s", stopped),
    ]


def _turn(
    installation: Installation,
    shop: Shop,
    story: Story,
    chance: random.Random,
    *,
    number: int,
    flush_at: float | None,
) -> None:
    """Some events, spread at random over some seconds, and in the middle of them a kill; sometimes a flush as well.

    A worker that is only just starting is not killed: on a slow machine none would ever get anything done.
    """
    steps: list[tuple[float, Callable[[], None]]] = [
        (chance.uniform(0, TURN_SECONDS), story.happen) for _ in range(number)
    ]
    steps.append((chance.uniform(0.3, 1.0) * TURN_SECONDS, lambda: _kill(installation, shop)))
    if flush_at is not None:
        steps.append((flush_at * TURN_SECONDS, installation.flush_redis))
    began = time.monotonic()
    for at, step in sorted(steps, key=itemgetter(0)):
        time.sleep(max(0.0, began + at - time.monotonic()))
        step()


def _kill(installation: Installation, shop: Shop) -> None:
    before = len(shop.arrivals)
    _wait_for(lambda: len(shop.arrivals) > before, 30)
    installation.kill("worker")
    installation.start("worker", WORKER)


def _are_enabled(story: Story, shop: Shop) -> bool:
    urls = [shop.url(path) for path in (*HANGING, *FAILING, MOVED)]
    own = Endpoint.objects.filter(merchant=story.merchant, url__in=urls, status=EndpointStatus.ENABLED)
    return own.count() == len(urls)


# --- killed while a burst is sent, with and without a guard ------------------------------------------


def _killed_in_a_burst(
    installation: Installation, shop: Shop, chance: random.Random, progress: Progress
) -> list[Check]:
    for endpoint in Endpoint.objects.all():  # those of before are out of the way
        disable_endpoint(endpoint=endpoint, reason=DisabledReason.MERCHANT)
    progress.say(f"{BURSTS} bursts, a kill in each", now=True)
    guarded = _bursts(installation, shop, chance, WORKER, "guarded")
    progress.say("the same by a worker that records before it sends", now=True)
    careless = _bursts(installation, shop, chance, CARELESS_WORKER, "careless")
    return [
        Check(
            f"nothing is lost by {BURSTS} kills in the middle of bursts",
            f"{guarded.missing} of {guarded.expected} missing, {guarded.duplicates} twice",
            guarded.missing == 0,
        ),
        Check(
            "control: recorded before sending, events are lost",
            f"{careless.missing} of {careless.expected} missing",
            careless.missing > 0,
        ),
    ]


def _bursts(installation: Installation, shop: Shop, chance: random.Random, worker: list[str], name: str) -> Tally:
    story = Story(open_merchant(name=name, email=f"{name}@example.com"))
    paths = [f"/{name}{path}" for path in HEALTHY]
    _register(story.merchant, shop, paths)
    installation.start("worker", worker)
    for _ in range(BURSTS):
        before = sum(len(shop.at(path)) for path in paths)
        story.happen(BURST_EVENTS)
        part = before + chance.uniform(0.1, 0.8) * BURST_EVENTS * len(paths)
        _wait_for(lambda: sum(len(shop.at(path)) for path in paths) >= part, BURST_SECONDS)  # noqa: B023
        time.sleep(chance.uniform(0, KILL_DELAY_SECONDS))  # right behind an arrival, nothing waits to be sent
        installation.kill("worker")
        installation.start("worker", worker)
    _wait_for(lambda: Tally.of(story, shop, paths).missing == 0, BURST_SECONDS)
    installation.stop("worker")
    return Tally.of(story, shop, paths)


# --- everything dies between commit and send ---------------------------------------------------------


def _restarted(installation: Installation, shop: Shop, progress: Progress) -> list[Check]:
    story = Story(open_merchant(name="Restart", email="restart@example.com"))
    _register(story.merchant, shop, ["/restart"])
    story.happen(RESTART_EVENTS)
    connection.close()
    installation.kill("beat")
    killed = installation.kill_servers()
    progress.say(f"killed {killed}", now=True)
    restarted = time.monotonic()
    installation.start_servers()
    installation.start("worker", WORKER)
    installation.start("beat", BEAT)
    _wait_for(lambda: Tally.of(story, shop, ["/restart"]).missing == 0, 2 * RESTART_GOAL_SECONDS)
    tally = Tally.of(story, shop, ["/restart"])
    seconds = max((arrival.at for arrival in shop.at("/restart")), default=float("inf")) - restarted
    installation.stop("worker")
    return [
        Check(
            f"{killed} killed between commit and send: delivered within {RESTART_GOAL_SECONDS:g} s of a restart",
            f"{tally.expected - tally.missing} of {tally.expected} after {seconds:.1f} s",
            tally.missing == 0 and seconds <= RESTART_GOAL_SECONDS,
        )
    ]


def _reconciled(installation: Installation) -> Check:
    code, said = installation.manage("reconcile", "--full")
    lines = said.strip().splitlines()
    return Check("reconcile finds nothing wrong", f"exit code {code}: {lines[-1] if lines else ''}"[:100], code == 0)


# --- steps -------------------------------------------------------------------------------------------


def _register(merchant: Merchant, shop: Shop, paths: Iterable[str]) -> None:
    for path in paths:
        register_endpoint(merchant=merchant, environment=Environment.SANDBOX, url=shop.url(path))


def _wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
