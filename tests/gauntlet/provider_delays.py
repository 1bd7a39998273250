"""How long payments take from their block to completed while one of three providers hangs, drips or lies.

Blocks come by the clock, and the network is read as often as beat says. Each case has a pool that knows of nothing yet,
and its provider becomes what it is while payments are on their way. The control arm takes no provider for a slow one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import fmean

from payments import tasks as payment_tasks
from payments.chains.evm import factory
from payments.chains.providers import rounds
from payments.models import Payment
from payments.states import PaymentStatus
from tests.evm.mainnet import Mainnet
from tests.gauntlet.report import Check, Progress

PROVIDERS = 3
BLOCKS_BETWEEN, SPOILED_AT = 3, 7
"""Of payments, and when the provider becomes what it is: the first payment is about to be completed, one is being
confirmed, and those that follow are not paid yet."""

WATCH_SECONDS = 1.0
"""As beat has it."""

PATIENCE = 2
"""After so many times as long as with all of them well the provider is made well again, so that the case ends."""


@dataclass(frozen=True)
class Case:
    """What one of them becomes, and how it becomes well again."""

    name: str
    spoil: Callable[[], None] = lambda: None
    heal: Callable[[], None] = lambda: None


class Track:
    """Payments of one network that are paid one after another, a block each."""

    def __init__(
        self, mainnet: Mainnet, open_payments: Callable[[int], list[Payment]], *, block_seconds: float
    ) -> None:
        self._mainnet, self._open = mainnet, open_payments
        self._block_seconds = block_seconds
        self._longest: float | None = None

    def delays(self, case: Case, payments: int) -> list[float]:
        """Seconds from the block of each payment to when it is completed."""
        factory._providers.cache_clear()
        self._read()
        paid, blocks = self._open(payments), list[float]()
        is_over = threading.Event()

        def mine() -> None:
            while not is_over.is_set():
                if len(blocks) < BLOCKS_BETWEEN * payments and len(blocks) % BLOCKS_BETWEEN == 0:
                    payment = paid[len(blocks) // BLOCKS_BETWEEN]
                    self._mainnet.pay([(payment.cryptocurrency, payment.deposit_address, int(payment.due))])
                if len(blocks) == SPOILED_AT:
                    case.spoil()
                self._mainnet.node.mine()
                blocks.append(time.monotonic())
                if self._longest is not None and blocks[-1] - blocks[0] > PATIENCE * self._longest:
                    case.heal()
                is_over.wait(self._block_seconds)

        miner = threading.Thread(target=mine, daemon=True)
        miner.start()
        completed = dict[object, float]()
        while len(completed) < payments:
            began = time.monotonic()
            self._read()
            done = Payment.objects.filter(pk__in=[each.pk for each in paid], status=PaymentStatus.COMPLETED)
            for key in done.values_list("pk", flat=True):
                completed.setdefault(key, time.monotonic())
            time.sleep(max(0.0, began + WATCH_SECONDS - time.monotonic()))
        is_over.set()
        miner.join()
        case.heal()
        found = [completed[each.pk] - blocks[BLOCKS_BETWEEN * number] for number, each in enumerate(paid)]
        self._longest = self._longest or max(found)
        return found

    def _read(self) -> None:
        payment_tasks.watch_networks()


def measured(
    track: Track, cases: Sequence[Case], control: Case, progress: Progress, *, payments: int, limit: float
) -> Iterator[Check]:
    """A check for each case: at most `limit` times as long as with all of them well; and one for the control arm."""
    well = track.delays(Case("well"), payments)
    progress.say(f"all well: completed {_told(well)} after the block", now=True)
    for case in cases:
        found = track.delays(case, payments)
        ratio = _ratio(found, well)
        yield Check(
            f"{case.name}: at most {limit} times as long as all well", f"{_told(found)}, {ratio:.2f}", ratio <= limit
        )
    with nobody_slow():
        found = track.delays(control, payments)
    ratio = _ratio(found, well)
    yield Check("control arm: nobody is taken for slow", f"{_told(found)}, {ratio:.2f}", ratio > limit)


@contextmanager
def nobody_slow() -> Iterator[None]:
    """Every answer is waited for until its call ends."""
    before = rounds.SLOW_SECONDS, rounds.FIRST_SECONDS
    rounds.SLOW_SECONDS = rounds.FIRST_SECONDS = 3_600.0
    try:
        yield
    finally:
        rounds.SLOW_SECONDS, rounds.FIRST_SECONDS = before


def _ratio(found: Sequence[float], well: Sequence[float]) -> float:
    """Of the means or of the longest, whichever is worse."""
    return max(fmean(found) / fmean(well), max(found) / max(well))


def _told(delays: Sequence[float]) -> str:
    return f"{fmean(delays):.1f} s, {max(delays):.1f} s at most"
