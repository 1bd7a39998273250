"""`ballast listen`, `events` and `logs`: what happens, as it happens. The API has no stream, so it is asked."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import hmac
import itertools
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any

import httpx
import typer

from ballast import Ballast, Model, Webhook
from ballast._json import dumps
from ballast.cli.output import Columns, Output, text
from ballast.cli.session import Refused, session

app = typer.Typer(help="Look at events, and send them again.", no_args_is_help=True)
logs = typer.Typer(help="The log of your requests.", no_args_is_help=True)

EVERY_SECONDS = 2.0
"""30 requests a minute, of the sandbox's 100."""
OVERLAP = timedelta(seconds=30)
"""An event is dated before it is committed, a request before it is answered: what comes again is known by its id."""
FORWARD_SECONDS = 15.0
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

ROW: Columns = {
    "created": lambda event: event.created_at,
    "id": lambda event: event.id,
    "type": lambda event: event.type,
    "record": lambda event: event.raw["data"]["object"].get("id"),
}
REQUEST: Columns = {
    "created": lambda request: request.created_at,
    "status": lambda request: request.status_code,
    "request": lambda request: f"{request.method} {request.path}" + (f"?{request.query}" if request.query else ""),
    "duration": lambda request: f"{request.duration_ms} ms",
    "id": lambda request: request.request_id,
    "error": lambda request: request.error_code or "",
}
Filter = Annotated[
    list[str] | None, typer.Option("--type", "-t", help="Only these, as payment.completed or 'refund.*'.")
]
Seconds = Annotated[float, typer.Option("--every", min=0.2, help="Seconds between two questions for new events.")]


def new_events(client: Ballast, every: float) -> Iterator[Any]:
    return new_records(client.events.list, every)


def new_records(list_: Callable[..., Any], every: float, sleep: Callable[[float], None] = time.sleep) -> Iterator[Any]:
    """Each record of a list once from now on, the oldest first."""
    first = list_(limit=1).data
    since = newest = first[0].created_at if first else EPOCH
    seen = {record.id: record.created_at for record in first}
    while True:
        asked = max(since, newest - OVERLAP)  # what happened before the start is not new
        found = list(list_(created_gte=asked, limit=100))
        for record in reversed(found):
            if record.id not in seen:
                seen[record.id] = record.created_at
                yield record
        if found:
            newest = max(record.created_at for record in found)
            seen = {id_: at for id_, at in seen.items() if at >= newest - 2 * OVERLAP}
        sleep(every)


def is_wanted(event_type: str, patterns: list[str] | None) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(event_type, pattern) for pattern in patterns)


@app.command()
def tail(context: typer.Context, types: Filter = None, every: Seconds = EVERY_SECONDS) -> None:
    """Print events as they happen."""
    here = session(context)
    here.output.note(f"Events of {here.client.environment}, as they happen. Ctrl-C ends.", "dim")
    for event in new_events(here.client, every):
        if is_wanted(event.type, types):
            show(here.output, event)


