"""`make woocommerce [ORDERS=60 SEED=7]`: the plugin's zip in Debian's WordPress, with a browser and the real sandbox.

A small shop fires the hooks of WooCommerce that the gateway uses. First each page and each hard case once, in the
browser; then many orders at once, whose payments do everything that the sandbox can, while customers reload and go
back. At the end every order is what its payment says, each was completed once, and all events once more change nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
import uuid
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

from sdk import check

HERE = Path(__file__).resolve().parent
WORK = check.WORK / "woocommerce"
WORDPRESS = Path("/usr/share/wordpress")
SETTINGS = "/wp-admin/admin.php?page=wc-settings&tab=checkout&section=ballast"
NEEDED = ("php", "mariadbd", "mariadb-install-db", "mariadb")
PACKAGES = "wordpress mariadb-server php-cli php-curl php-mbstring php-mysql"
ORDERS = int(os.environ.get("ORDERS") or 40)
SEED = int(os.environ.get("SEED") or random.randrange(10**6))

Order = dict[str, Any]


class Api:
    """The merchant's own requests."""

    def __init__(self, values: dict[str, str]) -> None:
        self.base = values["BALLAST_SANDBOX_BASE_URL"]
        self.headers = {
            "Authorization": f"Bearer {values['BALLAST_PUBLIC_KEY']}", "X-Api-Secret": values["BALLAST_SECRET_KEY"],
            "Content-Type": "application/json",
        }  # fmt: skip

    def __call__(self, method: str, path: str, **body: Any) -> Any:
        data = json.dumps(body).encode() if method != "GET" else None
        request = urllib.request.Request(f"{self.base}/{path}", data, self.headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)


class Shop:
    def __init__(self, url: str) -> None:
        self.url = url

    def read(self, page: str) -> str:
        with urllib.request.urlopen(f"{self.url}/?mini={page}", timeout=60) as reply:
            return str(reply.read().decode())

    def orders(self) -> dict[int, Order]:
        found: dict[str, Order] = json.loads(self.read("orders"))["orders"]
        return {int(number): order for number, order in found.items()}

    def place(self, total: str, method: str = "ballast", order: int = 0) -> str:
        """Places an order as the browser's form does; returns where it leads."""
        fields = urllib.parse.urlencode({"total": total, "method": method, "order": order}).encode()
        opener = urllib.request.build_opener(Stay)
        with opener.open(f"{self.url}/?mini=checkout", fields, timeout=60) as reply:
            return str(reply.headers.get("Location", ""))

    def becomes(self, order: int, status: str) -> Order:
        # What hangs on the state comes a moment after it.
        return eventually(
            lambda: (
                found
                if (found := self.orders()[order])["status"] == status
                and (status != "processing" or found["completed"])
                else None
            ),
            lambda: f"order {order} becomes {status}, not {self.orders()[order]}",
        )


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None

    def http_error_302(self, req: Any, fp: Any, code: int, msg: str, headers: Any) -> Any:
        return urllib.response.addinfourl(fp, headers, req.full_url, code)


def eventually(read: Callable[[], Any], what: Callable[[], str], seconds: float = 60) -> Any:
    ends_at = time.monotonic() + seconds
    while (value := read()) is None:
        if time.monotonic() > ends_at:
            raise AssertionError(what())
        time.sleep(0.2)
    return value


