"""After a restore: finds what the chains show and the restored database does not have, and resumes.

After the backup, numbers of deposit addresses were given out that the database does not know. So the addresses of the
next numbers are looked for on every chain, and none of them is ever given out again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
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
from merchants.ledger.invariants import NetworkKey
from payments.chains import registry
from payments.chains.base import Chain, IncomingTransfer
from payments.chains.errors import ChainError
from payments.deposits.models import ScanCursor
from payments.deposits.watching import watch_network
from payments.models import Payment
from payments.transfers import services
from payments.transfers.models import Wallet
from payments.transfers.recovery import Unknown, adopt, unknown_transfers
from payments.transfers.wallet_snapshot import WalletSnapshot, take_wallet_snapshot
from payments.transfers.wallets import expected_sequences, hold, wallet_of
from payments.treasury.lost_sweeps import adopt_sweeps
from payments.treasury.sweep_booking import book_sweeps

LOOK_AHEAD = 10_000
"""How many next numbers are looked for; doubled as long as one of the later half was paid."""

GIVEN_OUT_TOGETHER = 1_000
"""Payments that may have been in progress during the backup: it lacks them, though it has higher numbers."""

SKIPPED_NUMBERS = 1_000_000
"""How many numbers are skipped: far more than the payments that any backup can lack."""

CLOCK_MARGIN = timedelta(hours=1)
"""How long before the time of the backup the reading of chains begins."""

READING_SECONDS = 300.0

SWEEPS_PER_LINE = 100
"""After how many adopted sweeps a line is printed."""


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
    """What a comparison with the chains has found. With `problems` the installation may not resume."""

    deposits: list[LostDeposit] = field(default_factory=list)
    payouts: list[LostPayout] = field(default_factory=list)
    adopted: int = 0
    sweeps: int = 0
    frozen: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def compare_with_chains(
    since: datetime,
    *,
    without: Collection[NetworkKey] = (),
    look_ahead: int = LOOK_AHEAD,
    is_dry: bool,
    tell: Callable[[str], None],
) -> Found:
    """Read every network to its present end, and from `since` on look for what the database lacks.

    Unless it is dry, sweeps and payouts that were sent already are adopted, and a wallet that has sent anything else
    is frozen.
    """
    found = Found()
    for environment in Environment.values:
        for network in registry.networks(environment):
            if (environment, network) in without:
                _leave_out(environment, network, found, is_dry=is_dry)
                continue
            try:
                _compare(environment, network, since, found, look_ahead=look_ahead, is_dry=is_dry, tell=tell)
            except (ChainError, ImproperlyConfigured) as error:
                found.problems.append(f"{network} ({environment}) cannot be asked: {error}")
    return found


def go_on(found: Found, *, ended_by: str) -> int:
    """Skip every number that may have been given out, and resume. Returns the next number."""
    numbers = [_last_number(), *(deposit.number for deposit in found.deposits)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('payments_deposit_sequence', %s)", [max(numbers) + SKIPPED_NUMBERS])
        [moved_to] = cursor.fetchone() or [0]
    standing.resume(ended_by=ended_by, was_restored=True, findings=found.as_json())
    return int(moved_to) + 1


def _compare(
    environment: str,
    network: str,
    since: datetime,
    found: Found,
    *,
    look_ahead: int,
    is_dry: bool,
    tell: Callable[[str], None],
) -> None:
    chain = registry.chain(environment, network)
    chain.require_set_up()
    if problem := _read_to_the_end(environment, network, chain):
        found.problems.append(problem)
        return
    snapshot = take_wallet_snapshot(environment, network)
    if not isinstance(snapshot, WalletSnapshot):
        raise snapshot
    cursor = ScanCursor.objects.get(environment=environment, network=network)
    first = min(snapshot.height_before(since - CLOCK_MARGIN), cursor.finalized_height)
    found.deposits += _lost_deposits(chain, since, first, environment=environment, look_ahead=look_ahead)
    wallet_of(environment, network, chain)
    for wallet in Wallet.objects.filter(environment=environment, network=network).order_by("pk"):
        _compare_wallet(wallet, chain, first, found, is_dry=is_dry)
    if not is_dry and not found.problems:
        _adopt_sweeps(environment, chain, first, found, tell)


def _read_to_the_end(environment: str, network: str, chain: Chain) -> str:
    """Have the network read up to its head, here or by a worker; returns what prevented that, or an empty text."""
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
    """The addresses of the next numbers, in the form that a chain adapter asks for."""

    def __init__(self, chain: Chain, numbers: Iterable[int]) -> None:
        self.numbers: dict[tuple[str, str], int] = {}
        for number in numbers:
            to = chain.deposit_address(number)
            self.numbers[to.address, to.memo or ""] = number
        self._addresses = {address for address, _ in self.numbers}

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
        next_addresses = _NextAddresses(chain, [number for number in numbers if number not in ours])
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
            for transfer in _arrived(chain, next_addresses, first_height)
            if transfer.asset is not None
            and (number := next_addresses.numbers.get((transfer.recipient, transfer.memo or ""))) is not None
        ]
        if not any(deposit.number >= begin + count // 2 for deposit in found):
            return found
        count *= 2


def _arrived(chain: Chain, next_addresses: _NextAddresses, first_height: int) -> Iterator[IncomingTransfer]:
    seen: set[tuple[str, int]] = set()
    cursor = chain.cursor_at(max(0, first_height - 1))
    while True:
        scan = chain.scan(cursor, next_addresses)
        for transfer in scan.transfers:
            if (transfer.transaction_hash, transfer.ordinal) not in seen:
                seen.add((transfer.transaction_hash, transfer.ordinal))
                yield transfer
        if scan.caught_up:
            return
        cursor = scan.cursor


def _first_lost_number(since: datetime) -> int:
    """The first number that may belong to a payment the database lacks. A number that it gave out after the restore,
    for example to a payment that was then refused, does not show that the number was free before."""
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
        expected = expected_sequences(wallet, chain)
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
            services.catch_up(wallet, expected)


def _adopt_sweeps(environment: str, chain: Chain, first_height: int, found: Found, tell: Callable[[str], None]) -> None:
    """Adopt and book what was swept, so that nothing that is in a wallet of ours is called missing."""
    network = chain.profile.network
    book_sweeps()  # what the backup has on its way, before its deposits are looked at
    began = time.monotonic()

    def progress(done: int) -> None:
        if done % SWEEPS_PER_LINE == 0:
            tell(f"  {network} ({environment}): {done:,} sweeps adopted in {time.monotonic() - began:,.0f} s")

    adopted, strange = adopt_sweeps(
        environment,
        chain,
        first_height=first_height,
        last_height=chain.head().finalized_height,
        progress=progress,
    )
    found.sweeps += adopted
    tell(f"  {network} ({environment}): {adopted:,} sweeps adopted in {time.monotonic() - began:,.0f} s")
    for transaction_hash in strange:
        tell(f"  {network} ({environment}): {transaction_hash} brought coins to a wallet of ours, and is not adopted")
    book_sweeps()


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
