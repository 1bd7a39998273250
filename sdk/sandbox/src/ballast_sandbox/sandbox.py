"""What a test holds: payments, payers, networks, the clock and the webhooks of one running sandbox."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self, TypeVar

from ballast import Ballast
from ballast.models import Payment, Scenario

from ballast_sandbox.running import BLOCK_SECONDS

Found = TypeVar("Found")

CONFIRMED_SECONDS = 8 * BLOCK_SECONDS
"""A block that has the transfer, six by which it is final on ethereum, the slowest network, and one more."""

UNDONE_AFTER_BLOCKS = 6
"""On ethereum. On polygon, after two, a transfer is undone before a busy machine has seen it."""

TIMEOUT_SECONDS = 30.0
"""How long a test waits for what follows by itself, with a machine that is busy."""


class Sandbox:
    """A running sandbox. `payments` and all of `client` are those of the Python client, with keys of its merchant."""

    def __init__(self, control_url: str) -> None:
        self._control = _Control(control_url)
        about = self._control("GET", "/")
        self.url: str = about["BALLAST_URL"]
        self.public_key: str = about["BALLAST_PUBLIC_KEY"]
        self.secret_key: str = about["BALLAST_SECRET_KEY"]
        self.wallet: str = about["BALLAST_WALLET"]
        """The merchant's wallet on polygon and ethereum, for `merchant_wallet`."""
        self.webhook_secret: str = about["BALLAST_WEBHOOK_SECRET"]
        """The account's secret: it signs what goes to a payment's own `webhook_url`."""
        self.environment: dict[str, str] = {name: text for name, text in about.items() if name.startswith("BALLAST_")}
        """For the process of a shop under test: the variables that the clients read."""
        self.client = Ballast(base_url=self.url, public_key=self.public_key, secret_key=self.secret_key)
        self.payments = self.client.payments
        self.clock = Clock(self._control)
        self.webhooks = Webhooks(self._control, about["BALLAST_SANDBOX_WEBHOOK_SECRET"])

    @classmethod
    @contextmanager
    def start(cls) -> Iterator[Self]:
        """A sandbox of its own, gone at the end of the block; or the one at BALLAST_SANDBOX, which goes on."""
        if running := os.environ.get("BALLAST_SANDBOX"):
            yield cls(running)
            return
        command = [sys.executable, "-m", "ballast_sandbox", "run", "--json", "--until-stdin-ends"]
        # Should this process be killed, the pipe ends, and the sandbox with it.
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None and process.stdout is not None  # noqa: PT018 - narrows the types
            try:
                if not (line := process.stdout.readline()):
                    raise RuntimeError("The sandbox did not start; the reason is above.")
                yield cls(json.loads(line)["BALLAST_SANDBOX"])
            finally:
                process.stdin.close()
                process.wait()

    # What a payer does. The network moves on by some blocks, by which any payment is confirmed, so `wait` is short.

    def pay(self, payment: Payment | str) -> Payment:
        """The payer sends what is due, or what is still missing. Once more for a payment that is over."""
        return self._play(payment, "exact")

    def pay_short(self, payment: Payment | str) -> Payment:
        """The payer sends half of it."""
        return self._play(payment, "underpaid")

    def pay_over(self, payment: Payment | str) -> Payment:
        """The payer sends a quarter too much."""
        return self._play(payment, "overpaid")

    def pay_late(self, payment: Payment | str) -> Payment:
        """The time to pay ends now, and the payer sends the money after it."""
        return self._play(payment, "late")

    def pay_twice(self, payment: Payment | str) -> Payment:
        """The payer pays, and pays again once the payment is completed."""
        self.pay(payment)
        self.wait(payment, "completed")
        return self.pay(payment)

    # What happens to the network, and so to every payment on it.

    def reorganise(self, payment: Payment | str) -> Payment:
        """The payer pays on ethereum, a reorganisation undoes the transfer, and it comes back in the next block.

        `payment.reversed` follows by itself, then the payment is completed.
        """
        self.simulate(payment, "reorg")
        self.clock.advance(seconds=BLOCK_SECONDS)
        began = time.monotonic()
        found = self.wait(payment, "pending", "completed")
        # The block that undoes it must come by itself: then it is the newest for long enough to be noticed.
        if time.monotonic() - began < BLOCK_SECONDS:
            self.clock.advance(seconds=(UNDONE_AFTER_BLOCKS - 3) * BLOCK_SECONDS)
        return found

    def outage(self, payment: Payment | str) -> Payment:
        """The payer pays while the network does not answer: for 15 seconds of the sandbox's clock."""
        return self.simulate(payment, "outage")

    def _play(self, payment: Payment | str, scenario: Scenario) -> Payment:
        self.simulate(payment, scenario)
        self.clock.advance(seconds=CONFIRMED_SECONDS)
        return self.payments.get(_id_of(payment))

    def simulate(self, payment: Payment | str, scenario: Scenario) -> Payment:
        """Any scenario of docs/sandbox.md, at the network's own pace."""
        self.payments.simulate(_id_of(payment), scenario=scenario)
        return self.payments.get(_id_of(payment))

    def wait(self, payment: Payment | str, *statuses: str, timeout: float = TIMEOUT_SECONDS) -> Payment:
        """The payment as soon as it has one of these statuses; an AssertionError that says what it is otherwise."""
        found = until(lambda: _having(self.payments.get(_id_of(payment)), statuses), timeout=timeout)
        assert found, f"{_id_of(payment)} is {self.payments.get(_id_of(payment)).status}, not {' or '.join(statuses)}"
        return found