@contextlib.contextmanager
def database(folder: Path) -> Iterator[Path]:
    data, socket = folder / "mysql", folder / "mysql.sock"
    subprocess.run(
        ["mariadb-install-db", f"--datadir={data}", "--user=root", "--auth-root-authentication-method=normal",
         "--skip-test-db"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    server = subprocess.Popen(
        ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--skip-networking", "--user=root",
         "--innodb-flush-log-at-trx-commit=0", f"--pid-file={folder / 'mysql.pid'}",
         f"--log-error={folder / 'mysql.log'}"],
    )  # fmt: skip
    try:
        make = ["mariadb", f"--socket={socket}", "--user=root", "-e", "CREATE DATABASE shop"]
        eventually(
            lambda: subprocess.run(make, stderr=subprocess.DEVNULL).returncode == 0 or None, lambda: "MariaDB answers"
        )
        yield socket
    finally:
        check.stop(server)


@contextlib.contextmanager
def wordpress(folder: Path, socket: Path) -> Iterator[Shop]:
    root, port = folder / "wordpress", check.free_port()
    shutil.copytree(WORDPRESS, root, symlinks=False, ignore_dangling_symlinks=True)
    plugins = root / "wp-content" / "plugins"
    with zipfile.ZipFile(WORK / "ballast-for-woocommerce.zip") as archive:
        archive.extractall(plugins)
    (plugins / "mini-store").mkdir()
    for path in (HERE / "mini-store.php", HERE.parent / "tests" / "stubs" / "woocommerce.php"):
        shutil.copy(path, plugins / "mini-store")
    (root / "wp-config.php").write_text(
        "<?php\n"
        f"define('DB_NAME', 'shop'); define('DB_USER', 'root'); define('DB_PASSWORD', '');\n"
        f"define('DB_HOST', 'localhost:{socket}'); define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');\n"
        "define('WP_DEBUG', true); define('WP_DEBUG_DISPLAY', false); define('DISABLE_WP_CRON', true);\n"
        f"define('WP_DEBUG_LOG', '{folder / 'debug.log'}'); define('WP_HTTP_BLOCK_EXTERNAL', true);\n"
        "$table_prefix = 'wp_';\n"
        "if (!defined('ABSPATH')) { define('ABSPATH', __DIR__ . '/'); }\n"
        "require_once ABSPATH . 'wp-settings.php';\n"
    )
    host = f"127.0.0.1:{port}"
    subprocess.run(["php", str(HERE / "install.php"), host], cwd=root, check=True, stdout=subprocess.DEVNULL)
    with (folder / "php.log").open("wb") as log:
        server = subprocess.Popen(
            ["php", "-S", host, "-t", str(root)], env={**os.environ, "PHP_CLI_SERVER_WORKERS": "6"},
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            shop = Shop(f"http://{host}")
            eventually(lambda: answers(shop), lambda: f"WordPress answers; {folder / 'php.log'} says why not")
            yield shop
        finally:
            os.killpg(server.pid, 15)


def answers(shop: Shop) -> bool | None:
    with contextlib.suppress(OSError):
        return shop.orders() == {}
    return None


# The browser: each page and each hard case once


def connect(page: Page, shop: Shop, api: Api, values: dict[str, str]) -> None:
    page.goto(f"{shop.url}/wp-login.php")
    page.fill("#user_login", "admin")
    page.fill("#user_pass", "password")
    page.click("#wp-submit")
    page.goto(f"{shop.url}{SETTINGS}")
    page.check("[name=woocommerce_ballast_enabled]")
    page.fill("[name=woocommerce_ballast_url]", values["BALLAST_URL"])
    page.fill("[name=woocommerce_ballast_public_key]", values["BALLAST_PUBLIC_KEY"])
    page.fill("[name=woocommerce_ballast_secret_key]", "sk_test_wrong")
    page.click("text=Save changes")
    expect(page.get_by_role("status")).to_contain_text("Ballast is not connected:")
    assert "Stablecoins" not in shop.read("checkout"), "keys that were refused are not offered"
    page.fill("[name=woocommerce_ballast_public_key]", "")
    page.fill("[name=woocommerce_ballast_secret_key]", "")
    page.click("text=Save changes")
    expect(page.get_by_role("status")).to_contain_text("Now connect by the button")
    page.get_by_role("link", name="Connect with Ballast").click()
    page.fill("[name=email]", values["BALLAST_EMAIL"])
    page.fill("[name=password]", values["BALLAST_PASSWORD"])
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.get_by_role("heading", name=f"Connect {urllib.parse.urlsplit(shop.url).netloc}?")).to_be_visible()
    page.get_by_role("link", name="Refuse").click()
    expect(page.get_by_role("status")).to_contain_text("Access was refused in Ballast.")
    webhooks = []
    for _ in range(2):  # the second time its webhook takes the place of the first
        page.get_by_role("link", name="Connect with Ballast").click()
        page.get_by_role("button", name="Connect", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("Connected to the sandbox: no real money is taken.")
        assert "code=" not in page.url
        [webhook] = [one for one in api("GET", "webhooks")["data"] if one["url"].startswith(shop.url)]
        webhooks.append(webhook["id"])
    assert len(set(webhooks)) == 2, webhooks
    say("connected by the button")
    assert json.loads(shop.read("orders"))["declared"] == ["custom_order_tables", "cart_checkout_blocks"]


def buy(page: Page, shop: Shop, api: Api, checkout: str = "checkout", total: str = "25.50") -> tuple[int, str]:
    """Places an order in the browser, and chooses on Ballast's page if it asks; the order and its payment."""
    before = set(shop.orders())
    page.goto(f"{shop.url}/?mini={checkout}")
    page.get_by_label("Total").fill(total)
    page.get_by_label("Stablecoins (USDC, USDT, DAI)").check()
    page.get_by_role("button", name="Place order").click()
    page.wait_for_url("**/pay/pay_*")
    [number] = set(shop.orders()) - before
    [payment] = shop.orders()[number]["meta"]["_ballast_payments"]
    assert payment in page.url
    return number, payment


def in_the_browser(page: Page, shop: Shop, api: Api, values: dict[str, str]) -> None:
    connect(page, shop, api, values)

    def simulate(payment: str, scenario: str) -> None:
        api("POST", f"payments/{payment}/simulate", scenario=scenario)

    number, payment = buy(page, shop, api)
    page.go_back()
    assert shop.place("25.50", order=number).endswith(payment), "going back uses the same payment"
    simulate(payment, "exact")
    order = shop.becomes(number, "processing")
    assert (order["transaction"], order["completed"], order["stock"]) == (payment, 1, 1), order
    page.goto(api("GET", f"payments/{payment}")["redirectUrl"])
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    say("classic checkout, paid, back to the shop")

    for amount, said in (("5.00", "refunded"), ("20.50", "refunded"), ("1.00", None)):
        page.goto(f"{shop.url}{SETTINGS}")
        page.get_by_label("Order").fill(str(number))
        page.get_by_label("Amount").fill(amount)
        page.get_by_role("button", name="Refund via Ballast").click()
        status = page.get_by_role("status")
        expect(status).to_have_text(said) if said else expect(status).not_to_have_text("refunded")
    assert len(api("GET", f"refunds?paymentId={payment}")["data"]) == 2
    shop.becomes(number, "refunded")
    eventually(
        lambda: sum("was paid: 0x" in note for note in shop.orders()[number]["notes"]) == 2 or None,
        lambda: f"both refunds are told: {shop.orders()[number]['notes']}",
    )
    say("refunds from the order's page: two parts, and not more")

    number, payment = buy(page, shop, api, "blocks", "10.00")
    simulate(payment, "underpaid")
    shop.becomes(number, "on-hold")
    simulate(payment, "exact")
    shop.becomes(number, "processing")
    say("checkout of blocks, short, then the rest")

    number, payment = buy(page, shop, api)
    simulate(payment, "late")
    shop.becomes(number, "on-hold")
    [discrepancy] = eventually(
        lambda: api("GET", f"payments/{payment}/discrepancies")["data"] or None, lambda: "late money waits"
    )
    api("POST", f"payments/{payment}/discrepancies/{discrepancy['id']}/accept")
    shop.becomes(number, "processing")
    say("late money, accepted")

    number, payment = buy(page, shop, api)
    assert "received" in shop.place("", "card", number)
    api("POST", f"payments/{payment}/cancel")
    number2, payment2 = buy(page, shop, api)
    shop.place("", "card", number2)
    simulate(payment2, "exact")
    eventually(
        lambda: any("paid twice" in note for note in shop.orders()[number2]["notes"]) or None,
        lambda: f"the shop is told of the second: {shop.orders()[number2]}",
    )
    for one in (number, number2):
        order = shop.orders()[one]
        assert (order["status"], order["transaction"], order["completed"]) == ("processing", f"ch_{one}", 1), order
    say("another gateway: its order stays paid, and a second payment is told")

    number, payment = buy(page, shop, api)
    [webhook] = [one for one in api("GET", "webhooks")["data"] if one["url"].startswith(shop.url)]
    api("PATCH", f"webhooks/{webhook['id']}", status="disabled")
    simulate(payment, "exact")
    eventually(
        lambda: api("GET", f"payments/{payment}")["status"] == "completed" or None, lambda: "the payment is complete"
    )
    assert shop.orders()[number]["status"] == "pending"
    waiting, _ = buy(page, shop, api)
    assert shop.read("cron") == "done"
    assert shop.orders()[number]["status"] == "processing"
    assert shop.orders()[waiting]["status"] == "pending", "WooCommerce leaves an order whose payment is open"
    page.goto(f"{shop.url}{SETTINGS}")
    page.click("text=Save changes")
    expect(page.get_by_role("status")).to_contain_text("Connected to the sandbox")
    assert api("GET", f"webhooks/{webhook['id']}")["status"] == "enabled"
    say("no webhooks: the hourly check, and saving enables it")

    shop.read("language&to=de_DE")
    page.goto(f"{shop.url}{SETTINGS}")
    expect(page.get_by_label("Geheimer Schlüssel")).to_be_visible()
    shop.read("language&to=")
    say("settings in German")


# Many at once

ENDS = {
    "exact": "processing", "two_parts": "processing", "overpaid": "processing", "reorg": "processing",
    "outage": "processing", "two_transfers": "processing", "underpaid": "on-hold", "late": "on-hold",
    "nothing": "pending", "cancelled": "failed",
}  # fmt: skip
"""What becomes of an order after a scenario."""


def many(shop: Shop, api: Api, chance: random.Random) -> None:
    wanted: dict[int, str] = {}
    faults: list[BaseException] = []

    def customer(seed: int) -> None:
        mine = random.Random(seed)
        try:
            total = f"{mine.randrange(100, 90000) / 100:.2f}"
            marker = uuid.uuid4().hex
            where = shop.place(total)
            payment = where.rpartition("/")[2]
            number = int(api("GET", f"payments/{payment}")["metadata"]["orderId"])
            for _ in range(mine.randrange(3)):
                assert shop.place(total, order=number) == where, marker
            scenario = mine.choice(list(ENDS))
            wanted[number] = scenario
            if scenario == "cancelled":
                api("POST", f"payments/{payment}/cancel")
            elif scenario != "nothing":
                api("POST", f"payments/{payment}/simulate", scenario=scenario)
            for _ in range(mine.randrange(6)):
                shop.read(f"received&order={number}")
        except BaseException as fault:
            faults.append(fault)

    left = [chance.randrange(10**9) for _ in range(ORDERS)]
    while left:
        threads = [threading.Thread(target=customer, args=(left.pop(),)) for _ in range(min(4, len(left)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if faults:
        raise faults[0]
    for number, scenario in sorted(wanted.items()):
        order = shop.becomes(number, ENDS[scenario])
        assert len(order["meta"]["_ballast_payments"]) == 1, order
        is_paid = order["status"] == "processing"
        if scenario != "reorg":  # it completes once or twice: before the reorganisation, and after
            assert order["completed"] == is_paid, order
        assert order["stock"] == (order["status"] in ("processing", "on-hold")), order
    counts = sorted(Counter(wanted.values()).items())
    say(f"{ORDERS} orders at once: {', '.join(f'{count} {name}' for name, count in counts)}")


def again(shop: Shop, api: Api) -> None:
    """Every event once more, in the order of their sending: nothing may change."""
    [webhook] = [one for one in api("GET", "webhooks")["data"] if one["url"].startswith(shop.url)]

    def settled() -> bool | None:
        waiting = api("GET", f"deliveries?endpoint={webhook['id']}&status=pending&limit=1")["data"]
        return None if waiting else True

    eventually(settled, lambda: "every event has arrived")
    before = shop.orders()
    days = [time.strftime("%Y-%m-%d", time.gmtime(time.time() + days * 86400)) for days in (-1, 1)]
    path = f"webhooks/{webhook['id']}/replay"
    sent = api("POST", path, createdGte=days[0], createdLte=days[1])["deliveryCount"]
    time.sleep(1)
    eventually(settled, lambda: "every event has arrived again", 180)
    after = shop.orders()
    changed = {number: (before[number], order) for number, order in after.items() if order != before[number]}
    assert not changed, changed
    say(f"{sent} events once more changed nothing")


def say(text: str) -> None:
    print(f"  {time.monotonic() - BEGUN:5.1f} s  {text}", flush=True)


def main() -> int:
    missing = [name for name in NEEDED if shutil.which(name) is None] + [str(WORDPRESS)] * (not WORDPRESS.is_dir())
    if missing:
        print(f"missing: {', '.join(missing)}", file=sys.stderr)
        print(f"On Debian: apt-get install --no-install-recommends {PACKAGES}", file=sys.stderr)
        return 2
    print(f"SEED={SEED} ORDERS={ORDERS}", flush=True)
    folder = WORK / "shop"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    check.run("woocommerce", "build", {})
    port = check.free_port()
    with check.sandbox(port) as server, database(folder) as socket, wordpress(folder, socket) as shop:
        values = check.demo(server)
        api = Api(values)
        say("WordPress, MariaDB and the sandbox answer")
        with sync_playwright() as playwright:
            chromium = "/usr/bin/chromium-headless-shell"
            browser = playwright.chromium.launch(executable_path=chromium if Path(chromium).exists() else None)
            in_the_browser(browser.new_page(locale="en-GB"), shop, api, values)
            browser.close()
        many(shop, api, random.Random(SEED))
        again(shop, api)
    log = folder / "debug.log"
    complaints = [line for line in log.read_text().splitlines() if "ballast" in line] if log.exists() else []
    assert complaints == [], complaints
    print("All of it held.")
    return 0


BEGUN = time.monotonic()

if __name__ == "__main__":
    sys.exit(main())
