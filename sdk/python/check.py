"""Runs the installed package against a real sandbox: every operation once, then creates through the flaky proxy."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import httpx
from ballast import AppInfo, AsyncBallast, Ballast, Model, NotFoundError, Webhook
from ballast._json import camel
from ballast.cli.events import listening_secret
from ballast.events import Event, PaymentCompletedEvent, UnknownEvent
from ballast.models import Payment

T = TypeVar("T")
WALLET = os.environ["BALLAST_WALLET"]
STELLAR_WALLET = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"  # of SEP-23
BALLAST = str(Path(sys.executable).with_name("ballast"))
WAIT_SECONDS = 90
WORKERS = 8


def main() -> None:
    calls = Calls()
    http_client = httpx.Client(event_hooks={"response": [calls.count]})
    with (
        Receiver(os.environ["BALLAST_WEBHOOK_SECRET"]) as receiver,
        Ballast(app_info=AppInfo("check"), http_client=http_client) as client,
    ):
        walk(client, receiver)
    calls.report()
    asyncio.run(walk_asynchronously())
    use_the_command()
    create_through_the_flaky_proxy(int(os.environ["BALLAST_CREATES"]))


class Calls:
    """Counts the operations that were called, by method and path."""

    def __init__(self) -> None:
        self.operations: list[dict[str, str]] = json.loads(Path(os.environ["BALLAST_OPERATIONS"]).read_text())
        self.called: dict[str, int] = {}
        # The ones without a parameter first: /settlements/next is no settlement.
        self.patterns = [
            (one["method"], re.compile("/sandbox/v1" + re.sub(r"\{\w+\}", "[^/]+", one["path"])), one["id"])
            for one in sorted(self.operations, key=lambda one: one["path"].count("{"))
        ]

    def count(self, response: httpx.Response) -> None:
        request = response.request
        for method, pattern, name in self.patterns:
            if request.method == method and pattern.fullmatch(request.url.path):
                self.called[name] = self.called.get(name, 0) + 1
                return
        raise AssertionError(f"no operation: {request.method} {request.url.path}")

    def report(self) -> None:
        missing = [one["id"] for one in self.operations if one["id"] not in self.called]
        assert not missing, f"not called: {missing}"
        print(f"{len(self.called)} of {len(self.operations)} operations called, {sum(self.called.values())} requests")


class Receiver:
    """A shop's receiver of webhooks, which verifies each."""

    def __init__(self, secret: str) -> None:
        self.events: list[Event] = []
        webhook, events = Webhook(secret), self.events

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/":  # others are of a webhook with a secret of its own
                    events.append(webhook.verify(body, dict(self.headers.items())))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def __enter__(self) -> Receiver:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def walk(client: Ballast, receiver: Receiver) -> None:
    """Each operation, in the order in which a shop would come to it."""
    same(client.merchant.get())
    same(client.merchant.update_settings(payment_tolerance="0.5"))
    same(client.balance.get())

    paid = same(new_payment(client, webhook_url=receiver.url, metadata={"order": "1007"}))
    same(client.payments.simulate(paid.id, scenario="exact"))
    paid = wait(lambda: client.payments.get(paid.id), lambda found: found.status == "completed")
    same(paid)
    hash_ = same(client.payments.transfers(paid.id).data[0]).hash
    assert same(client.payments.claim(paid.id, transaction_hash=hash_)).transfers[0].code == "credited"
    same(client.payments.timeline(paid.id).data[0])
    changed = same(client.payments.update(paid.id, note="Sent on Monday", metadata={"order": None, "parcel": "77"}))
    assert (changed.note, changed.metadata) == ("Sent on Monday", {"parcel": "77"})
    assert paid.id in [one.id for one in client.payments.list(status="completed,refunded", limit=100)]
    assert client.payments.list(metadata={"parcel": "77"}, limit=1).data[0].id == paid.id
    offered = same(client.quote.get(amount="25.50", currency="EUR")).options
    assert {option.network for option in offered} == {"stellar", "ethereum", "polygon"}
    told = wait(lambda: list(receiver.events), lambda events: any(isinstance(e, PaymentCompletedEvent) for e in events))
    assert not [event for event in told if isinstance(event, UnknownEvent)]
    assert {event.data.object.id for event in told if isinstance(event, PaymentCompletedEvent)} == {paid.id}

    assert client.payments.cancel(new_payment(client).id).status == "cancelled"
    short = new_payment(client)
    client.payments.simulate(short.id, scenario="underpaid")
    wait(lambda: client.payments.get(short.id), lambda found: found.status == "underpaid")
    client.payments.close(short.id)
    (open_one,) = wait(lambda: client.payments.discrepancies(short.id).data, bool)
    assert open_one.id in [one.id for one in client.discrepancies.list(status="open")]
    expanded = client.payments.get(short.id, expand="discrepancies").discrepancies
    assert [one.id for one in expanded or ()] == [open_one.id]
    same(open_one)
    accepted = client.payments.accept_discrepancy(short.id, open_one.id, note="We know this payer.")
    assert same(accepted).status == "accepted"

    link = same(
        client.payment_links.create(description="Tour", currency="EUR", amount=10, merchant_wallets={"polygon": WALLET})
    )
    same(client.payment_links.update(link.id, max_uses=2))
    assert client.payment_links.update(link.id, max_uses=None).max_uses is None
    assert same(client.payment_links.get(link.id)).status == "active"
    assert link.id in [one.id for one in client.payment_links.list(limit=100)]

    refund = same(client.refunds.create(payment_id=paid.id, amount="5.25"))
    assert same(client.refunds.get(refund.id)).payment_id == paid.id
    assert refund.id in [one.id for one in client.refunds.list(payment_id=paid.id)]
    from_exchange = new_payment(client, network="stellar", merchant_wallet=STELLAR_WALLET)
    client.payments.simulate(from_exchange.id, scenario="from_exchange")
    wait(lambda: client.payments.get(from_exchange.id), lambda found: found.status == "completed")
    for give_up in (False, True):
        back = client.refunds.create(payment_id=from_exchange.id, amount=1)
        wait(lambda back=back: client.refunds.get(back.id), lambda found: found.status == "requires_action")  # type: ignore[misc]
        if give_up:
            assert client.refunds.cancel(back.id).status == "cancelled"
        else:
            given = client.refunds.give_destination(back.id, destination=STELLAR_WALLET, memo="7")
            assert given.destination == STELLAR_WALLET

    hook = same(client.webhooks.create(url=f"{receiver.url}own", events=["payment.completed"], description="Check"))
    assert hook.secret.startswith("whsec_")
    client.webhooks.update(hook.id, description="Checked")
    assert same(client.webhooks.get(hook.id)).description == "Checked"
    assert hook.id in [one.id for one in client.webhooks.list(limit=100)]
    assert client.webhooks.rotate(hook.id).secret != hook.secret
    assert client.webhooks.rotate_account_secret().secret.startswith("whsec_")
    delivery = same(client.webhooks.test(hook.id))
    wait(lambda: client.deliveries.get(delivery.id), lambda found: found.attempt_count > 0)
    same(client.deliveries.redeliver(delivery.id))
    assert delivery.id in [one.id for one in client.deliveries.list(endpoint=hook.id)]
    since = datetime.now(UTC).date()
    same(client.webhooks.replay(hook.id, created_gte=since, created_lte=since, types=["payment.completed"]))
    assert client.webhooks.delete(hook.id).deleted
    found = client.events.list(type="payment.completed").data[0]
    assert isinstance(found, PaymentCompletedEvent)
    assert same(client.events.get(found.id)).id == found.id

    logged = wait(lambda: client.requests.list(method="POST", path="/refunds", status="2xx").data, bool)[0]
    assert (same(logged).method, logged.public_key) == ("POST", os.environ["BALLAST_PUBLIC_KEY"])

    same(client.settlements.upcoming())
    subprocess.run(
        [os.environ["PYTHON"], "-m", "config.embedded", "manage", "run_settlements", "--now"],
        cwd=os.environ["BALLAST_ROOT"], check=True, capture_output=True,
    )  # fmt: skip
    settlement = wait(lambda: client.settlements.list().data, bool)[0]
    same(client.settlements.get(settlement.id))
    same(client.settlements.statement(settlement.id))
    assert client.settlements.download_statement(settlement.id, format="csv").startswith(b"statement_version")
    month = same(client.statements.list().data[0]).month
    same(client.statements.get(month, currency="EUR"))
    assert client.statements.download(month, format="pdf").startswith(b"%PDF")
    client.invoices.list()
    try:  # there is no invoice before the first month is over
        client.invoices.get("inv_00000000000000000000000000")
    except NotFoundError as error:
        assert error.code == "resource_missing"

    with Ballast(sign_requests=True) as signing:
        assert signing.payments.get(paid.id).id == paid.id
        signing.payments.create(amount=1, currency="USD", merchant_wallets={"polygon": WALLET})