class Clock:
    """The sandbox's clock. It goes on with the machine's, ahead of it by as much as tests have moved it."""

    def __init__(self, control: _Control) -> None:
        self._control = control

    def now(self) -> datetime:
        return datetime.fromisoformat(self._control("GET", "/")["now"])

    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> datetime:
        """Move it on. What came due meanwhile follows by itself, once each: wait for it."""
        body = {"days": days, "hours": hours, "minutes": minutes, "seconds": seconds}
        return datetime.fromisoformat(self._control("POST", "/clock/advance", body)["now"])

    def advance_to(self, moment: datetime) -> datetime:
        """Move it to a moment, such as a payment's `expires_at` or a settlement day."""
        return self.advance(seconds=max(0, int((moment - self.now()).total_seconds()) + 1))


@dataclass(frozen=True)
class Delivery:
    """One request that Ballast sent to the sandbox's own webhook, which listens to all events."""

    headers: dict[str, str]
    body: str
    status: int
    """What it was answered."""
    received_at: datetime
    """By the sandbox's clock."""

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.body)
        return event

    @property
    def type(self) -> str:
        return str(self.event["type"])

    @property
    def id(self) -> str:
        """The same for each attempt of an event."""
        return self.headers["webhook-id"]


class Webhooks:
    """Deliveries that arrived, failed attempts included."""

    def __init__(self, control: _Control, secret: str) -> None:
        self._control = control
        self.secret = secret
        """The secret that signs them."""

    def all(
        self,
        type: str = "",
        payment: Payment | str = "",
        *,
        status: int = 0,
    ) -> list[Delivery]:
        """Those that arrived so far, in order; only of a type, of a payment, or answered so."""
        found = [
            Delivery(each["headers"], each["body"], each["status"], datetime.fromisoformat(each["receivedAt"]))
            for each in self._control("GET", "/webhooks")["data"]
        ]
        wanted = _id_of(payment) if payment else ""
        return [
            each
            for each in found
            if type in ("", each.type) and wanted in ("", *_subjects(each.event)) and status in (0, each.status)
        ]

    def wait(
        self,
        type: str,
        payment: Payment | str = "",
        *,
        status: int = 0,
        count: int = 1,
        timeout: float = TIMEOUT_SECONDS,
    ) -> list[Delivery]:
        """So many deliveries of a type, as soon as they have arrived."""
        found = until(lambda: len(of_it := self.all(type, payment, status=status)) >= count and of_it, timeout=timeout)
        assert found, f"no {count} × {type} arrived, but {[(each.type, each.status) for each in self.all()]}"
        return found

    def fail(self, times: int = 1_000_000, *, status: int = 500) -> None:
        """Answer the next deliveries so, all of them until `fail(0)`. Ballast tries again, hours and days later."""
        self._control("PUT", "/webhooks/answer", {"status": status, "times": times})

    def clear(self) -> None:
        """Forget what has arrived, and end `fail`."""
        self._control("DELETE", "/webhooks")


class _Control:
    """Requests to the control port."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __call__(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, method=method, data=data)
        try:
            with urllib.request.urlopen(request, timeout=90) as reply:
                answer: dict[str, Any] = json.load(reply)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {json.load(error)['error']}") from None
        return answer


def until(look: Callable[[], Found], *, timeout: float = TIMEOUT_SECONDS) -> Found:
    """What `look` returns, as soon as that is true, or at the end of the time."""
    ends_at = time.monotonic() + timeout
    while not (found := look()) and time.monotonic() < ends_at:
        time.sleep(0.1)
    return found


def _having(payment: Payment, statuses: tuple[str, ...]) -> Payment | None:
    return payment if payment.status in statuses else None


def _id_of(payment: Payment | str) -> str:
    return payment if isinstance(payment, str) else payment.id


def _subjects(event: dict[str, Any]) -> tuple[str, ...]:
    """The ids that an event is about: of its object, and of the payment that object belongs to."""
    about = event.get("data", {}).get("object", event.get("data", {}))
    return str(about.get("id", "")), str(about.get("payment", ""))
