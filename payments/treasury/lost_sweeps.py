"""Sweeps that the network shows and the ledger lacks, as after a restore: found by what came to wallets of ours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.db.models import F, Sum

from payments.chains.protocol.chain import Chain
from payments.chains.protocol.transfers import IncomingTransfer
from payments.models import Deposit, OfferedAddress, Payment
from payments.states import DepositStatus
from payments.transfers import services
from payments.transfers.audit.adopt_unknown import as_signed
from payments.transfers.execution.hashes import signed_as
from payments.transfers.models import Transfer, Wallet
from payments.transfers.states import TransferPurpose
from payments.treasury.cold import cold_wallets
from payments.treasury.models import Sweep

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Wallets:
    """Wallets of ours, in the form of a chain adapter's watch list."""

    ours: frozenset[str]

    def addresses(self, at_most: int) -> Collection[str] | None:
        return self.ours

    def matching(self, candidates: Collection[str]) -> set[str]:
        return {*self.ours}.intersection(candidates)


def lost_sweeps(
    environment: str, chain: Chain, *, first_height: int, last_height: int, lost: Collection[str] = ()
) -> Iterator[list[IncomingTransfer]]:
    """Transfers from deposit addresses to wallets of ours by on-chain transactions without a row of ours, by
    transaction, oldest first. Whoever had them sent: the coins are with us. `lost` are deposit addresses of payments
    that the database does not have."""
    if chain.profile.shares_account:
        return
    place = {"environment": environment, "network": chain.profile.network}
    hot = Wallet.objects.filter(**place).values_list("address", flat=True)
    watched = _Wallets(
        frozenset({*hot, *(each.address for each in cold_wallets(**place)), chain.payout_address(), chain.treasury()})
    )
    cursor = chain.reading.cursor_at(max(0, first_height - 1))
    seen: set[tuple[str, int]] = set()
    while True:
        scan = chain.reading.scan(cursor, watched)
        new = [each for each in scan.transfers if each.identity not in seen and each.height <= last_height]
        seen.update(each.identity for each in new)
        yield from _unknown(new, {*lost})
        if scan.caught_up or scan.last_height >= last_height:
            return
        cursor = scan.cursor


def _unknown(arrived: Sequence[IncomingTransfer], lost: set[str]) -> list[list[IncomingTransfer]]:
    """By transaction. Of a sweep that is known, what it brought of other coins than its own."""
    known = signed_as({each.transaction_hash for each in arrived})
    unknown = [each for each in arrived if each.asset is not None and not _is_known(each, known)]
    senders = {each.sender for each in unknown}
    ours = {*numbers_of(senders)} | lost
    by_hash: defaultdict[str, list[IncomingTransfer]] = defaultdict(list)
    for each in unknown:
        if each.sender in ours:
            by_hash[each.transaction_hash].append(each)
    return list(by_hash.values())


def _is_known(arrived: IncomingTransfer, known: Mapping[str, Transfer]) -> bool:
    transfer = known.get(arrived.transaction_hash)
    if transfer is None:
        return False
    other_coin = arrived.asset is not None and transfer.asset != arrived.asset.code
    return not (transfer.purpose == TransferPurpose.SWEEP and other_coin)


def numbers_of(addresses: Collection[str]) -> dict[str, int]:
    """The numbers of the payments that have one of these addresses to themselves, by the address."""
    offered = OfferedAddress.objects.filter(address__in=addresses).values_list("address", "payment__sequence")
    paid = Payment.objects.filter(deposit_address__in=addresses).values_list("deposit_address", "sequence")
    return {**dict(offered), **dict(paid)}


def gone_to_us(environment: str, chain: Chain, *, first_height: int, last_height: int) -> Mapping[tuple[str, str], int]:
    """Amounts that such transactions took from deposit addresses, in base units by coin and address."""
    gone: defaultdict[tuple[str, str], int] = defaultdict(int)
    for moves in lost_sweeps(environment, chain, first_height=first_height, last_height=last_height):
        for each in moves:
            if each.asset is not None:
                gone[each.asset.code, each.sender] += each.amount + each.token_fee
    return gone


def adopt_sweep(
    wallet: Wallet, sequence: int, moves: Sequence[IncomingTransfer], mined: services.Mined, lost: Mapping[str, int]
) -> Sweep | None:
    """Record what one on-chain transaction of the wallet brought of one coin as a sweep, to be booked as any other.
    `lost` are numbers by address. None when a transfer of ours has its sequence: if that is a sweep on its way, this is
    a version of it that our rows lack."""
    asset = moves[0].asset
    assert asset is not None  # noqa: S101 - what is unknown is left out before
    addresses = [each.sender for each in moves if each.asset == asset]
    payments = dict(Payment.objects.paid_at(addresses).order_by("sequence").values_list("pk", "sequence"))
    numbers = [*payments.values(), *sorted(lost[each] for each in addresses if each in lost)]
    signed = as_signed(wallet, mined.transaction_hash, "", sequence, ())
    with transaction.atomic():
        transfer = services.record_found_sweep(wallet, signed, mined, asset=asset, deposits=numbers)
        if transfer is None:
            return None
        sweep = _mark(transfer, payments, sum(each.amount for each in moves if each.asset == asset))
    logger.warning("sweep adopted", wallet=str(wallet), transaction_hash=mined.transaction_hash)
    return sweep


def _mark(transfer: Transfer, payments: Collection[object], moved: int) -> Sweep:
    taken = Deposit.objects.filter(
        environment=transfer.environment,
        network=transfer.network,
        asset=transfer.asset,
        payment__in=list(payments),
        height__lte=transfer.height,
        sweep__isnull=True,
    ).exclude(status=DepositStatus.ORPHANED)
    expected = taken.aggregate(total=Sum(F("amount") - F("missing")))["total"]
    sweep = Sweep.objects.create(transfer=transfer, asset=transfer.asset, expected=int(expected or moved))
    taken.update(sweep=sweep)
    return sweep
