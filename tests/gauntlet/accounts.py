"""Tens of thousands of random operations; an independent model says what everybody has after each of them.

Some worlds are worked by real processes, which keep being killed (`worked_accounts`); in the others the history calls
what the workers do in its own process, at random moments, which is a hundred times as fast.
"""

from __future__ import annotations

import logging
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from django.conf import settings
from django.db import connection

from config.celery import wake
from payments.models import Payment
from payments.suspense import refund_accounting
from payments.transfers.models import PayoutPolicy
from payments.transfers.payouts import policy_of
from payments.treasury.sweep_booking import book_sweeps
from tests.accounts.history import History
from tests.accounts.world import NO_CAP, SANDBOX, Difference, fill_wallets
from tests.gauntlet.installation import WORKER, Installation
from tests.gauntlet.report import Check, Progress
from tests.gauntlet.worked_accounts import WORKERS, WorkedHistory, Workers, variables_of
from tests.networks import use_settings
from tests.sending.receivers import Shop
from webhooks.models import Event

RAISED = "Traceback (most recent call last)"
"""In the log of a worker: a task has failed, or something in it that keeps nothing else waiting."""
CONTROL_OPERATIONS_WORKED, SECONDS_TO_HAND_OUT = 60, 600.0
OPERATIONS, OPERATIONS_OF_A_WORLD = 50_000, 250
WORKED_WORLDS, WORKED_OPERATIONS_OF_A_WORLD, LEAST_KILLS = 4, 125, 10
CONTROL_OPERATIONS, ENOUGH_FOR_WHAT_IS_RARE = 1_000, 20_000

SHORT: dict[str, Any] = {
    "OPERATIONS": 125, "WORKED_WORLDS": 1, "WORKED_OPERATIONS_OF_A_WORLD": 20, "LEAST_KILLS": 0,
    "CONTROL_OPERATIONS": 125, "OPERATIONS_OF_A_WORLD": 125, "CONTROL_OPERATIONS_WORKED": 30,
}  # fmt: skip
RARE = (
    "payments reversed",
    "debts repaid from other coins",
    "overpaid void",
    "refunds returned",
    "settlements failed",
    "underpaid refunded",
    "refunds that gave the fee back",
    "spreads",
    "debts ended",
    "withdrawals",
    "wallets changed",
    "wallets lost",
)


def run(installation: Installation, chance: random.Random) -> list[Check]:
    logging.disable(logging.WARNING)
    settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    use_settings({"SIMULATED_BLOCK_SECONDS": 0, "BELOW_FINALITY_USD": NO_CAP})
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # nobody signs in
    policy_of(SANDBOX)
    PayoutPolicy.objects.update(approval_above=None, daily_limit=None, merchant_daily_limit=None, transfer_limit=None)
    progress = Progress()
    fill_wallets()
    worked = _worked(installation, chance, progress)
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO off")  # nothing of the database dies here
    happened, compared, differences = _play(OPERATIONS, chance, progress)
    _hand_out_events(installation)
    code, said = installation.manage("reconcile", "--full")
    lines = said.strip().splitlines()
    if code:
        progress.say(said, now=True)
    with _a_refund_that_nobody_is_told_of():
        *_, missed = _play(CONTROL_OPERATIONS, chance, progress)
    return [
        Check(f"{OPERATIONS} random operations", f"{compared} figures compared", compared > OPERATIONS),
        *worked,
        Check("product and model never differ", f"{len(differences)} differences {differences[:1]}", not differences),
        Check(
            "what is rare has happened as well",
            ", ".join(f"{happened[name]} {name}" for name in RARE),
            OPERATIONS < ENOUGH_FOR_WHAT_IS_RARE or all(happened[name] for name in RARE),
        ),
        Check("reconcile finds nothing wrong", f"exit code {code}: {lines[-1] if lines else ''}"[:100], code == 0),
        Check("control: a reserved refund that is not told is noticed", f"{len(missed)} differences", bool(missed)),
    ]


