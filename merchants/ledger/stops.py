"""Stops: their scope, time and reason, and who lifts them how. `may_leave` is checked before anything is signed or
sent."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.apps import apps
from django.db import transaction
from django.utils import timezone

from config.errors import InvalidParameter
from config.hooks import Hook
from config.installation.services import current_standstill, may_act
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.people import people_needed
from merchants.four_eyes.services import NotPermitted, propose, refuse_preview, register
from merchants.ledger.models import Stop, StopKind
from merchants.models import Merchant, User

logger = structlog.get_logger(__name__)

networks_of: Hook[[str], Collection[str]] = Hook("networks_of")
"""The networks in use in an environment."""

wallets_of: Hook[[str, str], Collection[str]] = Hook("wallets_of")
"""Addresses of the hot wallets of a network of an environment."""

lock_signing: Hook[[str], object] = Hook("lock_signing")
"""Waits until nothing of the environment is being signed, and keeps that so until the database transaction ends."""


suspend_merchant: Hook[..., bool] = Hook("suspend_merchant")
"""Suspends a merchant as a whole; False when it was suspended already. People provide it."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A stop as operators see it, wherever it is kept."""

    what: str
    reason: str
    since: datetime | None
    who: str
    how: str


ELSEWHERE: list[Callable[[], Iterable[Listed]]] = []
"""Functions that list stops kept elsewhere: each room adds its own as the process starts."""


@dataclass(frozen=True, slots=True)
class Way:
    """The way stops of a kind are lifted: the first step, the permission, and further effects."""

    first: str
    proposal: ProposalKind
    permission: str
    lift: Callable[[Stop, Proposal, str], bool]
    after: Callable[[Stop], Mapping[str, object]]


_WAYS: dict[str, Way] = {}


def register_way(
    kind: StopKind,
    proposal: ProposalKind,
    *,
    first: str,
    permission: str,
    lift: Callable[[Stop, Proposal, str], bool] = lambda stop, _, people: lift_stop(stop, by=people),
    after: Callable[[Stop], Mapping[str, object]] = lambda _: {"lifted": True},
    before_transaction: Callable[[str, Mapping[str, Any]], Any] | None = None,
) -> None:
    """Register how stops of a kind are lifted. `after` refuses by a DomainError what cannot be lifted yet."""
    _WAYS[kind] = Way(first, proposal, permission, lift, after)
    register(proposal, _lift_as_agreed, permission=permission, before_transaction=before_transaction)


def may_leave(environment: str, network: str, coins: Iterable[str] = (), *, address: str = "") -> bool:
    """True if these coins, or any at all, may leave: no stop stands there, and the database is not a restored one. With
    an address: true if anything new may be signed for this wallet."""
    stopped = Stop.objects.standing().concerning(environment, network, coins, address=address)
    return not stopped.exists() and may_act()


def stopped_coins(environment: str, network: str) -> set[str]:
    """Coins that are stopped on this network by a stop of their own."""
    here = Stop.objects.standing().of_network(environment, network).exclude(asset="")
    return set(here.values_list("asset", flat=True))


def stopped_merchants(environment: str) -> set[uuid.UUID]:
    """Keys of the merchants whose payouts are stopped by a stop of their own."""
    here = Stop.objects.standing().filter(environment=environment, kind=StopKind.MERCHANT)
    return set(here.values_list("merchant", flat=True))


def require_known(
    *,
    environment: str,
    network: str,
    asset: str,
    address: str = "",
    merchant: Merchant | None = None,
    kind: StopKind | None = None,
) -> None:
    """InvalidParameter of a place where a stop would stop nothing."""
    if merchant is not None and (network or asset or address):
        raise InvalidParameter("A merchant's payouts are stopped on all networks, in all coins.", param="merchant")
    if kind == StopKind.HALT and (not network or asset or address or merchant):
        raise InvalidParameter("Name the network, and nothing else, whose reading is stopped.", param="network")
    if network and network not in (known := networks_of(environment)):
        raise InvalidParameter(
            f"{network} is not in use in {environment}; in use are {', '.join(known)}.", param="network"
        )
    if asset and not network:
        raise InvalidParameter("Say on which network the coin is stopped.", param="network")
    if address and (asset or address not in wallets_of(environment, network)):
        raise InvalidParameter(f"{address} is no wallet of {network or 'a network'} in {environment}.", param="address")


