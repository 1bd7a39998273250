"""What a lock file pins: the packages that one gets with Ballast."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LOCKS = {"": "requirements.txt", "-kms": "requirements-kms.txt", "-telemetry": "requirements-telemetry.txt"}
"""By what stands behind the release in the names of files about it."""


class Pinned(NamedTuple):
    name: str
    version: str
    marker: str
    """Where it is installed, as pip reads it; everywhere without one."""
    digests: tuple[str, ...]
    """SHA-256 of each file that it may be installed from."""


def pinned(lock: str) -> list[Pinned]:
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, version, rest = re.fullmatch(r"([a-z0-9-]+)==(\S+)(.*)", line).groups()  # type: ignore[union-attr]
        marker = rest.partition("--hash")[0].strip().removeprefix(";").strip()
        digests = tuple(sorted(re.findall(r"--hash=sha256:([0-9a-f]{64})", rest)))
        found.append(Pinned(name, version, marker, digests))
    return found
