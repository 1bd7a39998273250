"""The runbooks of docs/runbooks: a page for each kind of alarm, and the commands it names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from payments.monitoring.states import ADVICE, AlarmKind

RUNBOOKS = Path(__file__).resolve().parents[2] / "docs" / "runbooks"
HEADINGS = ("What it means", "Who is hurt", "First five minutes", "Then")
TO_WRITE = "(to be written)"

_COMMAND = re.compile(r"^ {4,}python manage\.py (.+)$", re.MULTILINE)


def page_of(kind: AlarmKind) -> Path:
    return RUNBOOKS / f"{kind.value}.md"


def commands_of(kind: AlarmKind) -> list[list[str]]:
    """The words of each command that the page shows."""
    return [shlex.split(line, comments=True) for line in _COMMAND.findall(page_of(kind).read_text())]


def missing() -> dict[Path, str]:
    """A page to be filled in, with the advice of the code, for each kind of alarm that has none."""
    return {page_of(kind): _skeleton(kind) for kind in AlarmKind if not page_of(kind).exists()}


def _skeleton(kind: AlarmKind) -> str:
    parts = [f"# {kind.label}", f"The alarm `{kind.value}`. [All alarms](../alarms.md)"]
    for heading in HEADINGS:
        parts += [f"## {heading}", ADVICE[kind] if heading == "First five minutes" else TO_WRITE]
    return "\n\n".join(parts) + "\n"
