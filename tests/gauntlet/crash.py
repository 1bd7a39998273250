"""Money while everything is killed: payments come in, refunds and settlements go out, and processes die at every step.

Each life is a process that does the work of web and worker until it dies: at a named place, or wherever it happens to
be. A fifth of all transfers is accepted by the network while the sender hears only of a time-out.
"""

from __future__ import annotations

import json
import random
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, Self

from django.core.management import call_command
from django.db import connections
from django.test import Client

from config import ids
from config.environments import Environment
from merchants.models import Merchant
from merchants.services import issue_api_key, open_merchant
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.networks import NETWORKS
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedTransfer
from payments.chains.simulated.networks import address_named
from payments.chains.simulated.sending import Sending
from payments.deposits import watching
from payments.models import Payment
from payments.states import PaymentStatus
from payments.transfers import services
from payments.transfers import tasks as transfer_tasks
from payments.transfers.models import Payout, PayoutPolicy, Transfer
from payments.transfers.payouts import policy_of
from payments.transfers.states import PayoutStatus
from refunds import tasks as refund_tasks
from refunds.models import Refund
from refunds.states import REFUND_MOVES, RefundStatus
from settlements import tasks as settlement_tasks
from settlements.models import Settlement
from settlements.services import run_now
from settlements.states import SettlementStatus
from tests.gauntlet import failpoints, lives
from tests.gauntlet.failpoints import NAMES, Failpoint
from tests.gauntlet.installation import Installation
from tests.gauntlet.report import Check, Progress

MERCHANTS, PAYMENTS_EACH, REFUNDS_EACH = 50, 20, 4
KILLS, FAILPOINTS_GOAL = 200, 30
KILLS_MAX = 400
"""Where so many places are not reached sooner."""
LIFE_SECONDS = (0.3, 2.5)
LEASE_SECONDS = 60.0
"""Who is killed while it reads a network keeps the others from it for so long: as in production."""
VISITS = (1, 1, 1, 2, 5, 20)
"""At which time that a place is reached."""
TIME_OUT_SHARE = 0.2
TERMINAL_GOAL_SECONDS = 60.0

CARELESS_MERCHANTS, CARELESS_PAYMENTS_EACH = 2, 10
CARELESS_TIME_OUT_SHARE = 0.6
CARELESS_SECONDS = 180.0
"""At most, until the first is paid twice: who was killed last may keep the networks for a minute."""

SHORT: dict[str, Any] = {
    "MERCHANTS": 4, "PAYMENTS_EACH": 4, "REFUNDS_EACH": 2, "KILLS": 6, "KILLS_MAX": 24, "FAILPOINTS_GOAL": 2,
    "LIFE_SECONDS": (1.0, 3.0), "LEASE_SECONDS": 5.0, "VISITS": (1,),
}  # fmt: skip

COINS = ("USDC", "USDT", "DAI")


@dataclass
class Plan:
    """Everything that is to happen, decided before anything does: so that nobody needs to remember what was done."""

    folder: Path
    keys: list[dict[str, str]] = field(default_factory=list)
    merchants: list[Merchant] = field(default_factory=list)
    payments_each: int = 0
    refunds_each: int = 0

    def payment(self, merchant: int, number: int) -> dict[str, Any]:
        network = list(NETWORKS)[(merchant + number) % len(NETWORKS)]
        return {
            "amount": 10 + number,
            "currency": "USD",
            "cryptocurrency": COINS[(merchant + number) % len(COINS)],
            "network": network,
            "merchantWallet": address_named(network, f"wallet of merchant {merchant}, {self.folder.name}"),
            "expiresIn": 86_400,
        }

    def refund(self, payment_id: str, network: str, merchant: int, number: int) -> dict[str, Any]:
        destination = address_named(network, f"payer {number} of merchant {merchant}, {self.folder.name}")
        return {"paymentId": payment_id, "amount": 1 + number, "destination": destination}

    @property
    def crashes(self) -> str:
        return self.crash_log.read_text() if self.crash_log.exists() else ""

    @property
    def crash_log(self) -> Path:
        return self.folder / "crashes.log"

    # What has been acknowledged. A reply that was lost is asked for again with the same key.

    def acknowledged(self, name: str) -> Any:
        path = self.folder / name
        return json.loads(path.read_text()) if path.exists() else None

    def acknowledge(self, name: str, value: Any) -> None:
        path = self.folder / name
        path.with_suffix(".new").write_text(json.dumps(value))
        path.with_suffix(".new").rename(path)


