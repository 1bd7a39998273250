"""A lower app calls what an upper one has registered, and nothing else."""

from __future__ import annotations

import pytest

from config.providers import Provider


def test_what_is_registered_is_called_with_the_arguments() -> None:
    difference: Provider[[int, int], int] = Provider("difference")
    difference.register(lambda left, right: left - right)
    assert difference(5, 3) == 2


def test_without_an_app_that_knows_it_says_what_is_missing() -> None:
    difference: Provider[[int, int], int] = Provider("difference")
    with pytest.raises(RuntimeError, match="no installed app provides difference"):
        difference(5, 3)


def test_a_second_app_is_refused_and_the_first_stays() -> None:
    total: Provider[[list[int]], int] = Provider("total")
    total.register(sum)
    with pytest.raises(RuntimeError, match="total is provided by builtins already"):
        total.register(max)
    assert total([1, 2]) == 3
