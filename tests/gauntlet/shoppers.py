"""Shops that take payments and refund them while an installation changes below them, and payers who look at pages."""

from __future__ import annotations

import json
import random
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.sending.receivers import Shop

READERS = 8
"""Payers' phones, which have no budget of requests as merchants have in the sandbox."""

PAGES = 0.2
"""Of what a phone asks for this part is the page, the rest its status, as a page that stays open does."""

PATIENCE_SECONDS = 60.0
WALLET = "0x5a5A5a5a5A5a5a5a5a5A5a5A5A5a5a5A5A5A5A5A"


@dataclass
class Answer:
    at: float
    seconds: float
    status: int
    """0: none."""
    refusal: str = ""
    """The path and what a 4xx said."""


@dataclass
class Journey:
    """One payment that is paid and refunded in part; the instants are those of `time.monotonic`."""

    began: float
    ended: float | None = None


class Shoppers:
    """A thread for each merchant: one payment after the other is made, paid and refunded, at whichever web is there."""

    def __init__(self, shop: Shop, keys: list[dict[str, str]], reads_per_second: float) -> None:
        self._webs: list[str] = []
        self._underway: Counter[str] = Counter()
        self._choosing = threading.Lock()
        self.answers: list[Answer] = []
        self.journeys: list[Journey] = []
        self.payments: list[str] = []
        self._pages: list[str] = []
        self.refunds: list[str] = []
        self._shop, self._keys = shop, keys
        self._phone_rests = READERS / reads_per_second
        self._refunding = [threading.Lock() for _ in keys]
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    def turn_to(self, *webs: str) -> None:
        """Send requests to these webs from now on, and return once the others have answered, as a proxy drains one."""
        with self._choosing:
            self._webs = list(webs)
        wait_for(lambda: not any(self._underway[each] for each in set(self._underway) - set(webs)))

    @contextmanager
    def all_refunded(self) -> Iterator[None]:
        """Keep payments from being made meanwhile, once each that was made has its refund requested: whoever settles
        here leaves nothing of a payment to refund.
        """
        with ExitStack() as stack:
            for lock in self._refunding:
                stack.enter_context(lock)
            yield

    def register(self) -> None:
        for key in self._keys:
            self._call(key, "/webhooks", {"url": self._shop.url(), "events": ["*"]})

    def start(self) -> None:
        self._over.clear()
        shoppers = zip(self._keys, self._refunding, strict=True)
        self._threads = [threading.Thread(target=self._shop_on, args=each, daemon=True) for each in shoppers]
        self._threads += [threading.Thread(target=self._read_on, daemon=True) for _ in range(READERS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Return once each has ended what it had begun, or has waited long enough."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def ended(self, since: float) -> int:
        """How many that began after this instant have ended."""
        return sum(each.began >= since and each.ended is not None for each in tuple(self.journeys))

    def statuses(self, since: float = 0.0) -> Counter[int]:
        return Counter(each.status for each in tuple(self.answers) if each.at >= since)

    def refusals(self) -> list[str]:
        return [each.refusal for each in tuple(self.answers) if each.refusal]

    def slowest(self, since: float, until: float) -> float:
        return max((each.seconds for each in tuple(self.answers) if since <= each.at <= until), default=0.0)

    def _read_on(self) -> None:
        """Look at payers' pages, as often as is this phone's share; what it falls behind by is not made up for."""
        while not self._over.is_set():
            due = time.monotonic() + self._phone_rests
            if self._pages:
                page = random.choice(self._pages[-READERS:])
                self._ask(page if random.random() < PAGES else f"{page}/status")
            self._over.wait(max(0.0, due - time.monotonic()))

    def _call(self, key: dict[str, str], path: str, body: dict[str, Any]) -> Any:
        """The record, or None where there is none."""
        headers = {**key, "Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
        content = self._ask(f"/sandbox/v1{path}", json.dumps(body).encode(), headers)
        return json.loads(content) if content else None

    def _ask(self, path: str, data: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        """The reply of a web; empty for one that refuses, or for none."""
        with self._choosing:
            web = random.choice(self._webs)
            self._underway[web] += 1
        request = urllib.request.Request(f"{web}{path}", data, dict(headers or {}))  # noqa: S310 - our own
        began, status, content, refusal = time.monotonic(), 0, b"", ""
        try:
            with urllib.request.urlopen(request, timeout=40) as reply:  # noqa: S310 - our own
                status, content = reply.status, reply.read()
        except urllib.error.HTTPError as error:
            status = error.code
            refusal = f"{path} {error.read(1000).decode(errors='replace')}" if status < 500 else ""
        except OSError:
            pass
        finally:
            with self._choosing:
                self._underway[web] -= 1
        self.answers.append(Answer(began, time.monotonic() - began, status, refusal))
        return content

    def _shop_on(self, key: dict[str, str], refunding: threading.Lock) -> None:
        while not self._over.is_set():
            with refunding:
                journey = Journey(time.monotonic())
                self.journeys.append(journey)
                refund = self._pay_and_refund(key)
            if refund is not None and self._hears_of("refund.completed", refund):
                journey.ended = time.monotonic()
            else:
                time.sleep(0.2)

    def _pay_and_refund(self, key: dict[str, str]) -> str | None:
        """The refund's id."""
        coin = {"cryptocurrency": "USDC", "network": random.choice(["polygon", "ethereum"]), "merchantWallet": WALLET}
        payment = self._call(key, "/payments", {"amount": 10, "currency": "USD", **coin})
        if payment is None:
            return None
        self.payments.append(payment["id"])
        self._pages.append(urlsplit(payment["url"]).path)
        if self._call(key, f"/payments/{payment['id']}/simulate", {"scenario": "exact"}) is None:
            return None
        if not self._hears_of("payment.completed", payment["id"]):
            return None
        refund = self._call(key, "/refunds", {"paymentId": payment["id"], "amount": 4})
        if refund is None:
            return None
        self.refunds.append(refund["id"])
        return str(refund["id"])

    def _hears_of(self, event: str, record: str) -> bool:
        """Whether a webhook says so in time."""
        words = event.encode(), record.encode()
        return wait_for(lambda: any(all(word in each.body for word in words) for each in self._shop.at()))


def wait_for(condition: Callable[[], bool]) -> bool:
    """True once it holds; False where it did not in PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
