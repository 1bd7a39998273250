"""Requests made up by the rules of the schema: never a fault, always in shape, and some of them are accepted."""

from __future__ import annotations

from typing import Any

import pytest
from schemathesis import GenerationMode

from tests.api.schema_requests import answers_in_shape, positive

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.long]


@pytest.mark.parametrize("operation", positive, ids=[operation.label for operation in positive])
def test_requests_made_up_by_the_schema_are_answered_in_shape(operation: Any) -> None:
    statuses = answers_in_shape(operation, GenerationMode.POSITIVE)
    assert statuses.keys() & {200, 201}
