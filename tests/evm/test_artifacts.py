"""The compiled contracts are what their sources say."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from payments.chains.evm.deposit_addresses.artifacts import CONTRACTS, artifact
from tests.evm.compiling import COMPILER, FOLDERS, compiled, sources

# EIP-170 and EIP-3860.
LARGEST_CODE, LARGEST_CREATION_CODE = 24_576, 49_152


def test_the_compiler_is_the_one_the_artifacts_name() -> None:
    assert version("vyper") == COMPILER


def test_every_artifact_has_a_source() -> None:
    artifacts = {found for folder in FOLDERS for found in folder.glob("*.json")}
    assert artifacts == {source.with_suffix(".json") for source in sources()}


@pytest.mark.parametrize("source", sources(), ids=lambda source: f"{source.parent.name}-{source.stem}")
def test_a_source_compiles_to_its_artifact(source: Path) -> None:
    stored = json.loads(source.with_suffix(".json").read_text())
    assert compiled(source) == stored, f"{source.name} has changed: run `make contracts`"


def test_the_contracts_fit_on_every_network() -> None:
    factory, forwarder = artifact("Factory"), artifact("Forwarder")
    assert len(factory.runtime) <= LARGEST_CODE
    assert len(factory.creation) + len(forwarder.creation) + 6 * 32 <= LARGEST_CREATION_CODE
    assert len(forwarder.creation) <= 2048  # the factory takes no more


def test_the_contracts_can_be_read_in_one_sitting() -> None:
    lines = [line for source in CONTRACTS.glob("*.vy") for line in source.read_text().splitlines() if line.strip()]
    assert len(lines) <= 250
