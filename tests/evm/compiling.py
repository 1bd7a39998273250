"""`python -m tests.evm.compiling`: writes the compiled contracts anew beside their sources."""
# ruff: noqa: T201 - it says at the terminal what it wrote

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from payments.chains.evm.deposit_addresses.artifacts import CONTRACTS
from tests.evm.network import devnet

COMPILER = "0.4.3"
EVM_VERSION = "paris"
OPTIMIZE = "gas"

MODULES = {"Books"}
"""Sources that are parts of others and never stand on a chain themselves."""


VERSION_1 = Path(__file__).resolve().parents[1] / "proofs" / "version_1"
"""Contracts of before the first release, which the proofs show to be worse. They are never compiled anew."""
FOLDERS = (CONTRACTS, VERSION_1, devnet.CONTRACTS)


def sources() -> list[Path]:
    found = [source for folder in FOLDERS for source in folder.glob("*.vy")]
    return sorted(source for source in found if source.stem not in MODULES)


def compiled(source: Path) -> dict[str, Any]:
    """What a source becomes, with all that is needed to get the same again."""
    options = ["--evm-version", EVM_VERSION, "--optimize", OPTIMIZE]
    command = [sys.executable, "-m", "vyper.cli.vyper_compile", "-f", "abi,bytecode,bytecode_runtime", *options]
    run = subprocess.run([*command, source.name], cwd=source.parent, capture_output=True, text=True, check=True)
    abi, bytecode, runtime = run.stdout.splitlines()
    return {
        "contractName": source.stem,
        "compiler": {"name": "vyper", "version": COMPILER},
        "settings": {"evmVersion": EVM_VERSION, "optimize": OPTIMIZE},
        "abi": json.loads(abi),
        "bytecode": bytecode,
        "runtimeBytecode": runtime,
    }


def main() -> None:
    for source in sources():
        if source.parent == VERSION_1:
            continue
        target = source.with_suffix(".json")
        target.write_text(json.dumps(compiled(source), indent=2) + "\n")
        print(f"wrote {target.relative_to(Path.cwd())}")


if __name__ == "__main__":
    main()
