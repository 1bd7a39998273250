"""A hundred payouts on stellar while Horizon lags behind its network, fees surge and the worker dies.

For much of the time Horizon has not read what is in the ledger: it answers 404 and `tx_bad_seq` for payouts that were
made. Fees rise to fifty times what they were, answers are dropped, submissions turned away. The worker that signs and
sends is killed at named steps, or wherever it happens to be. Production's registry and adapter do the work.
"""

from __future__ import annotations

import logging
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from django.db import connections

from payments import tasks as payment_tasks
from payments.chains.networks import NETWORKS
from payments.chains.providers import pool
from payments.chains.stellar import factory
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.transfers import services
from payments.transfers import tasks as transfer_tasks
from payments.transfers.execution import rounds
from payments.transfers.models import Envelope, Payout, Transfer
from payments.transfers.owners import follow_payouts
from payments.transfers.states import OPEN_TRANSFERS, PayoutStatus
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from tests.factories import make_merchant
from tests.gauntlet import failpoints, lives
from tests.gauntlet.evm import MAY_DIE_AT, MUST_DIE_AT, PATIENCE, _Errors
from tests.gauntlet.failpoints import Failpoint
from tests.gauntlet.installation import Installation
from tests.gauntlet.report import Check, Progress
from tests.networks import STELLAR, use_settings
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.shops import Shop, address_of, local_profile, reconcile, settings_for
from tests.stellar.test_storm import asked_for, left

PAYOUTS, CARELESS_PAYOUTS, WAVE = 100, 10, 3
RECIPIENTS = 20
LEDGER_SECONDS = 0.25
LIFE_SECONDS = (2.0, 7.0)
KILLS, KILLS_MAX = 30, 60
SECONDS_MAX = 600.0
SURGE = 5_000
NOTICED_SECONDS_MAX = 60
"""Until what a Horizon has is asked for again."""

CARELESS_SECONDS = 60.0
"""At most, with Horizons that lag until what they do not know is signed anew, and then until it is paid twice."""
IS_EVERY_WEATHER_MET = True
SHORT: dict[str, Any] = {
    "PAYOUTS": 8, "CARELESS_PAYOUTS": 3, "RECIPIENTS": 4, "LIFE_SECONDS": (1.0, 2.0),
    "KILLS": 4, "KILLS_MAX": 20,
    "MUST_DIE_AT": ("transfer.commit:after", "transfer.send:after"), "MAY_DIE_AT": (),
    "IS_EVERY_WEATHER_MET": False,
}  # fmt: skip


def run(installation: Installation, chance: random.Random) -> list[Check]:
    progress = Progress()
    failpoints.check()
    logging.getLogger(pool.__name__).setLevel(logging.CRITICAL)
    real = replace(local_profile(), block_seconds=LEDGER_SECONDS, replace_after_seconds=PATIENCE.total_seconds())
    NETWORKS[STELLAR] = replace(NETWORKS[STELLAR], real=real)
    with LocalHorizon(ledger_seconds=LEDGER_SECONDS) as horizon:
        use_settings(settings_for([horizon.url]))
        shop = Shop(horizon, stock={})
        payment = _earn(shop)
        progress.say("the shop has earned what it gives back", now=True)
        return [
            *_stormy(installation, chance, progress, shop, payment),
            *_forgotten(shop),
            _careless(installation, progress, shop, payment),
        ]


def _earn(shop: Shop) -> Payment:
    """One payment that everything is given back of."""
    shop.move_in("payer", "merchant", *(f"recipient {number}" for number in range(RECIPIENTS)))
    shop.stock_people("USDC", "payer")
    payment = shop.open(make_merchant(plan="enterprise"), address_of("merchant"), Decimal(50_000))
    shop.send("payer", ([shop.paying(payment)], int(payment.memo)))
    deadline = time.monotonic() + NOTICED_SECONDS_MAX
    while not payment.received and time.monotonic() < deadline:  # on a busy machine ledgers close late
        shop.let_ledgers_close()
        payment.refresh_from_db()
    return payment


