"""The lock files install the same on every machine: everything pinned and hashed, from wherever packages come."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = ("requirements.txt", "requirements-dev.txt", "requirements-kms.txt", "requirements-telemetry.txt")


def pinned(name: str) -> dict[str, str]:
    text = (ROOT / name).read_text().replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(
            r"([a-z0-9._-]+(?:\[[a-z]+\])?)==(\S+)( ; [^-]+?)?((?: +--hash=sha256:[0-9a-f]{64})+) *", line
        )
        assert match is not None, line
        found[match.group(1)] = match.group(2)
    return found


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_a_version_with_hashes_and_nothing_else(name: str) -> None:
    assert len(pinned(name)) > 40
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert "index" not in text
    assert " @ " not in text


def test_development_runs_on_what_production_runs_on() -> None:
    runtime, development, *with_extras = map(pinned, FILES)
    assert runtime.items() <= development.items()
    for extra in with_extras:
        assert runtime.items() < extra.items() <= development.items()


def test_every_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    always, extras = project["project"]["dependencies"], project["project"]["optional-dependencies"]
    wanted = {
        FILES[0]: always,
        FILES[1]: always + project["dependency-groups"]["dev"],
        FILES[2]: always + extras["kms"],
        FILES[3]: always + extras["otel"] + extras["sentry"],
    }
    for name, requirements in wanted.items():
        names = {re.split(r"[\[<>=]", requirement)[0].lower() for requirement in requirements}
        assert names <= set(pinned(name))
