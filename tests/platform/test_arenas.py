"""Threads of a process share what malloc keeps."""

from __future__ import annotations

import subprocess
import sys

import pytest

# malloc gives a thread an arena of its own at an address that is a multiple of 64 MiB.
_COUNT = """
import threading
{before}
together = threading.Barrier(9)
def work():
    together.wait()
    held = [bytes(2_000) for _ in range(500)]
    together.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for each in threads: each.start()
together.wait(); together.wait()
starts = [int(line.split("-")[0], 16) for line in open("/proc/self/maps") if len(line.split()) == 5]
print(sum(start % (64 << 20) == 0 for start in starts))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's malloc, and maps of a process")
def test_all_threads_share_two_arenas_whatever_starts_them() -> None:
    found = []
    for before in ("", "import config.celery", "from config import web; web.entrypoint = web.load = int; web.serve()"):
        command = [sys.executable, "-c", _COUNT.format(before=before)]
        found.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    alone, *ours = found
    assert alone > 2
    assert all(number <= 2 for number in ours)