# --- the storm ---------------------------------------------------------------------------------------


def _stormy(
    installation: Installation, chance: random.Random, progress: Progress, shop: Shop, payment: Payment
) -> list[Check]:
    crashes = installation.folder / "crashes.log"
    deaths = lives.Deaths(MUST_DIE_AT, MAY_DIE_AT, KILLS, KILLS_MAX)
    weather: Counter[str] = Counter()
    started = time.monotonic()
    while not ((is_over := _is_over()) and deaths.are_enough) and time.monotonic() - started < SECONDS_MAX:
        _give_back(payment, 1 if is_over and deaths.missed else min(WAVE, PAYOUTS - Payout.objects.count()))
        weather += _change_weather(shop.horizon, chance)
        armed = Failpoint(deaths.next(chance))
        prepare = partial(_prepare, crashes, armed)
        died_there = lives.live(prepare, _work, seconds=chance.uniform(*LIFE_SECONDS), crashes=crashes)
        deaths.at[armed.name if died_there else "anywhere"] += 1
        progress.say(f"{deaths}; {_standing()}")
    seconds = time.monotonic() - started
    _clear_up(shop.horizon)
    shop.let_ledgers_close()
    exit_code = reconcile()
    paid, asked = left(shop), asked_for()
    replaced = Envelope.objects.count() - Transfer.objects.count()
    return [
        deaths.check(),
        Check(
            "Horizon lags, fees surge, submissions are dropped and turned away",
            ", ".join(f"{name} {times}" for name, times in sorted(weather.items())) + f", {replaced} fee bumps",
            (all(weather[name] for name in WEATHER) and replaced > 0) or not IS_EVERY_WEATHER_MET,
        ),
        Check("no process fell over by itself", "some" if crashes.exists() else "none", not crashes.exists()),
        Check("every payout is on the network", f"{(asked & paid).total()} of {asked.total()}", not asked - paid),
        Check(
            "none is there twice", f"{(paid - asked).total()} doubled", asked.total() >= PAYOUTS and not paid - asked
        ),
        Check("all has ended", f"{seconds:.0f} s", _is_over() and seconds < SECONDS_MAX),
        Check("the ledger and Horizon agree to the last stroop", "yes" if _agree(shop) else "no", _agree(shop)),
        Check("reconcile --full finds nothing", f"exit {exit_code}", exit_code == 0),
    ]


WEATHER = ("pause", "surge", "drop", "turn away", "503", "504")


def _change_weather(horizon: LocalHorizon, chance: random.Random) -> Counter[str]:
    """What the next life has to live with."""
    _clear_up(horizon)
    kinds = [kind for kind in WEATHER if chance.random() < (0.4 if kind == "pause" else 0.25)]
    for kind in kinds:
        match kind:
            case "pause":
                horizon.pause_ingestion()
            case "surge":
                horizon.surge(SURGE)
            case "drop":
                horizon.drop_after_accept(2)
            case "turn away":
                horizon.try_again_later(3)
            case status:
                horizon.answer_next(int(status))
    return Counter(kinds)


def _clear_up(horizon: LocalHorizon) -> None:
    horizon.resume_ingestion()
    horizon.answer_normally()
    horizon.surge()
    horizon.drop_after_accept(0)
    horizon.try_again_later(0)


def _give_back(payment: Payment, count: int) -> None:
    before = Payout.objects.count()
    for number in range(before, before + count):
        amount, destination = Decimal(100 + number) / 100, address_of(f"recipient {number % RECIPIENTS}")
        request = NewRefund(amount=amount, destination=destination)
        create_refund(payment=payment, request=request, requested_by="a test")


