"""Runs the programs of the documentation as they are pasted: docs/api/first-payment.md from empty folders, with its own
lines of installation, and the examples of the reference, each operation once in each language.

All of them use what the clients' `build` made: files as a registry would serve them.
"""
# ruff: noqa: S310, T201 - it calls the sandbox, and says what it ran

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from sdk.pages.registries import installing

ROOT = Path(os.environ["BALLAST_ROOT"])
WORK = Path(os.environ["SDK_WORK"])
URL = f"{os.environ['BALLAST_URL']}/sandbox/v1"
PATIENCE_SECONDS = 60

EXAMPLES: dict[str, dict[str, str]] = json.loads((ROOT / "config/api/reference/examples.json").read_text("utf-8"))
PAGE = (ROOT / "docs/api/first-payment.md").read_text("utf-8")
MOST_LINES = 25
SAMPLE = re.compile(r"pay_01kfjhr3c8e4bs0dz6wd5n5yry")
STELLAR_WALLET = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"  # of SEP-23
NOBODY = "http://127.0.0.1:9009/"
"""Where webhooks go that need not arrive."""
MISSING = {"invoices_retrieve"}
"""Operations on records that a sandbox has none of: their reply is 404."""


@dataclass(frozen=True)
class Language:
    """A language of the pages: its name in the table, the fence of its blocks and the file of its program."""

    name: str
    fence: str
    file: str
    missing: str
    """What an error of a record that is missing has in its text."""
    runner: str
    """A program that runs those that it is given, in one process where it can, and prints the errors of each."""

    @property
    def commands(self) -> list[str]:
        """How it is installed, if it is, and run."""
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| {self.name}"))
        return re.findall(r"`([^`]+)`", row)

    @property
    def first_payment(self) -> str:
        found: list[str] = re.findall(rf"```{self.fence}\n(.*?)```", PAGE, re.DOTALL)
        return found[0]


LANGUAGES = (
    Language(
        "curl", "sh", "first.sh", "resource_missing",
        """for each in "$@"; do
  printed=$(sh "$each" 2>/dev/null) || echo "$each: it failed" >&2
  case $printed in *'"error":{'*) echo "$each: $printed" >&2 ;; esac
done""",
    ),
    Language(
        "Python", "python", "first.py", "NotFoundError",
        """import runpy, sys
for each in sys.argv[1:]:
    try:
        runpy.run_path(each)
    except Exception as error:
        print(f"{each}: {type(error).__name__}: {error}", file=sys.stderr)""",
    ),
    Language(
        "TypeScript", "typescript", "first.mjs", "NotFoundError",
        """for (const each of process.argv.slice(2)) {
  try {
    await import(`./${each}`);
  } catch (error) {
    console.error(`${each}: ${error.constructor.name}: ${error.message}`);
  }
}""",
    ),
    Language(
        "PHP", "php", "first.php", "NotFoundError",
        """<?php
foreach (array_slice($argv, 1) as $each) {
    try {
        require $each;
    } catch (Throwable $error) {
        fwrite(STDERR, "$each: " . $error::class . ": {$error->getMessage()}\n");
    }
}""",
    ),
)  # fmt: skip


