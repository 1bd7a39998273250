"""After a restore: what the chains know and the restored database does not, and going on from there.

The numbers of deposit addresses went on after the backup was made, and the database has forgotten how far. So the
addresses of the numbers that come next are looked for on every chain, and none of them is ever given out again.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import Max

from config import ids
from config.environments import Environment
from config.installation import services as standing
from config.money import from_units
from payments.chains import registry
from payments.chains.base import Chain, IncomingTransfer
from payments.chains.errors import ChainError
from payments.models import Payment, ScanCursor
from payments.transfers import services
from payments.transfers.models import Wallet
from payments.transfers.recovery import Unknown, adopt, unknown_transfers
from payments.transfers.sighting import Sight, look
from payments.transfers.wallets import hold, wallet_of
from payments.watching import watch_network

LOOK_AHEAD = 10_000
"""Numbers whose addresses are looked for by default; twice as many as long as one of the later half was paid."""

GIVEN_OUT_TOGETHER = 1_000
"""Payments that may have been under way when the backup was made: they are not in it, though higher numbers are."""

SKIPPED_NUMBERS = 1_000_000
"""By how much the numbers of deposit addresses move on: far more payments than any backup can be behind."""

CLOCK_MARGIN = timedelta(hours=1)
"""How much earlier than the backup the chains are read from."""

READING_SECONDS = 300.0

Place = tuple[str, str]
"""An environment and a network."""


@dataclass(frozen=True, slots=True)
class LostDeposit:
    """Money at the address of a payment that the database does not have. `amount` is in whole coins."""

    environment: str
    network: str
    number: int
    address: str
    memo: str
    asset: str
    amount: str
    transaction: str
    height: int
    sent_at: str


@dataclass(frozen=True, slots=True)
class LostPayout:
    """Money that left a wallet and that the ledger lacks; `paid` is the refund or settlement it paid, if one waits."""

    environment: str
    network: str
    wallet: str
    recipient: str
    memo: str
    asset: str
    amount: str
    transaction: str
    height: int
    paid: str


@dataclass(slots=True)
class Found:
    """What a comparison with the chains has found. While there are `problems` nothing may go on."""

    deposits: list[LostDeposit] = field(default_factory=list)
    payouts: list[LostPayout] = field(default_factory=list)
    adopted: int = 0
    frozen: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def compare_with_chains(
    since: datetime, *, without: Collection[Place] = (), look_ahead: int = LOOK_AHEAD, is_dry: bool
) -> Found:
    """Read every network to its present end, and from `since` on look for what the database lacks.

    Unless it is dry, payouts that were sent already are taken over, and a wallet that has sent anything else is frozen.
    """
    found = Found()
    for environment in Environment.values:
        for network in registry.networks(environment):
            if (environment, network) in without:
                _leave_out(environment, network, found, is_dry=is_dry)
                continue
            try:
                _compare(environment, network, since, found, look_ahead=look_ahead, is_dry=is_dry)
            except (ChainError, ImproperlyConfigured) as error:
                found.problems.append(f"{network} ({environment}) cannot be asked: {error}")
    return found


def go_on(found: Found, *, ended_by: str) -> int:
    """Skip every number that may have been given out, and let the installation work again. Returns the next number."""
    numbers = [_last_number(), *(deposit.number for deposit in found.deposits)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('payments_deposit_sequence', %s)", [max(numbers) + SKIPPED_NUMBERS])
        [moved_to] = cursor.fetchone() or [0]
    standing.resume(ended_by=ended_by, was_restored=True, findings=found.as_json())
    return int(moved_to) + 1


def _compare(environment: str, network: str, since: datetime, found: Found, *, look_ahead: int, is_dry: bool) -> None:
    chain = registry.chain(environment, network)
    chain.require_set_up()
    if problem := _read_to_the_end(environment, network, chain):
        found.problems.append(problem)
        return
    sight = look(environment, network)
    if not isinstance(sight, Sight):
        raise sight
    cursor = ScanCursor.objects.get(environment=environment, network=network)
    first = min(sight.height_before(since - CLOCK_MARGIN), cursor.finalized_height)
    found.deposits += _lost_deposits(chain, since, first, environment=environment, look_ahead=look_ahead)
    wallet_of(environment, network, chain)
    for wallet in Wallet.objects.filter(environment=environment, network=network).order_by("pk"):
        _compare_wallet(wallet, chain, first, found, is_dry=is_dry)


def _read_to_the_end(environment: str, network: str, chain: Chain) -> str:
    """Have the network read up to its present head, here or by a worker; what kept it from that, or nothing."""
    height = chain.head().height
    deadline = time.monotonic() + READING_SECONDS
    while True:
        watch_network(environment, network)
        cursor = ScanCursor.objects.get(environment=environment, network=network)
        name = f"{network} ({environment})"
        if cursor.halted_at is not None:
            return f"{name} is halted: {cursor.last_error}"
        if cursor.failing_since is not None:
            return f"{name} cannot be read: {cursor.last_error}"
        if cursor.polled_at is not None and cursor.head_height >= height:
            return ""
        if time.monotonic() > deadline:
            return f"{name} has been read up to block {cursor.head_height} of {height} only. Run this again."
        time.sleep(0.05)


# Money in


class _NextAddresses:
    """The places of the numbers that come next, as a chain adapter asks for them."""

    def __init__(self, chain: Chain, numbers: Iterable[int]) -> None:
        self.places: dict[tuple[str, str], int] = {}
        for number in numbers:
            to = chain.deposit_address(number)
            self.places[to.address, to.memo or ""] = number
        self._addresses = {address for address, _ in self.places}

    def addresses(self, at_most: int) -> Collection[str] | None:
        return self._addresses if len(self._addresses) <= at_most else None

    def matching(self, candidates: Collection[str]) -> set[str]:
        return self._addresses.intersection(candidates)


def _lost_deposits(
    chain: Chain, since: datetime, first_height: int, *, environment: str, look_ahead: int
) -> list[LostDeposit]:
    begin = _first_lost_number(since)
    count = look_ahead
    while True:
        numbers = range(begin, begin + count)
        ours = set(Payment.objects.filter(sequence__range=(numbers[0], numbers[-1])).values_list("sequence", flat=True))
        places = _NextAddresses(chain, [number for number in numbers if number not in ours])
        found = [
            LostDeposit(
                environment,
                chain.profile.network,
                number,
                transfer.recipient,
                transfer.memo or "",
                transfer.asset.code,
                f"{from_units(transfer.amount, transfer.asset.decimals):f}",
                transfer.transaction_hash,
                transfer.height,
                transfer.block_time.isoformat(),
            )
            for transfer in _arrived(chain, places, first_height)
            if transfer.asset is not None
            and (number := places.places.get((transfer.recipient, transfer.memo or ""))) is not None
        ]
        if not any(deposit.number >= begin + count // 2 for deposit in found):
            return found
        count *= 2


def _arrived(chain: Chain, places: _NextAddresses, first_height: int) -> Iterator[IncomingTransfer]:
    seen: set[tuple[str, int]] = set()
    cursor = chain.cursor_at(max(0, first_height - 1))
    while True:
        scan = chain.scan(cursor, places)
        for transfer in scan.transfers:
            if (transfer.transaction_hash, transfer.ordinal) not in seen:
                seen.add((transfer.transaction_hash, transfer.ordinal))
                yield transfer
        if scan.caught_up:
            return
        cursor = scan.cursor


def _first_lost_number(since: datetime) -> int:
    """The number from which on the database may have forgotten who got it. What it gave out itself, a payment that was
    refused after the restore for one, is no sign that a number was free before."""
    kept = Payment.objects.filter(id__lt=ids.first_uuid_at(since)).aggregate(last=Max("sequence"))["last"] or 0
    return max(0, kept - GIVEN_OUT_TOGETHER)


def _last_number() -> int:
    """The highest number that this database has given out."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM payments_deposit_sequence")
        [number] = cursor.fetchone() or [0]
    return max(int(number), Payment.objects.aggregate(last=Max("sequence"))["last"] or 0)


