"""A running shop, an API to act as payer and merchant, and the cases' steps."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cases import Case
from playwright.sync_api import Page, expect

from sdk.check import free_port

EXAMPLES = Path(__file__).resolve().parents[1]
START_SECONDS = 120
CASE_SECONDS = 120


def wait_for(what: str, seconds: float, happens: Any) -> None:
    ends_at = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < ends_at, f"{what} has not happened within {seconds} s"
        time.sleep(0.1)


def api(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """A request that the payer's or the merchant's own tools would send."""
    request = urllib.request.Request(
        os.environ["BALLAST_SANDBOX_BASE_URL"] + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['BALLAST_PUBLIC_KEY']}",
            "X-Api-Secret": os.environ["BALLAST_SECRET_KEY"],
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{method} {path}: {error.read().decode()}") from error


@dataclass
class Shop:
    name: str
    data: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.data / "log"

    def start(self) -> None:
        self.launch()
        wait_for(f"the start of {self.name}", START_SECONDS, self.answers)

    def launch(self) -> None:
        environment = {**os.environ, "PORT": str(self.port), "SHOP_URL": self.url, "SHOP_DATA": str(self.data)}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([EXAMPLES / self.name / "run"], env=environment, stdout=log, stderr=log)

    def answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        try:
            with urllib.request.urlopen(self.url, timeout=5):
                return True
        except OSError:
            return False

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(30)

    def order(self, number: str) -> Order:
        with urllib.request.urlopen(f"{self.url}/orders/{number}", timeout=30) as reply:
            text = reply.read().decode()
        [main] = re.findall(r"<main[^>]*>", text)
        return Order(**dict(re.findall(r'data-(\w+)="([^"]*)"', main)))

    def deliveries(self, number: str) -> int:
        return self.log.read_text().count(f"{number}: goods are handed out")

    def post_webhook(self, body: bytes, headers: dict[str, str]) -> int:
        request = urllib.request.Request(f"{self.url}/webhooks/ballast", data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            return error.code


@dataclass(frozen=True)
class Order:
    order: str
    payment: str
    state: str
    attention: str
    delivered: str


def check_out(page: Page, shop: Shop, button: str = "Pay here") -> str:
    """Buys a mug; the number of the order. The page that follows has loaded, with the scripts without which *Pay now*
    is no more than a link to the payment's page."""
    page.goto(shop.url)
    page.get_by_role("button", name="Add to cart").first.click()
    number = page.locator("input[name=number]").get_attribute("value")
    assert number
    page.get_by_role("button", name=button).click()
    page.wait_for_url(re.compile("/(orders|pay)/"))
    return number


class Progress:
    """A case under way. `advance` does the next step, if what it waits for is there."""

    def __init__(self, case: Case, shop: Shop, page: Page) -> None:
        self.case, self.shop, self.page = case, shop, page
        self.number = check_out(page, shop)
        expect(page.locator("main")).to_have_attribute("data-state", "awaiting")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        self.payments = [self.shop.order(self.number).payment]
        self.left = list(case.steps)

    def is_done(self) -> bool:
        return not self.left and self.found() == (self.case.state, self.case.attention, self.case.delivered)

    def found(self) -> tuple[str, str, int]:
        order = self.shop.order(self.number)
        return order.state, order.attention, int(order.delivered)

    def advance(self) -> None:
        while self.left and self.does(*self.left[0].split()):
            self.left.pop(0)

    def does(self, word: str, what: str = "") -> bool:
        """Does a step; False if it has to wait."""
        payment = self.payments[-1]
        match word:
            case "is":
                return self.shop.order(self.number).state == what
            case "has":
                return what in self.shop.order(self.number).attention.split()
            case "lacks":
                return what not in self.shop.order(self.number).attention.split()
            case "close" | "cancel":
                api("POST", f"/payments/{payment}/{word}")
            case "accept" | "return":
                first = self.payments[0]
                found = api("GET", f"/payments/{first}/discrepancies")["data"]
                waiting = [one["id"] for one in found if one["status"] == "open"]
                if not waiting:
                    return False
                if word == "accept":
                    api("POST", f"/payments/{first}/discrepancies/{waiting[0]}/accept")
                else:
                    api("POST", "/refunds", {"paymentId": first, "discrepancyId": waiting[0]})
            case "refund":
                api("POST", "/refunds", {"paymentId": payment, **({"amount": int(what)} if what else {})})
            case "again":
                self.page.goto(f"{self.shop.url}/orders/{self.number}")
                self.page.get_by_role("button", name="Pay again").click()
                self.payments.append(self.shop.order(self.number).payment)
                assert self.payments[0] != self.payments[1]
            case scenario:
                api("POST", f"/payments/{payment}/simulate", {"scenario": scenario})
        return True


def play(cases: tuple[Case, ...], shops: Iterable[Shop], page: Page) -> None:
    """All at once in all shops, each step as soon as it can be done."""
    under_way = [Progress(case, shop, page) for shop in shops for case in cases]
    ends_at = time.monotonic() + CASE_SECONDS
    while under_way and time.monotonic() < ends_at:
        for progress in under_way:
            progress.advance()
        under_way = [progress for progress in under_way if not progress.is_done()]
    stuck = {f"{one.shop.name}: {one.case.name}": (one.left, one.found()) for one in under_way}
    assert not stuck, stuck