def run(installation: Installation, chance: random.Random) -> list[Check]:
    progress = Progress()
    failpoints.check()
    watching.LEASE = timedelta(seconds=LEASE_SECONDS)  # in the lives, which are forks of this process
    checks = [*_swept(installation, chance, progress), _careless(installation, progress)]
    connections.close_all()
    return checks


# --- the sweep ---------------------------------------------------------------------------------------


def _swept(installation: Installation, chance: random.Random, progress: Progress) -> list[Check]:
    plan = _plan(installation, "sweep", MERCHANTS, payments_each=PAYMENTS_EACH, refunds_each=REFUNDS_EACH)
    deaths: Counter[str] = Counter()
    kills = 0
    queue: list[str] = []
    while kills < KILLS or (len(deaths.keys() - {"anywhere"}) < FAILPOINTS_GOAL and kills < KILLS_MAX):
        queue = queue or chance.sample(NAMES, len(NAMES))
        armed = Failpoint(queue.pop(), visit=chance.choice(VISITS))
        died_there = _live(plan, armed, chance)
        kills += 1
        deaths[armed.name if died_there else "anywhere"] += 1
        progress.say(f"{kills} kills, {deaths['anywhere']} of them anywhere; {_standing()}")
    places = deaths.keys() - {"anywhere"}
    seconds = _finish(plan, progress, seconds=2 * TERMINAL_GOAL_SECONDS)
    exit_code, said = installation.manage("reconcile", "--full")
    if exit_code:
        progress.say(said, now=True)
    if plan.crashes:
        progress.say(plan.crashes[-3000:], now=True)
    books = _Books.read()
    paid = Payment.objects.filter(status__in=[PaymentStatus.COMPLETED, PaymentStatus.PARTIALLY_REFUNDED]).count()
    refunded = Refund.objects.filter(status=RefundStatus.COMPLETED).count()
    settled = Settlement.objects.filter(status=SettlementStatus.COMPLETED).count()
    payments, refunds, settlements = MERCHANTS * PAYMENTS_EACH, MERCHANTS * REFUNDS_EACH, Settlement.objects.count()
    return [
        Check("processes die at named places", f"{len(places)} of {kills} kills", len(places) >= FAILPOINTS_GOAL),
        Check("no process fell over by itself", "some" if plan.crashes else "none", not plan.crashes),
        Check("every payment is credited", f"{paid} of {payments}", paid == payments == Payment.objects.count()),
        Check("every refund is paid", f"{refunded} of {refunds}", refunded == refunds == Refund.objects.count()),
        Check("every settlement is paid", f"{settled} of {settlements}", settled == settlements >= MERCHANTS),
        Check("no payout is missing on the chain", f"{books.missing} of {books.payouts}", books.missing == 0),
        Check("no payout is on the chain twice", f"{books.doubled} of {books.payouts}", books.doubled == 0),
        Check("nothing left that nobody asked for", f"{books.unasked}", books.unasked == 0),
        Check(
            f"all has ended {TERMINAL_GOAL_SECONDS:.0f} s after the last kill",
            f"{seconds:.0f} s",
            seconds <= TERMINAL_GOAL_SECONDS,
        ),
        Check("reconcile --full finds nothing", f"exit {exit_code}", exit_code == 0),
    ]


def _plan(installation: Installation, name: str, merchants: int, *, payments_each: int, refunds_each: int) -> Plan:
    folder = installation.folder / name
    folder.mkdir()
    plan = Plan(folder, payments_each=payments_each, refunds_each=refunds_each)
    for number in range(merchants):
        merchant = open_merchant(name=f"{name} {number}", email=f"{name}{number}@example.com", plan="business")
        issued = issue_api_key(merchant=merchant, environment=Environment.SANDBOX, name="gauntlet")
        plan.merchants.append(merchant)
        plan.keys.append({"Authorization": f"Bearer {issued.key.public_key}", "X-Api-Secret": issued.secret})
    policy_of(Environment.SANDBOX)
    PayoutPolicy.objects.update(approval_above=None, daily_limit=None, merchant_daily_limit=None, transfer_limit=None)
    Merchant.objects.update(plan="enterprise", requests_per_minute=1_000_000)
    call_command("stock_sandbox", amount=1_000_000, stdout=StringIO())
    return plan


