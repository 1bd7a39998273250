"""Payouts on ethereum and polygon while broadcasts vanish, fees jump and the worker dies: on real nodes.

Nearly a third of all broadcasts is either promised and forgotten, or passed on and never answered. Base fees rise to
three hundred times what they were, which leaves in the pool what was signed before. The worker that signs, sends and
follows is killed at named steps, or wherever it happens to be. Production's registry and adapters do the work.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import time
import traceback
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings

from payments.chains.evm.nodes import providers
from payments.chains.networks import NETWORKS
from payments.models import Payment
from payments.transfers import services
from payments.transfers import tasks as transfer_tasks
from payments.transfers.execution import rounds
from payments.transfers.models import Envelope, Payout, Transfer
from payments.transfers.owners import follow_payouts
from payments.transfers.states import OPEN_TRANSFERS, PayoutStatus, TransferStatus
from refunds.models import Refund
from refunds.states import RefundStatus
from tests.evm.mainnet import Mainnet, environment_for, settings_for
from tests.evm.network import devnet
from tests.evm.network.node import LocalNode
from tests.evm.node import EPOCH_BLOCKS, ETHEREUM_ID, HISTORY, POLYGON_ID, TestNode
from tests.evm.shop import RATE_SOURCES, Shop
from tests.forgetting import forget_networks
from tests.gauntlet import failpoints, lives
from tests.gauntlet.failpoints import SIDES, Failpoint
from tests.gauntlet.installation import Installation
from tests.gauntlet.report import Check, Progress
from tests.networks import ETHEREUM, POLYGON, use_settings
from webhooks.sending.fan_out import fan_out

CHAIN_IDS = {ETHEREUM: ETHEREUM_ID, POLYGON: POLYGON_ID}
PAYMENTS_EACH, REFUNDS_OF_EACH = 25, 10
CARELESS_PAYMENTS_EACH, CARELESS_SECONDS = 2, 40.0
"""At most, until the first is paid twice."""

BLOCK_SECONDS = 0.25
PATIENCE = timedelta(seconds=2)
"""With fees. Blocks come faster than on the real networks, and patience ends as much sooner."""

MUST_DIE_AT = tuple(
    f"{step}:{side}"
    for step in ("transfer.sign", "transfer.commit", "transfer.send", "transfer.sent")
    for side in SIDES
)
"""Before and after signing, committing, sending and recording that it was sent."""

MAY_DIE_AT = tuple(
    f"{step}:{side}"
    for step in ("transfer.store", "transfer.carry", "transfer.replace", "transfer.ask", "transfer.final", "payout.end")
    for side in SIDES
)
KILLS, KILLS_MAX = 60, 120
VISITS = (1, 1, 2, 5, 20)
"""At which time that the place is reached."""
LIFE_SECONDS = (0.5, 4.0)
DROPPED_SHARES = (0.25, 0.35)
SECONDS_MAX = 600.0
"""In which everything must have ended, kills and all."""

REPLACEMENTS_GOAL = 1
SHORT: dict[str, Any] = {
    "PAYMENTS_EACH": 1, "REFUNDS_OF_EACH": 4, "KILLS": 4, "KILLS_MAX": 20,
    "REPLACEMENTS_GOAL": 0, "DROPPED_SHARES": (0.0, 0.9),
    "MUST_DIE_AT": ("transfer.commit:after", "transfer.send:after"), "MAY_DIE_AT": (), "VISITS": (1,),
}  # fmt: skip


def run(installation: Installation, chance: random.Random) -> list[Check]:
    progress = Progress()
    failpoints.check()
    logging.getLogger(providers.__name__).setLevel(logging.CRITICAL)  # one line for every broadcast that got lost
    with ExitStack() as stack:
        nodes = {network: stack.enter_context(_node(chain_id)) for network, chain_id in CHAIN_IDS.items()}
        _use_providers({network: [node.url] for network, node in nodes.items()})
        shop = Shop({network: Mainnet(network, TestNode(node)) for network, node in nodes.items()})
        earned = [shop.earn(PAYMENTS_EACH), shop.earn(CARELESS_PAYMENTS_EACH)]
        progress.say(f"{sum(map(len, earned))} payments are credited and swept", now=True)
        storms = {network: _Storm(installation, network, node.url, chance) for network, node in nodes.items()}
        _use_providers({network: storm.urls for network, storm in storms.items()})
        return [
            *_stormy(installation, chance, progress, shop, earned[0], storms),
            _careless(installation, progress, shop, earned[1]),
        ]


def _node(chain_id: int) -> LocalNode:
    return LocalNode(chain_id=chain_id, epoch_blocks=EPOCH_BLOCKS[chain_id], history=HISTORY)


def _use_providers(urls: Mapping[str, Sequence[str]]) -> None:
    """In this process and all that it starts."""
    use_settings(settings_for(urls))
    settings.RATE_SOURCES = RATE_SOURCES
    os.environ |= environment_for(urls)


class _Storm:
    """The process between Ballast and a node."""

    def __init__(self, installation: Installation, network: str, url: str, chance: random.Random) -> None:
        command = [sys.executable, "-m", "tests.evm.storm", "--url", url, "--chain-id", str(CHAIN_IDS[network])]
        command += ["--seed", str(chance.randrange(10**6)), "--block-seconds", str(BLOCK_SECONDS)]
        installation.start(f"storm-{network}", command)
        deadline = time.monotonic() + 20
        while not (said := installation.log_of(f"storm-{network}")).endswith("\n"):
            if time.monotonic() > deadline:
                raise RuntimeError(f"the storm over {network} did not begin: {said}")
            time.sleep(0.05)
        self.urls = said.split()

    def report(self) -> Counter[str]:
        with urllib.request.urlopen(self.urls[0], timeout=10) as reply:  # noqa: S310 - our own process
            return Counter(json.load(reply))


# --- the storm ---------------------------------------------------------------------------------------


def _stormy(
    installation: Installation,
    chance: random.Random,
    progress: Progress,
    shop: Shop,
    payments: Sequence[Payment],
    storms: Mapping[str, _Storm],
) -> list[Check]:
    shop.give_back(payments, REFUNDS_OF_EACH)
    crashes = installation.folder / "crashes.log"
    deaths = lives.Deaths(MUST_DIE_AT, MAY_DIE_AT, KILLS, KILLS_MAX)
    parts = REFUNDS_OF_EACH
    started = time.monotonic()
    while not ((is_over := _is_over()) and deaths.are_enough) and time.monotonic() - started < SECONDS_MAX:
        if is_over and deaths.missed:
            shop.give_back([chance.choice(payments)], 1, before=parts)
            parts += 1
        armed = Failpoint(deaths.next(chance), visit=chance.choice(VISITS))
        prepare = partial(_hurry, crashes, armed)
        died_there = lives.live(prepare, _work, seconds=chance.uniform(*LIFE_SECONDS), crashes=crashes)
        deaths.at[armed.name if died_there else "anywhere"] += 1
        progress.say(f"{deaths}; {_standing()}")
    seconds = time.monotonic() - started
    exit_code, said = installation.manage("reconcile", "--full")
    if exit_code or crashes.exists():
        progress.say(said + (crashes.read_text()[-3000:] if crashes.exists() else ""), now=True)

    weather = sum((storm.report() for storm in storms.values()), Counter())
    dropped = (weather["forgotten"] + weather["unanswered"]) / max(1, weather["broadcasts"])
    left, asked = shop.left(), shop.asked
    final = Transfer.objects.filter(status=TransferStatus.FINAL)
    versions = Envelope.objects.filter(transfer__in=final).count()
    kept_order = all(
        sorted(final.filter(network=network).values_list("sequence", flat=True))
        == list(range(mainnet.used_nonces(devnet.HOT_WALLET)))
        for network, mainnet in shop.mainnets.items()
    )
    paid = Refund.objects.filter(status=RefundStatus.COMPLETED).count()
    return [
        deaths.check(),
        Check(
            "broadcasts are dropped",
            f"{dropped:.0%} of {weather['broadcasts']}",
            DROPPED_SHARES[0] <= dropped <= DROPPED_SHARES[1],
        ),
        Check(
            "fees jump, and what waits is offered more for",
            f"{weather['spikes']} spikes, {versions - final.count()} replacements",
            weather["spikes"] > 0 and versions - final.count() >= REPLACEMENTS_GOAL,
        ),
        Check("no process fell over by itself", "some" if crashes.exists() else "none", not crashes.exists()),
        Check("every payout is on the chain", f"{(asked & left).total()} of {asked.total()}", not asked - left),
        Check("none is there twice, nor anything nobody asked for", f"{(left - asked).total()}", not left - asked),
        Check("every refund is completed", f"{paid} of {asked.total()}", paid == asked.total()),
        Check("no nonce is left out, and nothing waits", f"{weather['waiting']} wait", kept_order and _is_over()),
        Check("all has ended", f"{seconds:.0f} s", seconds < SECONDS_MAX),
        Check("books and balanceOf agree to the base unit", "yes" if _agree(shop) else "no", _agree(shop)),
        Check("reconcile --full finds nothing", f"exit {exit_code}", exit_code == 0),
    ]


def _hurry(crashes: Path, armed: Failpoint | None) -> None:
    """What is particular to the worker of the gauntlet: it is in a hurry, it will die, and it tells of its errors."""
    vars(rounds)["FEES_PAUSE"] = PATIENCE
    for name, network in NETWORKS.items():
        real = replace(network.real, block_seconds=BLOCK_SECONDS, replace_after_seconds=PATIENCE.total_seconds())
        NETWORKS[name] = replace(network, real=real)
    forget_networks()
    logging.getLogger().addHandler(_Errors(crashes))
    if armed is not None:
        failpoints.arm(armed)


class _Errors(logging.Handler):
    """Writes down exceptions that a task caught so that they keep nobody else waiting."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.ERROR)
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.msg, dict) and record.msg.get("exc_info"):
            with self._path.open("a") as log:
                log.write(f"{record.msg['event']}\n{traceback.format_exc()}")


