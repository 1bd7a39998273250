"""A database of a version before the first release is refused before anything is changed."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection

pytestmark = pytest.mark.django_db


def migrate() -> None:
    call_command("migrate", plan=True, verbosity=0, skip_checks=False)


def test_a_database_of_before_is_refused_with_the_commit_to_run_first() -> None:
    migrate()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'ledger'")
        cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('ledger', '0016_before', now())")
    with pytest.raises(ImproperlyConfigured, match=r"before the first release\. Run .* of commit \w{7} once"):
        migrate()
