"""Compiled contracts, as they are committed beside their sources."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

CONTRACTS = Path(__file__).parents[1] / "contracts"


@dataclass(frozen=True, slots=True)
class Artifact:
    """`creation` is what a deployment sends, before its arguments; `runtime` what then stands on the chain, before
    the immutable values at its end."""

    name: str
    abi: list[dict[str, Any]]
    creation: bytes
    runtime: bytes


@cache
def artifact(name: str, folder: Path = CONTRACTS) -> Artifact:
    stored = json.loads((folder / f"{name}.json").read_text())
    return Artifact(
        name=name,
        abi=stored["abi"],
        creation=bytes.fromhex(stored["bytecode"][2:]),
        runtime=bytes.fromhex(stored["runtimeBytecode"][2:]),
    )
