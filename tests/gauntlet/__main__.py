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
import sys
import time
from typing import Any

from tests.gauntlet.installation import Installation
from tests.gauntlet.network import enter_own_network
from tests.gauntlet.report import Check

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
    "memory",
    "production",
)
IN_A_NETWORK_OF_ITS_OWN = ("production",)
"""They come last: the process that runs them stays in it, where no other server is reached."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gauntlet", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help=f"of {', '.join(SCENARIOS)} (default all)")
    parser.add_argument("--seed", type=int, help="of every choice that is left to chance; printed, to run it again")
    parser.add_argument("--pooled", action="store_true", help="put pgbouncer before the database, by transaction")
    parser.add_argument("--operations", type=int, help="how many random operations: of the scenario accounts alone")
    arguments = parser.parse_args()
    names = arguments.scenarios or list(SCENARIOS)
    if unknown := set(names) - set(SCENARIOS):
        parser.error(f"there is no scenario {min(unknown)}")
    if arguments.operations is not None and names != ["accounts"]:
        parser.error("--operations is for the scenario accounts alone")
    seed = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
    checks = [
        check
        for name in names
        for check in _run(name, seed, is_pooled=arguments.pooled, operations=arguments.operations)
    ]
    failed = [check for check in checks if not check.holds]
    print(f"\n{len(checks) - len(failed)} of {len(checks)} hold; seed {seed}")
    return 1 if failed else 0


def _run(name: str, seed: int, *, is_pooled: bool, operations: int | None) -> list[Check]:
    started = time.monotonic()
    print(f"{name}, seed {seed}", flush=True)
    if (load := os.getloadavg()[0]) > 0.5 * (os.cpu_count() or 1):
        print(f"  The machine is busy (load {load:.1f}): figures in seconds say little.")
    if name in IN_A_NETWORK_OF_ITS_OWN:
        enter_own_network()
    with Installation(is_pooled=is_pooled) as installation:
        scenario: Any = importlib.import_module(f"tests.gauntlet.{name}")
        if operations is not None:
            scenario.OPERATIONS = operations
        checks: list[Check] = scenario.run(installation, random.Random(seed))
    print()
    for check in checks:
        print(check)
    print(f"{time.monotonic() - started:.0f} s")
    return checks


if __name__ == "__main__":
    sys.exit(main())
