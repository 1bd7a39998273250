"""A Horizon and its network on this very machine, in the memory of whoever starts it.

Tests and `manage.py devnet` use it; nothing that runs in production does. Its knobs make it fail as real ones do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal

from tests.stellar.network.acting import Acting
from tests.stellar.network.envelopes import BASE_FEE
from tests.stellar.network.keys import PASSPHRASE
from tests.stellar.network.links import Links
from tests.stellar.network.network import Network
from tests.stellar.network.problems import Problem, fault
from tests.stellar.network.questions import Questions
from tests.stellar.network.server import Server
from tests.stellar.network.submitting import Submitting
from tests.stellar.network.view import View

SYNC_SECONDS = 30.0
"""How long `/transactions` waits for the ledger, as on a real Horizon."""


class LocalHorizon(Acting):
    """Ledgers close every `ledger_seconds`; at once after each submission for 0.0; by `close_ledger` alone for None."""

    def __init__(
        self,
        *,
        passphrase: str = PASSPHRASE,
        ledger_seconds: float | None = None,
        port: int = 0,
        network: Network | None = None,
    ) -> None:
        fresh = network is None
        super().__init__(network or Network(passphrase, int(time.time())))
        self.ledger_seconds = ledger_seconds
        self.sync_seconds = SYNC_SECONDS
        self.view = View(self.network)
        self._server = Server(lambda: self, port)
        links = Links(self.url)
        self.questions = Questions(self.view, links)
        self.submitting = Submitting(self.view, links)
        self._faults: list[_Fault] = []
        self._refusals = 0
        self._drops = 0
        self._stopped = threading.Event()
        if fresh:
            self.set_up_issuers()
            self.network.closes_at_once = ledger_seconds == 0.0

    @property
    def url(self) -> str:
        return self._server.url

    def another(self) -> LocalHorizon:
        """A second Horizon of the same network, with knobs of its own; not started yet."""
        return LocalHorizon(network=self.network)

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        if self.ledger_seconds:
            threading.Thread(target=self._close_by_the_clock, args=(self.ledger_seconds,), daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> LocalHorizon:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # Knobs of the network.

    def close_ledger(self, seconds: float = 5) -> int:
        """Close a ledger so many seconds after the last one, by the network's own clock; its number."""
        with self.network.lock:
            return self.network.close(self.network.state.closed_at + int(seconds)).number

    def surge(self, min_fee_stroops: int = BASE_FEE) -> None:
        """Let only those into ledgers who offer this for an operation, and charge it; without a number, all again."""
        self.network.fee_each = min_fee_stroops

    def freeze_submissions(self) -> None:
        """Let ledgers close without what is submitted: it waits, and is dropped after four of them."""
        self.network.takes_nothing = True

    def thaw_submissions(self) -> None:
        self.network.takes_nothing = False

    # Knobs of this Horizon.

    def pause_ingestion(self) -> None:
        """Know nothing of ledgers that close from now on, as a Horizon that lags behind its network."""
        self.view.pause()

    def resume_ingestion(self) -> None:
        self.view.resume()

    def reap_history(self, keep_from_ledger: int) -> None:
        """Forget what happened before this ledger. Accounts and balances stay."""
        self.view.elder = keep_from_ledger

    def answer_next(self, status: int, times: int = 1, path: str = "") -> None:
        """Answer the next questions whose path begins like this with an HTTP status: 429, 503, 504, or any other."""
        with self.network.lock:
            self._faults.append(_Fault(status, times, path))

    def answer_normally(self) -> None:
        """Take back what `answer_next` has left."""
        with self.network.lock:
            self._faults.clear()

    def try_again_later(self, times: int = 1) -> None:
        """Turn the next submissions away with TRY_AGAIN_LATER; they do not reach the network."""
        self._refusals = times

    def drop_after_accept(self, times: int = 1) -> None:
        """End the connection of the next submissions without an answer, after the network has them."""
        self._drops = times

    # What the server asks.

    def fault(self, path: str) -> Problem | None:
        with self.network.lock:
            for each in self._faults:
                if each.times > 0 and path.startswith(each.path):
                    each.times -= 1
                    return fault(each.status)
        return None

    def refuses(self) -> bool:
        with self.network.lock:
            self._refusals, before = max(0, self._refusals - 1), self._refusals
        return before > 0

    def drops(self) -> bool:
        with self.network.lock:
            self._drops, before = max(0, self._drops - 1), self._drops
        return before > 0

    def turn(self, knob: str, arguments: Mapping[str, Any]) -> Any:
        if knob not in KNOBS:
            raise LookupError(knob)
        return getattr(self, knob)(**arguments)

    def _close_by_the_clock(self, seconds: float) -> None:
        while not self._stopped.wait(seconds):
            self.network.close(int(time.time()))


class _Fault:
    def __init__(self, status: int, times: int, path: str) -> None:
        self.status, self.times, self.path = status, times, path


Knob = Literal[
    "answer_next",
    "answer_normally",
    "clawback",
    "close_ledger",
    "deauthorise",
    "authorise",
    "drop_after_accept",
    "freeze_submissions",
    "fund_native",
    "mint",
    "pause_ingestion",
    "pay",
    "reap_history",
    "resume_ingestion",
    "surge",
    "thaw_submissions",
    "trust",
    "try_again_later",
]
"""What `POST /_local/<knob>` takes, with its arguments as a JSON object."""
KNOBS = frozenset(Knob.__args__)  # type: ignore[attr-defined]
