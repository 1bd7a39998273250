"""The short forms that CI runs: each scenario has one, and it changes sizes that there are."""

from __future__ import annotations

import pytest

from tests.gauntlet.__main__ import SCENARIOS, scenario_of


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_has_a_short_form_of_its_own_constants(name: str) -> None:
    scenario = scenario_of(name)
    assert scenario.SHORT
    for constant, value in scenario.SHORT.items():
        assert constant.isupper()
        assert type(value) is type(vars(scenario)[constant])
