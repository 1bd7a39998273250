"""Two hours of business: payments at an even rate are made, paid, confirmed, told by webhook and settled."""

from __future__ import annotations

import http.client
import itertools
import json
import math
import os
import random
import sys
import threading
import time
import urllib.request
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from django.core.management import call_command
from django.db import connections

from config import ids
from config.environments import Environment
from merchants.models import Merchant
from merchants.services import issue_api_key, open_merchant
from payments.chains import registry
from payments.chains.networks import NETWORKS
from payments.chains.simulated import control
from payments.chains.simulated.control import Part
from payments.chains.simulated.networks import address_named
from payments.models import Payment
from payments.states import PaymentStatus
from payments.transfers.models import PayoutPolicy, Transfer
from payments.transfers.payouts import policy_of
from settlements.models import Settlement
from settlements.services import run_now
from settlements.states import SettlementStatus
from tests.bench.receiver import receiver
from tests.bench.server import HOST, cores, free_port
from tests.bench.waits import Waits, sampled, shown
from tests.gauntlet.installation import BEAT, OPTIONS, Installation
from tests.gauntlet.memory import QUEUES, Sample, slope_per_hour
from tests.gauntlet.report import Check, Progress
from tests.networks import use_settings
from webhooks.models import Delivery, Event
from webhooks.services import register_endpoint

SECONDS, PER_SECOND, MERCHANTS = 7_200.0, 33.0, 100
CLIENTS = 8
SETTLEMENTS_EVERY_SECONDS = 15.0
"""One merchant after the other: each several times within the run."""

WARM_UP, SAMPLE_SECONDS = 0.2, 5.0
"""The part of the run before memory is measured, and how often that is done."""

SECONDS_TO_EMPTY = 60.0
P99_SECONDS, WAITS, FLAT_MIB_PER_HOUR = 0.150, 0.05, 20.0
SHORT: dict[str, Any] = {
    "SECONDS": 12.0, "PER_SECOND": 4.0, "MERCHANTS": 3, "SETTLEMENTS_EVERY_SECONDS": 3.0,
    "SAMPLE_SECONDS": 1.0, "P99_SECONDS": 5.0, "WAITS": 1.0, "FLAT_MIB_PER_HOUR": 100_000.0,
}  # fmt: skip
"""Shows that everything is made, paid, told and settled; nothing of how fast."""

COIN = "USDC"
BLOCK_SECONDS = "1"
"""Slow enough for a payment to be seen before it is final: its merchant hears of it three times, on stellar twice."""


