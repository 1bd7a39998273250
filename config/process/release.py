"""The release of Ballast that this is."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

RELEASE: Final[str] = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["version"]
"""As in pyproject.toml, the one place that has it; the image and the source archive have that file."""
