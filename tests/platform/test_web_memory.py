"""What the web tier keeps in memory: granian's parent loads it once, and workers load next to nothing by themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

LOADED = """
import io, json, sys, threading
from config import web
web.load()
import psutil
from django.db import connections
threads = [each.name for each in threading.enumerate()]
sockets = [str(each) for each in psutil.Process().net_connections("all")]
shared = set(sys.modules)
from config.wsgi import answer
for path in ("/health/live", "/v1/payments"):
    body = answer({
        "REQUEST_METHOD": "GET", "PATH_INFO": path, "SERVER_NAME": "localhost", "SERVER_PORT": "80",
        "REMOTE_ADDR": "::1", "wsgi.input": io.BytesIO(), "wsgi.url_scheme": "http",
    }, lambda *_: None)
    assert b"".join(body).startswith(b"{"), path
print(json.dumps({
    "threads": threads, "sockets": sockets, "shared": sorted(shared), "own": sorted(set(sys.modules) - shared),
}))
"""

LEFT_OUT = {"aiohttp", "botocore", "eth_account", "pydantic", "sentry_sdk", "stellar_sdk", "typst"}
"""Of what is installed: for workers, or for those who set it up."""


def test_workers_are_forked_from_a_process_that_has_loaded_what_they_need(tmp_path: Path) -> None:
    """What is loaded by a worker is in memory once for each. A connection or a thread would be lost by a fork."""
    variables = {**os.environ, "BALLAST_MODE": "embedded", "BALLAST_VAR": str(tmp_path), "DATABASE_URL": ""}
    ended = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=Path(__file__).parents[2], env=variables, capture_output=True, check=False
    )
    assert ended.returncode == 0, ended.stderr.decode()
    found = json.loads(ended.stdout.splitlines()[-1])
    assert (found["threads"], found["sockets"]) == (["MainThread"], [])
    assert len(found["own"]) < 10, found["own"]
    assert {name.partition(".")[0] for name in found["shared"]} & LEFT_OUT == set()
