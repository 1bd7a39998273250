"""Which clock is believed where no database answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection

from config.database.database_time import best_known_now, database_now

pytestmark = pytest.mark.django_db


def test_a_command_without_a_database_goes_by_this_machines_clock() -> None:
    def be_away(*_: Any) -> None:
        raise OperationalError("nobody there")

    assert abs(best_known_now() - database_now()) < timedelta(minutes=1)
    with connection.execute_wrapper(be_away):
        assert abs(best_known_now() - datetime.now(UTC)) < timedelta(minutes=1)
        with pytest.raises(OperationalError):
            database_now()