def _live(plan: Plan, armed: Failpoint, chance: random.Random) -> bool:
    """One life. Whether it ended at the place that was armed; else it was killed wherever it happened to be."""
    worker = random.Random(chance.random())

    def prepare() -> None:
        _time_out_now_and_then(worker)
        failpoints.arm(armed)

    return lives.live(
        prepare, partial(_work, plan, worker), seconds=chance.uniform(*LIFE_SECONDS), crashes=plan.crash_log
    )


def _work(plan: Plan, chance: random.Random) -> None:
    """One round: what merchants and payers ask for, and what beat would have workers do."""
    _ask_for_something(plan, chance)
    for task in (
        payment_tasks.watch_networks,
        payment_tasks.sweep,
        refund_tasks.resolve_destinations,
        transfer_tasks.drive,
        transfer_tasks.follow_payouts,
        settlement_tasks.advance_due,
    ):
        task()


def _time_out_now_and_then(chance: random.Random, share: float = TIME_OUT_SHARE) -> None:
    broadcast = Sending.broadcast

    def unreliable(self: Sending, transfer: Any) -> None:
        if chance.random() < share:
            control.time_out_broadcasts(self.profile.network, 1)
        broadcast(self, transfer)

    Sending.broadcast = unreliable  # type: ignore[method-assign]  # in this process alone


# --- what merchants and payers do --------------------------------------------------------------------


def _ask_for_something(plan: Plan, chance: random.Random) -> None:
    """For a few merchants, the next thing that has not been acknowledged."""
    for merchant in chance.sample(range(len(plan.merchants)), min(12, len(plan.merchants))):
        _ask_for_next(plan, merchant)


def _ask_for_next(plan: Plan, merchant: int) -> None:
    for number in range(plan.payments_each):
        name = f"payment-{merchant}-{number}"
        record = plan.acknowledged(name)
        if record is None:
            record = _call(plan, merchant, "/payments", plan.payment(merchant, number), key=name)
            plan.acknowledge(name, {"id": record["id"], "network": record["network"]})
            return
        if plan.acknowledged(f"paid-{merchant}-{number}") is None:
            _pay_once(plan, merchant, number, record["id"])
            return
    for number in range(plan.refunds_each):
        name = f"refund-{merchant}-{number}"
        if plan.acknowledged(name) is None:
            payment = plan.acknowledged(f"payment-{merchant}-{number}")
            if _status(payment["id"]) not in (PaymentStatus.COMPLETED, PaymentStatus.PARTIALLY_REFUNDED):
                return
            body = plan.refund(payment["id"], payment["network"], merchant, number)
            plan.acknowledge(name, _call(plan, merchant, "/refunds", body, key=name)["id"])
            return
    if plan.acknowledged(f"settled-{merchant}") is None and _is_all_paid(plan, merchant):
        run_now(merchant=plan.merchants[merchant], environment=Environment.SANDBOX, requested_by="gauntlet")
        plan.acknowledge(f"settled-{merchant}", True)


def _call(plan: Plan, merchant: int, path: str, body: dict[str, Any], *, key: str) -> Any:
    headers = {**plan.keys[merchant], "Idempotency-Key": f"{plan.folder.name}-{key}"}
    reply = Client(headers=headers, SERVER_NAME="localhost").post(
        f"/sandbox/v1{path}", json.dumps(body), content_type="application/json"
    )
    if reply.status_code != 201:
        raise RuntimeError(f"{path}: {reply.status_code} {reply.content!r}")
    return reply.json()


def _pay_once(plan: Plan, merchant: int, number: int, payment_id: str) -> None:
    """The payer's wallet is not what is tested: it pays once, however often it is asked."""
    payment = Payment.objects.get(pk=_key(payment_id))
    paid = SimulatedTransfer.objects.filter(recipient=payment.deposit_address, memo=payment.memo)
    if not paid.exists():
        control.pay(
            payment.network,
            recipient=payment.deposit_address,
            contract=registry.asset(Environment.SANDBOX, payment.network, payment.cryptocurrency).contract,
            amount=int(payment.due),
            memo=payment.memo or None,
        )
    plan.acknowledge(f"paid-{merchant}-{number}", True)


def _is_all_paid(plan: Plan, merchant: int) -> bool:
    paid = (PaymentStatus.COMPLETED, PaymentStatus.PARTIALLY_REFUNDED)
    of_merchant = Payment.objects.filter(merchant=plan.merchants[merchant])
    return of_merchant.filter(status__in=paid).count() == plan.payments_each


def _status(payment_id: str) -> str:
    return Payment.objects.values_list("status", flat=True).get(pk=_key(payment_id))


