"""What every test may rely on."""

from __future__ import annotations

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Let the test database be emptied: between transactional tests Django truncates every table.

    The ledger refuses that in any database which does not carry this setting.
    """
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:
            database = connection.ops.quote_name(str(connection.settings_dict["NAME"]))
            cursor.execute(f"ALTER DATABASE {database} SET ballast.allow_truncate = 'on'")
        connection.close()  # the setting is there from the next session on
