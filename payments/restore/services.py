"""Compares a restored database with the chains, and resumes.

No number that may have been given out after the backup is ever given out again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import Max

from config.environments import Environment
from config.installation import services as standing
from config.periodic.containment import contained
from merchants.ledger.checking import CouldNotCheck, NetworkKey
from merchants.ledger.models import Stop
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.protocol.chain import Chain
from payments.deposits.models import ScanCursor
from payments.deposits.watching import watch_network
from payments.models import Payment
from payments.restore.adoption import Adoption, freeze, lost_payout
from payments.restore.findings import Found
from payments.restore.lost_deposits import credit, lost_deposits
from payments.transfers.audit.adopt_unknown import unknown_transfers
from payments.transfers.audit.wallet_snapshot import WalletSnapshot, take_wallet_snapshot
from payments.transfers.models import Wallet
from payments.transfers.owners import LEFT_OUT
from payments.transfers.wallets import hold, wallet_of
from payments.treasury.cold import cold_wallet_of
from payments.treasury.house import fundings
from payments.treasury.wallet_balances import book_treasury, is_kept_in_ledger, treasury_balance

LOOK_AHEAD = 10_000
"""Number of next addresses to search; doubled as long as one of the later half was paid."""

SKIPPED_NUMBERS = 1_000_000
"""Number of skipped addresses: far more than the payments that any backup can lack."""

CLOCK_MARGIN = timedelta(hours=1)
"""Margin before the time of the backup at which the reading of chains begins."""

READING_SECONDS = 300.0


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
    lost = lost_deposits(chain, since, first, environment=environment, look_ahead=look_ahead)
    found.deposits += [each for each, _ in lost]
    wallet_of(environment, network, chain)
    wallets = list(Wallet.objects.filter(environment=environment, network=network).order_by("pk"))
    left = {wallet: unknown_transfers(wallet, since_block=first) for wallet in wallets}
    for wallet, unknown in left.items():
        if unripe := [each.sent.height for each in unknown if not each.is_final]:
            block = max(unripe)
            found.problems.append(f"{wallet} has sent what is not final yet. Run this again once block {block} is.")
    if is_dry or found.problems:
        found.payouts += [lost_payout(wallet, each) for wallet, unknown in left.items() for each in unknown]
        return
    cold_wallet_of(environment, network, first_height=first)
    numbers = {transfer.recipient: each.number for each, transfer in lost}
    credit(environment, chain, [transfer for _, transfer in lost])
    adoption = Adoption(environment, chain, first, numbers, found, report)
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


def _last_number() -> int:
    """The highest number that this database has given out."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM payments_deposit_sequence")
        [number] = cursor.fetchone() or [0]
    return max(int(number), Payment.objects.aggregate(last=Max("sequence"))["last"] or 0)


def _leave_out(environment: str, network: str, found: Found, *, is_dry: bool) -> None:
    for wallet in Wallet.objects.filter(environment=environment, network=network).order_by("pk"):
        if not is_dry:
            freeze(wallet, LEFT_OUT, found)
