"""A server that is slow on purpose, to find tests that do not wait for what they look at.

`SLOW_REPLIES=300 make test PYTEST_ARGS=tests/browser` holds each reply back by up to 300 ms, and again between the
first and the second part of its body, so that a page is seen half loaded and without its styles.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler

MILLISECONDS = int(os.environ.get("SLOW_REPLIES", "0"))


@pytest.fixture(scope="session", autouse=True)
def slow_replies() -> Iterator[None]:
    if not MILLISECONDS:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        reply = WSGIHandler.__call__

        def reply_slowly(handler: WSGIHandler, environ: Any, start_response: Any) -> Any:
            _dawdle()
            response = reply(handler, environ, start_response)
            return response if environ["REQUEST_METHOD"] == "HEAD" else _Halting(response)

        patch.setattr(WSGIHandler, "__call__", reply_slowly)
        yield


class _Halting:
    """The parts of a body, with a halt in the middle of each."""

    def __init__(self, response: Any) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        body: Iterable[bytes] = self._response
        for part in body:
            cut = random.randrange(len(part) + 1)
            for piece in (part[:cut], part[cut:]):
                if piece:
                    _dawdle()
                    yield piece

    def close(self) -> None:
        self._response.close()


def _dawdle() -> None:
    time.sleep(random.random() * MILLISECONDS / 1000)