def _work() -> None:
    transfer_tasks.drive()
    follow_payouts()
    fan_out()
    time.sleep(0.1)


def _is_over() -> bool:
    return (
        not Transfer.objects.filter(status__in=OPEN_TRANSFERS).exists()
        and not Refund.objects.exclude(status=RefundStatus.COMPLETED).exists()
    )


def _standing() -> str:
    paid = Payout.objects.filter(status=PayoutStatus.PAID).count()
    versions, transfers = Envelope.objects.count(), Transfer.objects.count()
    return f"{paid} of {Payout.objects.count()} payouts, {versions - transfers} replacements"


def _agree(shop: Shop) -> bool:
    try:
        shop.assert_books_are_the_chain()
    except AssertionError:
        return False
    return True


# --- the control arm ---------------------------------------------------------------------------------


def _forget_what_timed_out() -> None:
    """The guard that is off: when nobody answers, the transfer is taken for lost, and signed anew a little later."""
    record_sent = services.record_sent

    def give_up(transfer: Transfer, *, next_step_at: datetime, error: str = "") -> None:
        record_sent(transfer, next_step_at=next_step_at, error=error)
        if error:
            time.sleep(2 * BLOCK_SECONDS)
            services.record_dead(transfer)

    services.record_sent = give_up


def _careless(installation: Installation, progress: Progress, shop: Shop, payments: Sequence[Payment]) -> Check:
    shop.give_back(payments, REFUNDS_OF_EACH)

    def prepare() -> None:
        _hurry(installation.folder / "careless.log", None)
        _forget_what_timed_out()

    child = lives.start(prepare, _work, crashes=installation.folder / "careless.log")
    twice, deadline = 0, time.monotonic() + CARELESS_SECONDS
    while not twice and time.monotonic() < deadline:
        time.sleep(1)
        twice = (shop.left() - shop.asked).total()
    lives.end(child)
    progress.say(_standing(), now=True)
    return Check("control arm: what nobody answered for signed anew pays twice", f"{twice} paid too often", twice > 0)
