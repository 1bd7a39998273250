"""After a restore: finds what the chains show and the restored database does not have, and resumes.

After the backup, numbers of deposit addresses were given out that the database does not know. So the addresses of the
next numbers are looked for on every chain, and none of them is ever given out again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction
from django.db.models import Max

from config import ids
from config.environments import Environment
from config.errors import DomainError
from config.installation import services as standing
from config.money import Asset, from_units
from config.periodic.containment import contained
from merchants.ledger.invariants import CouldNotCheck, NetworkKey
from merchants.ledger.models import Stop
from merchants.ledger.posting import InsufficientFunds
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.transfers import IncomingTransfer, SentTransaction
from payments.deposits.addresses import PaymentAddresses
from payments.deposits.crediting import assess_due
from payments.deposits.models import ScanCursor
from payments.deposits.unattributed import book_unattributed
from payments.deposits.watching import record_arrivals, watch_network
from payments.models import Payment
from payments.transfers import services
from payments.transfers.audit.adopt_unknown import (
    NotAPayout,
    SequenceTaken,
    Unknown,
    adopt_idle,
    adopt_transaction,
    by_transaction,
    found_as,
    is_version,
    mined_as,
    unknown_transfers,
)
from payments.transfers.audit.wallet_snapshot import WalletSnapshot, take_wallet_snapshot
from payments.transfers.execution.nonces import known_sequence
from payments.transfers.models import Transfer, Wallet
from payments.transfers.owners import FOUND, LEFT_OUT, attribute_found, follow_payouts, found_payouts
from payments.transfers.services import Mined
from payments.transfers.wallets import expected_sequences, hold, wallet_of
from payments.treasury.cold import cold_wallet_of, cold_wallets
from payments.treasury.house import fundings
from payments.treasury.house.cold.moves import follow
from payments.treasury.house.manual_transfers import attribute
from payments.treasury.lost_sweeps import adopt_sweep, lost_sweeps, numbers_of
from payments.treasury.sweep_booking import book_found, book_sweeps
from payments.treasury.wallet_balances import book_treasury, is_kept_in_ledger, treasury_balance

logger = structlog.get_logger(__name__)

LOOK_AHEAD = 10_000
"""Number of next addresses to search; doubled as long as one of the later half was paid."""

GIVEN_OUT_TOGETHER = 1_000
"""Payments that may have been in progress during the backup: it lacks them, though it has higher numbers."""

SKIPPED_NUMBERS = 1_000_000
"""Number of skipped addresses: far more than the payments that any backup can lack."""

CLOCK_MARGIN = timedelta(hours=1)
"""Margin before the time of the backup at which the reading of chains begins."""

READING_SECONDS = 300.0

MOST_ROUNDS = 1_000
"""Rounds of assessing what has come in, some hundred payments each."""

MOVEMENTS_PER_LINE = 500
"""After how many adopted transactions a line is printed."""


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
    """Findings of a comparison with the chains. With `problems` the installation may not resume."""

    deposits: list[LostDeposit] = field(default_factory=list)
    payouts: list[LostPayout] = field(default_factory=list)
    adopted: int = 0
    sweeps: int = 0
    without_coins: int = 0
    """On-chain transactions of ours that moved no coin: they failed, or set something up."""
    left: list[str] = field(default_factory=list)
    """Transactions that brought coins of ours to our wallets and cannot be adopted: nobody may book them as the
    house's."""
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
    report: Callable[[str], None],
) -> Found:
    """Read every network to its present end, and from `since` on look for what the database lacks.

    Unless it is dry, what wallets of ours have sent is adopted and booked as what it is, and a wallet that has sent
    what cannot be attributed is frozen.
    """
    found, began = Found(), time.monotonic()
    for environment in Environment.values:
        for network in registry.networks(environment):
            if (environment, network) in without:
                _leave_out(environment, network, found, is_dry=is_dry)
                continue
            try:
                _compare(environment, network, since, found, look_ahead=look_ahead, is_dry=is_dry, report=report)
            except (ChainError, ImproperlyConfigured) as error:
                found.problems.append(f"{network} ({environment}) cannot be asked: {error}")
    moved, seconds = found.sweeps + len(found.payouts) + found.without_coins, time.monotonic() - began
    report(f"{moved:,} movements compared in {seconds:,.0f} s, {moved / max(seconds, 0.001):,.0f} a second.")
    return found


