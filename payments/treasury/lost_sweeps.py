"""Sweeps that the network shows and the ledger lacks, as after a restore: found by what came to wallets of ours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.db.models import F, Sum

from payments.chains.base import Chain, IncomingTransfer
from payments.models import Deposit, Payment
from payments.states import DepositStatus
from payments.transfers import services
from payments.transfers.hashes import signed_as
from payments.transfers.models import Transfer, Wallet
from payments.transfers.recovery import as_signed
from payments.treasury.cold import cold_wallets, sweeps_go_to
from payments.treasury.models import Sweep

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Wallets:
    """Wallets of ours, in the form that a chain adapter asks for."""

    ours: frozenset[str]

    def addresses(self, at_most: int) -> Collection[str] | None:
        return self.ours

    def matching(self, candidates: Collection[str]) -> set[str]:
        return {*self.ours}.intersection(candidates)


def lost_sweeps(
    environment: str, chain: Chain, *, first_height: int, last_height: int
) -> Iterator[list[IncomingTransfer]]:
    """What on-chain transactions without a row of ours brought from deposit addresses to wallets of ours, by
    transaction, oldest first. Whoever had them sent: the coins are with us."""
    if chain.profile.shares_account:
        return
    place = {"environment": environment, "network": chain.profile.network}
    hot = Wallet.objects.filter(**place).values_list("address", flat=True)
    watched = _Wallets(
        frozenset({*hot, *(each.address for each in cold_wallets(**place)), chain.payout_address(), chain.treasury()})
    )
    cursor = chain.cursor_at(max(0, first_height - 1))
    seen: set[tuple[str, int]] = set()
    while True:
        scan = chain.scan(cursor, watched)
        new = [each for each in scan.transfers if each.identity not in seen and each.height <= last_height]
        seen.update(each.identity for each in new)
        yield from _unknown(new)
        if scan.caught_up or scan.last_height >= last_height:
            return
        cursor = scan.cursor


def _unknown(arrived: Sequence[IncomingTransfer]) -> list[list[IncomingTransfer]]:
    known = signed_as({each.transaction_hash for each in arrived})
    unknown = [each for each in arrived if each.asset is not None and each.transaction_hash not in known]
    senders = {each.sender for each in unknown}
    ours = set(Payment.objects.filter(deposit_address__in=senders).values_list("deposit_address", flat=True))
    by_hash: defaultdict[str, list[IncomingTransfer]] = defaultdict(list)
    for each in unknown:
        if each.sender in ours:
            by_hash[each.transaction_hash].append(each)
    return list(by_hash.values())


def gone_to_us(environment: str, chain: Chain, *, first_height: int, last_height: int) -> Mapping[tuple[str, str], int]:
    """What such transactions took from deposit addresses, in base units by coin and address."""
    gone: defaultdict[tuple[str, str], int] = defaultdict(int)
    for moves in lost_sweeps(environment, chain, first_height=first_height, last_height=last_height):
        for each in moves:
            if each.asset is not None:
                gone[each.asset.code, each.sender] += each.amount + each.token_fee
    return gone


def adopt_sweeps(
    environment: str, chain: Chain, *, first_height: int, last_height: int, progress: Callable[[int], None]
) -> tuple[int, list[str]]:
    """Record them as sweeps, to be booked as any other. Returns how many, and the hashes of those that no wallet of
    ours has signed, or whose sequence a transfer of ours has."""
    network = chain.profile.network
    wallets = list(Wallet.objects.filter(environment=environment, network=network).order_by("-pk"))
    sweeps_go_to(environment, network)
    adopted, strange = 0, []
    for moves in lost_sweeps(environment, chain, first_height=first_height, last_height=last_height):
        if _adopt(chain, wallets, moves):
            adopted += 1
            progress(adopted)
        else:
            strange.append(moves[0].transaction_hash)
    return adopted, strange


def _adopt(chain: Chain, wallets: Sequence[Wallet], moves: Sequence[IncomingTransfer]) -> bool:
    one = moves[0]
    if one.asset is None:
        return False
    for wallet in wallets:
        left = chain.outgoing(one.sender, first_height=one.height, last_height=one.height, signer=wallet.address)
        sequences = {each.sequence for each in left if each.transaction_hash == one.transaction_hash}
        sequence = next((each for each in sequences if each is not None), None)
        if sequence is not None:
            return _record(chain, wallet, sequence, moves)
    return False


def _record(chain: Chain, wallet: Wallet, sequence: int, moves: Sequence[IncomingTransfer]) -> bool:
    one, asset = moves[0], moves[0].asset
    assert asset is not None  # noqa: S101 - narrowed by the caller
    payments = dict(
        Payment.objects.filter(deposit_address__in=[each.sender for each in moves if each.asset == asset])
        .order_by("sequence")
        .values_list("pk", "sequence")
    )
    signed = as_signed(wallet, one.transaction_hash, "", sequence, ())
    status = chain.transfer_status(signed)
    mined = services.Mined(one.transaction_hash, one.height, status.fee_units, chain.profile.native, status.said_by)
    with transaction.atomic():
        transfer = services.record_found_sweep(wallet, signed, mined, asset=asset, deposits=list(payments.values()))
        if transfer is None:
            return False
        _mark(transfer, payments, sum(each.amount for each in moves if each.asset == asset))
    logger.warning("sweep adopted", wallet=str(wallet), transaction_hash=one.transaction_hash)
    return True


def _mark(transfer: Transfer, payments: Collection[object], moved: int) -> None:
    taken = Deposit.objects.filter(
        environment=transfer.environment,
        network=transfer.network,
        asset=transfer.asset,
        payment__in=list(payments),
        height__lte=transfer.height,
        sweep__isnull=True,
    ).exclude(status=DepositStatus.ORPHANED)
    expected = taken.aggregate(total=Sum(F("amount") - F("missing")))["total"]
    taken.update(sweep=Sweep.objects.create(transfer=transfer, asset=transfer.asset, expected=int(expected or moved)))
