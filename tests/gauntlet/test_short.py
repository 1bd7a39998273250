"""The short forms that CI runs: each scenario has one, and it changes sizes that there are."""

from __future__ import annotations

import ctypes
import random
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.gauntlet import __main__ as gauntlet
from tests.gauntlet import network, upgrade
from tests.gauntlet.__main__ import BY_HAND, IN_CI, SCENARIOS, SKIPPED, scenario_of
from tests.gauntlet.lives import Deaths
from tests.gauntlet.report import Skipped


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_has_a_short_form_of_its_own_constants(name: str) -> None:
    scenario = scenario_of(name)
    assert scenario.SHORT
    for constant, value in scenario.SHORT.items():
        assert constant.isupper()
        assert type(value) is type(vars(scenario)[constant])


def test_ci_runs_every_scenario_but_those_that_are_by_hand() -> None:
    assert sorted([*IN_CI, *BY_HAND]) == sorted(SCENARIOS)


def test_a_shallow_clone_says_that_it_lacks_the_history(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As seen from it, its only commit adds every migration, and none is before it."""
    (tmp_path / "app" / "migrations").mkdir(parents=True)
    (tmp_path / "app" / "migrations" / "0001_initial.py").touch()
    commit = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "-m", "All there is"]
    for arguments in (["init", "-q"], ["add", "."], commit):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    monkeypatch.setattr(upgrade, "ROOT", tmp_path)
    with pytest.raises(Skipped, match="history of git"):
        upgrade._upgrades()


def test_without_the_right_to_a_network_of_its_own_it_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace(unshare=lambda _: -1))
    with pytest.raises(Skipped, match="network of its own"):
        network.enter_own_network()


@pytest.mark.parametrize(("may_skip", "code"), [(True, 0), (False, 1)])
def test_what_is_skipped_fails_by_hand_and_not_in_ci(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], may_skip: bool, code: int
) -> None:
    done = subprocess.CompletedProcess([], SKIPPED, "SKIPPED: no history\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    monkeypatch.setenv("DATABASE_URL", "postgres://unused")
    assert gauntlet._run_each(["upgrade"], 1, is_short=True, is_pooled=False, may_skip=may_skip) == code
    assert "SKIPPED: no history" in capsys.readouterr().out


def test_while_a_place_is_missed_more_die_up_to_a_bound() -> None:
    deaths = Deaths(must=["a", "b"], may=["c"], least=2, most=4)
    deaths.at.update(["a", "anywhere"])
    assert (deaths.missed, deaths.next(random.Random(1)), deaths.are_enough) == (["b"], "b", False)
    deaths.at["anywhere"] += 2
    assert deaths.are_enough
    assert not deaths.check().holds
    deaths.at["b"] += 1
    assert deaths.check().holds
