"""Programs of Ballast in forks of one process that has imported the libraries: they start in a third of the time."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORKING = """
import gc, json, os, runpy, sys
import celery.beat, csp.constants, django.contrib.admin, django.core.management, django_stubs_ext, eth_account, httpx
import psycopg, qrcode, redis.asyncio, requests, rest_framework.serializers, structlog.dev

gc.collect()
gc.freeze()  # what is imported is not looked through in each fork
for line in sys.stdin:
    arguments, environment, written = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
os.environ.clear()
os.environ.update(environment)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for number, path in enumerate(written, start=1):
    os.dup2(os.open(path, os.O_WRONLY), number)
match arguments:
    case ["-c", program]:
        exec(program, {"__name__": "__main__"})
    case ["-m", module, *rest]:
        sys.argv[1:] = rest
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    case [path, *_]:
        sys.argv = arguments
        runpy.run_path(path, run_name="__main__")
"""
"""Of Ballast itself nothing is imported before the fork, and nothing reads the environment."""


@cache
def forking_process() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", FORKING],
        cwd=ROOT, env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    atexit.register(process.communicate)
    return process


def run_in_fork(*arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What `python` with these arguments and this environment returns and prints."""
    process = forking_process()
    assert process.stdin is not None
    assert process.stdout is not None
    with tempfile.NamedTemporaryFile("r") as output, tempfile.NamedTemporaryFile("r") as errors:
        process.stdin.write(json.dumps([arguments, dict(environment), [output.name, errors.name]]) + "\n")
        process.stdin.flush()
        returncode = int(process.stdout.readline())
        return subprocess.CompletedProcess(arguments, returncode, output.read(), errors.read())