def call(method: str, path: str, body: Any = None) -> Any:
    request = urllib.request.Request(
        URL + path,
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
    except HTTPError as error:
        raise SystemExit(f"{method} {path}: {error.read().decode()}") from error


def eventually(what: str, read: Callable[[], Any]) -> Any:
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        if found := read():
            return found
        time.sleep(0.1)
    raise SystemExit(f"not within {PATIENCE_SECONDS} s: {what}")


@dataclass
class Records:
    """What one language's examples act on: by the operation, else by the parameter."""

    ids: dict[str, str] = field(default_factory=dict)

    def fill(self, operation: str, code: str) -> str:
        def own(found: re.Match[str]) -> str:
            return self.ids.get(f"{operation}.{found[1]}") or self.ids[found[1]]

        code = SAMPLE.sub(self.ids["payment_id"], re.sub(r"\{([a-z_]+)\}", own, code))
        if operation == "refunds_give_destination":  # a refund on stellar: only there a sender may be unknown
            code = re.sub(r"0x[0-9a-fA-F]{40}", self.ids["destination"], code)
        return code


def create(scenario: str = "", **fields: Any) -> str:
    payment: str = call("POST", "/payments", {"amount": 100, "currency": "EUR", **fields})["id"]
    if scenario:
        call("POST", f"/payments/{payment}/simulate", {"scenario": scenario})
    return payment


def has_status(record: str, status: str, resource: str = "payments") -> None:
    eventually(f"{record} {status}", lambda: call("GET", f"/{resource}/{record}")["status"] == status)


def shared_records() -> dict[str, str]:
    """Records that every language may read."""
    paid = create("exact")
    has_status(paid, "completed")
    subprocess.run(
        [sys.executable, "-m", "config.embedded", "manage", "run_settlements", "--now"],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    settlement = eventually("a settlement", lambda: call("GET", "/settlements")["data"])[0]["id"]
    webhook = call("POST", "/webhooks", {"url": NOBODY})["id"]
    call("POST", f"/webhooks/{webhook}/test", {})
    delivery = eventually("a delivery", lambda: call("GET", f"/deliveries?endpoint={webhook}")["data"])[0]["id"]
    return {
        "settlement_id": settlement,
        "delivery_id": delivery,
        "event_id": call("GET", "/events")["data"][0]["id"],
        "month": time.strftime("%Y-%m", time.gmtime()),
        "invoice_id": "inv_01kfjhr3c8e4bs0dz6wd5n5yry",
    }


def own_records(shared: dict[str, str]) -> Records:
    """Records that the examples of one language change."""
    stellar = {"cryptocurrency": "USDC", "network": "stellar", "merchantWallet": STELLAR_WALLET}
    paid, short, over = create("exact"), create("underpaid"), create("overpaid")
    exchanges = [create("from_exchange", **stellar) for _ in range(2)]
    for payment in (paid, over, *exchanges):
        has_status(payment, "completed")
    has_status(short, "underpaid")
    unknown = [call("POST", "/refunds", {"paymentId": payment})["id"] for payment in exchanges]
    for refund in unknown:
        has_status(refund, "requires_action", "refunds")
    surplus = call("GET", f"/payments/{over}/discrepancies")["data"][0]["id"]
    webhooks = [call("POST", "/webhooks", {"url": NOBODY})["id"] for _ in range(3)]
    link = call(
        "POST",
        "/payment-links",
        {"description": "Tea", "amount": 5, "currency": "EUR", "merchantWallets": {"stellar": STELLAR_WALLET}},
    )
    return Records(
        {
            **shared,
            "payment_id": paid,
            "payments_cancel.payment_id": create(),
            "payments_simulate.payment_id": create(),
            "payments_close.payment_id": short,
            "payments_accept_discrepancy.payment_id": over,
            "discrepancy_id": surplus,
            "refund_id": unknown[0],
            "refunds_give_destination.refund_id": unknown[1],
            "destination": STELLAR_WALLET,
            "link_id": link["id"],
            "webhook_id": webhooks[0],
            "webhooks_update.webhook_id": webhooks[1],
            "webhooks_destroy.webhook_id": webhooks[2],
        }
    )


def run(command: list[str] | str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, shell=isinstance(command, str), cwd=folder, env={**os.environ, **environment}, text=True,
        capture_output=True, check=False, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def ran(command: list[str] | str, folder: Path, **environment: str) -> str:
    done = run(command, folder, **environment)
    if done.returncode:
        raise SystemExit(f"{folder}: {command}\n{done.stdout}{done.stderr}")
    return done.stdout


def take_first_payment(language: Language, folder: Path, registries: dict[str, str]) -> None:
    """What the page says, in an empty folder."""
    program = language.first_payment
    lines = len(program.splitlines())
    assert lines <= MOST_LINES, f"{language.name}: {lines} lines"
    *installing, running = language.commands
    began = time.monotonic()
    for command in installing:
        ran(command, folder, **registries)
    installed = time.monotonic()
    (folder / language.file).write_text(program, encoding="utf-8")
    printed = ran(running, folder)
    assert "The payer's page: http" in printed, printed
    assert "is paid" in printed, printed
    print(
        f"{language.name}: a first payment with {lines} lines, installed in {installed - began:.1f} s, "
        f"paid in {time.monotonic() - installed:.1f} s"
    )


def run_examples(language: Language, folder: Path, records: Records) -> None:
    """Each operation once."""
    began = time.monotonic()
    ending = language.file.partition(".")[2]
    files = {f"{operation}.{ending}": operation for operation in EXAMPLES}
    for name, operation in files.items():
        (folder / name).write_text(records.fill(operation, EXAMPLES[operation][language.name]), encoding="utf-8")
    (folder / f"run.{ending}").write_text(language.runner, encoding="utf-8")
    runner = language.commands[-1].replace(language.file, f"run.{ending}")
    done = run(f"{runner} {' '.join(files)}", folder)
    errors = {
        files[line.partition(": ")[0]]: line for line in done.stderr.splitlines() if line.partition(": ")[0] in files
    }
    wrong = [line for operation, line in errors.items() if operation not in MISSING or language.missing not in line]
    if done.returncode or wrong or errors.keys() != MISSING:
        raise SystemExit("\n".join([f"{language.name}: {folder}", *wrong, done.stderr]))
    print(f"{language.name}: {len(EXAMPLES)} examples in {time.monotonic() - began:.1f} s")


def delete_webhooks() -> None:
    """A merchant has a limited number of them, and the sandbox is used again."""
    for webhook in call("GET", "/webhooks?limit=100")["data"]:
        if webhook["url"] == NOBODY or "shop.example.com" in webhook["url"]:
            call("DELETE", f"/webhooks/{webhook['id']}")


def folders() -> Iterator[Path]:
    for language in LANGUAGES:
        folder = WORK / language.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        yield folder


def main() -> None:
    with installing(WORK) as registries, ThreadPoolExecutor() as pool:
        shared = pool.submit(shared_records)
        places = dict(zip(LANGUAGES, folders(), strict=True))
        list(pool.map(lambda each: take_first_payment(each, places[each], registries), LANGUAGES))
        records = list(pool.map(lambda _: own_records(shared.result()), LANGUAGES))
        list(pool.map(lambda each, own: run_examples(each, places[each], own), LANGUAGES, records))
        delete_webhooks()


if __name__ == "__main__":
    main()