def _play(operations: int, chance: random.Random, progress: Progress) -> tuple[Counter[str], int, list[str]]:
    """What happened, how many figures were compared, and the differences: the first of each world, which ends it."""
    happened, compared, differences = Counter[str](), 0, list[str]()
    for number in range(operations // OPERATIONS_OF_A_WORLD):
        seed = chance.randrange(2**32)
        settings.OFFSET_DEBTS = seed % 4 > 0
        history = History(random.Random(seed), repays_from_other_coins=settings.OFFSET_DEBTS)
        try:
            history.go(OPERATIONS_OF_A_WORLD)
            history.finish()
        except Difference as difference:
            differences.append(f"world of seed {seed}: {difference}")
            progress.say(differences[-1], now=True)
            _end_what_is_left()
        happened += history.what_happened()
        compared += history.compared
        done = (number + 1) * OPERATIONS_OF_A_WORLD
        progress.say(f"{done} operations, {compared} figures, {len(differences)} differences")
    return happened, compared, differences


def _end_what_is_left() -> None:
    """What a world has left that ended early would change what the house has in the next one."""
    with suppress(Difference):
        History(random.Random(0)).finish()


def _hand_out_events(installation: Installation) -> None:
    """A worker for webhooks finds out who is to be told of each event: none of the many worlds had one."""
    installation.start("webhooks", WORKER)
    deadline = time.monotonic() + SECONDS_TO_HAND_OUT
    while Event.objects.filter(is_fanned_out=False).exists() and time.monotonic() < deadline:
        wake("webhooks.deliver_due")
        time.sleep(0.5)
    installation.stop("webhooks")


def _worked(installation: Installation, chance: random.Random, progress: Progress) -> list[Check]:
    """The worlds that real processes work in, which come first: they would find much to do in what others leave."""
    differences, played, kills = list[str](), list[WorkedHistory](), 0
    with Shop() as shop:
        for number in range(WORKED_WORLDS):
            seed, offsets = chance.randrange(2**32), number % 2 > 0
            settings.OFFSET_DEBTS = offsets
            variables = variables_of(repays_from_other_coins=offsets, below_finality=NO_CAP)
            with Workers(installation, seed, variables) as workers:
                history = WorkedHistory(random.Random(seed), workers, shop, repays_from_other_coins=offsets)
                played.append(history)
                try:
                    history.go(WORKED_OPERATIONS_OF_A_WORLD)
                    history.finish()
                except Difference as difference:
                    differences.append(f"worked world of seed {seed}: {difference}")
                    progress.say(differences[-1], now=True)
            kills += workers.kills
            progress.say(f"{_told_of(played)}, {kills} kills, {len(differences)} differences", now=True)
        hasty = variables_of(repays_from_other_coins=settings.OFFSET_DEBTS, below_finality=0)
        with Workers(installation, 0, hasty) as workers:
            history = WorkedHistory(chance, workers, shop, repays_from_other_coins=settings.OFFSET_DEBTS)
            missed = ""
            try:
                history.go(CONTROL_OPERATIONS_WORKED)
            except Difference as difference:
                missed = str(difference)
    logs = "".join(map(installation.log_of, workers.names))
    _, *raised = logs.split(RAISED)
    for each in raised:
        progress.say(f"{RAISED}{each[:3000]}", now=True)
    _end_what_is_left()
    while book_sweeps():
        pass
    return [
        Check(
            f"{WORKED_WORLDS} worlds are worked by a beat and {WORKERS} workers, killed now and then",
            f"{kills} kills, {_told_of(played)}",
            kills >= LEAST_KILLS and all(each.delivered and each.scheduled for each in played),
        ),
        Check(
            "worked by processes, product and model never differ",
            f"{len(differences)} {differences[:1]}",
            not differences,
        ),
        Check("nothing fails in the workers", f"{len(raised)} tracebacks", not raised),
        Check("control: workers that wait for final blocks are noticed", missed[:60], bool(missed)),
    ]


def _told_of(played: Sequence[WorkedHistory]) -> str:
    operations, figures = sum(len(each.done) for each in played), sum(each.compared for each in played)
    webhooks, runs = sum(each.delivered for each in played), sum(each.scheduled for each in played)
    longest = max(each.longest_wait for each in played)
    return (
        f"{operations} operations, {figures} figures, {webhooks} webhooks, {runs} runs by schedule, "
        f"all done after {longest:.0f} s at most"
    )


@contextmanager
def _a_refund_that_nobody_is_told_of() -> Iterator[None]:
    def keep_silent(payment: Payment, refunded: int) -> None:
        payment.refunded = refunded
        payment.save(update_fields=["refunded"])

    told = refund_accounting._set_refunded
    refund_accounting._set_refunded = keep_silent
    try:
        yield
    finally:
        refund_accounting._set_refunded = told
