"""`ballast-sandbox run`: a sandbox until it is stopped. `ballast-sandbox prepare`: fills the cache, in a step of CI."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from contextlib import ExitStack
from threading import Thread
from types import FrameType

from ballast import Ballast

from ballast_sandbox import preparing
from ballast_sandbox.control import Control
from ballast_sandbox.running import NotStarted, Product

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    parser = argparse.ArgumentParser(prog="ballast-sandbox", description=__doc__)
    parser.add_argument("command", choices=["run", "prepare"])
    parser.add_argument("--source", help="Ballast's source: a folder or a release's .tar.gz (BALLAST_SOURCE)")
    parser.add_argument("--port", type=int, default=0, help="the control port; any free one by default")
    parser.add_argument("--json", action="store_true", help="print addresses and keys as one line of JSON")
    parser.add_argument("--until-stdin-ends", action="store_true", help="stop with the program that started it")
    options = parser.parse_args()
    for number in STOP_SIGNALS:
        signal.signal(number, _stop)
    if options.until_stdin_ends:
        Thread(target=_stop_at_end_of_stdin, daemon=True).start()
    try:
        return prepare(options) if options.command == "prepare" else run(options)
    except (preparing.CannotPrepare, NotStarted) as error:
        print(error, file=sys.stderr)
        return 1


def _stop(*_: int | FrameType | None) -> None:
    """End this program, whatever it is doing, with what it has started."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # a second one would interrupt the end
    sys.exit(0)


def _stop_at_end_of_stdin() -> None:
    while os.read(0, 1024):  # not sys.stdin, whose lock would be held when this program ends by itself
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def prepare(options: argparse.Namespace) -> int:
    cache = preparing.cache_folder()
    source = preparing.find_source(options.source, cache)
    preparing.find_database(source, preparing.find_python(source, cache), cache)
    return 0


def run(options: argparse.Namespace) -> int:
    began = time.monotonic()
    cache = preparing.cache_folder()
    source = preparing.find_source(options.source, cache)
    python = preparing.find_python(source, cache)
    database = preparing.find_database(source, python, cache)
    with ExitStack() as stack:
        var = stack.enter_context(preparing.new_folder())
        preparing.unpack_database(database, var)
        product = Product(source, python, var)
        control = stack.enter_context(Control(product, options.port))
        stack.callback(product.stop)
        product.start()
        Thread(target=control.serve_forever, daemon=True).start()
        stack.callback(control.shutdown)
        control.about = _about(product, control)
        _announce(control.about, time.monotonic() - began, as_json=options.json)
        while product.is_running:
            time.sleep(0.2)
    return 1


def _about(product: Product, control: Control) -> dict[str, str]:
    """Addresses and keys, by the names that the clients read from the environment."""
    keys = product.keys()
    about = {name: keys[name] for name in ("BALLAST_PUBLIC_KEY", "BALLAST_SECRET_KEY", "BALLAST_WALLET")} | {
        "BALLAST_URL": product.url,
        "BALLAST_SANDBOX": control.url,
        "BALLAST_SANDBOX_LOG": str(product.log),
    }
    client = Ballast(
        base_url=product.url, public_key=about["BALLAST_PUBLIC_KEY"], secret_key=about["BALLAST_SECRET_KEY"]
    )
    webhook = client.webhooks.create(url=control.url + control.path_of_webhooks, events=["*"])
    account = client.webhooks.rotate_account_secret()
    return about | {"BALLAST_SANDBOX_WEBHOOK_SECRET": webhook.secret, "BALLAST_WEBHOOK_SECRET": account.secret}


def _announce(about: dict[str, str], seconds: float, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(about), flush=True)
        return
    print(f"The sandbox is ready after {seconds:.1f} s. For the shell of your tests:\n", flush=True)
    for name, value in sorted(about.items()):
        print(f"export {name}={value}", flush=True)
    print(f"\nCtrl-C, or kill {os.getpid()}, stops all of it.", flush=True)


if __name__ == "__main__":
    sys.exit(main())