# Money out


def _compare_wallet(wallet: Wallet, chain: Chain, first_height: int, found: Found, *, is_dry: bool) -> None:
    with hold(wallet) as held:
        if not held:
            found.problems.append(f"A worker is busy with {wallet}. Run this again in a moment.")
            return
        expected = chain.next_sequence(wallet.address)
        unknown = unknown_transfers(wallet, since_block=first_height)
        found.payouts += [_lost_payout(wallet, each) for each in unknown]
        if unripe := [each for each in unknown if not each.is_final]:
            height = max(each.sent.height for each in unripe)
            found.problems.append(f"{wallet} has sent what is not final yet. Run this again once block {height} is.")
            return
        if is_dry:
            return
        found.adopted += adopt(wallet, unknown)
        if any(each.payout is None for each in unknown):
            _freeze(wallet, "It has sent money that the ledger lacks, before a restore: manage.py thaw_wallet.", found)
        else:
            services.catch_up(wallet, next_sequence=expected)


def _lost_payout(wallet: Wallet, each: Unknown) -> LostPayout:
    sent, asset = each.sent, each.asset
    return LostPayout(
        wallet.environment,
        wallet.network,
        wallet.address,
        sent.recipient,
        sent.memo or "",
        asset.code if asset else sent.contract,
        f"{from_units(sent.amount, asset.decimals):f}" if asset else str(sent.amount),
        sent.transaction_hash,
        sent.height,
        each.payout.reference if each.payout else "",
    )


def _leave_out(environment: str, network: str, found: Found, *, is_dry: bool) -> None:
    reason = "It was left out when the installation resumed after a restore: manage.py thaw_wallet."
    for wallet in Wallet.objects.filter(environment=environment, network=network).order_by("pk"):
        if not is_dry:
            _freeze(wallet, reason, found)


def _freeze(wallet: Wallet, reason: str, found: Found) -> None:
    services.freeze_wallet(wallet, reason=reason)
    found.frozen.append(str(wallet))
