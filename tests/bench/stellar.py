"""How fast stellar is read, and how many payments of a settlement leave for each envelope and second, locally."""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from unittest import mock

import httpx
import orjson
from django.db import transaction
from django.test import override_settings

from config import ids
from merchants.ledger.posting import Line as Posted
from merchants.ledger.posting import post
from merchants.models import Merchant
from merchants.services import open_merchant
from payments.chains import registry
from payments.chains.network_table import DEVNET
from payments.chains.protocol.scans import Cursor
from payments.chains.stellar.adapter import StellarChain
from payments.chains.stellar.horizon.client import Horizon
from payments.chains.stellar.horizon.providers import Horizons
from payments.chains.stellar.horizon.records import PAGE, token_after
from payments.chains.stellar.keys.wallet_keys import Keys
from payments.transfers.models import Payout, Transfer
from payments.transfers.postings import hot_account
from payments.transfers.states import PayoutStatus
from tests.bench.report import Line
from tests.chains.harness import Watched
from tests.stellar.network import keys
from tests.stellar.place import PROFILE, STOCK, WALLET, XLM, Place, key_of
from tests.transfers.scenes import SANDBOX, STELLAR, ask, drive, treasury, wait_no_longer

PAYMENTS, ROUNDS = 600, 3
RAW, ALONE, AGREED = "raw", "one Horizon", "two that must agree"
SCAN_GOALS = {ALONE: 0.35, AGREED: 0.15}

SETTLED, MERCHANTS, CHANNELS = 400, 100, 4
LEDGER_SECONDS = 5.0
"""Of the public network. Here ledgers close when they are told to, and each counts as so long at least."""

MOST_ROUNDS = 20
FULL_GOAL, CHANNELS_GOAL = 0.95, 2.0


def lines() -> list[Line]:
    place = Place(channels=CHANNELS)
    try:
        return [*_scan_lines(place), *_settlement_lines(place)]
    finally:
        place.stop()


# Money in


def _scan_lines(place: Place) -> list[Line]:
    start = place.chain.reading.head().height
    _receive(place)
    rates = _scanned(place, start)
    return [
        Line(
            f"stellar read, {name}",
            f"{median(rates[name]):7.0f} payments/s",
            f"{median(rates[RAW]):.0f}/s raw, once",
            f"{(ratio := _ratio(rates[name], rates[RAW])):.2f}x",
            f">= {goal:.2f}x",
            ratio >= goal,
        )
        for name, goal in SCAN_GOALS.items()
    ]


def _receive(place: Place) -> None:
    """Payments to the wallet, each with a memo of its own, in a transaction and a ledger of its own."""
    payer = key_of(1)
    place.local.fund_native(payer.public_key, 100 * XLM)
    place.local.trust(payer, "USDC")
    place.local.mint("USDC", payer.public_key, PAYMENTS)
    for memo in range(PAYMENTS):
        place.local.pay(payer, WALLET.public_key, "USDC", 1, memo=memo)


def _scanned(place: Place, start: int) -> dict[str, list[float]]:
    """Payments a second of each round."""
    alone = Horizons([Horizon(place.local.url)], network=STELLAR, passphrase=keys.PASSPHRASE, one_may_decide=True)
    chains = {ALONE: place.chain_through(alone, place.keys), AGREED: place.chain}
    rates: dict[str, list[float]] = defaultdict(list)
    for turn in range(ROUNDS + 1):  # the first is the warm-up
        _close_ledger(place)
        seconds = {RAW: _seconds_of(lambda: _read_raw(place, start))}
        for name, chain in chains.items():
            cursor = chain.reading.cursor_at(start)
            seconds[name] = _seconds_of(partial(_read, chain, cursor))
        for name, each in seconds.items() if turn else ():
            rates[name].append(PAYMENTS / each)
    return rates


def _close_ledger(place: Place) -> None:
    """A ledger of now: a Horizon whose newest one is old counts as lagging."""
    place.local.close_ledger(max(0.0, time.time() - place.local.network.state.closed_at))


