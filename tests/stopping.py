"""Stops as tests set and lift them."""

from __future__ import annotations

from merchants.four_eyes.models import ProposalStatus
from merchants.four_eyes.services import agree
from merchants.ledger.models import Stop, StopKind
from merchants.ledger.stops import lift_stop, propose_lifting
from merchants.ledger.stops import stop as stop_payouts
from tests.factories import make_user

__all__ = ["halt", "is_halted", "lift", "lift_as_agreed", "lift_halt", "stands", "stop_payouts"]


def stands(*, environment: str, network: str = "", asset: str = "") -> bool:
    """Whether a stop of exactly this stands."""
    here = Stop.objects.standing().of_network(environment, network)
    return here.filter(asset=asset, address="").exists()


def lift(*, environment: str, network: str = "", asset: str = "", by: str = "a test") -> bool:
    place = {"environment": environment, "network": network, "asset": asset, "address": ""}
    found = Stop.objects.standing().filter(**place).first()
    return found is not None and lift_stop(found, by=by)


def lift_as_agreed(found: Stop) -> None:
    """Lift a stop as operators do, as many as must agree."""
    proposal = propose_lifting(found, by=make_user(is_staff=True, is_superuser=True))
    if proposal.status == ProposalStatus.WAITING:
        proposal = agree(proposal, by=make_user(is_staff=True, is_superuser=True))
    assert proposal.status == ProposalStatus.DONE


def halt(network: str, *, environment: str = "sandbox", reason: str = "The final block 7 changed.") -> None:
    assert stop_payouts(StopKind.HALT, environment=environment, network=network, reason=reason)


def is_halted(network: str) -> bool:
    return Stop.objects.halting().of_network("sandbox", network).exists()


def lift_halt(network: str) -> None:
    for found in Stop.objects.halting().of_network("sandbox", network):
        lift_as_agreed(found)
