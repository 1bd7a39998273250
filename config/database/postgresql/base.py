"""Django's database engine, whose health check of a busy connection is no round trip, and which can prepare statements.

A server that ends or loses a session closes its connection, which the kernel knows. Only of a connection that has been
idle can it be wrong: whoever was in between may have forgotten it.
"""

from __future__ import annotations

import select
from time import monotonic
from typing import Any, Final

from django.db.backends.postgresql import base
from psycopg import OperationalError

from config.database.schema import SchemaEditor

BUSY_SECONDS: Final = 5.0


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = SchemaEditor
    health_check_done: bool
    _asked_at = 0.0

    def get_connection_params(self) -> dict[str, Any]:
        return {**super().get_connection_params(), "prepare_threshold": 5}

    def close_if_health_check_failed(self) -> None:
        """Called before each statement; the first of a request checks the connection."""
        now = monotonic()
        if not self.health_check_done and now - self._asked_at < BUSY_SECONDS and self._is_open():
            self.health_check_done = True
        super().close_if_health_check_failed()
        self._asked_at = now

    def _is_open(self) -> bool:
        """True if nothing has come from the server since its last reply: neither its farewell nor the end."""
        if self.connection is None or self.errors_occurred:
            return False
        poll = select.poll()
        try:
            poll.register(self.connection.pgconn.socket, select.POLLIN | select.POLLPRI)
        except OperationalError:  # it is closed on this side
            return False
        return not poll.poll(0)
