"""Deposit addresses that a sweep skipped: when they are tried again, and how operators see them.

An address is first tried without a fee: the transfer is simulated on the network now. Another sweep is signed only
where it would succeed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

import structlog
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery, Sum
from django.utils import timezone

from config.money import Asset
from config.pages.wording import coins
from merchants.ledger import stops
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.protocol.chain import Chain, sweeps_of
from payments.chains.protocol.sweeps import Unsweepable
from payments.models import Deposit
from payments.states import OF_THE_WHOLE_COIN, UnsweptReason
from payments.treasury.models import SweptAddress

logger = structlog.get_logger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=5), timedelta(hours=6)
"""Until an address is tried again; twice as long after each time."""

AT_ONCE = 100
NAMED_MAX = 20
"""Addresses that one text names."""


def pause_after(tries: int) -> timedelta:
    """Pause after so many tries in a row that moved nothing."""
    return min(FIRST_PAUSE * (1 << min(tries - 1, 16)), LONGEST_PAUSE)


def passed_over(environment: str | None = None, network: str | None = None) -> QuerySet[SweptAddress]:
    """Addresses where the newest sweep left the coins, those due first; `waiting` is the amount."""
    here = SweptAddress.objects.filter(try_again_at__isnull=False)
    if environment is not None:
        here = here.filter(sweep__transfer__environment=environment)
    if network is not None:
        here = here.filter(sweep__transfer__network=network)
    waiting = (
        Deposit.objects.filter(
            payment=OuterRef("payment"),
            network=OuterRef("sweep__transfer__network"),
            asset=OuterRef("sweep__asset"),
            sweep__isnull=True,
            missing__lt=F("amount"),  # what is gone cannot be swept, and is waited for elsewhere
        )
        .exclude(booked_to="")
        .order_by()
        .values("payment")
        .annotate(total=Sum(F("amount") - F("missing")))
    )
    found = here.annotate(waiting=Subquery(waiting.values("total"))).filter(waiting__gt=0)
    return found.select_related("payment", "sweep__transfer").order_by("try_again_at", "pk")


def is_kept_back() -> Exists:
    """The condition on a deposit that its address was passed over and is not to be swept yet."""
    return Exists(
        SweptAddress.objects.filter(
            payment=OuterRef("payment"),
            sweep__asset=OuterRef("asset"),
            sweep__transfer__network=OuterRef("network"),
            try_again_at__isnull=False,
        )
    )


def can_be_moved(environment: str, chain: Chain, asset: Asset, *, at_once: bool) -> bool:
    """Try the skipped addresses that are due again, all of them with `at_once`; False while the coin is stopped, or can
    be moved from no address."""
    left = passed_over(environment, asset.network).filter(sweep__asset=asset.code)
    due = left if at_once else left.filter(try_again_at__lte=timezone.now())
    _look_again(chain, asset, list(due[:AT_ONCE]))
    if asset.code in stops.stopped_coins(environment, asset.network):
        return False
    return not left.filter(reason__in=OF_THE_WHOLE_COIN).exists()


def _look_again(chain: Chain, asset: Asset, due: Sequence[SweptAddress]) -> None:
    """Query whether the skipped addresses could be swept now; those that could are free for the next sweep."""
    if not due:
        return
    try:
        found = sweeps_of(chain).why_unsweepable(asset, [line.payment.sequence for line in due])
    except ChainError as error:
        logger.warning("passed over addresses not looked at", network=asset.network, asset=asset.code, error=str(error))
        return
    for line in due:
        why = found.get(line.payment.sequence)
        if why is None:
            _free(line)
        else:
            note_refusal(line, why)
            line.save(update_fields=["reason", "said", "tries", "try_again_at"])


def note_refusal(line: SweptAddress, why: Unsweepable | None) -> None:
    """Set why nothing can be moved now, and when that is tried again. Does not save the row."""
    line.reason = UnsweptReason(why.reason) if why else UnsweptReason.PASSING
    line.said = why.message if why else ""
    line.tries += 1
    line.try_again_at = timezone.now() + pause_after(line.tries)


def _free(line: SweptAddress) -> None:
    """Let the next sweep take it; where the whole coin had been stopped, let the others be looked at now."""
    if line.reason in OF_THE_WHOLE_COIN:
        transfer = line.sweep.transfer
        others = passed_over(transfer.environment, transfer.network)
        stopped = others.filter(sweep__asset=line.sweep.asset, reason__in=OF_THE_WHOLE_COIN)
        SweptAddress.objects.filter(pk__in=list(stopped.values_list("pk", flat=True))).update(
            try_again_at=timezone.now()
        )
    SweptAddress.objects.filter(pk=line.pk).update(try_again_at=None)
    logger.info("passed over address can be swept", line=str(line))


def describe(line: SweptAddress) -> str:
    """The coins left, their address and the reason: `40.00 USDC at 0x… of payment pay_…: the issuer has frozen the
    address`."""
    transfer = line.sweep.transfer
    asset = registry.asset(transfer.environment, transfer.network, line.sweep.asset)
    said = f" (it says: {line.said})" if line.said else ""
    held = coins(line.amount, asset.decimals, asset.code)
    address = f"{line.payment.address_on(transfer.network)} of payment {line.payment.public_id}"
    return f"{held} at {address}: {UnsweptReason(line.reason).label}{said}"


def describe_all(lines: Iterable[SweptAddress]) -> str:
    """The same for several addresses, of which it names at most NAMED_MAX."""
    texts = [describe(line) for line in lines]
    more = f"; and {len(texts) - NAMED_MAX} more" if len(texts) > NAMED_MAX else ""
    return "; ".join(texts[:NAMED_MAX]) + more


def _stopped() -> Iterator[stops.Listed]:
    """Coins of each network that cannot be swept, with where they are."""
    found: dict[tuple[str, str, str], list[SweptAddress]] = {}
    for line in passed_over():
        transfer = line.sweep.transfer
        found.setdefault((line.sweep.asset, transfer.network, transfer.environment), []).append(line)
    for (asset, network, environment), lines in found.items():
        due = f"Tried again by itself, at {lines[0].try_again_at:%Y-%m-%d %H:%M:%S} first; sooner: Admin → Networks → "
        what, since = (
            f"sweeps of {asset} on {network} ({environment})",
            min(each.sweep.transfer.created_at for each in lines),
        )
        yield stops.Listed(what, describe_all(lines), since, "itself, or an operator", f"{due}Sweep now.")


stops.ELSEWHERE.append(_stopped)