@app.command("list")
def list_(
    context: typer.Context,
    type_: Annotated[str | None, typer.Option("--type", "-t", help="Only these, as payment.completed.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1)] = 20,
) -> None:
    """List events, the newest first."""
    here = session(context)
    found = here.client.events.list(type=type_, limit=min(limit, 100))  # type: ignore[arg-type]
    records: Iterator[Model] = itertools.islice(found, limit)
    here.output.table(records, ROW)


@app.command()
def resend(
    context: typer.Context,
    event_id: str,
    webhook: Annotated[str | None, typer.Option(help="To this webhook alone (whk_…).")] = None,
) -> None:
    """Have an event sent again to the webhooks that it was sent to."""
    here = session(context)
    found = list(here.client.deliveries.list(event=event_id, endpoint=webhook, limit=100))
    if not found:
        where = "to that webhook" if webhook else "anywhere"
        raise Refused(
            f"{event_id} was never sent {where}. `ballast listen --forward-to …` needs no webhook; one that is enabled "
            "now gets older events by Recover on its page in the dashboard."
        )
    sent = [here.client.deliveries.redeliver(delivery.id) for delivery in found]
    here.output.table(sent, {"id": lambda one: one.id, "status": lambda one: one.status, "url": lambda one: one.url})


def listen(
    context: typer.Context,
    forward_to: Annotated[
        str | None, typer.Option("--forward-to", "-f", help="Your receiver, as localhost:3000/hooks. Left out: print.")
    ] = None,
    types: Filter = None,
    every: Seconds = EVERY_SECONDS,
) -> None:
    """Send your events to a program on this machine, signed as webhooks are: it need not be reachable from outside.

    They are signed with BALLAST_WEBHOOK_SECRET, or with a secret of this pair of keys, which is printed.
    """
    here = session(context)
    own = os.environ.get("BALLAST_WEBHOOK_SECRET")  # no option, and never printed: it is worth as much as a key
    secret = own or listening_secret(here.keys.secret_key)
    webhook = Webhook(secret)
    url = None if forward_to is None else address(forward_to)
    here.output.note(f"Events of {here.client.environment}, as they happen. Ctrl-C ends.", "dim")
    if url:
        shown = "the secret in BALLAST_WEBHOOK_SECRET" if own else f"this secret: {secret}"
        here.output.note(f"They go to {url}, signed with {shown}")
    with httpx.Client(timeout=FORWARD_SECONDS, trust_env=False) as http:
        for event in new_events(here.client, every):
            if is_wanted(event.type, types):
                show(here.output, event, forward(http, url, webhook, event) if url else "")


def forward(http: httpx.Client, url: str, webhook: Webhook, event: Any) -> str:
    """Sends it as Ballast sends webhooks, and returns what came of it."""
    body, seconds = dumps(event.raw).encode(), int(time.time())
    headers = {
        "Content-Type": "application/json", "User-Agent": "Ballast-Webhooks/1", "webhook-id": event.id,
        "webhook-timestamp": str(seconds), "webhook-signature": webhook.sign(body, event.id, seconds),
    }  # fmt: skip
    try:
        reply = http.post(url, content=body, headers=headers)
    except httpx.ConnectError:
        return "nothing listens there"
    except httpx.HTTPError as error:
        return type(error).__name__
    return f"{reply.status_code} {reply.reason_phrase}".strip()


def listening_secret(secret_key: str) -> str:
    """The same for each start with the same pair, so that a program needs it once; it reveals nothing of the key."""
    digest = hmac.new(secret_key.encode(), b"ballast listen", hashlib.sha256).digest()
    return "whsec_" + base64.b64encode(digest).decode()


def address(words: str) -> str:
    """`3000`, `localhost:3000/hooks` or a whole address."""
    url = f"localhost:{words}" if words.isdecimal() else words
    return url if url.startswith(("http://", "https://")) else f"http://{url}"


def show(output: Output, event: Any, outcome: str = "", row: Columns = ROW) -> None:
    if output.as_json:
        output.json({**event.raw, "forwarded": outcome} if outcome else event.raw)
        return
    line = "  ".join(text(value(event)) for value in row.values())
    output.plain(f"{line}  {outcome}".rstrip())


@logs.command("tail")
def tail_logs(
    context: typer.Context,
    status: Annotated[str | None, typer.Option("--status", "-s", help="Only 2xx, 4xx, 5xx, or error.")] = None,
    method: Annotated[str | None, typer.Option("--method", "-m", help="Only GET, POST, PATCH or DELETE.")] = None,
    path: Annotated[str | None, typer.Option(help="Only where the path contains this.")] = None,
    key: Annotated[str | None, typer.Option(help="Only with this public key.")] = None,
    every: Seconds = EVERY_SECONDS,
) -> None:
    """Print the requests that your keys make, as they are answered. Those of this command are not among them."""
    here = session(context)
    chosen: dict[str, Any] = {"status": status, "method": method.upper() if method else None, "path": path, "key": key}
    here.output.note(f"Requests of {here.client.environment}, as they are answered. Ctrl-C ends.", "dim")
    for request in new_records(partial(here.client.requests.list, **chosen), every):
        show(here.output, request, row=REQUEST)
