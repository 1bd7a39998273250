"""How often providers are asked: requests of one look at a network, without news and with a block that pays us.

`python -m tests.bench.provider_calls` takes half a minute. docs/scaling.md reckons by it.
"""
# ruff: noqa: T201 - its report goes to standard output

from __future__ import annotations

import time
from collections.abc import Callable
from unittest import mock

import orjson

from payments.chains.protocol.scans import Cursor, Scan
from payments.chains.providers.servers import Server
from tests.bench import server
from tests.bench.report import Line

PAID = 5
"""Payments in the block."""
HEAD_SECONDS = 6.0
"""Longer than a newest block is remembered."""


def _asked(scan: Callable[[], object]) -> tuple[int, int]:
    """Requests to all providers, and what they ask: a request in JSON-RPC may have many questions."""
    requests = questions = 0
    exchange = Server._exchange

    def counted(self: Server, method: str, url: str, body: bytes | None = None, **options: object) -> object:
        nonlocal requests, questions
        requests += 1
        questions += len(orjson.loads(body)) if body and body.startswith(b"[") else 1
        return exchange(self, method, url, body, **options)  # type: ignore[arg-type]

    with mock.patch.object(Server, "_exchange", counted):
        scan()
    return requests, questions


def _lines(network: str, scan: Callable[[Cursor | None], Scan], pay: Callable[[], None]) -> list[Line]:
    cursor = scan(None).cursor
    for _ in range(3):  # blocks are read several times
        cursor = scan(cursor).cursor
    time.sleep(HEAD_SECONDS)
    at_rest = _asked(lambda: scan(cursor))
    pay()
    time.sleep(HEAD_SECONDS)
    paid = _asked(lambda: scan(cursor))
    return [
        Line(f"{network}: a look without news, two providers", "{} requests, {} questions".format(*at_rest)),
        Line(f"{network}: a look at {PAID} payments", "{} requests, {} questions".format(*paid)),
    ]


def lines() -> list[Line]:
    from payments.chains import registry
    from payments.deposits.addresses import PaymentAddresses
    from tests.bench import reading, stellar
    from tests.bench.crowd import CHAIN_ID, Crowd
    from tests.chains.harness import Watched
    from tests.evm.network.node import LocalNode
    from tests.networks import ETHEREUM
    from tests.stellar.place import WALLET, XLM, Place, key_of
    from tests.transfers.scenes import STELLAR

    with LocalNode(chain_id=CHAIN_ID) as node:
        crowd = Crowd(node)
        with reading._providers(crowd.url, crowd.url.replace("127.0.0.1", "localhost")):
            evm = registry.chain(reading.PRODUCTION, ETHEREUM).reading
            ours = reading._open(reading._template(), 100)[:PAID]
            crowd.mine(100)

            def pay() -> None:
                crowd.pay(*ours)
                crowd.mine(1)

            found = _lines(ETHEREUM, lambda at: evm.scan(at, PaymentAddresses(reading.PRODUCTION, ETHEREUM)), pay)
    place = Place(channels=stellar.CHANNELS)
    try:
        payer = key_of(1)
        place.local.fund_native(payer.public_key, 100 * XLM)
        place.local.trust(payer, "USDC")
        place.local.mint("USDC", payer.public_key, PAID)
        stellar._close_ledger(place)

        def receive() -> None:
            for memo in range(PAID):
                place.local.pay(payer, WALLET.public_key, "USDC", 1, memo=memo)
            place.local.close_ledger(max(0.0, time.time() - place.local.network.state.closed_at))

        watch = Watched(WALLET.public_key)
        return [*found, *_lines(STELLAR, lambda at: place.chain.reading.scan(at, watch), receive)]
    finally:
        place.stop()


def main() -> None:
    server.choose_settings()
    with server.database():
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        for line in lines():
            print(line)


if __name__ == "__main__":
    main()
