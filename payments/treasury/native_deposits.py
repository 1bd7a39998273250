"""Native coins at deposit addresses, where somebody sent ETH or POL instead of the requested token.

The network reports no event for them, so balances are read, a few addresses a minute. They count for no payment. When
an operator requests it, a sweep brings them to the hot wallet, where they pay fees; only then are they in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import FilteredRelation, Q, QuerySet, Sum
from django.utils import timezone

from config import ids
from config.errors import DomainError
from merchants.ledger.models import Stop
from merchants.ledger.posting import post_draft
from payments.chains import registry
from payments.chains.networks import NETWORKS
from payments.chains.protocol.chain import Chain, sweeps_of
from payments.deposits.address_derivations import require_addresses
from payments.deposits.addresses import LONGEST_WINDOW, WATCHED_AFTER_END, sibling_networks
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.transfers.execution.executor import sign_sweep
from payments.transfers.models import Transfer
from payments.transfers.states import TransferStatus
from payments.treasury import postings
from payments.treasury.cold import sweeps_go_to
from payments.treasury.models import NativeCoin, Sweep

logger = structlog.get_logger(__name__)

ADDRESSES_AT_ONCE = 200
ROUND = timedelta(hours=1)
"""No round begins sooner after the one before: with few addresses most minutes send no query."""


class NothingToBringIn(DomainError):
    """No native coins are there, or they are on their way to the hot wallet already."""

    code = "nothing_to_bring_in"
    message = "There is nothing to bring in."


# Looking


def look_for_some(environment: str, network: str) -> int:
    """Read the balances of the next few payments that are open or ended lately; returns how many hold something."""
    cursor = ScanCursor.objects.filter(environment=environment, network=network, fault="")
    place = cursor.first()
    is_halted = Stop.objects.halting().of_network(environment, network).exists()
    if place is None or is_halted or registry.profile(environment, network).shares_account:
        return 0
    now = timezone.now()
    began = place.native_round_at
    if place.native_read_to is None:
        if began is not None and now - began < ROUND:
            return 0
        began = now
    payments = _lately_open(environment, network, after=place)
    found = look_at(environment, network, payments)
    read_to = payments[-1].pk if len(payments) == ADDRESSES_AT_ONCE else None
    cursor.update(native_round_at=began, native_read_to=read_to)
    return len(found)


def look_at(environment: str, network: str, payments: Sequence[Payment]) -> list[NativeCoin]:
    """Read what the addresses of these payments hold on a network, and store it; returns those that hold something."""
    if not payments:
        return []
    chain = registry.chain(environment, network)
    height = chain.reading.head().height
    by_address = {payment.address_on(network): payment for payment in payments}
    held = chain.reading.balances(list(by_address), chain.profile.native, at_height=height)
    known = NativeCoin.objects.filter(network=network, payment__in=payments)
    with transaction.atomic():
        # What was there before and is not any more went with a sweep.
        empty = known.exclude(payment__in=[by_address[address] for address in held]).filter(height__lte=height)
        empty.update(held=0, height=height)
        for address, units in held.items():
            _store(by_address[address], network, units, height)
    return list(known.filter(held__gt=0).select_related("payment").order_by("-held", "pk"))


def _lately_open(environment: str, network: str, *, after: ScanCursor) -> list[Payment]:
    since = timezone.now() - WATCHED_AFTER_END
    begin = after.native_read_to or ids.first_uuid_at(since - LONGEST_WINDOW)
    siblings = sibling_networks(environment, network)
    family = registry.profile(environment, network).family
    # Joined, so that both are read in the order of payments, and no further than the limit.
    offered = FilteredRelation("offered_addresses", condition=Q(offered_addresses__family=family))
    payments = Payment.objects.alias(offered=offered).filter(environment=environment)
    payments = payments.filter(Q(network__in=siblings) | Q(offered__isnull=False))
    return list(payments.filter(pk__gt=begin, closes_at__gt=since).order_by("pk")[:ADDRESSES_AT_ONCE])


def _store(payment: Payment, network: str, units: int, height: int) -> None:
    fresh = {"environment": payment.environment, "held": units, "height": height}
    coin, is_new = NativeCoin.objects.get_or_create(payment=payment, network=network, defaults=fresh)
    if not is_new:
        NativeCoin.objects.filter(pk=coin.pk, height__lte=height).update(held=units, height=height)
    if is_new or coin.held < units:
        logger.warning("native coin at a deposit address", payment=payment.public_id, network=network, units=units)


# Bringing it in


def waiting(environment: str, network: str) -> QuerySet[NativeCoin]:
    """Native coins that could be swept: there, and in no sweep."""
    coins = NativeCoin.objects.filter(environment=environment, network=network, held__gt=0)
    return coins.filter(Q(sweep__isnull=True) | Q(sweep__booked_at__isnull=False)).order_by("-held", "pk")


def cost_of(chain: Chain, coins: Iterable[NativeCoin]) -> int:
    """About what bringing these in costs just now, if nothing has emptied their addresses before."""
    count, most = len(list(coins)), chain.profile.sweeps_per_transfer
    costs, full, rest = chain.hot_wallet.costs(), *divmod(count, most)
    return full * costs.of_sweep(first_time=most) + costs.of_sweep(first_time=rest)


def worth_bringing_in(chain: Chain, coins: Iterable[NativeCoin]) -> list[NativeCoin]:
    """Coins that hold more than each adds to the cost of a sweep."""
    share = chain.hot_wallet.costs().first_time
    return [coin for coin in coins if coin.held > share]


def ask_for(coins: Sequence[NativeCoin], *, asked_by: str) -> int:
    """An operator wants this brought to the hot wallet, to pay fees with; returns how much it is.

    The worker that holds the key signs the sweep. NothingToBringIn, and nothing is requested, when one is not there.
    """
    with transaction.atomic():
        keys = [coin.pk for coin in coins]
        locked = list(NativeCoin.objects.select_for_update().filter(pk__in=keys).order_by("pk"))
        for environment, network in {(coin.environment, coin.network) for coin in locked}:
            here = {coin.pk for coin in locked if (coin.environment, coin.network) == (environment, network)}
            if waiting(environment, network).filter(pk__in=here).count() != len(here):
                raise NothingToBringIn
        if not locked:
            raise NothingToBringIn
        NativeCoin.objects.filter(pk__in=keys).update(asked_at=timezone.now(), asked_by=asked_by)
    logger.warning("native coin asked for", payments=[str(coin.payment_id) for coin in locked], asked_by=asked_by)
    return sum(coin.held for coin in locked)


class _AskedNoMore(Exception):
    """Another process is sweeping one of these: nothing of this sweep is stored."""


def sweep_requested(environment: str, network: str) -> Transfer | None:
    """Sign a sweep of the coins that operators have requested."""
    profile = registry.profile(environment, network)
    requested = waiting(environment, network).filter(asked_at__isnull=False).select_related("payment")
    found = list(requested[: profile.sweeps_per_transfer])
    if not found:
        return None
    chain = registry.chain(environment, network)
    require_addresses(chain, [coin.payment for coin in found])
    together = sweeps_of(chain).together([coin.payment.sequence for coin in found])
    coins = {coin.pk: coin.payment.sequence for coin in found if coin.payment.sequence in together}
    cold = sweeps_go_to(environment, chain)

    def record(transfer: Transfer) -> None:
        locked = NativeCoin.objects.select_for_update(of=("self",)).filter(pk__in=coins)
        still = list(waiting(environment, network).filter(pk__in=locked.values_list("pk"), asked_at__isnull=False))
        if len(still) != len(coins):
            raise _AskedNoMore
        expected = sum(coin.held for coin in still)
        sweep = Sweep.objects.create(transfer=transfer, asset=profile.native.code, expected=expected, cold_wallet=cold)
        NativeCoin.objects.filter(pk__in=coins).update(sweep=sweep, asked_at=None)

    try:
        return sign_sweep(
            environment=environment,
            chain=chain,
            asset=profile.native,
            sequences=list(coins.values()),
            record=record,
        )
    except _AskedNoMore:
        return None


# Booking it


def is_native(sweep: Sweep) -> bool:
    """True if a sweep moves native coins."""
    return sweep.asset == NETWORKS[sweep.transfer.network].real.native.code


def on_their_way(environment: str, network: str) -> int:
    """Amount that sweeps which are not booked yet may have brought to the hot wallet already."""
    sweeps = Sweep.objects.filter(booked_at__isnull=True, asset=NETWORKS[network].real.native.code)
    here = sweeps.filter(transfer__environment=environment, transfer__network=network, cold_wallet=None)
    return int(here.aggregate(total=Sum("expected"))["total"] or 0)


def book(sweep: Sweep) -> bool:
    """Book the coins that a finished sweep brought to the hot wallet: the loss of each address in its block.

    Coins that arrive at such an address in the same block cannot be distinguished from them: the hot wallet then holds
    so much more than the ledger, as when an operator puts coins in.
    """
    transfer = sweep.transfer
    before, after = _around(transfer) if transfer.status == TransferStatus.FINAL else ({}, {})
    moved = {address: max(0, units - after.get(address, 0)) for address, units in before.items()}
    with transaction.atomic():
        sweep = Sweep.objects.select_for_update(of=("self",)).select_related("transfer").get(pk=sweep.pk)
        if sweep.booked_at is not None:
            return False
        sweep.moved, sweep.booked_at, sweep.is_itemised = sum(moved.values()), timezone.now(), True
        sweep.save(update_fields=["moved", "booked_at", "is_itemised"])
        for coin in sweep.native_coins.select_for_update(of=("self",)).select_related("payment").order_by("pk"):
            address = coin.payment.address_on(coin.network)
            coin.brought += moved.get(address, 0)
            if transfer.height is not None and transfer.height >= coin.height:
                coin.held, coin.height = after.get(address, 0), transfer.height
            coin.save(update_fields=["brought", "held", "height"])
        if sweep.moved and sweep.cold_wallet_id is None:  # native coins of cold wallets are not in the ledger
            native = NETWORKS[transfer.network].real.native
            post_draft(postings.native_swept(sweep, native), environment=transfer.environment)
    logger.info("native coin brought in", transfer=str(transfer), asset=sweep.asset, moved=sweep.moved)
    return True


def _around(transfer: Transfer) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Balances of the addresses that a sweep emptied before its block, and after it."""
    if transfer.height is None:
        raise ValueError(f"{transfer} is final in no block")
    chain = registry.chain(transfer.environment, transfer.network)
    addresses = [chain.deposit_address(number).address for number in transfer.deposits]
    native = chain.profile.native
    before = chain.reading.balances(addresses, native, at_height=transfer.height - 1)
    return before, chain.reading.balances(addresses, native, at_height=transfer.height)
