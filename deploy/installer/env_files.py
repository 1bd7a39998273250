"""Files of settings that systemd reads as EnvironmentFile: NAME=value, a line each."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]*")
_UNREADABLE = re.compile(r"['\\\n\r$`]")


def read(path: Path) -> dict[str, str]:
    """The settings in a file; empty where there is none."""
    if not path.exists():
        return {}
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        name, separator, value = line.strip().partition("=")
        if not name or name.startswith("#"):
            continue
        if not separator or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"{path}, line {number}: write NAME=value")
        found[name] = " ".join(shlex.split(value)) if value[:1] in "'\"" else value
    return found


def line(name: str, value: str) -> str:
    """As systemd and this module read it alike; ValueError for what they would not."""
    if _UNREADABLE.search(value):
        raise ValueError(
            f"{name} has a quote, a backslash, a dollar sign or a line break in it, which a file of settings cannot"
        )
    return f"{name}={value}" if _PLAIN.fullmatch(value) else f"{name}='{value}'"


def write(path: Path, heading: str, values: Mapping[str, str]) -> None:
    """Write a file that only its owner may read, at once or not at all."""
    text = "".join(f"# {each}\n" for each in heading.splitlines())
    text += "".join(f"{line(name, value)}\n" for name, value in values.items())
    beside = path.with_name(f".{path.name}.new")
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    beside.replace(path)