def stop(
    kind: StopKind | None = None,
    /,
    *,
    environment: str,
    reason: str,
    network: str = "",
    asset: str = "",
    address: str = "",
    merchant: Merchant | None = None,
) -> bool:
    """Stop payouts of an environment, a network, a merchant, or a coin or wallet there; False when they were stopped
    already, also by the network's halt, and the first reason stays. What is just being signed is waited for: afterwards
    nothing is.
    """
    kind = kind or kind_of(network=network, address=address, merchant=merchant)
    place = {
        "environment": environment,
        "network": network,
        "asset": asset,
        "address": address,
        "merchant": merchant,
    }
    with transaction.atomic():
        lock_signing(environment)
        is_new = not Stop.objects.standing().filter(**place, kind__in=[kind, StopKind.HALT]).exists()
        if is_new:
            Stop.objects.create(kind=kind, **place, reason=reason)
    if is_new:
        logger.critical("payouts stopped", kind=str(kind), **place, reason=reason)
    return is_new


def kind_of(*, network: str, address: str, merchant: Merchant | None, **_: object) -> StopKind:
    """The kind of a stop of this place, unless it is a halt."""
    if merchant is not None:
        return StopKind.MERCHANT
    if address:
        return StopKind.WALLET
    return StopKind.BREAKER if network else StopKind.SWITCH


def lift_stop(found: Stop, *, by: str) -> bool:
    """Let what was stopped go on; False when it was lifted before."""
    lifted = Stop.objects.standing().filter(pk=found.pk)
    if not lifted.update(lifted_at=timezone.now(), lifted_by=by[:120]):
        return False
    logger.warning("payouts go on", stop=str(found), by=by)
    return True


def propose_lifting(found: Stop, *, by: User, note: str = "", after: Mapping[str, object] | None = None) -> Proposal:
    """Propose that a stop is lifted, or agree to it, when another operator has proposed it."""
    way = _WAYS[found.kind]
    if not by.has_perm(way.permission):
        raise NotPermitted
    refuse_preview(way.proposal)  # before `after`, which may query the network as well
    return propose(
        way.proposal,
        environment=found.environment,
        subject=found.pk,
        before={"reason": found.reason},
        after=way.after(found) if after is None else after,
        summary=f"{found}: it goes on. Stopped for: “{found.reason}”." + (f" Lifted for: “{note}”." if note else ""),
        by=by,
    )


def permission_to_lift(found: Stop) -> str:
    return _WAYS[found.kind].permission


def may_lift_any(person: User) -> bool:
    return any(person.has_perm(way.permission) for way in _WAYS.values())


def _lift_as_agreed(proposal: Proposal, people: str) -> bool:
    """False when it was lifted since, or the version before proposed it, by the key of a cursor or wallet."""
    here = Stop.objects.standing().select_for_update().filter(pk=proposal.subject)
    found = here.filter(reason=proposal.before.get("reason")).first()
    if found is None or _WAYS[found.kind].proposal != proposal.kind:
        return False
    return _WAYS[found.kind].lift(found, proposal, people)


def in_words(permission: str) -> str:
    """`change stops` of `ledger.change_stop`."""
    app, _, codename = permission.partition(".")
    verb, _, model = codename.partition("_")
    return f"{verb} {apps.get_model(app, model)._meta.verbose_name_plural}"


def listed(found: Stop) -> Listed:
    """A row of the table, with who lifts it and how."""
    way, needed = _WAYS[found.kind], people_needed(found.environment)
    who = f"{'an operator' if needed == 1 else f'{needed} operators'} who may {in_words(way.permission)}"
    how = f"{way.first} Then Admin → Stops → Lift, or manage.py stops --lift {found.pk} --by EMAIL."
    return Listed(str(found), found.reason, found.since, who, how)


def elsewhere() -> Iterator[Listed]:
    """Stops that are no rows of the table."""
    if (standstill := current_standstill()) is not None:
        who = "whoever has the machine, once the chains answer"
        how = "manage.py resume_after_restore compares with the chains and lets it go on."
        yield Listed("everything: the database was restored", standstill.message, standstill.began_at, who, how)
    for source in ELSEWHERE:
        yield from source()


register_way(
    StopKind.MERCHANT,
    ProposalKind.BREAKER,
    first="See that nothing leaves to them that should not.",
    permission="ledger.change_stop",
)
register_way(
    StopKind.BREAKER,
    ProposalKind.BREAKER,
    first="Find the cause that the reason names.",
    permission="ledger.change_stop",
)
