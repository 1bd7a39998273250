"""The allow list: the addresses that the house may be paid at. Two people let one in, one takes it out."""

from __future__ import annotations

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone

from config.errors import DomainError, InvalidParameter
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.models import User
from payments.suspense.destinations import parse_destination
from payments.treasury.house.models import AllowedAddress

logger = structlog.get_logger(__name__)


class AddressListed(DomainError):
    code = "address_listed"
    message = "This address is in the list already. Choose it there, and Allow, if another must still agree to it."


class AddressRemoved(DomainError):
    code = "address_removed"
    message = "This address was removed from the list. Add it again."


def add_address(
    *, environment: str, network: str, address: str, memo: str = "", memo_type: str = "", label: str, by: User
) -> tuple[AllowedAddress, Proposal]:
    """Write an address down, and propose that the house may be paid at it.

    InvalidParameter when nobody can be paid there, or it is the service's own. AddressListed when it is in the list.
    """
    if not label.strip():
        raise InvalidParameter("Say whose address this is.", param="label")
    named = parse_destination(environment=environment, network=network, address=address, memo=memo, memo_type=memo_type)
    try:
        with transaction.atomic():
            listed = AllowedAddress.objects.create(
                environment=environment,
                network=network,
                address=named.address,
                memo=named.memo,
                memo_type=named.memo_type,
                label=label.strip(),
                added_by=by,
            )
    except IntegrityError:
        raise AddressListed(param="address") from None
    return listed, allow_address(listed, by=by)


def allow_address(listed: AllowedAddress, *, by: User) -> Proposal:
    """Propose that the house may be paid at an address of the list, or agree to it when another has proposed it."""
    if listed.removed_at is not None:
        raise AddressRemoved
    if listed.is_allowed:
        raise AddressListed
    return propose(
        ProposalKind.ADDRESS,
        environment=listed.environment,
        subject=listed.pk,
        before={"address": listed.address, "memo": listed.memo},
        after={"allowed": True},
        by=by,
    )


def _summary_of(proposal: Proposal) -> str:
    return f"The house may be paid at {AllowedAddress.objects.get(pk=proposal.subject)}"


def _allow_as_agreed(proposal: Proposal, people: str) -> bool:
    listed = AllowedAddress.objects.select_for_update().get(pk=proposal.subject)
    as_proposed = {"address": listed.address, "memo": listed.memo} == proposal.before
    if listed.removed_at is not None or listed.is_allowed or not as_proposed:
        return False
    listed.allowed_at, listed.allowed_by = timezone.now(), people
    listed.save(update_fields=["allowed_at", "allowed_by"])
    logger.warning("address allowed", address=str(listed), by=people)
    return True


register(ProposalKind.ADDRESS, _allow_as_agreed, permission="house.add_allowedaddress", summarize=_summary_of)
