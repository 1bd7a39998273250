"""Identity of the server and the tables of this connection. An ordinary database role may read all of it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from config.installation.models import Installation

_OIDS_AND_RIGHTS = """
    SELECT (SELECT oid FROM pg_database WHERE datname = current_database())::bigint, %s::regclass::oid::bigint,
        has_function_privilege('pg_control_system()', 'EXECUTE'),
        has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE')
            AND has_function_privilege('pg_current_wal_insert_lsn()', 'EXECUTE') AND NOT pg_is_in_recovery()
"""
_SERVER = "(SELECT system_identifier::text FROM pg_control_system())"
_TIMELINE = "('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint"


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
        cursor.execute(_OIDS_AND_RIGHTS, [Installation._meta.db_table])
        database_oid, table_oid, knows_server, knows_timeline = cursor.fetchone() or (0, 0, False, False)
        # PostgreSQL refuses a function without the right even where a condition would skip it.
        cursor.execute(f"SELECT {_SERVER if knows_server else 'NULL'}, {_TIMELINE if knows_timeline else 'NULL'}")
        server, timeline = cursor.fetchone() or (None, None)
    return Identity(server or "", database_oid, table_oid, timeline)
