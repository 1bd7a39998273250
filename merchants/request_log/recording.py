"""Writes the log of API requests: the request leaves an entry in the process, and a thread writes many at once.

Nothing of it is in a request's database transaction, so what is rolled back is logged too, and nobody waits for it.
What the thread has not written when its process is killed is lost: less than a second of the log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from threading import Event, Lock, Thread
from typing import Any, Final, NamedTuple
from uuid import UUID

import structlog
from django.db import close_old_connections, connection

from config.api.renderers import read_json
from config.periodic.containment import contained
from merchants.request_log.bodies import beginning_of, kept_text, without_secrets
from merchants.request_log.models import LoggedRequest

logger = structlog.get_logger(__name__)

MOST_WAITING: Final = 2_000
"""Entries that wait to be written. Beyond it they are dropped and counted: a slow database must not fill the memory."""
BATCH: Final = 200
GATHER_SECONDS: Final = 0.5
IDLE_SECONDS: Final = 60.0
"""After so long without a request the thread gives its connection back."""


class Entry(NamedTuple):
    """A request and its reply, with no more of the bodies than is kept."""

    id: UUID
    merchant_id: UUID
    environment: str
    public_key: str
    request_id: str
    method: str
    path: str
    query: str
    idempotency_key: str
    address: str | None
    status: int
    duration_milliseconds: int
    body: bytes
    body_bytes: int
    reply: bytes
    reply_bytes: int


class Recorder:
    """The entries of this process that wait, and the thread that writes them."""

    def __init__(self, *, most_waiting: int = MOST_WAITING) -> None:
        self._waiting: deque[Entry] = deque()
        self._most_waiting = most_waiting
        self._starting = Lock()
        self._thread: Thread | None = None
        self._ended = Event()
        self._dropped = 0

    def add(self, entry: Entry) -> None:
        """Leave an entry to be written; never waits."""
        if len(self._waiting) < self._most_waiting:
            self._waiting.append(entry)
        else:
            self._dropped += 1

    def start(self) -> None:
        """Start the thread, unless it runs: in each process with its first request."""
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._thread = Thread(target=self._run, name="request-log", daemon=True)
                    self._thread.start()

    def end(self) -> None:
        """Write what waits, and end the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def flush(self) -> int:
        """Write everything that waits; returns how many entries that were."""
        written = 0
        while batch := self._taken():
            write(batch)
            written += len(batch)
        return written

    def _run(self) -> None:
        idle = 0.0
        while not self._ended.wait(GATHER_SECONDS):
            close_old_connections()
            idle = 0.0 if self.flush() else idle + GATHER_SECONDS
            if idle >= IDLE_SECONDS:
                connection.close()
            self._log_dropped()
        self.flush()
        connection.close()

    def _log_dropped(self) -> None:
        if self._dropped:
            logger.warning("requests_not_logged", count=self._dropped, reason="too many waited to be written")
            self._dropped = 0

    def _taken(self) -> list[Entry]:
        taken: list[Entry] = []
        while len(taken) < BATCH:
            try:
                taken.append(self._waiting.popleft())
            except IndexError:
                break
        return taken


_COLUMNS: Final = LoggedRequest._meta.local_concrete_fields
_WRITE: Final = f"COPY {LoggedRequest._meta.db_table} ({', '.join(field.attname for field in _COLUMNS)}) FROM STDIN"


def write(entries: Sequence[Entry]) -> None:
    """Write entries by one statement. What cannot be written is lost, and that is logged."""
    with contained("requests_not_logged", count=len(entries)):
        rows = [_row(entry) for entry in entries]
        with connection.wrap_database_errors, connection.cursor() as cursor, cursor.copy(_WRITE) as copy:
            for row in rows:
                copy.write_row([row[field.name] for field in _COLUMNS])


def _row(entry: Entry) -> dict[str, Any]:
    """The values of an entry by the names of their fields."""
    reply = kept_text(entry.reply)
    return {
        "id": entry.id,
        "merchant": entry.merchant_id,
        "environment": entry.environment,
        "public_key": entry.public_key,
        "request_id": entry.request_id,
        "method": entry.method[:10],
        "path": without_secrets(entry.path)[:500],
        "query": without_secrets(entry.query)[:2000],
        "idempotency_key": without_secrets(entry.idempotency_key)[:255],
        "address": entry.address,
        "status": entry.status,
        "error_code": _error_code(reply) if entry.status >= 400 else "",
        "duration_milliseconds": entry.duration_milliseconds,
        "body": kept_text(entry.body),
        "body_bytes": entry.body_bytes,
        "reply": reply,
        "reply_bytes": entry.reply_bytes,
    }


def _error_code(reply: str) -> str:
    try:
        return str(read_json(reply)["error"]["code"])[:60]
    except (ValueError, TypeError, LookupError):
        return ""


def beginning(body: bytes) -> tuple[bytes, int]:
    """The part of a body in an entry, and the length of the whole body."""
    return beginning_of(body), len(body)


RECORDER: Final = Recorder()
