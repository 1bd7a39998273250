"""Owners of payouts, such as refunds: each room registers its records here, and how they follow their payouts.

A found payout has no such record: a network shows it, as after a restore, and its request is unknown. The house bears
it until it is attributed.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog
from django.db import transaction
from django.db.models import QuerySet

from config import ids
from config.errors import DomainError
from config.money import Asset
from config.periodic.containment import contained
from merchants.ledger.models import Stop
from merchants.ledger.posting import AccountRef, post_draft
from payments.transfers import postings
from payments.transfers.models import Payout
from payments.transfers.payouts import request_payout, require_transaction
from payments.transfers.states import PayoutStatus

logger = structlog.get_logger(__name__)

BATCH: Final = 500
"""Records of a room that are followed in a run, at most. The others wait for the next run."""


@dataclass(frozen=True, slots=True)
class Owners:
    """The records of a room that own payouts.

    `due` are those whose payout has changed since they were updated; `follow` updates one, and changes nothing when
    there is nothing new. It locks the record before the payout.

    `possible` are the public ids of those that found payouts may have been for, by the payouts' keys; `take` makes the
    record of one, with the payout, inside the caller's database transaction. These ids begin with `prefixes`.
    """

    due: Callable[[], QuerySet[Any]]
    follow: Callable[[Any], object]
    prefixes: tuple[str, ...] = ()
    possible: Callable[[Sequence[Payout]], Mapping[uuid.UUID, Collection[str]]] | None = None
    take: Callable[[Payout, str], None] | None = None


_ROOMS: dict[str, Owners] = {}


def register_owners(room: str, owners: Owners) -> None:
    """Register the records of a room, in its AppConfig.ready."""
    _ROOMS[room] = owners


def to_follow() -> list[QuerySet[Any]]:
    """The records of each room whose payout has been sent, paid, held or given up since they were updated."""
    return [owners.due() for owners in _ROOMS.values()]


def follow_payouts() -> int:
    """Update the records whose payout has been sent, paid, held or given up; returns how many. One that fails is
    logged, and the others go on."""
    done = 0
    for room, owners in _ROOMS.items():
        for record in owners.due().order_by("pk")[:BATCH]:
            with contained("payout not followed", room=room, owner=str(record.pk)):
                _follow(owners, record)
                done += 1
    return done


def _follow(owners: Owners, record: Any) -> None:
    owners.follow(record)


# --- found payouts ------------------------------------------------------------------------------------


class PayoutAttributed(DomainError):
    code = "payout_attributed"
    message = "It has already been recorded whose this was."


class PayoutsToAttribute(DomainError):
    code = "payouts_to_attribute"
    message = (
        "A wallet of this network has paid what the ledger has no request of: manage.py book_sent says whose it was."
    )


LEFT_OUT = "It was left out when the installation resumed after a restore: manage.py thaw_wallet."
"""The reason for freezing the wallets of a network that a resume was to leave out."""

FOUND = "found_"
"""Prefix of references of found payouts: a network shows them, and the database lacks their owner."""


def found_payout(*, environment: str, asset: Asset, amount: int, recipient: str, memo: str) -> Payout:
    """Create the payout of money that has left already without a known request, in a database transaction.

    The house bears it until it is attributed.
    """
    key = ids.new_uuid()
    post_draft(postings.payout_found(asset.network, asset.code, key, amount=amount), environment=environment)
    return request_payout(
        id=key,
        environment=environment,
        merchant_id=None,
        reference=f"{FOUND}{key.hex}",
        asset=asset,
        amount=amount,
        recipient=recipient,
        memo=memo,
    )


def found_payouts(environment: str, network: str) -> QuerySet[Payout]:
    """Found payouts of a network that are not attributed yet."""
    here = Payout.objects.filter(environment=environment, network=network, status=PayoutStatus.PAID)
    return here.filter(merchant=None, reference__startswith=FOUND)


def networks_to_decide(environment: str) -> set[str]:
    """Networks on which nothing may be paid or settled, as it might be so again: transfers since a backup have not been
    read yet, or found payouts have to be attributed first. A wallet is frozen there."""
    frozen = Stop.objects.freezing().filter(environment=environment)
    return {
        network
        for network, reason in set(frozen.values_list("network", "reason"))
        if reason == LEFT_OUT or found_payouts(environment, network).exists()
    }


def attribute_payout(payout: Payout, *, reference: str, merchant_id: uuid.UUID | None, reserved: AccountRef) -> None:
    """Attribute a found payout, inside the database transaction that has reserved its money in this account.

    PayoutAttributed when somebody else has.
    """
    require_transaction()
    mine = Payout.objects.filter(pk=payout.pk, reference__startswith=FOUND)
    if not mine.update(reference=reference, merchant=merchant_id):
        raise PayoutAttributed
    post_draft(postings.payout_attributed(payout, reserved), environment=payout.environment)
    payout.refresh_from_db()
    logger.warning("payout attributed", payout=str(payout))


def attribute_found(environment: str, network: str) -> None:
    """Attribute each found payout of a network that only one owner can have had; the others wait for two people."""
    payouts = list(found_payouts(environment, network).select_related("transfer").order_by("pk"))
    possible: defaultdict[uuid.UUID, set[str]] = defaultdict(set)
    for owners in _ROOMS.values():
        for key, names in (owners.possible(payouts) if owners.possible else {}).items():
            possible[key].update(names)
    for payout in payouts:
        if len(possible[payout.pk]) == 1:
            with (
                contained("payout not attributed", expected=(DomainError,), payout=payout.reference),
                transaction.atomic(),
            ):
                take_found(payout, possible[payout.pk].pop())


def take_found(payout: Payout, owner: str) -> None:
    """Make the record of an owner that a found payout has paid, in the caller's database transaction."""
    [take] = [each.take for each in _ROOMS.values() if each.take and owner.partition("_")[0] in each.prefixes]
    take(payout, owner)


def owner_prefixes() -> list[str]:
    """Prefixes of the public ids of possible owners of found payouts."""
    return [prefix for owners in _ROOMS.values() for prefix in owners.prefixes]
