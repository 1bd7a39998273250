"""Identity of the server and the tables of this connection. An ordinary database role may read all of it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from config.installation.models import Installation

_RIGHTS = """
    SELECT has_function_privilege('pg_control_system()', 'EXECUTE'),
        has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE')
            AND has_function_privilege('pg_current_wal_insert_lsn()', 'EXECUTE') AND NOT pg_is_in_recovery()
"""
_OIDS = "SELECT (SELECT oid FROM pg_database WHERE datname = current_database())::bigint, %s::regclass::oid::bigint"
_SERVER = "SELECT system_identifier::text FROM pg_control_system()"
_TIMELINE = "SELECT ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint"


@dataclass(frozen=True, slots=True)
class Identity:
    """`server` is PostgreSQL's system identifier. It and `timeline` are empty where this role may not read them."""

    server: str
    database_oid: int
    table_oid: int
    timeline: int | None

    def is_copied_from(self, row: Installation) -> bool:
        """True if the row was written in other tables than these, as in every restored dump."""
        servers = {self.server, row.server}
        return (
            self.table_oid != row.table_oid
            or self.database_oid != row.database_oid
            or (len(servers) > 1 and "" not in servers)
        )

    def is_later_than(self, row: Installation) -> bool:
        """True if the server has been promoted or recovered since the row was written."""
        return None not in (self.timeline, row.timeline) and self.timeline != row.timeline


def identity_here() -> Identity:
    with connection.cursor() as cursor:
        cursor.execute(_OIDS, [Installation._meta.db_table])
        database_oid, table_oid = cursor.fetchone() or (0, 0)
        cursor.execute(_RIGHTS)
        knows_server, knows_timeline = cursor.fetchone() or (False, False)
        server, timeline = "", None
        if knows_server:
            cursor.execute(_SERVER)
            [server] = cursor.fetchone() or [""]
        if knows_timeline:
            cursor.execute(_TIMELINE)
            [timeline] = cursor.fetchone() or [None]
    return Identity(server, database_oid, table_oid, timeline)
