"""The places where processes of the gauntlet die are where the code is: one that has moved would never be died at."""

from __future__ import annotations

from tests.gauntlet import failpoints


def test_every_step_is_where_the_list_says() -> None:
    failpoints.check()
