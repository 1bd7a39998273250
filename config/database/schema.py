"""The engine's part in migrations: an index that is built beside the writers waits as long as it must, and anew; one
that is noted makes no model anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from django.conf import settings
from django.db import Error
from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from django.db.migrations.state import ProjectState
from django.db.models import Index, Model

_CONCURRENTLY: Final = re.compile(r"\s*(CREATE|DROP|REINDEX)\s[^;]*?\sCONCURRENTLY\s", re.IGNORECASE)


class SchemaEditor(DatabaseSchemaEditor):
    def add_index(self, model: type[Model], index: Index, concurrently: bool = False) -> None:
        """What an interrupted run has left of an index built CONCURRENTLY goes first: it may be invalid."""
        if concurrently:
            self.execute(index.remove_sql(model, self, concurrently=True))
        super().add_index(model, index, concurrently=concurrently)

    def execute(self, sql: Any, params: Any = ()) -> None:
        if self.collect_sql or not _CONCURRENTLY.match(str(sql)):
            super().execute(sql, params)
            return
        with self._without_lock_timeout():
            super().execute(sql, params)

    @contextmanager
    def _without_lock_timeout(self) -> Iterator[None]:
        """PostgreSQL waits for all older database transactions, such as that of a backup, and hinders nobody meanwhile.

        Giving up would leave an invalid index. Behind a pooler such a statement has no limits anyway.
        """
        if settings.BEHIND_TRANSACTION_POOLER:
            yield
            return
        with self.connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 0")
            try:
                yield
            finally:
                with suppress(Error):  # of a lost connection the statement tells
                    cursor.execute("RESET lock_timeout")


def _append_option(state: ProjectState, app_label: str, model_name: str, option: str, added: Any) -> None:
    """Note an index or a constraint in the model there is.

    Django makes that model anew, and all that refer to it and it to: with a merchant in nearly all tables that was half
    of what a first `migrate` computes.
    """
    options = state.models[app_label, model_name].options
    options[option] = [*options[option], added]
    if "apps" in state.__dict__:  # else no model has been made
        setattr(state.apps.get_model(app_label, model_name)._meta, option, options[option])


ProjectState._append_option = _append_option  # type: ignore[attr-defined]