def go_on(found: Found, *, ended_by: str) -> int:
    """Skip every number that may have been given out, and resume. Returns the next number."""
    numbers = [_last_number(), *(deposit.number for deposit in found.deposits)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('payments_deposit_sequence', %s)", [max(numbers) + SKIPPED_NUMBERS])
        [moved_to] = cursor.fetchone() or [0]
    standing.resume(ended_by=ended_by, was_restored=True, findings=found.as_json())
    _book_native_coins()
    return int(moved_to) + 1


def _book_native_coins() -> None:
    """Book what hot wallets hold of native coins beyond the ledger, once everything else is in it: nobody is owed any,
    so that the house has put them in. Where it never booked any, it does not begin to."""
    fundings.book_fundings()
    for environment in Environment.values:
        for network in registry.networks(environment):
            expected = (ChainError, CouldNotCheck, ImproperlyConfigured)
            with contained("native coins not booked", expected=expected, environment=environment, network=network):
                code = registry.profile(environment, network).native.code
                balance, times = treasury_balance(environment, network, code)
                if balance.unexplained > 0 and is_kept_in_ledger(balance):
                    book_treasury(balance, times=times, amount=balance.unexplained)


def _compare(
    environment: str,
    network: str,
    since: datetime,
    found: Found,
    *,
    look_ahead: int,
    is_dry: bool,
    report: Callable[[str], None],
) -> None:
    chain = registry.chain(environment, network)
    chain.set_up.require()
    if problem := _read_to_the_end(environment, network, chain):
        found.problems.append(problem)
        return
    snapshot = take_wallet_snapshot(environment, network)
    if not isinstance(snapshot, WalletSnapshot):
        raise snapshot
    cursor = ScanCursor.objects.get(environment=environment, network=network)
    first = min(snapshot.height_before(since - CLOCK_MARGIN), cursor.finalized_height)
    lost = _lost_deposits(chain, since, first, environment=environment, look_ahead=look_ahead)
    found.deposits += [each for each, _ in lost]
    wallet_of(environment, network, chain)
    wallets = list(Wallet.objects.filter(environment=environment, network=network).order_by("pk"))
    left = {wallet: unknown_transfers(wallet, since_block=first) for wallet in wallets}
    for wallet, unknown in left.items():
        if unripe := [each.sent.height for each in unknown if not each.is_final]:
            block = max(unripe)
            found.problems.append(f"{wallet} has sent what is not final yet. Run this again once block {block} is.")
    if is_dry or found.problems:
        found.payouts += [_lost_payout(wallet, each) for wallet, unknown in left.items() for each in unknown]
        return
    cold_wallet_of(environment, network, first_height=first)
    numbers = {transfer.recipient: each.number for each, transfer in lost}
    _credit(environment, chain, [transfer for _, transfer in lost])
    adoption = _Adoption(environment, chain, first, numbers, found, report)
    for wallet, unknown in left.items():
        with hold(wallet) as held:
            if not held:
                found.problems.append(f"A worker is busy with {wallet}. Run this again in a moment.")
                return
            adoption.adopt(wallet, unknown)
    adoption.finish()


def _read_to_the_end(environment: str, network: str, chain: Chain) -> str:
    """Have the network read up to its head, here or by a worker; returns what prevented that, or an empty text."""
    height = chain.reading.head().height
    deadline = time.monotonic() + READING_SECONDS
    while True:
        watch_network(environment, network)
        cursor = ScanCursor.objects.get(environment=environment, network=network)
        name = f"{network} ({environment})"
        if (halt := Stop.objects.halting().of_network(environment, network).first()) is not None:
            return f"{name} is halted: {halt.reason}"
        if cursor.failing_since is not None:
            return f"{name} cannot be read: {cursor.last_error}"
        if cursor.polled_at is not None and cursor.head_height >= height:
            return ""
        if time.monotonic() > deadline:
            return f"{name} has been read up to block {cursor.head_height} of {height} only. Run this again."
        time.sleep(0.05)


# Money in


class _NextAddresses:
    """The addresses of the next numbers, in the form of a chain adapter's watch list."""

    def __init__(self, chain: Chain, numbers: Iterable[int]) -> None:
        self.numbers: dict[tuple[str, str], int] = {}
        for number in numbers:
            for to in chain.deposit_addresses(number):
                self.numbers[to.address, to.memo or ""] = number
        self._addresses = {address for address, _ in self.numbers}

    def addresses(self, at_most: int) -> Collection[str] | None:
        return self._addresses if len(self._addresses) <= at_most else None

    def matching(self, candidates: Collection[str]) -> set[str]:
        return self._addresses.intersection(candidates)


def _lost_deposits(
    chain: Chain, since: datetime, first_height: int, *, environment: str, look_ahead: int
) -> list[tuple[LostDeposit, IncomingTransfer]]:
    kept = _last_kept_number(since)
    count = look_ahead
    while True:
        numbers = range(max(0, kept - GIVEN_OUT_TOGETHER), kept + 1 + count)
        ours = set(Payment.objects.filter(sequence__range=(numbers[0], numbers[-1])).values_list("sequence", flat=True))
        next_addresses = _NextAddresses(chain, [number for number in numbers if number not in ours])
        found = [
            (_lost_deposit(environment, transfer, transfer.asset, chain.profile.network, number), transfer)
            for transfer in _arrived(chain, next_addresses, first_height)
            if transfer.asset is not None
            and (number := next_addresses.numbers.get((transfer.recipient, transfer.memo or ""))) is not None
        ]
        if not any(deposit.number > kept + count // 2 for deposit, _ in found):
            return found
        count *= 2


def _lost_deposit(environment: str, transfer: IncomingTransfer, asset: Asset, network: str, number: int) -> LostDeposit:
    return LostDeposit(
        environment,
        network,
        number,
        transfer.recipient,
        transfer.memo or "",
        asset.code,
        f"{from_units(transfer.amount, asset.decimals):f}",
        transfer.transaction_hash,
        transfer.height,
        transfer.block_time.isoformat(),
    )


def _arrived(chain: Chain, next_addresses: _NextAddresses, first_height: int) -> Iterator[IncomingTransfer]:
    seen: set[tuple[str, int]] = set()
    cursor = chain.reading.cursor_at(max(0, first_height - 1))
    while True:
        scan = chain.reading.scan(cursor, next_addresses)
        for transfer in scan.transfers:
            if (transfer.transaction_hash, transfer.ordinal) not in seen:
                seen.add((transfer.transaction_hash, transfer.ordinal))
                yield transfer
        if scan.caught_up:
            return
        cursor = scan.cursor


def _last_kept_number(since: datetime) -> int:
    """The highest number of before the end of the backup. A number that the database gave out after the restore, for
    example to a payment that was then refused, does not show that the number was free before."""
    return Payment.objects.filter(id__lt=ids.first_uuid_at(since)).aggregate(last=Max("sequence"))["last"] or 0


def _last_number() -> int:
    """The highest number that this database has given out."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM payments_deposit_sequence")
        [number] = cursor.fetchone() or [0]
    return max(int(number), Payment.objects.aggregate(last=Max("sequence"))["last"] or 0)


def _credit(environment: str, chain: Chain, lost: Sequence[IncomingTransfer]) -> None:
    """Book what has come in, before what has left. Money of payments that the database lacks waits in suspense, as
    any other that came to an address of ours without a payment."""
    network = chain.profile.network
    if lost and not chain.profile.shares_account:
        record_arrivals(environment, network, lost, PaymentAddresses(environment, network))
    for _ in range(MOST_ROUNDS):
        if not assess_due() + book_unattributed(environment, network):
            break
    book_sweeps()  # what the backup has on its way


# Money out


class _Adoption:
    """Adopts what wallets of ours have sent on one network and the ledger lacks, in its order, and books it."""

    def __init__(
        self,
        environment: str,
        chain: Chain,
        first_height: int,
        lost: Mapping[str, int],
        found: Found,
        report: Callable[[str], None],
    ) -> None:
        self._environment, self._chain, self._network = environment, chain, chain.profile.network
        self._first, self._last = first_height, chain.reading.head().finalized_height
        self._lost, self._found, self._report = lost, found, report
        swept = lost_sweeps(environment, chain, first_height=first_height, last_height=self._last, lost=lost)
        self._sweeps = {moves[0].transaction_hash: moves for moves in swept}
        self._paid: list[tuple[Wallet, Unknown]] = []
        self._done = 0

    def adopt(self, wallet: Wallet, unknown: Sequence[Unknown]) -> None:
        """Everything that one wallet has sent, by itself or by its channels."""
        expected, groups = expected_sequences(wallet, self._chain), by_transaction(unknown)
        sent = [(channel, each) for channel in expected for each in self._sent(wallet, channel, expected, groups)]
        for channel, each in sorted(sent, key=lambda one: (one[1].height, one[1].sequence)):
            parts = groups.pop(each.transaction_hash, [])
            moves = self._sweeps.pop(each.transaction_hash, None)
            if moves is not None:
                self._found.sweeps += self._adopt_sweep(wallet, each, moves)
                if parts:  # a call of several contracts
                    groups[each.transaction_hash] = parts
            elif parts:
                if not self._pay(wallet, each, parts):
                    groups[each.transaction_hash] = parts
            else:
                self._found.without_coins += adopt_idle(wallet, channel, each, self._chain.profile.native)
            self._progress()
        strange = [each for parts in groups.values() for each in parts]
        self._found.payouts += [_lost_payout(wallet, each) for each in strange]
        if strange:
            reason = "It has sent money that the ledger lacks, before a restore: manage.py thaw_wallet."
            _freeze(wallet, reason, self._found)
        else:
            services.catch_up(wallet, expected)

    def finish(self) -> None:
        """Book what is left to be booked, and report transactions that no wallet of ours has sent."""
        for transaction_hash in self._sweeps:
            line = f"{self._named}: {transaction_hash} brought coins to a wallet of ours that are not adopted"
            self._report(f"  {line}")
            self._found.left.append(line)
        book_sweeps()
        for cold in cold_wallets(self._environment, self._network):
            follow(cold, until=self._last)
        follow_payouts()
        self._attribute()
        self._report(f"  {self._named}: {self._done:,} transactions of wallets of ours adopted")

    def _attribute(self) -> None:
        """Attribute what can have been for one owner only. While there is anything else, nothing is paid: it might be
        the same."""
        attribute_found(self._environment, self._network)
        if found_payouts(self._environment, self._network).exists():
            for wallet in Wallet.objects.filter(environment=self._environment, network=self._network).order_by("pk"):
                _freeze(wallet, "It has paid what this database has no request of: manage.py book_sent.", self._found)
        for wallet, each in self._paid:
            if each.payout is not None:
                each.payout.refresh_from_db()
            self._found.payouts.append(_lost_payout(wallet, each))
            self._found.adopted += bool(self._found.payouts[-1].paid)

    @property
    def _named(self) -> str:
        return f"{self._network} ({self._environment})"

    def _sent(
        self, wallet: Wallet, channel: str, expected: Mapping[str, int], groups: Collection[str]
    ) -> Iterable[SentTransaction]:
        known = known_sequence(wallet, channel)
        has_sent = Transfer.objects.filter(wallet=wallet, channel=channel).exists()
        return self._chain.hot_wallet.sent_by(
            wallet.account_of(channel),
            first_height=self._first,
            last_height=self._last,
            first_sequence=known if has_sent else expected[channel],  # else nobody knows where ours begin
            hashes={*groups, *self._sweeps},
        )

    def _adopt_sweep(self, wallet: Wallet, sent: SentTransaction, moves: Sequence[IncomingTransfer]) -> bool:
        coin = [each for each in moves if each.asset == moves[0].asset]
        sweep = adopt_sweep(wallet, sent.sequence, coin, self._mined(sent), self._lost)
        if sweep is None:
            return False
        numbers = numbers_of({each.sender for each in coin})
        with contained("sweep not booked yet", expected=(ChainError, DomainError), transfer=str(sweep.transfer)):
            book_found(sweep, coin, {**self._lost, **numbers})
        if rest := [each for each in moves if each not in coin]:
            self._sweeps[sent.transaction_hash] = rest
        return True

    def _pay(self, wallet: Wallet, sent: SentTransaction, parts: Sequence[Unknown]) -> bool:
        """Adopt what has paid payouts that wait, the house, another wallet of ours or somebody whom the database does
        not know of; False when it cannot be booked."""
        if is_version(wallet, parts):
            return True
        for tries_left in (1, 0):
            try:
                with transaction.atomic():
                    self._adopt_whole(wallet, sent, parts)
                return True
            except InsufficientFunds as error:
                failed: DomainError = error
                for cold in cold_wallets(self._environment, self._network) if tries_left else ():
                    follow(cold, until=sent.height)  # it may have refilled the hot wallet
            except (NotAPayout, SequenceTaken) as error:
                failed = error
                break
        logger.warning("transfer not adopted", transaction_hash=sent.transaction_hash, error=str(failed))
        return False

    def _adopt_whole(self, wallet: Wallet, sent: SentTransaction, parts: Sequence[Unknown]) -> None:
        mined = self._mined(sent)
        known = [found_as(wallet, self._of_house(wallet, each, mined)) for each in parts]
        adopt_transaction(wallet, known, mined)
        follow_payouts()
        self._paid += [(wallet, each) for each in known]

    def _of_house(self, wallet: Wallet, each: Unknown, mined: Mined) -> Unknown:
        if each.is_known or each.asset is None or each.sent.is_conditional:
            return each
        return replace(each, payout=attribute(wallet, each.sent, each.asset, mined))

    def _mined(self, sent: SentTransaction) -> Mined:
        return mined_as(self._chain, sent.transaction_hash, sent.height, sent.fee_units, sent.said_by)

    def _progress(self) -> None:
        self._done += 1
        if self._done % MOVEMENTS_PER_LINE == 0:
            self._report(f"  {self._named}: {self._done:,} transactions adopted")


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
        each.payout.reference if each.payout and not each.payout.reference.startswith(FOUND) else "",
    )


def _leave_out(environment: str, network: str, found: Found, *, is_dry: bool) -> None:
    for wallet in Wallet.objects.filter(environment=environment, network=network).order_by("pk"):
        if not is_dry:
            _freeze(wallet, LEFT_OUT, found)


def _freeze(wallet: Wallet, reason: str, found: Found) -> None:
    services.freeze_wallet(wallet, reason=reason)
    found.frozen.append(str(wallet))
