"""The local Horizon answers as a real one did, but for what is listed here and in docs/networks.md."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from stellar_sdk import StrKey

from payments.chains.stellar.addresses import split
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.network.network import Network
from tests.stellar.scenarios import first, second
from tests.stellar.scenarios.running import Scenario

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parent / "scenarios"
PASSPHRASE = "Standalone Network ; February 2017"

LONGEST_PAGE = 30
CLOCKS = {"sequence_time", "max_time", "abs_before_epoch"}
BALANCE_RESULT = bytes.fromhex("0000000e0000000000000000")
"""How the result of making a claimable balance begins; the balance's id comes after it."""

NOT_RECORDED = {"envelope_xdr", "signatures", "fee_meta_xdr", "result_meta_xdr", "header_xdr"}

DIFFERENT = {
    "valid_after": "gone since Horizon 23: preconditions say it",
    "valid_before": "gone since Horizon 23: preconditions say it",
    "errorResultXdr": "renamed in Horizon 23",
    "error_result_xdr": "renamed in Horizon 23",
    "horizon_version": "its own",
    "core_version": "its own",
    "current_protocol_version": "that of now",
    "supported_protocol_version": "that of now",
    "core_supported_protocol_version": "that of now",
    "protocol_version": "that of now",
}
"""Fields that are different, missing or new, and why. `NOT_RECORDED` are empty here, or depend on keys."""

Flat = dict[str, Any]
Answers = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def answers() -> Iterator[Answers]:
    """Both scenarios on one network, at the ledgers they were recorded at."""
    network = Network(PASSPHRASE, now=1_795_233_800)
    with LocalHorizon(network=network) as horizon:
        network.closes_at_once = True
        found = {}
        for name, module, begins_after in (("scenario1", first, 16), ("scenario2", second, 55)):
            while network.state.ledger < begins_after:
                horizon.close_ledger(1)
            horizon.reap_history(8)
            scenario = Scenario(horizon, module.NAMES)
            module.run(scenario)
            names = {key.public_key: who for who, key in scenario.keys.items()}
            found[name] = scenario.answers | {"names": names}
        yield found


@pytest.mark.parametrize("name", ["scenario1", "scenario2"])
def test_every_submission_is_answered_alike(name: str, answers: Answers) -> None:
    ours, recorded = answers[name], recording(name)
    compared = 0
    for label, said in recorded.items():
        if isinstance(said, dict) and (verdict := verdict_of(said)) is not None:
            assert (label, verdict_of(ours[label])) == (label, verdict)
            compared += 1
    assert compared >= {"scenario1": 42, "scenario2": 14}[name]


def test_what_differs_in_the_answers_is_known(answers: Answers) -> None:
    found: set[str] = set()
    for name in ("scenario1", "scenario2"):
        ours, recorded = answers[name], recording(name)
        for label, said in recorded.items():
            if label != "names":
                one, other = flat(said, recorded["names"]), flat(ours[label], ours["names"])
                asked = one.keys() | {each for each in other if "_links" not in each and not each.endswith(".detail")}
                found |= {f"{label}{path}" for path in asked if one.get(path) != other.get(path)}
    unexpected = {each for each in found if each.rpartition(".")[2] not in DIFFERENT}
    assert not unexpected
    assert {each.rpartition(".")[2] for each in found} == DIFFERENT.keys()


def recording(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_bytes())
    return found


def verdict_of(said: Any) -> tuple[int, Any, Any] | None:
    """HTTP status and result codes of a submission; None for an answer that is about something else."""
    body = said.get("body", {}) if isinstance(said, dict) else {}
    if "successful" in body:
        return said["status"], body["successful"], None
    if "tx_status" in body:
        return said["status"], body["tx_status"], None
    extras = body.get("extras") or {}
    if "result_codes" in extras or body.get("title") == "Transaction Malformed":
        return said["status"], body["title"], extras.get("result_codes")
    return None


def flat(said: Any, names: Mapping[str, str], path: str = "") -> Flat:
    """Every value by its path. What depends on keys and clocks is replaced by what it stands for."""
    if isinstance(said, dict):
        found = [flat(value, names, f"{path}.{key}") for key, value in said.items() if key not in NOT_RECORDED]
        return {key: value for each in found for key, value in each.items()}
    if isinstance(said, list):
        shown = said if len(said) <= LONGEST_PAGE else [*said[:8], *said[-3:]]
        return {k: v for place, each in enumerate(shown) for k, v in flat(each, names, f"{path}[{place}]").items()}
    return {path: plain(said, path.rpartition(".")[2], names)}


def plain(value: Any, field: str, names: Mapping[str, str]) -> Any:
    if not isinstance(value, str):
        return value
    if field in ("result_xdr", "errorResultXdr", "error_result_xdr"):
        return result_without_keys(value, names)
    if field in CLOCKS:
        return "<time>"
    value = re.sub(r"[GM][A-Z2-7]{55,68}", lambda found: named(found[0], names), value)
    value = re.sub(r"[0-9a-f]{64,72}", "<hash>", value)
    value = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "<time>", value)
    return re.sub(r"http://127.0.0.1:\d+", "", value)


def named(address: str, names: Mapping[str, str]) -> str:
    account, identifier = split(address)
    return names.get(account, address) if identifier is None else f"{names[account]}/{identifier}"


def result_without_keys(result: str, names: Mapping[str, str]) -> str:
    """A result in XDR with a name instead of each public key, and nothing instead of the hash of a fee bump's inner."""
    found = base64.b64decode(result)
    for address, name in names.items():
        found = found.replace(StrKey.decode_ed25519_public_key(address), name.ljust(32).encode())
    if found[8:12] in (b"\0\0\0\1", b"\xff\xff\xff\xf3"):
        found = found[:12] + found[44:]
    if BALANCE_RESULT in found:
        found = found[: found.index(BALANCE_RESULT) + len(BALANCE_RESULT)] + found[-4:]
    return found.hex()
