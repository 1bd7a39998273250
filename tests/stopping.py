"""Stops as tests set and lift them."""

from __future__ import annotations

from merchants.ledger.models import Stop
from merchants.ledger.stops import lift_stop
from merchants.ledger.stops import stop as stop_payouts

__all__ = ["lift", "stands", "stop_payouts"]


def stands(*, environment: str, network: str = "", asset: str = "") -> bool:
    """Whether a stop of exactly this stands."""
    here = Stop.objects.filter(environment=environment, network=network, asset=asset)
    return here.filter(lifted_at__isnull=True).exists()


def lift(*, environment: str, network: str = "", asset: str = "", by: str = "a test") -> bool:
    found = Stop.objects.filter(environment=environment, network=network, asset=asset, lifted_at__isnull=True).first()
    return found is not None and lift_stop(found, by=by)
