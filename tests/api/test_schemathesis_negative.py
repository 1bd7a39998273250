"""Requests made up against the rules of the schema: never a fault, always refused in shape."""

from __future__ import annotations

from typing import Any

import pytest
from schemathesis import GenerationMode

from tests.api.schema_requests import answers_in_shape, negative

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.long]


@pytest.mark.parametrize("operation", negative, ids=[operation.label for operation in negative])
def test_requests_made_up_against_the_schema_are_answered_in_shape(operation: Any) -> None:
    answers_in_shape(operation, GenerationMode.NEGATIVE)
