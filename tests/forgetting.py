"""What a process remembers from one piece of work to the next: each test begins as a process that has just started."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.core.signals import setting_changed

REMEMBERED: dict[tuple[str, str], object] = {
    ("config.celery", "_paused_until"): 0.0,
    ("config.health", "_write_due_at"): 0.0,
    ("config.database.pooled.base", "_away_until"): {},
    ("config.database.replica", "_left_alone_until"): 0.0,
    ("config.periodic.due_work", "_built"): None,
    ("config.periodic.task_runs", "_clock_due_at"): 0.0,
    ("config.periodic.task_runs", "_noted_at"): {},
    ("payments.deposits.watching", "_not_given_back"): {},
    ("webhooks.events.recording", "_woken_at"): float("-inf"),
}
"""Each name of the product that a `global` statement changes, with what it is at the start."""

KEPT = {
    ("config.process.logs", "_concealed"): "made of the settings, which stay",
    ("webhooks.sending.dispatch", "_current"): "ends with the run that it belongs to",
}


def forget() -> None:
    for (module, name), beginning in REMEMBERED.items():
        setattr(import_module(module), name, beginning)
    # Once the requests of other tests fill the log's queue, those of the next one would be dropped.
    import_module("merchants.request_log.recording").RECORDER._waiting.clear()
    forget_networks()


def forget_networks(**_: Any) -> None:
    """Has the table of networks built again: by other settings, or because a test has put in another network."""
    import_module("payments.chains.network_table").network_table.cache_clear()


setting_changed.connect(forget_networks)
