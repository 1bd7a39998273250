"""Database sessions that outlive a transaction. Behind a pooler of transactions they go to PostgreSQL itself."""

from __future__ import annotations

from threading import local
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import DatabaseWrapper

_here = local()


class SessionShared(Exception):
    """The session belongs to a pooler: its locks would be shared by many clients."""


def new_session() -> BaseDatabaseWrapper:
    """A new connection, whose session and locks last until it is closed."""
    default = connections["default"]
    if not settings.DATABASE_DIRECT:
        return default.copy()
    direct: dict[str, Any] = {**default.settings_dict, **settings.DATABASE_DIRECT}
    direct["NAME"] = settings.DATABASE_DIRECT["NAME"] or default.settings_dict["NAME"]
    return DatabaseWrapper(direct, alias="default")


def session_of_thread() -> BaseDatabaseWrapper:
    """This thread's connection for session locks, the same on each call."""
    if not settings.DATABASE_DIRECT:
        return connections["default"]
    session: BaseDatabaseWrapper | None = getattr(_here, "session", None)
    if session is None:
        session = _here.session = new_session()
    session.close_if_unusable_or_obsolete()
    return session


def keep_to_one_session() -> None:
    """Start a new session, which everything that this thread does in the database uses from now on."""
    connections["default"].close()
    if settings.DATABASE_DIRECT:
        connections["default"] = new_session()


def require_own_session(session: BaseDatabaseWrapper) -> None:
    """Raises SessionShared when a pooler has dropped a setting of the session, which many clients may then share."""
    with session.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout')")
        [found] = cursor.fetchone() or [""]
    if found != settings.DATABASE_LIMITS["lock_timeout"]:
        raise SessionShared(
            "A pooler stands between Ballast and PostgreSQL. Set DATABASE_DIRECT_URL to PostgreSQL's own address."
        )
