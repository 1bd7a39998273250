"""What `manage.py doctor` says of backups."""

from __future__ import annotations

from collections.abc import Iterator

from config.database.database_time import database_now
from config.doctor.registry import Asked, Finding, fail, ok, register, warn
from config.installation.backups import records
from config.pages import wording

NAME = "backups"


@register(NAME)
def check_backups(asked: Asked) -> Iterator[Finding]:
    now, backups = database_now(), records.current()
    faults = list(backups.faults(now))
    for _, fault in faults:
        yield fail(NAME, fault, "docs/backups.md says how one is made and tried. Run manage.py backup now.")
    age = backups.age(now)
    if age is None:
        if not faults:
            advice = "Run manage.py backup each night, or set BACKUP_MAX_HOURS=0 where another program makes them."
            yield warn(NAME, "None has been made by manage.py backup.", advice)
    elif backups.drilled is None or now - backups.drilled.ended_at > records.DRILL_EVERY:
        advice = "Run manage.py backup_drill FILE each month."
        yield warn(NAME, "No backup has been tried in the last month: nobody knows whether it can be restored.", advice)
    elif not faults:
        spans = [wording.duration(span.total_seconds()) for span in (age, now - backups.drilled.ended_at)]
        yield ok(NAME, f"The newest is {spans[0]} old; one was tried {spans[1]} ago, and all was well.")
