"""Settlement day: hundreds of merchants are due at once; the beats and workers that see to it keep being killed."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connections, transaction

from config.environments import Environment
from merchants.models import Merchant, MerchantSettings
from merchants.services import open_merchant
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.networks import NETWORKS
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.models import Payment
from payments.services import NewPayment, create_payment
from payments.states import PaymentStatus
from payments.transfers.models import PayoutPolicy
from payments.transfers.payouts import policy_of
from settlements.models import Settlement, SettlementRun
from settlements.states import SettlementStatus
from tests.gauntlet.installation import BEAT, OPTIONS, Installation
from tests.gauntlet.report import Check, Progress

MERCHANTS, KILLS = 300, 50
BEATS, WORKERS = 2, 4
PAUSE_SECONDS = (1.0, 4.0)
SECONDS_MAX = 420.0

START_SECONDS = 10
"""Until everybody is due: the processes have started by then."""
IS_SPARED_UNTIL_RUNS = False
SHORT: dict[str, Any] = {
    "MERCHANTS": 9, "KILLS": 4, "WORKERS": 2, "PAUSE_SECONDS": (1.0, 3.0), "IS_SPARED_UNTIL_RUNS": True,
}  # fmt: skip

QUEUES = "chain,money,reports,webhooks"
WORKER = [sys.executable, "-m", "celery", "--app", "config.celery", "worker", "--queues", QUEUES, *OPTIONS]


def run(installation: Installation, chance: random.Random) -> list[Check]:
    progress = Progress()
    merchants = _earn(progress)
    due_at = _make_due(merchants)
    progress.say(f"{len(merchants)} merchants are due at {due_at:%H:%M:%S}", now=True)
    connections.close_all()
    processes = {f"beat-{number}": BEAT for number in range(BEATS)}
    processes |= {f"worker-{number}": WORKER for number in range(WORKERS)}
    for name, command in processes.items():
        installation.start(name, _named(name, command))
    time.sleep(max(0.0, (due_at - datetime.now(UTC)).total_seconds()))
    kills, amid, deadline = 0, 0, time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline and (kills < KILLS or not _is_over(merchants)):
        time.sleep(chance.uniform(*PAUSE_SECONDS))
        has_begun = SettlementRun.objects.exists()
        if kills < KILLS and (has_begun or not IS_SPARED_UNTIL_RUNS):
            amid += has_begun and not _is_over(merchants)
            name = chance.choice(sorted(processes))
            installation.kill(name)
            installation.start(name, _named(name, processes[name]))
            kills += 1
        progress.say(_standing(kills))
    for name in processes:
        installation.stop(name)
    return _checks_of(installation, merchants, kills, amid)


def _named(name: str, command: list[str]) -> list[str]:
    return [*command, "--hostname", f"{name}@localhost"] if command is WORKER else command


def _earn(progress: Progress) -> list[Merchant]:
    """Each merchant has one completed payment, of an amount and to a wallet of its own."""
    policy_of(Environment.SANDBOX)
    PayoutPolicy.objects.update(approval_above=None, daily_limit=None, merchant_daily_limit=None, transfer_limit=None)
    merchants = []
    for number in range(MERCHANTS):
        merchant = open_merchant(name=f"Merchant {number}", email=f"merchant{number}@example.com")
        merchants.append(merchant)
        network = list(NETWORKS)[number % len(NETWORKS)]
        request = NewPayment(
            amount=Decimal(100 + number),
            currency="USD",
            cryptocurrency="USDC",
            network=network,
            merchant_wallet=_wallet(network, number),
        )
        with transaction.atomic():
            payment, _ = create_payment(merchant=merchant, environment=Environment.SANDBOX, request=request)
        contract = registry.asset(Environment.SANDBOX, network, "USDC").contract
        control.pay(
            network,
            recipient=payment.deposit_address,
            contract=contract,
            amount=int(payment.due),
            memo=payment.memo or None,
        )
        progress.say(f"{number + 1} payments")
    while Payment.objects.exclude(status=PaymentStatus.COMPLETED).exists():
        payment_tasks.watch_networks()
        time.sleep(0.2)
    return merchants


def _make_due(merchants: list[Merchant]) -> datetime:
    """Everybody is settled daily, at the same second, which comes soon."""
    due_at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=START_SECONDS)
    MerchantSettings.objects.update(settlement_time=due_at.time(), settlement_timezone="UTC")
    return due_at


def _is_over(merchants: list[Merchant]) -> bool:
    ended = Settlement.objects.exclude(status=SettlementStatus.PENDING).count()
    return ended == len(merchants)


def _standing(kills: int) -> str:
    runs, paid = SettlementRun.objects.count(), Settlement.objects.filter(status=SettlementStatus.COMPLETED).count()
    return f"{kills} kills, {runs} runs, {paid} of {Settlement.objects.count()} settlements paid"


def _checks_of(installation: Installation, merchants: list[Merchant], kills: int, amid: int) -> list[Check]:
    completed = Settlement.objects.filter(status=SettlementStatus.COMPLETED).count()
    arrived = Counter[str]()
    for number in range(len(merchants)):
        network = list(NETWORKS)[number % len(NETWORKS)]
        asset = registry.asset(Environment.SANDBOX, network, "USDC")
        held = registry.chain(Environment.SANDBOX, network).reading.balance(_wallet(network, number), asset)
        due = int(Payment.objects.get(merchant=merchants[number]).due)
        arrived["right" if held == due else "missing" if held < due else "doubled"] += 1
    exit_code, said = installation.manage("reconcile", "--full")
    last = said.strip().splitlines()[-1:]
    return [
        Check(
            f"{BEATS} beats and {WORKERS} workers are killed again and again",
            f"{kills} kills, {amid} of them amid the settlements",
            kills == KILLS and amid > 0,
        ),
        Check("every merchant has one settlement", f"{Settlement.objects.count()}", _each_has_one(merchants)),
        Check("every settlement is completed", f"{completed} of {len(merchants)}", completed == len(merchants)),
        Check(
            "the chain has paid every wallet what it is due", f"{arrived['right']}", arrived["right"] == len(merchants)
        ),
        Check("nobody is paid twice", f"{arrived['doubled']}", arrived["doubled"] == 0),
        Check("reconcile finds nothing wrong", f"exit code {exit_code}: {' '.join(last)}"[:100], exit_code == 0),
    ]


def _each_has_one(merchants: list[Merchant]) -> bool:
    counted = Counter(Settlement.objects.values_list("merchant_id", flat=True))
    return counted == Counter({merchant.pk: 1 for merchant in merchants})


def _wallet(network: str, number: int) -> str:
    return address_named(network, f"wallet of merchant {number}")
