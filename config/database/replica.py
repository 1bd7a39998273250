"""Reads of lists and reports from a replica, which has by then all that was committed before they began.

A page that shows old data after one's own write would be worse than a slow one, and so would one that lacks what a
worker did for it. So the primary is asked for the position of its log, and the replica used once it is there: nobody
has to remember who wrote what, and no page can show less than the primary did when it was asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, InterfaceError, OperationalError, connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.template.response import TemplateResponse
from psycopg.errors import QueryCanceled, SerializationFailure

REPLICA: Final = "replica"
WAIT_SECONDS: Final = 0.1
"""Time a page waits for the replica to have all that was committed; then it reads from the primary."""
LOOK_SECONDS: Final = 0.005
BEHIND_SECONDS, DOWN_SECONDS = 1.0, 60.0
"""Time the replica is left alone by a process once it was behind, or did not answer: to find out again whether it does
may take seconds, in which the process takes no payment."""

logger = structlog.get_logger(__name__)
_read_from: ContextVar[str] = ContextVar("read_from", default=DEFAULT_DB_ALIAS)
_left_alone_until = 0.0

# A commit can be seen once it is flushed, but for synchronous_commit=off. What is inserted behind that, by transactions
# that are open and by reads that tidy pages, reaches the standby only with a later commit.
# A server's timeline is another after a promotion: positions of two timelines are not to be compared.
_COMMITTED = """
    SELECT at::text, ('x' || left(pg_walfile_name(at), 8))::bit(32)::int FROM (
        SELECT CASE current_setting('synchronous_commit')
            WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END
    ) AS committed (at)
"""
_HAS_ALL = """
    SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %s::pg_lsn
        AND (SELECT timeline_id FROM pg_control_checkpoint()) = %s
"""

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Request = TypeVar("_Request", bound=HttpRequest)


class ReplicaRouter:
    """Sends reads to the replica inside `from_replica`, unless a database transaction is open, and all else to the
    primary."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return read_alias()

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Any, other: Any, **hints: Any) -> bool:
        return True  # both are the same data

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


def read_alias() -> str:
    """Name of the database that reads go to now."""
    chosen = _read_from.get()
    return DEFAULT_DB_ALIAS if connections[DEFAULT_DB_ALIAS].in_atomic_block else chosen


def reading_cursor() -> Any:
    """A cursor for a SELECT of a report, where the ORM's reads would go too."""
    return connections[read_alias()].cursor()


def from_replica(read: Callable[[], _T]) -> _T:
    """Returns what `read` returns, whose reads go to the replica if there is one that has everything. When it fails
    meanwhile, everything is read again from the primary."""
    if REPLICA in settings.DATABASES and not connections[DEFAULT_DB_ALIAS].in_atomic_block and _may_be_used():
        token = _read_from.set(REPLICA)
        try:
            return read()
        except (OperationalError, InterfaceError) as error:
            if isinstance(error.__cause__, QueryCanceled):
                raise  # it would take as long there
            is_conflict = isinstance(error.__cause__, SerializationFailure)  # with rows that the primary cleaned away
            _leave_alone(BEHIND_SECONDS if is_conflict else DOWN_SECONDS, str(error))
        finally:
            _read_from.reset(token)
    return read()


def reads_from_replica(
    view: Callable[Concatenate[_Request, _P], HttpResponseBase],
) -> Callable[Concatenate[_Request, _P], HttpResponseBase]:
    """Decorator of a view or action that shows a list, a report or a file of one, and decides nothing: GET and HEAD
    read from the replica. A file on its way is broken off when the replica fails."""

    @wraps(view)
    def shown(request: _Request, /, *args: _P.args, **kwargs: _P.kwargs) -> HttpResponseBase:
        def show() -> HttpResponseBase:
            response = view(request, *args, **kwargs)
            if isinstance(response, TemplateResponse):
                response.render()
            if type(response) is StreamingHttpResponse and _read_from.get() == REPLICA:
                response.streaming_content = _each_from_replica(iter(response))
            return response

        return from_replica(show) if request.method in ("GET", "HEAD") else view(request, *args, **kwargs)

    return shown


def _each_from_replica(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The parts of a file, which are read while it is sent."""
    while True:
        token = _read_from.set(REPLICA)
        try:
            part = next(parts)
        except StopIteration:
            return
        finally:
            _read_from.reset(token)
        yield part


def _may_be_used() -> bool:
    """True once the replica has everything; False if that takes long, if it does not answer, or is left alone."""
    if time.monotonic() < _left_alone_until:
        return False
    try:
        if has_everything(WAIT_SECONDS):
            return True
    except Error as error:
        _leave_alone(DOWN_SECONDS, str(error))
    else:
        _leave_alone(BEHIND_SECONDS, "it is behind")
    return False


def has_everything(within_seconds: float) -> bool:
    """True once the replica has all that the primary had committed when this was called, False when time is over.
    Raises a database error where one of them does not answer."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(_COMMITTED)
        committed = cursor.fetchone()
    until = time.monotonic() + within_seconds
    with connections[REPLICA].cursor() as cursor:
        while True:
            cursor.execute(_HAS_ALL, committed)
            if cursor.fetchone() == (True,):
                return True
            if time.monotonic() > until:
                return False
            time.sleep(LOOK_SECONDS)


def _leave_alone(seconds: float, why: str) -> None:
    global _left_alone_until
    _left_alone_until = time.monotonic() + seconds
    logger.warning("replica_left_alone", seconds=seconds, why=why)
