"""The addresses at which money is looked for: those of payments, and those that the next payments will have."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import cached_property, lru_cache

from django.db import connection
from django.utils import timezone

from config import ids
from config.database.database_time import CLOCKS_APART
from payments.chains import registry
from payments.chains.networks import NETWORKS
from payments.chains.protocol.addresses import DepositAddress
from payments.chains.protocol.transfers import Identity, IncomingTransfer
from payments.models import OfferedAddress, Payment

WATCHED_AFTER_END = timedelta(days=30)
"""Time an address stays in the list handed to providers; matching itself never forgets one."""

LONGEST_WINDOW = timedelta(days=2)
"""From a payment's creation until no money in time can come: one day to pay, one that a merchant may grant."""

LOOK_AHEAD = 200
"""So many addresses are watched before a payment has them: without EVM_ADDRESS_KEY anybody can compute them."""

_STEP = 100
"""Number of addresses computed at a time."""


def is_older(block_time: datetime, payment_id: uuid.UUID) -> bool:
    """True if a transfer was on the chain before the payment existed. It cannot have been meant for it.

    A block may look a little older than it is: it names the time it was begun at, and clocks differ.
    """
    return block_time < ids.created_at_of(payment_id) - CLOCKS_APART


def next_addresses(environment: str, network: str) -> frozenset[str]:
    """The addresses that the next payments will have. Where all share one, it is read before the first of them: what
    comes there is the house's, and must not be booked as that now and as a deposit by a later scan."""
    if NETWORKS[network].real.shares_account:
        return frozenset({registry.chain(environment, network).payout_address()})
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM payments_deposit_sequence")
        [last] = cursor.fetchone()
    return _addresses_from(registry.chain(environment, network).deposit_address, last // _STEP * _STEP)


@lru_cache(maxsize=16)
def _addresses_from(address_of: Callable[[int], DepositAddress], first: int) -> frozenset[str]:
    numbers = range(first + 1, first + _STEP + LOOK_AHEAD + 1)
    return frozenset(address_of(number).address for number in numbers)


# One place after the other: where half of all rows share one address, a join would read all of them, and all payments.
_OFFERED = """
    SELECT place.address, place.memo, own.payment_id
    FROM unnest(%s::text[], %s::text[]) AS place (address, memo)
    CROSS JOIN LATERAL (
        SELECT offered.payment_id FROM payments_offeredaddress AS offered
        JOIN payments_payment AS payment ON payment.id = offered.payment_id
        WHERE offered.address = place.address AND offered.memo = place.memo AND payment.environment = %s
        LIMIT 1
    ) AS own
"""


# The same: the payments of a network may all share one address.
_GIVEN_OUT = """
    SELECT place.address FROM unnest(string_to_array(%s, ',')) AS place (address)
    CROSS JOIN LATERAL (
        SELECT FROM payments_payment AS payment
        WHERE payment.deposit_address = place.address AND payment.environment = %s AND payment.network = ANY(%s)
        LIMIT 1
    ) AS own
"""


class PaymentAddresses:
    """The deposit addresses of one environment, as a chain adapter's watch list, those of its next payments as well.

    An evm address is watched on every evm network: money sent on the wrong one is found, not lost.
    """

    def __init__(self, environment: str, network: str) -> None:
        self._environment, self._network = environment, network
        self._siblings = sibling_networks(environment, network)
        self._payments = Payment.objects.filter(environment=environment, network__in=self._siblings)
        self._current = self._payments.filter(closes_at__gt=timezone.now() - WATCHED_AFTER_END)
        family = NETWORKS[network].real.family
        self._offered = OfferedAddress.objects.filter(payment__environment=environment, family=family)

    def addresses(self, at_most: int) -> Collection[str] | None:
        """Addresses to watch. Costs by `at_most`, however many payments are open or were made before: it is read every
        second."""
        found = [*self._coming]
        for network in self._siblings:
            latest = self._current.filter(network=network).order_by("-closes_at")
            found += latest.values_list("deposit_address", flat=True)[: max(0, at_most + 1 - len(found))]
        since = ids.first_uuid_at(timezone.now() - WATCHED_AFTER_END - LONGEST_WINDOW)
        offered = self._offered.filter(payment_id__gte=since).order_by("-payment_id")
        found += offered.values_list("address", flat=True)[: max(0, at_most + 1 - len(found))]
        return None if len(found) > at_most else set(found)

    def matching(self, candidates: Collection[str]) -> set[str]:
        with connection.cursor() as cursor:
            # As one text: PostgreSQL takes three times as long over ten thousand parameters.
            cursor.execute(_GIVEN_OUT, [",".join(candidates), self._environment, self._siblings])
            given_out = {address for (address,) in cursor.fetchall()}
        offered = self._offered_at({(address, "") for address in candidates})
        return given_out | {address for address, _ in offered} | self._coming.intersection(candidates)

    def payment_ids(self, transfers: Collection[IncomingTransfer]) -> dict[Identity, uuid.UUID]:
        """The payments that transfers were sent for, by identity; a transfer older than its payment has none."""
        addresses = {transfer.recipient for transfer in transfers}
        memos = {transfer.memo or "" for transfer in transfers} | {""}
        rows = self._payments.filter(deposit_address__in=addresses, memo__in=memos)
        paid = rows.values_list("deposit_address", "memo", "pk")
        payments = self._offered_at({(transfer.recipient, transfer.memo or "") for transfer in transfers})
        payments |= {(address, memo): pk for address, memo, pk in paid}
        return {
            transfer.identity: pk
            for transfer in transfers
            if (pk := payments.get((transfer.recipient, transfer.memo or ""))) and not is_older(transfer.block_time, pk)
        }

    def expected(self, transfers: Collection[IncomingTransfer]) -> set[Identity]:
        """Transfers that came when their payment existed and its address was watched for it."""
        found = self.payment_ids(transfers)
        ends = dict(Payment.objects.filter(pk__in=set(found.values())).values_list("pk", "closes_at"))
        times = {transfer.identity: transfer.block_time for transfer in transfers}
        return {
            each for each, pk in found.items() if ids.created_at_of(pk) <= times[each] <= ends[pk] + WATCHED_AFTER_END
        }

    def _offered_at(self, places: Collection[tuple[str, str]]) -> dict[tuple[str, str], uuid.UUID]:
        """The payments that could be paid at an address with a memo by some choice of their payer."""
        addresses, memos = [address for address, _ in places], [memo for _, memo in places]
        with connection.cursor() as cursor:
            cursor.execute(_OFFERED, [addresses, memos, self._environment])
            return {(address, memo): key for address, memo, key in cursor.fetchall()}

    @cached_property
    def _coming(self) -> frozenset[str]:
        return next_addresses(self._environment, self._network)


def sibling_networks(environment: str, network: str) -> list[str]:
    """The networks in use on which a payment has the same deposit address as on this one, which comes first."""
    here = registry.profile(environment, network)
    others = [name for name in registry.networks(environment) if name != network]
    return [network, *(name for name in others if registry.profile(environment, name).shares_addresses_with(here))]
