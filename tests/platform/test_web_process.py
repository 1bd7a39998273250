"""Web, started as the docs say, serves again after one of its workers has died while another was busy."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import BoundedSemaphore

import psutil
import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from config import wsgi
from tests.bench.server import HOST, free_port
from tests.patience import until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

SLOW = """
import os, time
def application(environ, start_response):
    if environ["PATH_INFO"] == "/hang":
        open(f"hanging.{os.getpid()}", "w").close()
        time.sleep(600)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"served"]
"""


def documented() -> list[str]:
    row = re.search(
        r"^\| web \| `python -m config\.web (.+?)` \|$", (ROOT / "docs/installing.md").read_text(), re.MULTILINE
    )
    assert row
    return shlex.split(row[1])


def test_web_does_not_stay_there_without_serving(tmp_path: Path) -> None:
    """Without the two switches the supervisor of the docs sees a process, and nobody is served."""
    (tmp_path / "slow.py").write_text(SLOW)
    port = free_port()
    values = {"8000": str(port), "<cores>": "2", "30": "1", "config.wsgi:application": "slow:application"}
    command = [sys.executable, "-m", "granian", "--host", HOST, *(values.get(each, each) for each in documented())]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, start_new_session=True) as web:
        try:
            until(lambda: _is_served(port))
            threading.Thread(target=_is_served, args=[port, "hang"], daemon=True).start()
            until(lambda: any(tmp_path.glob("hanging.*")))
            [hanging] = tmp_path.glob("hanging.*")
            workers = [each for each in psutil.Process(web.pid).children() if "granian" in each.cmdline()]
            [idle] = [each for each in workers if each.pid != int(hanging.suffix[1:])]
            idle.kill()
            idle.wait(10)
            until(lambda: _is_served(port), 10)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(web.pid, signal.SIGKILL)


def _is_served(port: int, path: str = "") -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://{HOST}:{port}/{path}", timeout=1) as reply:
        return bool(reply.status == 200)
    return False


def test_every_request_gives_its_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, in pieces or failed; while all places are taken others are refused, and health pages are not."""
    replies = {"/whole": HttpResponse(b"ab"), "/pieces": StreamingHttpResponse([b"a", b"b"])}
    monkeypatch.setattr(wsgi, "answer", lambda environ, _: replies[environ["PATH_INFO"]])
    monkeypatch.setattr(wsgi, "_room", BoundedSemaphore(1))
    begun: list[tuple[str, dict[str, str]]] = []

    def ask(path: str) -> Iterable[bytes]:
        environ = RequestFactory().get(path).environ
        return wsgi.application(environ, lambda status, headers: begun.append((status, dict(headers))))

    for path in ("/whole", "/pieces") * 3:
        replies["/pieces"] = StreamingHttpResponse([b"a", b"b"])
        assert b"".join(ask(path)) == b"ab"
        with pytest.raises(KeyError):
            ask("/fails")
        replies["/pieces"] = StreamingHttpResponse([b"a", b"b"])
        ask("/pieces")  # its client is gone before the first piece
        until(lambda: wsgi._room._value == 1, 10)
        assert replies["/pieces"].closed
    replies["/pieces"] = StreamingHttpResponse([b"a", b"b"])
    taken = ask("/pieces")
    assert begun == []
    ask("/whole")
    assert [(status, headers["Retry-After"]) for status, headers in begun] == [("503 Service Unavailable", "2")]
    replies["/health/live"] = HttpResponse(b"ok")
    assert b"".join(ask("/health/live")) == b"ok"
    assert b"".join(taken) == b"ab"
    replies["/pieces"] = StreamingHttpResponse([b"a", b"b"])
    assert b"".join(ask("/pieces")) == b"ab"


def test_web_is_started_alike_everywhere() -> None:
    for place in ("Dockerfile", "docs/installing.md", "config/embedded/supervisor.py"):
        text = (ROOT / place).read_text()
        assert "--respawn-failed-workers" in text, place
        assert "--workers-kill-timeout" in text, place
        assert re.search(r"--blocking-threads\W+256\b", text), place
