"""The same random operations while real processes do the work: a beat and two workers, which keep being killed.

The history does what people and networks do: it asks for payments, refunds, settlements and withdrawals, decides, and
adds and replaces blocks. Nothing else of the product runs in its process. The workers read the networks, credit, send
and follow payouts, end refunds, settlements and withdrawals, take crumbs, put wallets in use, make the runs of the
schedule and deliver webhooks. After every step of the history everything that is due must be done by them within
`SECONDS_MAX`, however often they are killed on the way; then all figures are compared.

The clock is that of the machine, and rates stay at par, because the sandbox's table of rates is in each process.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Self

import orjson
from django.db.models import F, Q
from django.utils import timezone

from config.celery import wake
from merchants.services import update_settings
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedNetwork, SimulatedTransaction
from payments.deposits.models import ScanCursor
from payments.merchant_wallets.models import MerchantWallet
from payments.models import Deposit, Discrepancy, Payment
from payments.transfers.models import Payout, Transfer
from payments.transfers.states import OPEN_TRANSFERS
from payments.treasury.house import withdrawals
from refunds.models import Refund
from settlements.models import Settlement, SettlementRun
from tests.accounts.history import History
from tests.accounts.world import FINAL_AFTER, NETWORKS, SANDBOX, Difference
from tests.gauntlet.installation import BEAT, Installation
from tests.gauntlet.settlements import WORKER
from tests.sending.receivers import Shop
from webhooks.models import Event
from webhooks.services import register_endpoint

WORKERS = 2
KILLED_HOW_OFTEN, KILLED_AFTER_SECONDS = 0.04, (0.0, 0.6)
SECONDS_MAX = 150.0
"""Who is killed while it reads a network keeps others from it for a minute."""
WAKE_EVERY_SECONDS = 0.3
PATIENCE_SECONDS = 3.0
"""For what a worker does right after a step that was due, in a database transaction of its own."""


class Workers:
    """A beat and workers, with variables of their own; one of them is killed now and then, and started again."""

    def __init__(self, installation: Installation, seed: int, environment: Mapping[str, str]) -> None:
        self.kills = 0
        self._installation, self._chance = installation, random.Random(seed)
        self._environment = {**os.environ, **environment}
        self._commands = {"beat": BEAT}
        for number in range(WORKERS):
            self._commands[f"worker-{number}"] = [*WORKER, "--hostname", f"worker-{number}@localhost"]

    def __enter__(self) -> Self:
        for name in self._commands:
            self._start(name)
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._commands:
            self._installation.stop(name)

    @property
    def names(self) -> list[str]:
        return list(self._commands)

    @contextmanager
    def perhaps_killed(self) -> Iterator[None]:
        """While something is waited for, one of them may die, at any moment. So whoever waits has seen work between."""
        if self._chance.random() > KILLED_HOW_OFTEN:
            yield
            return
        killer = threading.Timer(self._chance.uniform(*KILLED_AFTER_SECONDS), self._kill_one)
        killer.start()
        yield
        killer.join()

    def _kill_one(self) -> None:
        name = self._chance.choice(list(self._commands))
        self._installation.kill(name)
        self._start(name)
        self.kills += 1

    def _start(self, name: str) -> None:
        self._installation.start(name, self._commands[name], self._environment)


class WorkedHistory(History):
    """A history whose work is done by other processes, and waited for."""

    def __init__(self, chance: random.Random, workers: Workers, shop: Shop, *, repays_from_other_coins: bool) -> None:
        super().__init__(chance, repays_from_other_coins=repays_from_other_coins)
        self.waited = self.longest_wait = 0.0
        self.scheduled = self.delivered = 0
        self._read: dict[str, int] = {}
        self._woken: dict[str, float] = {}
        self._workers, self._shop, self._paths = workers, shop, dict[Any, str]()
        for row, _ in self.merchants:
            update_settings(merchant=row, environment=SANDBOX, changes={"settlement_frequency": "manual"})
            path = self._paths[row.pk] = f"/{row.pk}"
            register_endpoint(merchant=row, environment=SANDBOX, url=shop.url(path))
        for network in NETWORKS:
            self._note_block(network)

    # --- what others do ------------------------------------------------------------------------------

    def look(self, *, again: bool = False) -> None:
        self._wait_until_done()
        heads = {row.network: row for row in SimulatedNetwork.objects.filter(network__in=NETWORKS)}
        self.note_ended()
        self.note_deposits(heads)

    def drive(self, network: str) -> None:
        self.look()

    def follow(self) -> None:
        self.look()

    def hand_over(self) -> None:
        self.look()

    def change_wallets(self) -> None:
        self.look()

    def grow(self, network: str, blocks: int) -> None:
        super().grow(network, blocks)
        self._note_block(network)
        self.look()

    def replace_blocks(self, depth: int, outcome: control.Outcome) -> None:
        super().replace_blocks(depth, outcome)
        self._note_block("ethereum")
        self.look()

    def move_rate(self) -> None:
        """Nothing: see above."""

    def let_days_pass(self) -> None:
        """Once in a world: the moment comes at which everybody is settled every day."""
        if self.scheduled:
            return
        at = (timezone.now() + timedelta(seconds=10)).replace(microsecond=0)
        for row, _ in self.merchants:
            changes: Any = {"settlement_frequency": "daily", "settlement_time": at.time(), "settlement_timezone": "UTC"}
            update_settings(merchant=row, environment=SANDBOX, changes=changes)
        time.sleep(max(0.0, (at - timezone.now()).total_seconds()))
        runs = SettlementRun.objects.filter(merchant__in=[row for row, _ in self.merchants], period_end=at)
        self._wait_for(lambda: ["settlements.run_due"] if runs.count() < len(self.merchants) else [])
        for row, merchant in self.merchants:
            self._note_settled(runs.get(merchant=row), merchant, promises_rates=False)
            update_settings(merchant=row, environment=SANDBOX, changes={"settlement_frequency": "manual"})
            self.scheduled += 1

    # --- comparing -----------------------------------------------------------------------------------

    def compare(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            self.look()
            try:
                super().compare()
            except Difference:
                if time.monotonic() > deadline:
                    raise
            else:
                return
            time.sleep(0.2)

    def finish(self) -> None:
        if not self.scheduled:  # chance has not brought it
            self.let_days_pass()
            self.compare()
        super().finish()
        self._compare_with_shops()

    def _compare_with_shops(self) -> None:
        """Every event of every merchant has arrived, the last of each payment as it stands in the database."""
        for row, _ in self.merchants:
            events = {each.public_id: each for each in Event.objects.filter(merchant=row)}
            path = self._paths[row.pk]
            self._wait_for(
                lambda: ["webhooks.deliver_due"] if events.keys() - {a.message_id for a in self._shop.at(path)} else []  # noqa: B023
            )
            arrived = {each.message_id: orjson.loads(each.body) for each in self._shop.at(path)}
            self._say(
                f"webhooks of {row}",
                {key: str(event.type) for key, event in events.items()},
                {key: body["type"] for key, body in arrived.items()},
            )
            self.delivered += len(arrived)

    # --- waiting -------------------------------------------------------------------------------------

    def _wait_until_done(self) -> None:
        if self._due():
            with self._workers.perhaps_killed():
                self._wait_for(self._due)

    def _wait_for(self, due: Callable[[], list[str]]) -> None:
        """Wait until nothing is due, and wake the tasks whose work is: `due` says which."""
        began = time.monotonic()
        while tasks := due():
            now = time.monotonic()
            if now > began + SECONDS_MAX:
                raise Difference(f"after {SECONDS_MAX:.0f} s still not done: {', '.join(tasks)}")
            for task in tasks:
                if now > self._woken.get(task, 0.0) + WAKE_EVERY_SECONDS:
                    self._woken[task] = now
                    wake(task)
            time.sleep(0.02)
        waited = time.monotonic() - began
        self.waited += waited
        self.longest_wait = max(self.longest_wait, waited)

    def _note_block(self, network: str) -> None:
        """Which version of the cursor has surely seen what is there now: one whose reading began after this."""
        cursor = ScanCursor.objects.filter(environment=SANDBOX, network=network).first()
        if cursor is None:
            self._read[network] = 1
        else:
            self._read[network] = cursor.version + (2 if cursor.leased_until > timezone.now() else 1)

    def _due(self) -> list[str]:
        """The tasks that have something to do, by the rows that they work on."""
        mine, now = list(self.payments), timezone.now()
        cursors = {each.network: each for each in ScanCursor.objects.filter(environment=SANDBOX, network__in=NETWORKS)}
        is_read = all(name in cursors and cursors[name].version >= self._read[name] for name in NETWORKS)
        payments = Payment.objects.filter(pk__in=mine)
        ended = Q(pk__in=[])
        is_deep = Q(pk__in=[])
        for name, cursor in cursors.items():
            if cursor.read_until is not None:
                for windows in payments.filter(network=name).windows_ended(cursor.read_until):
                    ended |= Q(pk__in=windows.values("pk"))
            enough = Q(network=name, height__lte=cursor.head_height + 1 - F("payment__required_confirmations"))
            is_deep |= enough & ~Q(payment__require_finalized=True, height__gt=cursor.finalized_height)
        to_credit = Deposit.objects.filter(is_deep, payment__in=mine, status="seen")
        settlements = Settlement.objects.to_follow().filter(pk__in=list(self.settlements))
        to_follow = [Refund.objects.to_follow(), withdrawals.to_follow(), settlements]
        found = {
            "payments.watch_networks": not is_read or to_credit.exists(),
            "payments.assess_due": payments.filter(assess_at__isnull=False).exists(),
            "payments.expire_due": payments.filter(ended).exists(),
            "payments.keep_surplus": self._has_crumbs(),
            "transfers.drive": self._is_to_send(now),
            "transfers.follow_payouts": any(each.exists() for each in to_follow),
            "settlements.advance_due": self._is_to_advance(),
            "wallets.apply_due": MerchantWallet.objects.filter(
                merchant__in=[row for row, _ in self.merchants],
                status__in=["waiting", "lost"],
                takes_effect_at__lte=now,
            ).exists(),
        }
        return [task for task, is_due in found.items() if is_due]

    def _has_crumbs(self) -> bool:
        rows = Discrepancy.objects.filter(payment__in=list(self.payments), status="open").select_related("payment")
        for row in rows:
            payment = row.payment
            assert payment is not None
            has_ended = payment.closed_at is not None or payment.released >= payment.due
            lacks_nothing = has_ended or payment.status == "cancelled"
            is_decided = row.kind in ("overpaid", "wrong_token") or (row.kind == "late" and lacks_nothing)
            if is_decided and row.amount < 10 ** (row.decimals - 2):
                return True
        return False

    def _is_to_send(self, now: datetime) -> bool:
        """Whether a payout could be signed, or a transfer be sent, or its end be noted.

        While a transfer waits for a block, payouts may have to wait for it: a wallet has so many on their way at most.
        """
        waits_for_block = set()
        heads = dict(SimulatedNetwork.objects.values_list("network", "height"))
        on_its_way = Transfer.objects.filter(status__in=OPEN_TRANSFERS, network__in=NETWORKS)
        for transfer in on_its_way.prefetch_related("envelopes"):
            if transfer.sent_at is None:
                return True
            hashes = [each.transaction_hash for each in transfer.envelopes.all()]
            known = SimulatedTransaction.objects.filter(transaction_hash__in=hashes).exclude(status="dropped")
            final = heads[transfer.network] + 1 - FINAL_AFTER[transfer.network]
            if not known or any(each.height is not None and each.height <= final for each in known):
                return True
            waits_for_block.add(transfer.network)
        is_due = Q(status="ready") | Q(status="held", next_attempt_at__lte=now)
        waiting = Payout.objects.filter(is_due, environment=SANDBOX, network__in=set(NETWORKS) - waits_for_block)
        return waiting.exists()

    def _is_to_advance(self) -> bool:
        pending = Settlement.objects.filter(pk__in=list(self.settlements), status="pending")
        return pending.filter(payout__isnull=True, failure_code="").exists()


def variables_of(*, repays_from_other_coins: bool, below_finality: int) -> dict[str, str]:
    """What the history sets in its own process, for those of the workers."""
    return {
        "SIMULATED_BLOCK_SECONDS": "0",
        "SANDBOX_OPERATORS_TO_DECIDE": "1",
        "OFFSET_DEBTS": "true" if repays_from_other_coins else "false",
        "BELOW_FINALITY_USD": str(below_finality),
    }
