"""Base units on their way into a column."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from config.fields import UnitsField


@pytest.mark.parametrize(
    ("value", "units"), [(None, None), (5, 5), (Decimal(5), 5), (Decimal("5E+20"), 5 * 10**20), ("-7", -7)]
)
def test_whole_numbers_become_integers(value: Any, units: int | None) -> None:
    assert UnitsField().to_python(value) == units


@pytest.mark.parametrize("value", [5.0, Decimal("5.5"), Decimal("NaN"), "5.5", "1_000", "５", "", "-", True, [5]])
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError, match="whole number of base units"):
        UnitsField().to_python(value)
