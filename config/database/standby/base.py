"""Django's database engine for a standby: a page does not wait for one that hangs.

A server that is frozen keeps its connections open, and ends no statement of its own accord.
"""

from __future__ import annotations

from typing import Any

from config.database.pooled import base as pooled
from config.database.postgresql import base


class Connection(pooled.Connection):
    def _is_anybody_answered(self, *, is_first: bool) -> bool:
        """True if the standby takes a connection and a statement, whatever this one is in."""
        return super()._is_anybody_answered(is_first=True)


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        connection.__class__ = Connection
        # Of several hosts the one that is to be looked at.
        connection.parameters = {**conn_params, "host": connection.info.host, "port": connection.info.port}
        return connection
