"""The control port: who may ask it, and what it makes of a move of the clock."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from ballast_sandbox.control import Control
from ballast_sandbox.running import CLOCK, Product


class StillProduct(Product):
    """Its clock alone."""

    def __init__(self, var: Path) -> None:
        super().__init__(var, var / "python", var)
        (var / CLOCK).parent.mkdir(parents=True)
        (var / CLOCK).write_text("0".rjust(20))
        self.waits = 0

    def _wait_for_networks(self, *, times: int = 2) -> None:
        self.waits += 1


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    with Control(StillProduct(tmp_path)) as control:
        Thread(target=control.serve_forever, args=[0.01], daemon=True).start()
        yield control
        control.shutdown()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:{port}"}, 200),
        ({"Host": "attacker.example:{port}"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Origin": "https://attacker.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_no_page_in_a_browser_asks_the_control_port(control: Control, headers: dict[str, str], status: int) -> None:
    named = {name: text.format(port=control.server_port) for name, text in headers.items()}
    request = urllib.request.Request(control.url + "/clock/advance", data=b'{"seconds": 1}', headers=named)
    try:
        with urllib.request.urlopen(request) as reply:
            found = reply.status, json.load(reply)["secondsAhead"]
    except urllib.error.HTTPError as error:
        found = error.code, control.product.seconds_ahead
    assert found == (status, int(status == 200))


def test_a_part_of_a_second_moves_the_clock_by_a_second(control: Control) -> None:
    assert control.advance({"seconds": 0.2})["secondsAhead"] == 1


def test_short_moves_together_wait_for_the_networks_too(tmp_path: Path) -> None:
    product = StillProduct(tmp_path)
    for seconds, waits in ((200, 0), (99, 0), (1, 1), (299, 1), (300, 2)):
        product.advance(seconds)
        assert product.waits == waits, seconds