async def walk_asynchronously() -> None:
    began = datetime.now(UTC)
    async with AsyncBallast() as client:
        made = await asyncio.gather(
            *(
                client.payments.create(amount=n + 1, currency="USD", merchant_wallets={"polygon": WALLET})
                for n in range(3)
            )
        )
        found = [payment.id async for payment in client.payments.list(limit=2, created_gte=began)]
        assert {payment.id for payment in made} == set(found)


def use_the_command() -> None:
    """`ballast`, as somebody would use it who has just installed it."""
    with TemporaryDirectory() as home:
        environment = {**os.environ, "XDG_CONFIG_HOME": home, "HOME": home}

        def ballast(*arguments: str, code: int = 0) -> str:
            done = subprocess.run([BALLAST, *arguments], env=environment, capture_output=True, text=True, timeout=120)
            assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
            return done.stdout

        pair = {name: environment[name] for name in ("BALLAST_URL", "BALLAST_PUBLIC_KEY", "BALLAST_SECRET_KEY")}
        assert "(sandbox)" in ballast("login")
        for name in pair:
            del environment[name]
        secret = listening_secret(pair["BALLAST_SECRET_KEY"])
        environment.pop("BALLAST_WEBHOOK_SECRET")
        with Receiver(secret) as receiver, listening(receiver, environment):
            payment = json.loads(ballast("--json", "payments", "create", "12.50", "-c", "EUR", "-m", "order=1008"))[
                "id"
            ]
            assert payment in ballast("payments", "list")
            with following("logs", "tail", "--status", "error", environment=environment) as next_line:
                ballast("payments", "get", "pay_other", code=1)
                assert "404  GET /sandbox/v1/payments/pay_other" in next_line()
            assert "order" in ballast("payments", "get", payment)
            assert "payment.underpaid" in ballast("trigger", "payment.underpaid")
            event = json.loads(ballast("--json", "trigger", "payment.completed"))
            paid = event["data"]["object"]["id"]
            wait(lambda: [one.id for one in receiver.events], lambda ids: event["id"] in ids)
        assert ballast("events", "list", "-n", "1")
        ballast("events", "resend", event["id"], code=3)  # it was sent to no webhook
        receipt = Path(home) / "receipt.json"
        assert "Genuine" in ballast("receipts", "verify", paid)
        receipt.write_bytes(httpx.get(f"{pair['BALLAST_URL']}/pay/{paid}/receipt.json").content)
        assert "Genuine" in ballast("receipts", "verify", str(receipt))
        receipt.write_text(receipt.read_text().replace("completed", "refunded").replace(paid, "pay_other"))
        ballast("receipts", "verify", str(receipt), code=1)
    print("the ballast command: log-in, payments, trigger, listen, events, logs and receipts")


