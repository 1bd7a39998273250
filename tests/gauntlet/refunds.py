"""Sixteen at once ask for sixty per cent of a payment, again and again: it is there once, and so it is given once."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from typing import Any

from tests.gauntlet.installation import Installation
from tests.gauntlet.report import Check, Progress
from tests.refunds.racing import Round, rounds, without_the_payments_lock

ROUNDS, THREADS = 60, 16
CONTROL_GOAL = 50

SHORT: dict[str, Any] = {"ROUNDS": 6, "CONTROL_GOAL": 3}


def run(installation: Installation, chance: random.Random) -> list[Check]:
    logging.disable(logging.INFO)  # thousands of lines that all goes well
    progress = Progress()
    progress.say(f"{ROUNDS} rounds of {THREADS} refunds at once", now=True)
    guarded = rounds(ROUNDS, THREADS)
    code, said = installation.manage("reconcile", "--full")
    lines = said.strip().splitlines()
    progress.say("the same without the payment's lock", now=True)
    with without_the_payments_lock():
        unguarded = rounds(ROUNDS, THREADS)
    over, control = _over(guarded), _over(unguarded)
    return [
        Check("no payment gives back more than it received", f"{over} of {ROUNDS} over-refunded", over == 0),
        Check(
            "of those who ask at once one is granted it, the others are refused",
            f"{sum(each.granted == 1 and not each.errors for each in guarded)} of {ROUNDS}",
            all((each.granted, each.refused) == (1, THREADS - 1) for each in guarded),
        ),
        Check("reconcile finds nothing wrong", f"exit code {code}: {lines[-1] if lines else ''}"[:100], code == 0),
        Check(
            f"control: without the payment's lock at least {CONTROL_GOAL} are over-refunded",
            f"{control} of {ROUNDS} over-refunded",
            control >= CONTROL_GOAL,
        ),
    ]


def _over(played: Sequence[Round]) -> int:
    return sum(each.is_over_refunded for each in played)