def _key(payment_id: str) -> uuid.UUID:
    key = ids.PAYMENT.decode(payment_id)
    assert key is not None
    return key


# --- what has become of it ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Books:
    """Every payout beside what has left the wallets."""

    payouts: int
    missing: int
    doubled: int
    unasked: int

    @classmethod
    def read(cls) -> Self:
        paid: Counter[tuple[str, str, str, int, str]] = Counter()
        asked = set()
        for payout in Payout.objects.all():
            what = payout.network, payout.asset, payout.recipient, int(payout.amount), payout.memo
            asked.add(what)
            paid[what] += payout.status == PayoutStatus.PAID
        sent: Counter[tuple[str, str, str, int, str]] = Counter()
        for network in NETWORKS:
            chain = registry.chain(Environment.SANDBOX, network)
            codes = {asset.contract: code for code, asset in chain.profile.assets.items()}
            for left in chain.reading.outgoing(
                chain.payout_address(), first_height=0, last_height=chain.reading.head().height
            ):
                sent[network, codes[left.contract], left.recipient, left.amount, left.memo or ""] += 1
        surplus = sent - paid
        return cls(
            payouts=paid.total(),
            missing=(paid - sent).total(),
            doubled=sum(count for what, count in surplus.items() if paid[what]),
            unasked=sum(count for what, count in surplus.items() if what not in asked),
        )


def _finish(plan: Plan, progress: Progress, seconds: float) -> float:
    """Let one worker live that nobody kills; answers the seconds until nothing was left to do."""
    worker, started = random.Random(0), time.monotonic()
    child = lives.start(partial(_time_out_now_and_then, worker), partial(_work, plan, worker), crashes=plan.crash_log)
    try:
        while time.monotonic() - started < seconds:
            time.sleep(0.5)
            progress.say(_standing())
            if _is_over(plan):
                break
    finally:
        lives.end(child)
    return time.monotonic() - started


def _is_over(plan: Plan) -> bool:
    asked = all(plan.acknowledged(f"settled-{merchant}") for merchant in range(len(plan.merchants)))
    return (
        asked
        and not Refund.objects.exclude(status__in=REFUND_MOVES.terminal).exists()
        and not Settlement.objects.filter(status=SettlementStatus.PENDING).exists()
        and not Transfer.objects.filter(finished_at__isnull=True).exists()
        and not Payment.objects.filter(assess_at__isnull=False).exists()
    )


def _standing() -> str:
    payments = Payment.objects.filter(status__in=[PaymentStatus.COMPLETED, PaymentStatus.PARTIALLY_REFUNDED])
    refunds = Refund.objects.filter(status=RefundStatus.COMPLETED)
    settled = Settlement.objects.filter(status=SettlementStatus.COMPLETED)
    return (
        f"{payments.count()} of {Payment.objects.count()} payments, {refunds.count()} of {Refund.objects.count()} "
        f"refunds, {settled.count()} of {Settlement.objects.count()} settlements"
    )


# --- the control arm ---------------------------------------------------------------------------------


def _forget_what_timed_out() -> None:
    """The guard that is off: a time-out is taken for a failure, and the transfer is signed anew."""
    record_sent = services.record_sent

    def give_up(transfer: Transfer, *, next_step_at: datetime, error: str = "") -> None:
        record_sent(transfer, next_step_at=next_step_at, error=error)
        if error:
            services.record_dead(transfer)

    services.record_sent = give_up


def _careless(installation: Installation, progress: Progress) -> Check:
    before = _Books.read().doubled
    plan = _plan(
        installation,
        "careless",
        CARELESS_MERCHANTS,
        payments_each=CARELESS_PAYMENTS_EACH,
        refunds_each=CARELESS_PAYMENTS_EACH,
    )
    worker = random.Random(1)

    def prepare() -> None:
        _time_out_now_and_then(worker, CARELESS_TIME_OUT_SHARE)
        _forget_what_timed_out()

    child = lives.start(prepare, partial(_work, plan, worker), crashes=plan.crash_log)
    wrong, deadline = 0, time.monotonic() + CARELESS_SECONDS
    while not wrong and time.monotonic() < deadline:
        time.sleep(1)
        wrong = _Books.read().doubled - before  # what is only on its way now nobody asked for twice
    lives.end(child)
    progress.say(_standing(), now=True)
    return Check("control arm: a time-out taken for a failure pays twice", f"{wrong} paid too often", wrong > 0)
