"""What is known of backups: the last that was made, and the last that was tried. Commands note it, others read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from config.installation.backups.keys import Fingerprints, fingerprints, missing_keys
from config.installation.models import BackupRun
from config.pages import wording
from config.process import roles

NAME_LENGTH = 200

USUAL_AGE = timedelta(hours=26)
"""A backup each night: so old one may be where backups are made and BACKUP_MAX_HOURS does not say otherwise."""

DRILL_EVERY = timedelta(days=35)
"""Older drills are worth a warning of doctor."""


@dataclass(frozen=True, slots=True)
class Backups:
    """The newest runs. `made` is the newest backup there is, `tried` the newest run that made one or failed to."""

    made: BackupRun | None
    tried: BackupRun | None
    drilled: BackupRun | None

    def age(self, now: datetime) -> timedelta | None:
        """How much would be lost with the database; None where there is no backup."""
        return now - self.made.taken_at if self.made and self.made.taken_at else None

    def faults(self, now: datetime) -> Iterator[tuple[str, str]]:
        """Why one cannot rely on them: in a word, and in a sentence. None where backups are neither made nor asked
        for by BACKUP_MAX_HOURS."""
        yield from self._of_age(now)
        if self.tried is not None and self.tried.fault:
            yield "last run", f"The run of {wording.moment(self.tried.ended_at)} made none: {self.tried.fault}"
        if self.drilled is not None and self.drilled.fault:
            yield "drill", f"The drill of {wording.moment(self.drilled.ended_at)} failed: {self.drilled.fault}"
        if self.made is not None and (missing := missing_keys(_known_here(self.made.keys), fingerprints())):
            yield "keys", f"{self.made.name} was made under other keys than those of today: {', '.join(missing)}."

    def _of_age(self, now: datetime) -> Iterator[tuple[str, str]]:
        hours, age = settings.BACKUP_MAX_HOURS, self.age(now)
        if age is None:
            if hours:
                yield "age", "No backup has been made by manage.py backup."
        elif hours != 0 and age > (allowed := timedelta(hours=hours) if hours else USUAL_AGE):
            spans = [wording.duration(span.total_seconds()) for span in (age, allowed)]
            yield "age", f"The newest backup is {spans[0]} old, and should be {spans[1]} at most."


def current() -> Backups:
    """The newest runs, by one query."""
    runs = BackupRun.objects.order_by("-ended_at", "-pk")
    made, drilled = (runs.filter(kind=kind) for kind in (BackupRun.Kind.MADE, BackupRun.Kind.DRILLED))
    found = sorted(made[:1].union(made.filter(fault="")[:1], drilled[:1]), key=lambda run: run.pk, reverse=True)
    return Backups(
        made=next((run for run in found if run.kind == BackupRun.Kind.MADE and not run.fault), None),
        tried=next((run for run in found if run.kind == BackupRun.Kind.MADE), None),
        drilled=next((run for run in found if run.kind == BackupRun.Kind.DRILLED), None),
    )


def note(
    kind: BackupRun.Kind,
    *,
    name: str = "",
    taken_at: datetime | None = None,
    size: int = 0,
    keys: Fingerprints | None = None,
    fault: str = "",
) -> BackupRun:
    return BackupRun.objects.create(
        kind=kind,
        ended_at=timezone.now(),
        name=name[-NAME_LENGTH:],
        taken_at=taken_at,
        size=size,
        keys=keys or {},
        fault=fault,
    )


def _known_here(keys: Fingerprints) -> Fingerprints:
    """Of keys that this process would be given."""
    return {name: known for name, known in keys.items() if roles.uses(settings.BALLAST_ROLE, name)}
