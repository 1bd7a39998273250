"""Follows a runbook where a test has planted the fault of its alarm: each kind once in a process.

`tests/conftest.py` has it done after each round of the task that raises alarms.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

from django.core.management import CommandError, call_command
from django.db import transaction

from payments.monitoring import tasks
from payments.monitoring.models import Alarm
from payments.monitoring.states import AlarmKind
from tests.alerting.runbooks import commands_of

ELSEWHERE = {
    "check_networks": "has a say about real networks alone: tests/evm/test_commands.py",
    "reconcile": "runs in no database transaction of a test's: tests/ledger",
    "signer": "runs on the signer's machine, with its settings",
    "resume_after_restore": "tests/installation/test_resuming.py follows that page step by step",
}
SHOWS_ALARMS = "networks"
"""The command that lists the open alarms of a network: it must name the one whose runbook leads to it."""

_followed: set[str] = set()


def follow_every_alarm() -> None:
    """Have each round of the task that raises alarms end with the runbooks of those that are open then."""
    task, run = tasks.raise_alarms, tasks.raise_alarms.run

    def run_and_follow() -> None:
        run()
        follow_runbooks()

    task.run = run_and_follow


def follow_runbooks() -> None:
    """Run the commands of the page of each open alarm, as they stand there, and take back what they change."""
    for alarm in Alarm.objects.open().exclude(kind__in=_followed):
        _followed.add(alarm.kind)
        for name, *words in commands_of(AlarmKind(alarm.kind)):
            if name not in ELSEWHERE:
                output = _run(name, list(_here(words, alarm)))
                assert output.strip(), f"{alarm.kind}: {name} says nothing"
                if name == SHOWS_ALARMS and alarm.network:
                    assert alarm.get_kind_display() in output, f"{alarm.kind}: {name} does not show it"


def _here(words: list[str], alarm: Alarm) -> Iterator[str]:
    """The words of a command with environment and network of the alarm in the place of the example's."""
    before = ""
    for word in words:
        yield {"--env": alarm.environment, "--network": alarm.network or "polygon"}.get(before, word)
        before = word


def _run(name: str, words: list[str]) -> str:
    out = io.StringIO()
    with transaction.atomic():
        try:
            call_command(name, *words, stdout=out, stderr=out)
        except CommandError as error:  # what it found: that its parser takes the words is tested by itself
            out.write(str(error))
        transaction.set_rollback(True)
    return out.getvalue()