def _read(chain: StellarChain, cursor: Cursor) -> None:
    scan = chain.reading.scan(cursor, Watched(WALLET.public_key))
    if not scan.caught_up or [each.memo for each in scan.transfers] != [str(memo) for memo in range(PAYMENTS)]:
        raise RuntimeError(f"{len(scan.transfers)} of {PAYMENTS} payments were found")


def _read_raw(place: Place, start: int) -> None:
    """The same pages, one after the other over one connection, their JSON read and nothing done with it."""
    found, cursor = 0, str(token_after(start))
    with httpx.Client(base_url=place.local.url) as client:
        while True:
            params: dict[str, str | int] = {"cursor": cursor, "limit": PAGE, "order": "asc", "join": "transactions"}
            reply = client.get(f"/accounts/{WALLET.public_key}/payments", params=params)
            records = orjson.loads(reply.content)["_embedded"]["records"]
            found += len(records)
            if len(records) < PAGE:
                break
            cursor = records[-1]["paging_token"]
    if found != PAYMENTS:
        raise RuntimeError(f"{found} of {PAYMENTS} payments were read")


# Money out


@dataclass(frozen=True)
class Settled:
    """How a settlement left: its envelopes, and the seconds of each round, of which the last sent nothing more."""

    envelopes: int
    work: list[float]

    @property
    def per_second(self) -> float:
        return SETTLED / sum(max(each, LEDGER_SECONDS) for each in self.work[:-1])

    def line(self, channels: str) -> Line:
        work = SETTLED / sum(self.work)
        return Line(
            f"settlement on stellar, {channels}",
            f"{self.per_second:7.0f} payments/s, {len(self.work) - 1} ledgers of {LEDGER_SECONDS:g} s",
            f"{work:.0f}/s without waiting",
        )


def _settlement_lines(place: Place) -> list[Line]:
    with override_settings(SANDBOX_CHAIN=DEVNET):
        merchant = open_merchant(name="Settled", email="settled@example.com")
        with transaction.atomic():
            stock = [Posted(hot_account(STELLAR, "USDC"), STOCK), Posted(treasury(STELLAR), -STOCK)]
            post(height=1, environment=SANDBOX, kind="treasury_in", reference=str(ids.new_uuid()), lines=stock)
        one = _settle(place, place.chain_through(place.horizons, Keys(keys.HOT_WALLET_KEY)), merchant)
        several = _settle(place, place.chain, merchant)
    each = SETTLED / max(one.envelopes, several.envelopes)
    most = PROFILE.payouts_per_transfer
    ratio = several.per_second / one.per_second
    return [
        Line(
            "settlement on stellar, an envelope",
            f"{each:7.0f} payments",
            f"{most} at most",
            f"{each / most:.2f}x",
            f">= {FULL_GOAL:.2f}x",
            each / most >= FULL_GOAL,
        ),
        one.line("one channel"),
        several.line(f"{CHANNELS} channels"),
        Line(
            f"{CHANNELS} channels against one",
            "",
            f"{one.per_second:.0f}/s with one",
            f"{ratio:.2f}x",
            f">= {CHANNELS_GOAL:.2f}x",
            ratio >= CHANNELS_GOAL,
        ),
    ]


def _settle(place: Place, chain: StellarChain, merchant: Merchant) -> Settled:
    """Let the executor pay so many payouts, a round for each ledger."""
    recipients = [place.recipient(number).public_key for number in range(MERCHANTS)]
    before, work = Transfer.objects.count(), list[float]()
    with mock.patch.object(registry, "chain", return_value=chain):
        _close_ledger(place)
        for number in range(SETTLED):
            ask(STELLAR, 1, to=recipients[number % MERCHANTS], merchant=merchant)
        unpaid = Payout.objects.filter(environment=SANDBOX, network=STELLAR).exclude(status=PayoutStatus.PAID)
        while unpaid.exists():
            if len(work) == MOST_ROUNDS:
                raise RuntimeError(f"{unpaid.count()} of {SETTLED} payouts were not paid")
            wait_no_longer()
            work.append(_seconds_of(lambda: drive(STELLAR)))
            _close_ledger(place)
    return Settled(Transfer.objects.count() - before, work)


def _ratio(rates: list[float], limits: list[float]) -> float:
    return median(rate / limit for rate, limit in zip(rates, limits, strict=True))


def _seconds_of(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