@dataclass
class Business:
    """Merchants, their keys, and what their clients have asked for."""

    port: int
    merchants: list[Merchant] = field(default_factory=list)
    keys: list[dict[str, str]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """From the instant at which a payment was due to be made until its reply."""
    refusals: list[str] = field(default_factory=list)
    unpaid: list[str] = field(default_factory=list)

    def open(self, webhooks: int) -> None:
        policy_of(Environment.SANDBOX)
        PayoutPolicy.objects.update(
            approval_above=None, daily_limit=None, merchant_daily_limit=None, transfer_limit=None
        )
        for number in range(MERCHANTS):
            merchant = open_merchant(name=f"Merchant {number}", email=f"merchant{number}@example.com")
            issued = issue_api_key(merchant=merchant, environment=Environment.SANDBOX, name="soak")
            register_endpoint(
                merchant=merchant, environment=Environment.SANDBOX, url=f"http://{HOST}:{webhooks}/hook/{number}"
            )
            self.merchants.append(merchant)
            self.keys.append({"Authorization": f"Bearer {issued.key.public_key}", "X-Api-Secret": issued.secret})
        Merchant.objects.update(plan="enterprise", requests_per_minute=1_000_000)

    def make_payments(self, started: float) -> None:
        """Until the time is over, each at its instant, through as many connections as there are clients."""
        numbers = itertools.count()
        threads = [threading.Thread(target=self._make, args=(started, numbers), daemon=True) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _make(self, started: float, numbers: itertools.count[int]) -> None:
        web = http.client.HTTPConnection(HOST, self.port, timeout=30)
        while (due := started + (number := next(numbers)) / PER_SECOND) < started + SECONDS:
            time.sleep(max(0.0, due - time.monotonic()))
            network = list(NETWORKS)[number % len(NETWORKS)]
            merchant = number % MERCHANTS
            body = {
                "amount": 10 + number % 90, "currency": "USD", "cryptocurrency": COIN, "network": network,
                "merchantWallet": address_named(network, f"wallet of merchant {merchant}"),
                "metadata": {"order": number},
            }  # fmt: skip
            headers = {**self.keys[merchant], "Content-Type": "application/json"}
            web.request("POST", "/sandbox/v1/payments", json.dumps(body).encode(), headers)
            reply = web.getresponse()
            said = reply.read()
            self.seconds.append(time.monotonic() - due)
            if reply.status == 201:
                self.unpaid.append(json.loads(said)["id"])
            else:
                self.refusals.append(f"{reply.status} {said[:200].decode(errors='replace')}")
        web.close()

    def pay(self) -> None:
        """Whoever was asked to pays, on each network in one transaction of a payer with many accounts."""
        waiting, self.unpaid = self.unpaid, []
        by_network = defaultdict[str, list[Payment]](list)
        for payment in Payment.objects.filter(pk__in=map(ids.PAYMENT.decode, waiting)):
            by_network[payment.network].append(payment)
        for network, payments in by_network.items():
            contract = registry.asset(Environment.SANDBOX, network, COIN).contract
            control.pay_together(
                network, [Part(contract, int(each.due), each.deposit_address, each.memo or None) for each in payments]
            )


def run(installation: Installation, _chance: random.Random) -> list[Check]:
    os.environ["SIMULATED_BLOCK_SECONDS"] = BLOCK_SECONDS
    use_settings({"SIMULATED_BLOCK_SECONDS": float(BLOCK_SECONDS)})
    progress = Progress(every_seconds=60.0 if SECONDS > 60 else 3.0)
    call_command("stock_sandbox", amount=1_000_000, stdout=StringIO())
    business = Business(free_port())
    with receiver() as (webhooks, answered):
        business.open(webhooks)
        names = _start(installation, business.port)
        started = time.monotonic()
        clients = threading.Thread(target=business.make_payments, args=(started,), daemon=True)
        with sampled() as waits:
            clients.start()
            samples = _watch(installation, business, names, clients, progress, started)
        business.pay()
        emptied = _wait_until_empty(progress)
        told = answered.value
    return _checks_of(installation, business, waits, samples, emptied, told)


def _start(installation: Installation, port: int) -> list[str]:
    """Web with a process for each core, a worker for each queue and beat; returns the names of what is measured."""
    web = [
        sys.executable, "-m", "config.web", "--interface", "wsgi", "--no-ws", "--host", HOST, "--port", str(port),
        "--workers", str(cores()), "--blocking-threads", "256", "--log-level", "warning", "config.wsgi:application",
    ]  # fmt: skip
    installation.start("web", web)
    for queue in QUEUES:
        command = [sys.executable, "-m", "celery", "--app", "config.celery", "worker", "--queues", queue, *OPTIONS]
        installation.start(queue, [*command, "--hostname", f"{queue}@localhost"])
    installation.start("beat", BEAT)
    while not _is_ready(port):
        time.sleep(0.2)
    return ["web", *QUEUES, "beat"]


def _is_ready(port: int) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://{HOST}:{port}/health/ready", timeout=5) as reply:
        return bool(reply.status == 200)
    return False


def _watch(
    installation: Installation,
    business: Business,
    names: list[str],
    clients: threading.Thread,
    progress: Progress,
    started: float,
) -> list[Sample]:
    """Pay and settle until the clients have ended; returns what each process held after the warm-up."""
    samples: list[Sample] = []
    settled = sampled_at = started
    merchants = itertools.cycle(business.merchants)
    while clients.is_alive():
        clients.join(0.5)
        business.pay()
        now = time.monotonic()
        if now - settled >= SETTLEMENTS_EVERY_SECONDS:
            settled = now
            run_now(merchant=next(merchants), environment=Environment.SANDBOX, requested_by="soak")
        if now - sampled_at >= SAMPLE_SECONDS:
            sampled_at = now
            held = {name: installation.memory_mib(name) for name in names}
            if now - started >= WARM_UP * SECONDS:
                samples.append((now - started, held))
            megabytes = ", ".join(f"{name} {mib:.0f}" for name, mib in held.items())
            progress.say(f"{len(business.seconds)} payments, {_left()}; {megabytes} MiB")
    return samples


def _left() -> str:
    """What waits to be done."""
    return ", ".join(f"{number} {name}" for name, number in _queues().items())


def _queues() -> dict[str, int]:
    return {
        "unpaid": Payment.objects.exclude(status=PaymentStatus.COMPLETED).count(),
        "events": Event.objects.filter(is_fanned_out=False).count(),
        "deliveries": Delivery.objects.filter(next_attempt_at__isnull=False).count(),
        "settlements": Settlement.objects.filter(status=SettlementStatus.PENDING).count(),
        "transfers": Transfer.objects.filter(finished_at__isnull=True).count(),
    }


def _wait_until_empty(progress: Progress) -> float:
    """The seconds that it took, infinite where something was left after ten times those that it may."""
    ended = time.monotonic()
    while any(_queues().values()):
        time.sleep(0.5)
        progress.say(_left())
        if time.monotonic() - ended > 10 * SECONDS_TO_EMPTY:
            progress.say(_left(), now=True)
            return float("inf")
    return time.monotonic() - ended


def _checks_of(
    installation: Installation, business: Business, waits: Waits, samples: list[Sample], emptied: float, told: int
) -> list[Check]:
    asked, made = math.ceil(SECONDS * PER_SECOND), Payment.objects.count()
    seconds = sorted(business.seconds)
    p50, p99 = (seconds[int(len(seconds) * part)] for part in (0.50, 0.99))
    took = sorted(
        (payment.completed_at - payment.created_at).total_seconds()
        for payment in Payment.objects.filter(completed_at__isnull=False).only("id", "completed_at").iterator()
        if payment.completed_at
    )
    deliveries, settlements = Delivery.objects.count(), Settlement.objects.count()
    completed = Settlement.objects.filter(status=SettlementStatus.COMPLETED).count()
    of_locks = {wait: share for wait, share in waits.of_statements.items() if wait.startswith("Lock ")}
    slopes = {name: slope_per_hour([(at, held[name]) for at, held in samples]) for name in samples[0][1]}
    raised = "".join(map(installation.log_of, slopes)).count("Traceback (most recent call last)")
    connections.close_all()
    exit_code, said = installation.manage("reconcile", "--full")
    return [
        Check(f"{PER_SECOND:g} payments a second are made for {SECONDS:.0f} s", f"{made} of {asked}", made == asked),
        Check("none is refused", f"{business.refusals[:1]}", not business.refusals),
        Check(
            f"p99 of POST is below {P99_SECONDS * 1000:.0f} ms, from the instant it was due",
            f"p50 {p50 * 1000:.0f} ms, p99 {p99 * 1000:.0f} ms, at most {seconds[-1] * 1000:.0f} ms",
            p99 < P99_SECONDS,
        ),
        Check(
            f"all queues are empty {SECONDS_TO_EMPTY:.0f} s after the last",
            f"{emptied:.0f} s",
            emptied <= SECONDS_TO_EMPTY,
        ),
        Check(
            "every payment is completed",
            f"{len(took)} of {made}; POST to completed p50 {took[len(took) // 2]:.1f} s, "
            f"p99 {took[int(len(took) * 0.99)]:.1f} s",
            len(took) == made,
        ),
        Check("every webhook is delivered once", f"{told} of {deliveries}", told == deliveries >= 2 * made),
        Check("every settlement is paid", f"{completed} of {settlements}", completed == settlements > 0),
        Check(
            f"no wait for a row or table takes {WAITS:.0%} of the time of statements",
            f"{shown(of_locks)}; in all {shown(waits.of_statements)}",
            max(of_locks.values(), default=0.0) <= WAITS,
        ),
        *(
            Check(
                f"{name}: its memory stays flat",
                f"{slope:+.1f} MiB/hour, {samples[0][1][name]:.0f} to {samples[-1][1][name]:.0f} MiB",
                slope < FLAT_MIB_PER_HOUR,
            )
            for name, slope in slopes.items()
        ),
        Check("nothing fails in the processes", f"{raised} tracebacks", raised == 0),
        Check(
            "reconcile --full finds nothing",
            f"exit {exit_code}: {said.strip().splitlines()[-1:]}"[:100],
            exit_code == 0,
        ),
    ]
