"""Brings deposits to the hot wallet, many at a time, on networks where each payment has an address of its own.

A sweep empties whole addresses: it moves what the chain has in the end, not what was expected. Dust, which costs more
to move than it is worth, stays where it is until a payout waits for coins.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from config.celery import wake
from config.money import Asset
from config.pages.wording import coins
from config.periodic.containment import contained
from merchants.ledger.models import Stop
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.chain import Chain, sweeps_of
from payments.chains.protocol.payouts import Costs
from payments.deposits.address_derivations import require_addresses
from payments.deposits.models import ScanCursor
from payments.models import Deposit, Payment
from payments.states import DepositStatus
from payments.transfers.execution.executor import sign_sweep
from payments.transfers.models import Payout, Transfer
from payments.transfers.states import HoldReason, PayoutStatus
from payments.treasury import sweep_failures
from payments.treasury.cold import sweeps_go_to
from payments.treasury.dust import Fees, WaitingAddress
from payments.treasury.models import Sweep, SweepRequest

THERE = F("amount") - F("missing")
"""The part of a deposit that is still on the network."""


class _TakenMeanwhile(Exception):
    """Another process is changing one of these deposits: nothing of this sweep is stored."""


def sweep_due(environment: str, network: str) -> int:
    """Sign a sweep for every coin that has enough waiting, or that payouts wait for; returns how many."""
    profile = registry.profile(environment, network)
    cursor = ScanCursor.objects.filter(environment=environment, network=network).first()
    is_halted = Stop.objects.halting().of_network(environment, network).exists()
    if profile.shares_account or cursor is None or is_halted:
        return 0
    chain, signed = registry.chain(environment, network), 0
    for asset in profile.assets.values():
        place: dict[str, Any] = {"environment": environment, "network": network, "asset": asset.code}
        with contained("coin not swept", expected=(ChainError,), **place):
            signed += _sweep_coin(cursor, chain, asset)
    return signed


def _sweep_coin(cursor: ScanCursor, chain: Chain, asset: Asset) -> bool:
    """Sign a sweep of one coin when there is reason to; whether one was signed."""
    environment = cursor.environment
    requests = SweepRequest.objects.filter(
        environment=environment, network=cursor.network, asset=asset.code, done_at__isnull=True
    )
    is_requested, not_swept = requests.exists(), _not_swept(cursor, asset.code)
    # In the order of their index: nearly all deposits are like these but for one column, and PostgreSQL would begin to
    # read them all.
    if not is_requested and not_swept.order_by("height").values("pk").first() is None:
        return False
    _mark_taken_along(not_swept)
    chosen: Sequence[WaitingAddress] = []
    if sweep_failures.can_be_moved(environment, chain, asset, at_once=is_requested):
        chosen = _swept_together(chain, _choose(cursor, chain, asset, is_requested=is_requested))
    transfer = _sign(environment, chain, asset, _free(cursor, asset.code), chosen) if chosen else None
    if is_requested and (transfer is not None or not chosen):
        _close_requests(requests, cursor, asset, transfer, chosen)
    return transfer is not None


def _close_requests(
    requests: QuerySet[SweepRequest],
    cursor: ScanCursor,
    asset: Asset,
    transfer: Transfer | None,
    chosen: Sequence[WaitingAddress],
) -> None:
    """Write into the requests for a sweep what it takes and what it leaves; booking it writes that again."""
    left = sweep_failures.passed_over(cursor.environment, cursor.network).filter(sweep__asset=asset.code)
    stays = sweep_failures.describe_all(left)
    swept = coins(_sum(chosen), asset.decimals, asset.code)
    does = f"A sweep of {swept} from {len(chosen)} of the addresses is on its way." if transfer else "Nothing is swept."
    nothing = "" if transfer or stays else " Nothing that is worth it waits there."
    requests.update(
        done_at=timezone.now(),
        sweep=transfer.sweep if transfer else None,
        outcome=f"{does} Left: {stays}." if stays else f"{does}{nothing}",
    )


def request_sweep(*, environment: str, network: str, asset: str, requested_by: str) -> SweepRequest:
    """An operator wants all that is not dust swept now, whatever the threshold. The worker does it next."""
    request, _ = SweepRequest.objects.get_or_create(
        environment=environment,
        network=network,
        asset=asset,
        done_at=None,
        defaults={"requested_by": requested_by},
    )
    wake("payments.sweep")
    return request


def waiting_addresses(
    cursor: ScanCursor, code: str, *, holding: Q | None = None, most: int | None = None
) -> list[WaitingAddress]:
    """Addresses where this coin waits to be swept, the fullest first. `holding` is a condition on the `total` at an
    address."""
    rows = (
        _free(cursor, code)
        .order_by()
        .values_list("payment", "payment__sequence", "payment__deposit_count")
        .annotate(total=Sum(THERE))
        .filter(holding or Q())
        .order_by("-total", "payment")[:most]
    )
    several = [payment for payment, _, deposits, _ in rows if deposits > 1]
    emptied = set(
        Deposit.objects.filter(payment__in=several, network=cursor.network, sweep__moved__gt=0)
        .order_by()
        .values_list("payment", flat=True)
    )
    return [
        WaitingAddress(payment, sequence, int(total), payment not in emptied) for payment, sequence, _, total in rows
    ]


def addresses_worth_sweeping(cursor: ScanCursor, asset: Asset, fees: Fees) -> list[WaitingAddress]:
    """Addresses above dust, the fullest first. Dust gathers for years: it is skipped in the database."""
    new, emptied = fees.most_dust(asset)
    holding = Q(total__gt=new) | Q(total__gt=emptied, payment__deposit_count__gt=1)
    found = waiting_addresses(cursor, asset.code, holding=holding)
    return [address for address in found if address.amount > (new if address.is_new else emptied)]


def all_that_waits(cursor: ScanCursor, code: str) -> tuple[int, int]:
    """At how many addresses this coin waits, and how much of it."""
    found = _free(cursor, code).aggregate(addresses=Count("payment", distinct=True), total=Sum(THERE))
    return found["addresses"], int(found["total"] or 0)


def fees_at(costs: Costs, profile: NetworkProfile) -> Fees:
    native = profile.native
    return Fees(costs, native, Decimal(settings.NATIVE_COIN_USD.get(native.code, profile.native_usd)))


def _not_swept(cursor: ScanCursor, code: str) -> QuerySet[Deposit]:
    """Deposits in the ledger, in final blocks, at addresses that no sweep has emptied since."""
    return Deposit.objects.filter(
        environment=cursor.environment,
        network=cursor.network,
        asset=code,
        status=DepositStatus.CREDITED,
        sweep__isnull=True,
        height__lte=cursor.finalized_height,
        payment__isnull=False,
        missing__lt=F("amount"),
    ).exclude(booked_to="")


def _free(cursor: ScanCursor, code: str) -> QuerySet[Deposit]:
    """Deposits at addresses that no sweep is emptying and, unless they are free again, that none skipped."""
    on_its_way = Deposit.objects.filter(
        payment=OuterRef("payment"),
        network=OuterRef("network"),
        asset=OuterRef("asset"),
        sweep__isnull=False,
        sweep__booked_at__isnull=True,
    )
    return _not_swept(cursor, code).exclude(Exists(on_its_way)).exclude(sweep_failures.is_kept_back())


def _mark_taken_along(waiting: QuerySet[Deposit]) -> None:
    """Deposits that arrived at an address before an earlier sweep emptied it went with that one."""
    earlier = Deposit.objects.filter(
        payment=OuterRef("payment"),
        network=OuterRef("network"),
        asset=OuterRef("asset"),
        sweep__moved__gt=0,
        sweep__transfer__height__gt=OuterRef("height"),
    )
    several = waiting.filter(payment__deposit_count__gt=1)
    for deposit in several.annotate(earlier=earlier.order_by("sweep").values("sweep")[:1]).exclude(earlier=None):
        Deposit.objects.filter(pk=deposit.pk, sweep__isnull=True).update(sweep=deposit.earlier)


def _is_needed(environment: str, asset: Asset) -> bool:
    waiting = Payout.objects.filter(environment=environment, network=asset.network, asset=asset.code)
    return waiting.filter(status=PayoutStatus.HELD, hold_reason=HoldReason.LIQUIDITY).exists()


def _choose(cursor: ScanCursor, chain: Chain, asset: Asset, *, is_requested: bool) -> Sequence[WaitingAddress]:
    """The addresses to empty now. None while too little waits, or while it would cost more than it brings."""
    most = chain.profile.sweeps_per_transfer
    if _is_needed(cursor.environment, asset):
        return waiting_addresses(cursor, asset.code, most=most)
    enough = 0 if is_requested else settings.SWEEP_THRESHOLD * 10**asset.decimals
    _, total = all_that_waits(cursor, asset.code)
    if not total or total < enough:
        return []
    fees = fees_at(chain.hot_wallet.costs(), chain.profile)
    worth = addresses_worth_sweeping(cursor, asset, fees)
    if _sum(worth) < enough or not (is_requested or fees.are_paid_by(worth, asset)):
        return []
    return worth[:most]


def _swept_together(chain: Chain, chosen: Sequence[WaitingAddress]) -> list[WaitingAddress]:
    """Addresses that one sweep can empty; NotSetUp when it would empty other addresses than payers were given."""
    if not chosen:
        return []
    payments = Payment.objects.filter(pk__in=[address.payment for address in chosen])
    require_addresses(chain, list(payments.only("id", "sequence", "deposit_address")))
    together = set(sweeps_of(chain).together([address.sequence for address in chosen]))
    return [address for address in chosen if address.sequence in together]


def _sum(addresses: Sequence[WaitingAddress]) -> int:
    return sum(address.amount for address in addresses)


def _sign(
    environment: str, chain: Chain, asset: Asset, waiting: QuerySet[Deposit], chosen: Sequence[WaitingAddress]
) -> Transfer | None:
    sweeps_go_to(environment, chain)  # from its first sweep on, what leaves the cold wallet is followed
    payments = [address.payment for address in chosen]
    taken = dict(waiting.filter(payment__in=payments).values_list("pk", THERE))
    if not taken:
        return None

    def record(transfer: Transfer) -> None:
        sweep = Sweep.objects.create(transfer=transfer, asset=asset.code, expected=sum(taken.values()))
        # Never waits: an assessment may hold locks on the deposits of several payments, in another order.
        free = waiting.select_for_update(skip_locked=True, of=("self",)).filter(pk__in=taken).values_list("pk")
        if len(free) != len(taken):
            raise _TakenMeanwhile
        Deposit.objects.filter(pk__in=taken).update(sweep=sweep)

    try:
        return sign_sweep(
            environment=environment,
            chain=chain,
            asset=asset,
            sequences=[address.sequence for address in chosen],
            record=record,
        )
    except _TakenMeanwhile:
        return None
