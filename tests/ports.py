"""Ports for servers that are told theirs, and cannot ask the system for one."""

from __future__ import annotations

import fcntl
import socket
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

FIRST, LAST = 20_000, 31_999
"""Below those that systems hand out by themselves: to a probe of a port, and to each connection to another's."""

LOCKS = Path(tempfile.gettempdir()) / "ballast-test-ports"

_held: list[IO[bytes]] = []


def free_port() -> int:
    """A port that nobody listens at, and that no test of any run here is given while this process lives."""
    LOCKS.mkdir(mode=0o1777, exist_ok=True)
    for port in range(FIRST, LAST):
        with suppress(OSError):  # another process has it, or had it as another user
            lock = (LOCKS / str(port)).open("wb")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", port))
            except OSError:
                lock.close()
                raise
            _held.append(lock)
            return port
    raise AssertionError(f"no port from {FIRST} to {LAST} is free")
