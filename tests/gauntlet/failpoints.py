"""Named places where a process of the gauntlet dies: just before, or just after, a step that money depends on."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Where each step is defined, and the modules that call it by a name of their own.
_STEPS: dict[str, list[str]] = {
    "payment.insert": ["payments.services:insert_together"],
    "event.record": [
        "payments.deposits.recording:record_events",
        "refunds.services:record_events",
        "settlements.run_creation:record_events",
        "settlements.payouts.outcome:record_events",
    ],
    "scan.record": ["payments.deposits.watching:_record_scan"],
    "deposit.book": ["payments.deposits.recording:record_deposits"],
    "payment.assess": ["payments.deposits.crediting:_assess_together", "payments.suspense.acceptance:assess_locked"],
    "ledger.post": [
        "payments.deposits.recording:post_drafts",
        "payments.transfers.services:post_drafts",
        "payments.treasury.sweep_booking:post_drafts",
        "settlements.run_creation:post_drafts",
        "settlements.payouts.handover:post_draft",
        "settlements.payouts.outcome:post_draft",
    ],
    "refund.create": ["refunds.viewsets:create_refund"],
    "refund.reserve": ["refunds.services:refund_accounting.reserve"],
    "refund.complete": ["refunds.services:refund_accounting.complete"],
    "refund.resolve": ["refunds.tasks:resolve_destination"],
    "payout.request": ["refunds.services:request_payout", "settlements.payouts.handover:request_payout"],
    "idempotency.store": ["merchants.access.viewsets:idempotency.store"],
    "sweep.sign": ["payments.treasury.sweeping:sign_sweep"],
    "sweep.book": ["payments.treasury.sweep_booking:_book"],
    "transfer.sign": [
        "payments.chains.simulated.sending:Sending.sign",
        "payments.chains.evm.sending:Sending.sign",
        "payments.chains.stellar.sending:Sending.sign",
    ],
    "transfer.store": ["payments.transfers.services:_insert"],
    "transfer.carry": ["payments.transfers.services:carry"],
    "transfer.commit": ["payments.transfers.execution.rounds:services.record_signed"],
    "transfer.replace": ["payments.transfers.execution.rounds:services.record_replacement"],
    "transfer.send": [
        "payments.chains.simulated.sending:Sending.broadcast",
        "payments.chains.evm.sending:Sending.broadcast",
        "payments.chains.stellar.sending:Sending.broadcast",
    ],
    "transfer.sent": ["payments.transfers.execution.rounds:services.record_sent"],
    "transfer.ask": [
        "payments.chains.simulated.sending:Sending.status",
        "payments.chains.evm.sending:Sending.status",
        "payments.chains.stellar.sending:Sending.status",
    ],
    "transfer.final": ["payments.transfers.execution.rounds:services.record_final"],
    "payout.end": ["payments.transfers.payouts:end_payout", "payments.transfers.services:end_payout"],
    "settlement.run": ["settlements.run_creation:_make"],
    "settlement.convert": ["settlements.payouts.handover:hand_over"],
    "payout.follow": ["payments.transfers.owners:_follow"],
}

SIDES = ("before", "after")
NAMES = tuple(f"{step}:{side}" for step in _STEPS for side in SIDES)


@dataclass(frozen=True)
class Failpoint:
    """Die at the `visit`-th time this place is reached."""

    name: str
    visit: int = 1


def kill_process() -> None:
    """As the kernel would: nothing gets to say goodbye."""
    os.kill(os.getpid(), signal.SIGKILL)


def arm(
    failpoint: Failpoint,
    *,
    die: Callable[[], None] = kill_process,
    replace: Callable[[Any, str, Any], None] = setattr,
) -> None:
    """From now on this process dies there. `replace` puts the traps in place."""
    step, _, side = failpoint.name.rpartition(":")
    visits = 0

    def watched(call: Callable[..., Any]) -> Callable[..., Any]:
        def step_or_die(*arguments: Any, **named: Any) -> Any:
            nonlocal visits
            visits += 1
            if side == "before" and visits == failpoint.visit:
                die()
            mine = visits
            result = call(*arguments, **named)
            if side == "after" and mine == failpoint.visit:
                die()
            return result

        return step_or_die

    for place in _STEPS[step]:
        owner, name = _find(place)
        replace(owner, name, watched(getattr(owner, name)))


def check() -> None:
    """AttributeError when a step is not where this list says any more."""
    for places in _STEPS.values():
        for place in places:
            owner, name = _find(place)
            getattr(owner, name)


def _find(place: str) -> tuple[Any, str]:
    module, _, path = place.partition(":")
    owner: Any = importlib.import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    return owner, name
