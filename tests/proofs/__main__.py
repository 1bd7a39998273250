"""`make proofs`: proves each property on every path, and finds what shows the false ones false."""
# ruff: noqa: T201 - it says at the terminal what it proved

from __future__ import annotations

import sys
from time import perf_counter

from tests.proofs.engine import Unproven
from tests.proofs.properties import FALSE, PROPERTIES


def main() -> int:
    failed, all_paths, begun = 0, 0, perf_counter()
    for each in PROPERTIES:
        paths, successes, since = 0, 0, perf_counter()
        try:
            for end in each():
                paths += 1
                successes += end.succeeds
            verdict = "proved"
            if not paths:
                raise Unproven("there is no path that it could fail on")
        except Unproven as error:
            verdict, failed = f"NOT PROVED ({error})", failed + 1
        all_paths += paths
        took = perf_counter() - since
        print(f"{verdict}: {each.__name__}, {paths} paths, {successes} without a revert, {took:.1f} s", flush=True)
    for each in FALSE:
        try:
            paths = sum(1 for _ in each())
            print(f"NOT FOUND: {each.__name__} holds on {paths} paths, and must not", flush=True)
            failed += 1
        except Unproven as error:
            print(f"found: what shows {each.__name__} false ({error})", flush=True)
    print(f"{len(PROPERTIES)} properties, {all_paths} paths, {perf_counter() - begun:.0f} s, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
