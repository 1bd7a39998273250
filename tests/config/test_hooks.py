"""A lower app calls what an upper one has registered, and nothing else; the product runs without what tests it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config.hooks import Hook, of_a_checkout

ROOT = Path(__file__).resolve().parents[2]


def test_what_is_registered_is_called_with_the_arguments() -> None:
    difference: Hook[[int, int], int] = Hook("difference")
    difference.register(lambda left, right: left - right)
    assert difference(5, 3) == 2


def test_without_an_app_that_knows_it_says_what_is_missing() -> None:
    difference: Hook[[int, int], int] = Hook("difference")
    with pytest.raises(RuntimeError, match="no installed app provides difference"):
        difference(5, 3)


def test_a_second_app_is_refused_and_the_first_stays() -> None:
    total: Hook[[list[int]], int] = Hook("total")
    total.register(sum)
    with pytest.raises(RuntimeError, match="total is provided by builtins already"):
        total.register(max)
    assert total([1, 2]) == 3


def test_what_a_checkout_itself_lacks_is_not_taken_for_a_missing_checkout() -> None:
    with pytest.raises(ModuleNotFoundError):
        of_a_checkout("tests.devnet.nothing")


def test_without_a_checkout_the_networks_of_devnet_say_where_they_are(tmp_path: Path) -> None:
    """With what the image has."""
    lines = [line.split() for line in (ROOT / "Dockerfile").read_text().splitlines()]
    copied = [name for line in lines if line[:1] == ["COPY"] for name in line[1:-1]]
    for name in copied:
        if (source := ROOT / name).is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, tmp_path)
    own = {"BALLAST_MODE": "embedded", "BALLAST_VAR": str(tmp_path / "var"), "PATH": "/usr/bin:/bin"}
    for command, chain in (("devnet", "simulated"), ("devnet_pay", "simulated"), ("check", "devnet")):
        run = subprocess.run(
            [sys.executable, "manage.py", command],
            cwd=tmp_path,
            env=own | {"SANDBOX_CHAIN": chain},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (run.returncode, run.stderr.count("\n")) == (3, 1), run.stderr
        assert "In a checkout `make devnet` runs them" in run.stderr
