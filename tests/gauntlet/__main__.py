"""`python -m tests.gauntlet webhooks [--seed N]`: real processes, killed again and again, and what they must still do.

Everything is made for the run and removed after it. DATABASE_URL names a server to make a database on; without it an
embedded PostgreSQL is used, and killed as well.
"""
# ruff: noqa: T201 - its report goes to standard output

from __future__ import annotations

import argparse
import importlib
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import ModuleType
from typing import Any

from tests.gauntlet.installation import TEMPLATE, Installation, template
from tests.gauntlet.network import enter_own_network
from tests.gauntlet.report import Check, Skipped

SCENARIOS = (
    "webhooks",
    "crash",
    "settlements",
    "refunds",
    "accounts",
    "evm",
    "stellar",
    "providers",
    "keys",
    "redis",
    "restore",
    "upgrade",
    "memory",
    "soak",
    "production",
    "failover",
    "replica",
)
IN_CI = (
    "production",
    "accounts",
    "keys",
    "upgrade",
    "restore",
    "providers",
    "webhooks",
    "redis",
    "settlements",
    "stellar",
    "crash",
    "memory",
    "soak",
    "evm",
    "refunds",
)
"""What `--short` does where no scenario is named, the longest first."""

BY_HAND = ("failover", "replica")
"""Scenarios with so many processes that even their short form takes minutes on two cores."""

BESIDE_EACH_OTHER = 3
"""Short forms that run at the same time: most of what each does is to wait."""

ON_AN_EMPTY_DATABASE = ("upgrade", "failover", "replica")
IN_A_NETWORK_OF_ITS_OWN = ("production",)
"""The process that runs them stays in it, where no other server is reached."""

SKIPPED = 77
"""A failure to whoever names a scenario; what CI does goes on without it."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gauntlet", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help=f"of {', '.join(SCENARIOS)} (default all)")
    parser.add_argument("--seed", type=int, help="of every choice that is left to chance; printed, to run it again")
    parser.add_argument(
        "--short",
        action="store_true",
        help=f"a small form of it; where none is named, of {', '.join(IN_CI)}, as CI does",
    )
    parser.add_argument("--pooled", action="store_true", help="put pgbouncer before the database, by transaction")
    parser.add_argument("--operations", type=int, help="how many random operations: of the scenario accounts alone")
    parser.add_argument("--old", help="the commit to upgrade from: of the scenario upgrade alone")
    parser.add_argument("--movements", type=int, help="how many are to be found again: of the scenario restore alone")
    parser.add_argument("--seconds", type=float, help="how long it lasts: of the scenario soak alone")
    arguments = parser.parse_args()
    names = arguments.scenarios or list(IN_CI if arguments.short else SCENARIOS)
    if unknown := set(names) - set(SCENARIOS):
        parser.error(f"there is no scenario {min(unknown)}")
    more = {"OPERATIONS": arguments.operations, "OLD": arguments.old, "MOVEMENTS": arguments.movements}
    more["SECONDS"] = arguments.seconds
    more = {constant: value for constant, value in more.items() if value is not None}
    takes = {"accounts": {"OPERATIONS"}, "upgrade": {"OLD"}, "restore": {"MOVEMENTS"}, "soak": {"SECONDS"}}
    if more.keys() - takes.get(",".join(names), set()):
        parser.error(
            "--operations is for accounts alone, --old for upgrade, --movements for restore, --seconds for soak"
        )
    seed = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
    if len(names) > 1:
        may_skip = arguments.short and not arguments.scenarios
        return _run_each(names, seed, is_short=arguments.short, is_pooled=arguments.pooled, may_skip=may_skip)
    try:
        checks = _run(names[0], seed, more, is_short=arguments.short, is_pooled=arguments.pooled)
    except Skipped as reason:
        print(f"\nSKIPPED: {reason}")
        return SKIPPED
    failed = [check for check in checks if not check.holds]
    print(f"\n{len(checks) - len(failed)} of {len(checks)} hold; seed {seed}")
    return 1 if failed else 0


def _run_each(names: list[str], seed: int, *, is_short: bool, is_pooled: bool, may_skip: bool) -> int:
    """Each in a process of its own, whose settings are those of its own installation. Short ones run side by side."""
    options = ["--seed", str(seed), *["--short"] * is_short, *["--pooled"] * is_pooled]
    codes, seconds, begun = dict[str, int](), dict[str, float](), time.monotonic()

    def run(name: str) -> None:
        started = time.monotonic()
        command = [sys.executable, "-m", "tests.gauntlet", name, *options]
        output, errors = (subprocess.PIPE, subprocess.STDOUT) if is_short else (None, None)
        done = subprocess.run(command, check=False, text=True, stdout=output, stderr=errors)
        seconds[name] = time.monotonic() - started
        codes[name] = done.returncode
        print(done.stdout or "", flush=True)

    with ExitStack() as stack:
        if not os.environ.get("DATABASE_URL"):
            os.environ[TEMPLATE] = str(stack.enter_context(template()))
        pool = stack.enter_context(ThreadPoolExecutor(BESIDE_EACH_OTHER if is_short else 1))
        list(pool.map(run, names))
    took = ", ".join(f"{name} {each:.0f}" for name, each in seconds.items())
    skipped = [name for name, code in codes.items() if code == SKIPPED and may_skip]
    failed = [name for name, code in codes.items() if code and name not in skipped]
    verdict = f"failed: {', '.join(failed)}" if failed else f"all {len(names) - len(skipped)} hold"
    verdict += f"; skipped: {', '.join(skipped)}" * bool(skipped)
    print(f"\n{verdict}; seed {seed}; {time.monotonic() - begun:.0f} s: {took}")
    return 1 if failed else 0


def scenario_of(name: str) -> ModuleType:
    """The module whose constants are a scenario's sizes."""
    return sys.modules[importlib.import_module(f"tests.gauntlet.{name}").run.__module__]


def _run(name: str, seed: int, more: dict[str, Any], *, is_short: bool, is_pooled: bool) -> list[Check]:
    started = time.monotonic()
    print(f"{name}{', short' * is_short}, seed {seed}", flush=True)
    if (load := os.getloadavg()[0]) > 0.5 * (os.cpu_count() or 1):
        print(f"  The machine is busy (load {load:.1f}): figures in seconds say little.")
    if name in IN_A_NETWORK_OF_ITS_OWN:
        enter_own_network()
    with Installation(is_pooled=is_pooled, is_empty=name in ON_AN_EMPTY_DATABASE) as installation:
        scenario = scenario_of(name)
        for constant, value in ((scenario.SHORT if is_short else {}) | more).items():
            setattr(scenario, constant, value)
        checks: list[Check] = scenario.run(installation, random.Random(seed))
    print()
    for check in checks:
        print(check)
    print(f"{time.monotonic() - started:.0f} s")
    return checks


if __name__ == "__main__":
    sys.exit(main())
