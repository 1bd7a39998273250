"""What docs/webhooks.md tells a merchant's developer is so: its Python runs, its numbers are the code's."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from webhooks.endpoints.signing import signed_headers
from webhooks.schedule import FAILING_MAX, RETRY_AFTER_MAX, WAITS
from webhooks.sending.preparing import USER_AGENT
from webhooks.services import ENDPOINTS_MAX, PREVIOUS_SECRET_LIVES, REPLAY_MAX

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "webhooks.md").read_text(encoding="utf-8")
BODY = '{"id":"evt_1","type":"payment.completed","note":"Grüße"}'.encode()


def test_the_python_of_the_page_verifies_and_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    secret, old = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_" + "QUFB" * 10
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    queue: list[Any] = []
    names: dict[str, Any] = {"enqueue": queue.append}
    exec(code, names)  # noqa: S102 - our own page
    headers = signed_headers([secret], message_id="evt_1", timestamp=int(time.time()), body=BODY)
    rotating = signed_headers([old, secret], message_id="evt_1", timestamp=int(time.time()), body=BODY)
    stale = signed_headers([secret], message_id="evt_1", timestamp=int(time.time()) - 301, body=BODY)
    assert names["receive"](BODY, headers) == 204
    assert names["receive"](BODY, rotating) == 204
    assert [event["note"] for event in queue] == ["Grüße", "Grüße"]
    assert names["receive"](BODY + b" ", headers) == 400
    assert names["receive"](BODY, stale) == 400
    assert names["receive"](BODY, {}) == 400
    assert len(queue) == 2


def words(wait: timedelta) -> str:
    seconds = int(wait.total_seconds())
    if seconds < 60:
        return f"{seconds} seconds"
    return f"{seconds // 60} minutes" if seconds < 3600 else f"{seconds // 3600} hours"


def test_its_tries_are_those_of_the_schedule() -> None:
    rows = re.findall(r"^\| (\d+) \| ([\w ]+) \| ([\w ]+) \|$", PAGE, re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, len(WAITS) + 1))
    assert [wait for _, wait, _ in rows] == ["at once", *(words(wait) for wait in WAITS[1:])]
    sums = [round(total.total_seconds() / 60) for total in accumulate(WAITS)]
    assert [total for _, _, total in rows][4:] == [f"{total // 60} h {total % 60:02}" for total in sums[4:]]
    assert [total for _, _, total in rows][:4] == ["0", "5 seconds", "5 minutes", "35 minutes"]


@pytest.mark.parametrize(
    "text",
    [
        f"up to {ENDPOINTS_MAX} webhooks",
        f"At most {REPLAY_MAX:,} events",
        f"For {PREVIOUS_SECRET_LIVES // timedelta(hours=1)} hours",
        f"up to {RETRY_AFTER_MAX // timedelta(hours=1)} hours",
        f"User-Agent: {USER_AGENT}",
        {timedelta(days=5): "after five days in which no request to it succeeded"}[FAILING_MAX],
    ],
)
def test_its_limits_are_those_of_the_code(text: str) -> None:
    assert text in PAGE.replace("\n", " ")