def _prepare(crashes: Path, armed: Failpoint | None) -> None:
    factory._horizons.cache_clear()  # each life has its own connections
    vars(rounds)["FEES_PAUSE"] = vars(rounds)["TROUBLE_PAUSE"] = PATIENCE
    logging.getLogger().addHandler(_Errors(crashes))
    if armed is not None:
        failpoints.arm(armed)


def _work() -> None:
    transfer_tasks.drive()
    follow_payouts()
    time.sleep(0.1)


def _is_over() -> bool:
    return (
        Payout.objects.count() >= PAYOUTS
        and not Transfer.objects.filter(status__in=OPEN_TRANSFERS).exists()
        and not Payout.objects.exclude(status=PayoutStatus.PAID).exists()
    )


def _standing() -> str:
    paid = Payout.objects.filter(status=PayoutStatus.PAID).count()
    return (
        f"{paid} of {Payout.objects.count()} payouts, {Envelope.objects.count() - Transfer.objects.count()} fee bumps"
    )


def _agree(shop: Shop) -> bool:
    try:
        shop.assert_ledger_is_the_chain()
    except AssertionError:
        return False
    return True


# --- history that is gone ----------------------------------------------------------------------------


def _forgotten(shop: Shop) -> list[Check]:
    """Ten payments are made and forgotten by Horizon before anybody has read them."""
    merchant, horizon = make_merchant(plan="enterprise"), shop.horizon
    missed = [shop.open(merchant, address_of("merchant"), Decimal(10)) for _ in range(10)]
    shop.send("payer", *(([shop.paying(each)], int(each.memo)) for each in missed))
    last = horizon.network.state.ledger
    while horizon.network.state.ledger < last + 20:
        time.sleep(LEDGER_SECONDS)
    horizon.reap_history(horizon.network.state.ledger - 1)
    before = ScanCursor.objects.get(network=STELLAR).cursor
    payment_tasks.watch_networks()
    cursor = ScanCursor.objects.get(network=STELLAR)
    stands = cursor.cursor == before and bool(cursor.fault)
    horizon.reap_history(1)
    found, deadline = 0, time.monotonic() + NOTICED_SECONDS_MAX
    while found < len(missed) and time.monotonic() < deadline:
        time.sleep(1)
        shop.let_ledgers_close()
        found = Payment.objects.filter(pk__in=[each.pk for each in missed], status="completed").count()
    return [
        Check("history that is gone before it was read stops the network", cursor.fault[:60] or "no alarm", stands),
        Check("with a Horizon that has it nothing is left out", f"{found} of {len(missed)}", found == len(missed)),
    ]


# --- the control arm ---------------------------------------------------------------------------------


def _take_unknown_for_failed() -> None:
    """The guard that is off: tx_bad_seq and 404 mean that nothing was paid, and it is signed anew."""
    record_sent = services.record_sent

    def give_up(transfer: Transfer, *, next_step_at: datetime, error: str = "") -> None:
        record_sent(transfer, next_step_at=next_step_at, error=error)
        if error:
            services.record_dead(transfer)

    services.record_sent = give_up


def _careless(installation: Installation, progress: Progress, shop: Shop, payment: Payment) -> Check:
    _give_back(payment, CARELESS_PAYOUTS)
    log = installation.folder / "careless.log"

    def prepare() -> None:
        _prepare(log, None)
        _take_unknown_for_failed()

    def twice() -> int:
        return (left(shop) - asked_for()).total()

    before = Transfer.objects.count()
    shop.horizon.pause_ingestion()
    child = lives.start(prepare, _work, crashes=log)
    _wait_until(lambda: Transfer.objects.count() > before + 1, CARELESS_SECONDS)
    shop.horizon.resume_ingestion()
    _wait_until(lambda: twice() > 0, CARELESS_SECONDS)
    lives.end(child)
    connections.close_all()
    progress.say(_standing(), now=True)
    paid_twice = twice()
    return Check(
        "control arm: tx_bad_seq or 404 taken for failure pays twice", f"{paid_twice} paid too often", paid_twice > 0
    )


def _wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.5)
