"""Tens of thousands of random operations; an independent model says what everybody has after each of them."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from payments.deposits import refund_accounting
from payments.models import Payment
from payments.transfers.models import PayoutPolicy
from payments.transfers.payouts import policy_of
from tests.accounts.history import History
from tests.accounts.world import NO_CAP, SANDBOX, Difference, fill_wallets
from tests.gauntlet.installation import Installation
from tests.gauntlet.report import Check, Progress

OPERATIONS, OPERATIONS_OF_A_WORLD = 50_000, 250
CONTROL_OPERATIONS, ENOUGH_FOR_WHAT_IS_RARE = 1_000, 20_000
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
)


def run(installation: Installation, chance: random.Random) -> list[Check]:
    logging.disable(logging.WARNING)
    settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    settings.SIMULATED_BLOCK_SECONDS, settings.BELOW_FINALITY_USD = 0, NO_CAP
    policy_of(SANDBOX)
    PayoutPolicy.objects.update(approval_above=None, daily_limit=None, merchant_daily_limit=None, transfer_limit=None)
    progress = Progress()
    fill_wallets()
    happened, compared, differences = _play(OPERATIONS, chance, progress)
    code, said = installation.manage("reconcile", "--full")
    lines = said.strip().splitlines()
    if code:
        progress.say(said, now=True)
    with _a_refund_that_nobody_is_told_of():
        *_, missed = _play(CONTROL_OPERATIONS, chance, progress)
    return [
        Check(f"{OPERATIONS} random operations", f"{compared} figures compared", compared > OPERATIONS),
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
        happened += history.what_happened()
        compared += history.compared
        done = (number + 1) * OPERATIONS_OF_A_WORLD
        progress.say(f"{done} operations, {compared} figures, {len(differences)} differences")
    return happened, compared, differences


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
