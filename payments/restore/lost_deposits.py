"""Money that came to addresses of payments which the restored database does not have.

After the backup, numbers of deposit addresses were given out that the database does not know. So the addresses of the
next numbers are looked for on every chain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

from django.db.models import Max

from config import ids
from config.money import Asset, from_units
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.transfers import IncomingTransfer
from payments.deposits.addresses import PaymentAddresses
from payments.deposits.crediting import assess_due
from payments.deposits.unattributed import book_unattributed
from payments.deposits.watching import record_arrivals
from payments.models import Payment
from payments.restore.findings import LostDeposit
from payments.treasury.sweep_booking import book_sweeps

GIVEN_OUT_TOGETHER = 1_000
"""Payments that may have been in progress during the backup: it lacks them, though it has higher numbers."""

MOST_ROUNDS = 1_000
"""Rounds of assessing what has come in, some hundred payments each."""


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


def lost_deposits(
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


def credit(environment: str, chain: Chain, lost: Sequence[IncomingTransfer]) -> None:
    """Book what has come in, before what has left. Money of payments that the database lacks waits in suspense, as
    any other that came to an address of ours without a payment."""
    network = chain.profile.network
    if lost and not chain.profile.shares_account:
        record_arrivals(environment, network, lost, PaymentAddresses(environment, network))
    for _ in range(MOST_ROUNDS):
        if not assess_due() + book_unattributed(environment, network):
            break
    book_sweeps()  # what the backup has on its way