@contextmanager
def listening(receiver: Receiver, environment: dict[str, str]) -> Iterator[None]:
    """`ballast listen --forward-to` this receiver."""
    with following("listen", "--forward-to", receiver.url, environment=environment):
        yield


@contextmanager
def following(*arguments: str, environment: dict[str, str]) -> Iterator[Callable[[], str]]:
    """A command that goes on until Ctrl-C; what it prints is read line by line."""
    with subprocess.Popen(
        [BALLAST, *arguments, "--every", "0.5"],
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # what runs in the background ignores it
    ) as listener:
        assert listener.stderr is not None
        assert listener.stdout is not None
        try:
            assert "Ctrl-C ends." in listener.stderr.readline()
            yield listener.stdout.readline
            listener.send_signal(signal.SIGINT)
            assert listener.wait(20) == 130
        finally:
            listener.kill()


def create_through_the_flaky_proxy(count: int) -> None:
    """As many payments as were asked for, each once, though four of ten requests are spoiled."""
    run, began = str(uuid.uuid4()), datetime.now(UTC)
    with (
        Ballast(base_url=os.environ["BALLAST_FLAKY_URL"], max_retries=30) as client,
        ThreadPoolExecutor(WORKERS) as pool,
    ):
        made = list(pool.map(lambda number: new_payment(client, metadata={"run": run, "n": number}), range(count)))
    with Ballast() as client:
        stored = [one for one in client.payments.list(created_gte=began, limit=100) if one.metadata.get("run") == run]
    assert sorted(one.metadata["n"] for one in stored) == list(range(count)), f"{len(stored)} for {count}"
    assert {one.id for one in made} == {one.id for one in stored}
    seconds = (datetime.now(UTC) - began).total_seconds()
    print(f"{count} payments through the flaky proxy in {seconds:.0f} s, none lost, none doubled")


def new_payment(client: Ballast, **fields: Any) -> Payment:
    where = {"cryptocurrency": "USDC", "network": "polygon", "merchant_wallet": WALLET}
    return client.payments.create(**{"amount": "25.50", "currency": "EUR", **where, **fields})


EXPANDED = {"discrepancies", "refunds"}
"""Fields of a payment that are sent on wish."""


def same(record: T) -> T:
    """The record, which has exactly the fields that the API sent."""
    if isinstance(record, Model):
        known = {one.metadata.get("name") or camel(one.name) for one in dataclasses.fields(record) if one.name != "raw"}
        sent = set(record.raw) - ({"object"} if isinstance(record, Model) and "object" not in known else set())
        known -= EXPANDED - sent
        assert known == sent, f"{type(record).__name__}: {known ^ sent}"
    return record


def wait(ask: Callable[[], T], right: Callable[[T], bool]) -> T:
    ends_at = time.monotonic() + WAIT_SECONDS
    while not right(found := ask()):
        assert time.monotonic() < ends_at, f"waited {WAIT_SECONDS} s for another than {found}"
        time.sleep(0.2)
    return found


if __name__ == "__main__":
    main()
